"""The formats in which tables are stored, and how the product treats them.

Tests run Parquet and Iceberg. Nobody has run Delta: no table of Delta's has been made.
It is as its documentation and its maintainers say
(https://github.com/delta-io/delta/issues/581).
"""

from __future__ import annotations

from typing import NamedTuple

PARQUET, ICEBERG, DELTA = "parquet", "iceberg", "delta"


class Format(NamedTuple):
    """The differences between formats.

    counts_values  Spark counts the values of columns for its plans, by `analyze table`
    is_in_files    each row is in a file, and disappears only with the file
    is_listed      the files of a version, as they are when it is written, are its rows
    """

    counts_values: bool = False
    is_in_files: bool = False
    is_listed: bool = False


FORMATS = {
    PARQUET: Format(counts_values=True, is_in_files=True, is_listed=True),
    **dict.fromkeys(
        ("orc", "avro", "csv", "json"), Format(counts_values=True, is_in_files=True)
    ),
    # It counts values when it writes.
    ICEBERG: Format(is_listed=True),
    # It can delete a row from a file that stays.
    DELTA: Format(),
}
# Nothing is known of others, but that Spark has a default: a name may be missing.
OTHER = Format(counts_values=True)


def format_of(name: str | None) -> Format:
    """Return a format by its name, in letters of any case."""
    return FORMATS.get(str(name).lower(), OTHER)
