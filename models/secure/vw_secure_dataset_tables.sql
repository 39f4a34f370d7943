{{ secure_dataset('tables') }}
