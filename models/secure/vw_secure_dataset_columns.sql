{{ secure_dataset('columns') }}
