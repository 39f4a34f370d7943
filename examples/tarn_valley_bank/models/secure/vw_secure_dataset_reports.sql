{{ secure_datasets.secure_dataset('reports') }}
