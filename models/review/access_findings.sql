{{ adapter.query_of_review('access_findings', secure_datasets, ref, {
    'tables': secure_datasets.repository_tables(),
    'finding_rules': adapter.finding_rules(var('finding_severities')),
    'dormant_days': var('dormant_days'),
    'global_admins_limit': var('global_admins_limit'),
}) }}
