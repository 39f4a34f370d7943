{{ secure_datasets.stage_raw_table('report_permissions') }}
