{{ permitted_operations_query(stored_object_needs()) }}
