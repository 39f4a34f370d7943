{{ secure_datasets.secure_dataset('star_test_executions') }}
