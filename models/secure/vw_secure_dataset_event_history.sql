{{ secure_dataset('event_history') }}
