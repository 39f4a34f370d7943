{{ secure_datasets.secure_dataset('projects') }}
