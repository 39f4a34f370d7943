{{ secure_datasets.access_explanations_query() }}
