{{ stage_raw_table('events') }}
