{{ secure_datasets.secure_dataset('authorized_projects') }}
