{{ secure_dataset('authorized_projects') }}
