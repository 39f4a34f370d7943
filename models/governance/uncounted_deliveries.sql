{{ secure_datasets.uncounted_deliveries_query() }}
