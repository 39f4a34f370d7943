{{ secure_dataset('test_executions') }}
