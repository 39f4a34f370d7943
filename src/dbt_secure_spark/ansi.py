"""ANSI mode, which views and functions keep of the session that makes them.

In ANSI mode a condition that fails on a row tells its values, and the row may be one
that the tier hides. So views are made without it, whatever the method of the profile.
"""

from __future__ import annotations

from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.session import ANSI, OF_VIEWS
from dbt_secure_spark.versions import rows_of

# Both reach Databricks, which refuses settings that it does not know, as that of paths.
OF_DATABRICKS = (SparkConnectionMethod.HTTP, SparkConnectionMethod.ODBC)


def set_for_views(adapter: SparkAdapter) -> None:
    """Set what views and functions keep of the session that makes them.

    A connection is that of all models of a thread, and a hook of one before may have
    set them otherwise.
    """
    is_databricks = adapter.config.credentials.method in OF_DATABRICKS
    for name, value in OF_VIEWS.items():
        if name == ANSI or not is_databricks:
            adapter.execute(f"set {name} = {value}")


def refuse_ansi(adapter: SparkAdapter) -> None:
    """Raise unless the engine says that ANSI mode is off where views are made."""
    try:
        set_for_views(adapter)
        rows = [tuple(row) for row in rows_of(adapter, f"set {ANSI}")]
    except DbtRuntimeError as failure:
        raise DbtRuntimeError(
            _sentence(f"can't be set to false here: {failure}")
        ) from (failure)
    # The engine answers with the name of the setting and its value.
    if any(len(row) < 2 for row in rows):
        said = ", ".join(str(cell) for row in rows for cell in row)
        raise DbtRuntimeError(_sentence(f"is unknown (the engine answers '{said}')"))
    answers = [str(row[1]) for row in rows]
    if [answer.lower() for answer in answers] != ["false"]:
        raise DbtRuntimeError(
            _sentence(f"is {', '.join(answers) or 'unknown'} after it was set to false")
        )


def _sentence(problem: str) -> str:
    return (
        "Views would be made in ANSI mode, in which a condition that fails tells values"
        f" of hidden rows: {ANSI} {problem}. Nothing was published: let the server or"
        " the warehouse of this profile switch ANSI mode off, or let sessions do so."
    )
