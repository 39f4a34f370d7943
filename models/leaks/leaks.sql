{{ leaks_query() }}
