{{ secure_datasets.stage_raw_table('project_data_sources') }}
