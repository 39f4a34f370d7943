"""What a statement returns, as dbt prints it."""

from __future__ import annotations

from typing import Any

import agate


class WholeTable(agate.Table):
    """A table that is printed whole: `dbt show` would cut names and columns."""

    def print_table(self, *args: Any, **options: Any) -> None:
        """Print all columns and whole values, unless told otherwise."""
        whole = {"max_columns": None, "max_column_width": None, "max_precision": None}
        super().print_table(*args, **(whole | options))


def whole_table(table: agate.Table) -> WholeTable:
    """Return a table with the same rows that is printed whole."""
    return WholeTable(table.rows, table.column_names, table.column_types, _is_fork=True)
