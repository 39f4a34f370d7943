{{ secure_datasets.secure_dataset('jobs') }}
