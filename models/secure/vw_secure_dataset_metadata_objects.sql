{{ secure_dataset('metadata_objects') }}
