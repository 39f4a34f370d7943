{{ secure_datasets.leaks_query() }}
