{{ secure_datasets.secure_dataset('template_test_executions') }}
