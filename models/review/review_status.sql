{{ adapter.query_of_review('review_status', secure_datasets, ref, {
    'config': secure_datasets.secure_datasets_config(),
    'review_days': var('review_days'),
}) }}
