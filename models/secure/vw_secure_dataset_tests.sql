{{ secure_dataset('tests') }}
