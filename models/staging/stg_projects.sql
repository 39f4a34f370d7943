{{ stage_raw_table('projects') }}
