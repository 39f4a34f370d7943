{{ secure_dataset('executions_in_total') }}
