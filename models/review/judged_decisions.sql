{{ secure_datasets.judged_decisions_query() }}
