"""What dbt's hooks do before and after a run.

``accepted_ids``  the versions of staged tables that have kept their ids
``state``         the product's part of the published state
``summary``       what is printed: relations, and what data tests found
"""
