{{ secure_datasets.stage_raw_table('meta_columns') }}
