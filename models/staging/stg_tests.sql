{{ stage_raw_table('tests') }}
