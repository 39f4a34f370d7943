{{ secure_datasets.review_status_query() }}
