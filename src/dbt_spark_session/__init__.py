"""Python models for dbt-spark in the Spark session that dbt itself uses.

dbt loads every installed top-level module whose name starts with ``dbt_`` and has a
``plugins`` list. Why this exists, and when to delete it:
``docs/decisions/adr-0001-python-models-in-the-session.md``.
"""

from dbt_spark_session.plugin import SparkSessionPlugin

plugins = [SparkSessionPlugin]

__all__ = ["SparkSessionPlugin", "plugins"]
