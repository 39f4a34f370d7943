{{ secure_datasets.stage_raw_table('tests') }}
