"""Versions in folders by the remainder of a key: a query reads those of its keys.

Plain Spark skips no file of a table for the keys that a join finds while it runs, but
whole folders: those of a column that the table is partitioned by. So a large version
has one more column, the remainder of its key. It is no column of the relation: the
view of its name leaves it out, and a query that joins the key joins the remainder too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import CompilationError

from dbt_spark_session.queries import inner_matches, with_queries

if TYPE_CHECKING:
    from collections.abc import Iterable

# How many folders, by the rows that there are at least: with fewer rows, opening many
# files costs more than it spares.
NUMBERS = {20_000_000: 256, 5_000_000: 64}
AUTO = "auto"
# A key of another type has no remainder.
WHOLE_TYPES = ("bigint", "int", "smallint", "tinyint")
LEFT_OUT = re.compile(r"select \* except \(`(?P<key>\w+)__mod_(?P<number>\d+)`\) from ")


@dataclass(frozen=True)
class Folders:
    """A version's folders: a row lies in that of the remainder of its key."""

    key: str
    number: int

    @property
    def column(self) -> str:
        """The column by which the version is partitioned."""
        return f"{self.key}__mod_{self.number}"

    def of(self, value: str) -> str:
        """Return SQL for the folder of a value of the key."""
        return f"pmod(cast({value} as bigint), {self.number})"

    def published_rows(self, version: str) -> str:
        """Return the query of the rows as they are published: without the folder."""
        return f"select * except (`{self.column}`) from {version}"

    @classmethod
    def read(cls, definition: str | None) -> Folders | None:
        """Return the folders of the version that a view reads, as it is told."""
        found = LEFT_OUT.search(definition or "")
        return cls(found["key"], int(found["number"])) if found else None


def check_setting(node: dict[str, Any]) -> None:
    """Raise if a node's setting `folders` is none that can be followed."""
    name, config = node["name"], node["config"]
    setting = config.get("folders")
    if setting is None or setting == AUTO:
        return
    if isinstance(setting, bool) or not isinstance(setting, int) or setting < 1:
        raise CompilationError(
            f"folders of '{name}' is {setting}; it must be auto or a whole number from"
            " 1 on."
        )
    if setting > 1 and not config.get("cluster_by"):
        raise CompilationError(
            f"'{name}' has folders and no cluster_by, whose first column is the key"
            " that they are made of."
        )
    if setting > 1 and config.get("partition_by"):
        raise CompilationError(
            f"'{name}' has folders and a partition_by: a version lies in folders of one"
            " kind."
        )


def number_for(rows: int) -> int:
    """Return how many folders so many rows lie in."""
    return next((number for least, number in NUMBERS.items() if rows >= least), 1)


def with_folders(
    node_name: str, sql: str, relation: str, version: str, folders: Folders
) -> str:
    """Let a query that reads a relation read of its version what the keys ask for.

    Where all columns of the relation are asked for together, the one of the folders
    must not be among them, and the query reads the version whole.
    """
    places = inner_matches(node_name, sql, relation, folders.key)
    if places is None:
        return with_queries(
            node_name, sql, {relation}, lambda _: folders.published_rows(version)
        )
    return _inserted(
        sql,
        (
            (end, f" and {alias}.`{folders.column}` = {folders.of(sql[slice(*other)])}")
            for end, alias, other in places
        ),
    )


def _inserted(sql: str, texts: Iterable[tuple[int, str]]) -> str:
    """Put texts into a query, each at its place."""
    for place, text in sorted(texts, reverse=True):
        sql = sql[:place] + text + sql[place:]
    return sql
