{{ secure_dataset('job_executions') }}
