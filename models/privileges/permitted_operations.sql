{{ secure_datasets.permitted_operations_query(secure_datasets.stored_object_needs()) }}
