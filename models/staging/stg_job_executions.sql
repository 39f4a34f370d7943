{{ secure_datasets.stage_raw_table('job_executions') }}
