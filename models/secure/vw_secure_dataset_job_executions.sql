{{ secure_datasets.secure_dataset('job_executions') }}
