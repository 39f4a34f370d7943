{{ secure_datasets.stage_raw_table('data_source_permissions') }}
