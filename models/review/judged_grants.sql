{{ adapter.query_of_review('judged_grants', secure_datasets, ref, {
    'config': secure_datasets.secure_datasets_config(),
    'tables': secure_datasets.repository_tables(),
}) }}
