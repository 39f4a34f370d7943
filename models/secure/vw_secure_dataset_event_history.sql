{{ secure_datasets.secure_dataset('event_history') }}
