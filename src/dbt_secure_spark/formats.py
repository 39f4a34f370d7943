"""The formats in which tables are stored, and how the product treats them.

Tests run Parquet and Iceberg. Nobody has run Delta: it is treated as its maintainers
describe it (https://github.com/delta-io/delta/pull/840).
"""

from __future__ import annotations

from typing import NamedTuple

PARQUET, ICEBERG, DELTA = "parquet", "iceberg", "delta"


class Format(NamedTuple):
    """The differences between formats.

    statistics   the statement that counts the values of columns for Spark's plans
    is_in_files  each row is in a file, and disappears only with the file
    is_listed    the files of a version, as they are when it is written, are its rows
    """

    statistics: str | None = None
    is_in_files: bool = False
    is_listed: bool = False


ANALYZE = "analyze table {table} compute statistics for columns {columns}"
# It refuses `analyze table`, and makes no further snapshot.
OF_ICEBERG = (
    "call {catalog}.system.compute_table_stats("
    "table => '{table}', columns => array({columns}))"
)
FORMATS = {
    PARQUET: Format(ANALYZE, is_in_files=True, is_listed=True),
    **dict.fromkeys(("orc", "avro", "csv", "json"), Format(ANALYZE, is_in_files=True)),
    ICEBERG: Format(OF_ICEBERG, is_listed=True),
    # It can delete a row from a file that stays.
    DELTA: Format(),
}
# Nothing is known of others. A table may have no name of a format: Spark has a default.
OTHER = Format(ANALYZE)


def format_of(name: str | None) -> Format:
    """Return a format by its name, in letters of any case."""
    return FORMATS.get(str(name).lower(), OTHER)
