{{ secure_datasets.secure_dataset('tables') }}
