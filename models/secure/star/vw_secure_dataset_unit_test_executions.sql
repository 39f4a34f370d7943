{{ secure_datasets.secure_dataset('unit_test_executions') }}
