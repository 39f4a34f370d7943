{{ stage_raw_table('reports') }}
