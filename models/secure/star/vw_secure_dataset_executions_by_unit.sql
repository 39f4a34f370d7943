{{ secure_dataset('executions_by_unit') }}
