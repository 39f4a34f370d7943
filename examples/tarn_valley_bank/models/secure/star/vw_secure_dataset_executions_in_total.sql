{{ secure_datasets.secure_dataset('executions_in_total') }}
