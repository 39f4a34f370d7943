{{ secure_datasets.state_definitions_query() }}
