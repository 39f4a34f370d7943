{{ secure_datasets.access_findings_query() }}
