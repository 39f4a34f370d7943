{{ secure_dataset('jobs') }}
