{{ secure_datasets.stage_raw_table('user_global_roles') }}
