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
from dbt_spark_session.versions import NAMED_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

# How many folders, by the rows that there are at least: with fewer rows, opening many
# files costs more than it spares.
NUMBERS = {20_000_000: 256, 5_000_000: 64}
AUTO = "auto"
# A key of another type has no remainder.
WHOLE_TYPES = ("bigint", "int", "smallint", "tinyint")
LEFT_OUT = re.compile(
    r"select \* except \(`(?P<key>\w+)__mod_(?P<number>\d+)`\) from "
    + NAMED_VERSION.pattern.removeprefix(r"\b")
)
# Opening more files than this takes longer than reading what is in them.
MOST = 4_096
NAME = re.compile(r"\w+")
# What lays a version's files out in another way.
OTHER_LAYOUTS = ("partition_by", "clustered_by")


@dataclass(frozen=True)
class Folders:
    """A version's folders: a row lies in that of the remainder of its key."""

    key: str
    number: int

    kinds = WHOLE_TYPES

    @property
    def column(self) -> str:
        """The column by which the version is partitioned."""
        return f"{self.key}__mod_{self.number}"

    def of(self, value: str) -> str:
        """Return SQL for the folder of a value of the key."""
        return f"pmod(cast({value} as bigint), {self.number})"

    def match(self, alias: str, other: str) -> str:
        """Return what a join by the key, to another column, says of the folder.

        Nothing where that is no whole number: what equals the key may have another
        remainder then. Spark knows the type before it plans, and leaves one of the two.
        """
        kinds = ", ".join(f"'{kind}'" for kind in WHOLE_TYPES)
        return (
            f" and (typeof({other}) not in ({kinds})"
            f" or {alias}.`{self.column}` = {self.of(other)})"
        )

    def published_rows(self, version: str) -> str:
        """Return the query of the rows as they are published: without the folder."""
        return f"select * except (`{self.column}`) from {version}"

    @classmethod
    def read(cls, definition: str | None) -> Folders | None:
        """Return the folders of the version that a view reads, as it is told."""
        found = LEFT_OUT.search(definition or "")
        return cls(found["key"], int(found["number"])) if found else None


def key_of(node: dict[str, Any]) -> str | None:
    """Return the column that a node's folders are made of; None if there is none.

    Raises CompilationError where its setting `folders` can't be followed.
    """
    name, config = node["name"], node["config"]
    setting, columns = config.get("folders"), config.get("cluster_by")
    key = columns[0] if isinstance(columns, list) and columns else None
    is_key = bool(key and NAME.fullmatch(key))
    others = [each for each in OTHER_LAYOUTS if config.get(each)]
    if setting is None or setting == AUTO:
        return key if setting and is_key and not others else None
    is_number = isinstance(setting, int) and not isinstance(setting, bool)
    if not is_number or not 1 <= setting <= MOST:
        raise CompilationError(
            f"folders of '{name}' is {setting}; it must be auto or a whole number from"
            f" 1 to {MOST}."
        )
    if setting == 1:
        return None
    if not is_key:
        raise CompilationError(
            f"'{name}' has folders, and its cluster_by does not begin with a column's"
            " name: that of the key that they are made of."
        )
    if others:
        raise CompilationError(
            f"'{name}' has folders and a {others[0]}: its files can't be laid out by"
            " both."
        )
    return key


def number_for(rows: int) -> int:
    """Return how many folders so many rows lie in."""
    return next((number for least, number in NUMBERS.items() if rows >= least), 1)


def with_folders(
    node_name: str, sql: str, relation: str, version: str, folders: Folders
) -> str:
    """Let a query that reads a relation read of its version what the keys ask for.

    Wherever that is not plain, the column of the folders is left out first, and the
    version is read whole.
    """
    places = inner_matches(node_name, sql, relation, folders.key, folders.column)
    if not places:
        relations = {relation.lower()}
        return with_queries(
            node_name, sql, relations, lambda _: folders.published_rows(version)
        )
    return _inserted(
        sql, ((end, folders.match(alias, other)) for end, alias, other in places)
    )


def _inserted(sql: str, texts: Iterable[tuple[int, str]]) -> str:
    """Put texts into a query, each at its place."""
    for place, text in sorted(texts, reverse=True):
        sql = sql[:place] + text + sql[place:]
    return sql
