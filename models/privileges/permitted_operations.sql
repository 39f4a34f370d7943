{{ secure_datasets.privileges().permitted_operations() }}
