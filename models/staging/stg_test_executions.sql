{{ secure_datasets.stage_raw_table('test_executions') }}
