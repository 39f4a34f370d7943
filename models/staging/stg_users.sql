{{ stage_raw_table('users') }}
