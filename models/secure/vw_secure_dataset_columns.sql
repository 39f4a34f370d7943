{{ secure_datasets.secure_dataset('columns') }}
