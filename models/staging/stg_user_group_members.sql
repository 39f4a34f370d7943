{{ secure_datasets.stage_raw_table('user_group_members') }}
