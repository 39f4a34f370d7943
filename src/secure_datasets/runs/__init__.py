"""What dbt's hooks do before and after a run.

``accepted_ids``  the versions of staged tables that have kept their ids
"""
