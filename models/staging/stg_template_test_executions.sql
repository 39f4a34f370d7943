{{ secure_datasets.stage_raw_table('template_test_executions') }}
