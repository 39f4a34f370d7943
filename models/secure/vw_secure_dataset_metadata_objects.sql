{{ secure_datasets.secure_dataset('metadata_objects') }}
