{{ secure_datasets.judged_grants_query() }}
