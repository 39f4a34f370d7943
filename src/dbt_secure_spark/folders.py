"""Versions in folders by the remainder of a key: a query reads those of its keys.

Plain Spark skips no file of a table for the keys that a join finds while it runs, but
whole folders: those of a column that the table is partitioned by. So a large version
has one more column, the remainder of its key. It is no column of the relation: the
view of its name leaves it out, and a query that joins the key joins the remainder too.

Where the value of a column decides by which key a row is joined, the remainder is of
that key, and each value has folders of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import CompilationError

from dbt_secure_spark.queries import PlainRead, plain_reads, with_queries
from dbt_secure_spark.versions import NAMED_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

# How many folders, by the rows that there are at least: with fewer rows, opening many
# files costs more than it spares.
NUMBERS = {20_000_000: 256, 5_000_000: 64}
AUTO = "auto"
# A key of another type has no remainder.
WHOLE_TYPES = ("bigint", "int", "smallint", "tinyint")
LEFT_OUT = re.compile(
    r"select \* except \(`(?P<key>\w+)__mod_(?P<number>\d+)`\) from (?:[^\s.]+\.)?"
    + NAMED_VERSION.pattern.removeprefix(r"\b")
)
# Opening more files than this takes longer than reading what is in them.
MOST = 4_096
NAME = re.compile(r"\w+")
# A value of these is one text, however it is written.
PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.-]+")
# What lays a version's files out in another way.
OTHER_LAYOUTS = ("partition_by", "clustered_by")


@dataclass(frozen=True)
class Folders:
    """A version's folders: a row lies in that of the remainder of its key.

    With cases, `key` is the column whose value says of which key: pairs of a value and
    that key's column. Each has as many folders; what is of no case, or has no key, has
    one more.
    """

    key: str
    number: int
    cases: tuple[tuple[str, str], ...] = ()

    kinds = WHOLE_TYPES

    @property
    def column(self) -> str:
        """The column by which the version is partitioned."""
        return f"{named_by(self.key, self.cases)}__mod_{self.number}"

    @property
    def keys(self) -> list[str]:
        """The columns of which there must be a remainder."""
        return [key for _, key in self.cases] or [self.key]

    @property
    def of_row(self) -> str:
        """SQL for the folder that a row lies in, by its own columns."""
        if not self.cases:
            return self.of(f"`{self.key}`")
        cases = " ".join(
            f"when '{value}' then {self.of(f'`{key}`', place)}"
            for place, (value, key) in enumerate(self.cases)
        )
        return f"coalesce(case `{self.key}` {cases} end, {self.last})"

    @property
    def last(self) -> int:
        """The folder of the rows that are of no case."""
        return len(self.cases) * self.number

    def of(self, value: str, case: int = 0) -> str:
        """Return SQL for the folder of a value of the key, in a case."""
        remainder = f"pmod(cast({value} as bigint), {self.number})"
        return f"{case * self.number} + {remainder}" if case else remainder

    def match(self, alias: str, other: str, case: int = 0) -> str:
        """Return what a join by the key, to another column, says of the folder.

        Nothing where that is no whole number: what equals the key may have another
        remainder then. Spark knows the type before it plans, and leaves one of the two.
        """
        kinds = ", ".join(f"'{kind}'" for kind in WHOLE_TYPES)
        return (
            f" and (typeof({other}) not in ({kinds})"
            f" or {alias}.`{self.column}` = {self.of(other, case)})"
        )

    def places(self, read: PlainRead) -> list[tuple[int, str]]:
        """Return where a query that reads a version says of the folder what.

        Nothing where the query does not say enough.
        """
        case, key = 0, self.key
        if self.cases:
            found = [text for text in read.texts if text.column == self.key.lower()]
            if len(found) != 1 or not PLAIN_TEXT.fullmatch(found[0].value):
                return []
            values = [value for value, _ in self.cases]
            if found[0].value not in values:
                last = f"{read.alias}.`{self.column}` = {self.last} and "
                return [(found[0].start, last)]
            case = values.index(found[0].value)
            key = self.cases[case][1]
        return [
            (match.end, self.match(read.alias, match.other, case))
            for match in read.matches
            if match.column == key.lower()
        ]

    def published_rows(self, version: str) -> str:
        """Return the query of the rows as they are published: without the folder."""
        return f"select * except (`{self.column}`) from {version}"

    @classmethod
    def read(
        cls, definition: str | None, cases: tuple[tuple[str, str], ...] = ()
    ) -> Folders | None:
        """Return the folders of the version that a view reads, as it is told.

        cases  those of the node as it is now: the version may be made by others, and
               is then read whole
        """
        found = LEFT_OUT.search(definition or "")
        if not found:
            return None
        number = int(found["number"])
        key = found["key"].rpartition("__")[0]
        if cases and found["key"] == named_by(key, cases):
            return cls(key, number, cases)
        return cls(found["key"], number)


@dataclass(frozen=True)
class Buckets:
    """A version of Iceberg, in buckets by a hash of its key.

    They are no column of the version: its view shows it whole, and Iceberg skips the
    buckets of the keys that a query does not ask for.

    catalog  the version's
    """

    key: str
    number: int
    catalog: str

    kinds = WHOLE_TYPES

    @property
    def clause(self) -> str:
        """SQL for what the version is partitioned by."""
        return f"bucket({self.number}, `{self.key}`)"

    @property
    def of_row(self) -> str:
        """SQL for the bucket that a row lies in."""
        return f"{self.catalog}.system.{self.clause}"

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a version whose rows are sorted before it is written."""
        return {
            "write.distribution-mode": "none",
            "write.spark.fanout.enabled": "true",
        }

    def published_rows(self, version: str) -> str:
        """Return the query of the rows as they are published."""
        return f"select * from {version}"


def named_by(key: str, cases: tuple[tuple[str, str], ...]) -> str:
    """Return what the column of the folders is named by: the key, and which cases."""
    if not cases:
        return key
    digest = sha256(json.dumps(cases).encode()).hexdigest()
    return f"{key}__{digest[:16]}"


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


def cases_of(node: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return by which key the folders of a node are, by the value of its first column.

    Raises CompilationError where its setting `folders_by` can't be followed.
    """
    cases = node["config"].get("folders_by")
    if cases is None:
        return ()
    is_mapping = isinstance(cases, dict) and bool(cases)
    if not is_mapping or not all(
        isinstance(value, str) and isinstance(key, str) for value, key in cases.items()
    ):
        raise CompilationError(
            f"folders_by of '{node['name']}' must say for values of the first column of"
            " its cluster_by which column is the key: {<value>: <column>}."
        )
    for value, key in cases.items():
        if not PLAIN_TEXT.fullmatch(value) or not NAME.fullmatch(key):
            raise CompilationError(
                f"folders_by of '{node['name']}' has {value!r}: {key!r}; a value may be"
                " of letters, digits, spaces, '_', '.' and '-', and a key is the name"
                " of a column."
            )
    return tuple(cases.items())


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
    reads = plain_reads(node_name, sql, relation, folders.column)
    places = [folders.places(read) for read in reads]
    if not places or not all(places):
        relations = {relation.lower()}
        return with_queries(
            node_name, sql, relations, lambda _: folders.published_rows(version)
        )
    return _inserted(sql, (place for of_read in places for place in of_read))


def _inserted(sql: str, texts: Iterable[tuple[int, str]]) -> str:
    """Put texts into a query, each at its place."""
    for place, text in sorted(texts, reverse=True):
        sql = sql[:place] + text + sql[place:]
    return sql
