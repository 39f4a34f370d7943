{{ stage_raw_table('jobs') }}
