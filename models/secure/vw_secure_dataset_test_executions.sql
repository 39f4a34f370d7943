{{ secure_datasets.secure_dataset('test_executions') }}
