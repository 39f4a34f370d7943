{{ secure_datasets.secure_dataset('executions_by_unit') }}
