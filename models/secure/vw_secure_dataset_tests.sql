{{ secure_datasets.secure_dataset('tests') }}
