"""What views and functions keep of the session that makes them.

In ANSI mode a condition that fails on a row shows its values, even if the tier hides
the row. In a different time zone a condition may show different rows. So views are made
without ANSI mode and in UTC, for each method and all settings of the profile.
"""

from __future__ import annotations

from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.session import ANSI, OF_VIEWS, PATHS_ARE_KEPT, ZONE
from dbt_secure_spark.versions import rows_of

# Both reach Databricks, which refuses settings that it does not know, as that of paths.
OF_DATABRICKS = (SparkConnectionMethod.HTTP, SparkConnectionMethod.ODBC)
WOULD_BE = {
    ANSI: "in ANSI mode, in which a condition that fails tells values of hidden rows",
    ZONE: "in another time zone, in which conditions let other rows through",
}
REMEDIES = {
    ANSI: "let the server or the warehouse of this profile switch ANSI mode off, or let"
    " sessions do so",
    ZONE: "let the server or the warehouse of this profile have the time zone UTC, or"
    " let sessions set it",
}

# Whether the engine reads an escape in a literal as a character. Otherwise it takes no
# white space from delivered values but digits and letters, and a limit that can't be
# read is none.
ESCAPES_ARE_READ = r"select '\u0041' = 'A' as escapes_are_read"


def set_for_views(adapter: SparkAdapter) -> None:
    """Set what views and functions keep of the session that makes them.

    A connection is that of all models of a thread, and a hook of one before may have
    set them otherwise. They are among a session's parameters, which are set before each
    statement: no statement is needed there.
    """
    method = adapter.config.credentials.method
    if method == SparkConnectionMethod.SESSION:
        return
    is_databricks = method in OF_DATABRICKS
    for name, value in OF_VIEWS.items():
        if name != PATHS_ARE_KEPT or not is_databricks:
            adapter.execute(f"set {name} = {value}")


def refuse_other_settings(adapter: SparkAdapter) -> None:
    """Raise unless views would be made, and texts read, as they are meant."""
    for name in WOULD_BE:
        wanted = OF_VIEWS[name]
        try:
            adapter.execute(f"set {name} = {wanted}")
            rows = [tuple(row) for row in rows_of(adapter, f"set {name}")]
        except DbtRuntimeError as failure:
            raise DbtRuntimeError(
                _sentence(name, f"can't be set to {wanted} here: {failure}")
            ) from failure
        # The engine answers with the name of the setting and its value.
        if any(len(row) < 2 for row in rows):
            said = ", ".join(str(cell) for row in rows for cell in row)
            problem = f"is unknown (the engine answers '{said}')"
            raise DbtRuntimeError(_sentence(name, problem))
        answers = [str(row[1]) for row in rows]
        if [answer.lower() for answer in answers] != [wanted.lower()]:
            found = ", ".join(answers) or "unknown"
            problem = f"is {found} after it was set to {wanted}"
            raise DbtRuntimeError(_sentence(name, problem))
    if not rows_of(adapter, ESCAPES_ARE_READ)[0][0]:
        raise DbtRuntimeError(
            "Delivered values would be read otherwise: spark.sql.parser"
            ".escapedStringLiterals is true, so that an escape in a text is no"
            " character. Nothing was published: let the server or the session of this"
            " profile set it to false."
        )


def _sentence(name: str, problem: str) -> str:
    return (
        f"Views would be made {WOULD_BE[name]}: {name} {problem}. Nothing was"
        f" published: {REMEDIES[name]}."
    )
