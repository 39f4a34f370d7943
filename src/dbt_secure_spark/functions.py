"""What Spark tells of the functions that a query calls."""

from __future__ import annotations

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.versions import rows_of

# How Spark tells of a function that is part of it.
SPARKS_OWN = "Class: org.apache.spark."


def may_read_tables(adapter: SparkAdapter, function: str, may_be_none: bool) -> bool:
    """Say whether something that is called may be a function with a query in it."""
    told = told_of_function(adapter, function)
    if told is None:
        return not may_be_none
    return any("READS SQL DATA" in line for line in told)


def may_be_of_people(adapter: SparkAdapter, function: str, may_be_none: bool) -> bool:
    """Say whether something that is called may be a function of people's own."""
    told = told_of_function(adapter, function)
    if told is None:
        return not may_be_none
    if any(line.startswith(SPARKS_OWN) for line in told):
        return False
    # Words of SQL such as case have a usage, and nothing that is called.
    is_word = any(line.startswith("Usage:") for line in told)
    return not is_word or any(line.startswith(("Class:", "Type:")) for line in told)


def told_of_function(adapter: SparkAdapter, function: str) -> list[str] | None:
    """Return what Spark tells of a function; None if there is none.

    Asked once a run: what stands before a parenthesis is mostly a word of SQL.
    """
    known = getattr(getattr(adapter, "dbt_run", None), "functions", {})
    if function not in known:
        try:
            told = rows_of(adapter, f"describe function extended {function}")
            known[function] = [str(row[0]) for row in told]
        except DbtRuntimeError as failure:
            if "UNRESOLVED_ROUTINE" not in str(failure):
                raise
            known[function] = None
    return known[function]
