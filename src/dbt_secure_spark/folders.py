"""Store a large version in folders, so that a query reads only its keys' folders.

If a join finds its keys at run time, Spark can skip no single files of a table, only
partitions. So a large version is partitioned by an additional column: the remainder of
its key. The relation's view leaves this column out, and a query that joins the key also
joins the remainder.

With `folders_by`, the value of a column decides the key that a row is joined by. The
folder depends on this key, and each value has its own folders.

A version in Iceberg has buckets instead.
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

# The number of folders, by the least number of rows. With fewer rows, opening many
# files costs more than it saves.
NUMBERS = {20_000_000: 256, 5_000_000: 64}
AUTO = "auto"
# Only keys of these types have a remainder.
WHOLE_TYPES = ("bigint", "int", "smallint", "tinyint")
LEFT_OUT = re.compile(
    r"select \* except \(`(?P<key>\w+)__mod_(?P<number>\d+)`\) from (?:[^\s.]+\.)?"
    + NAMED_VERSION.pattern.removeprefix(r"\b")
)
# Opening more files takes longer than reading them.
MOST = 4_096
NAME = re.compile(r"\w+")
# In SQL, a text of these characters has one spelling.
PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.-]+")
# Settings that lay out a version's files differently.
OTHER_LAYOUTS = ("partition_by", "clustered_by")


@dataclass(frozen=True)
class Folders:
    """A version's folders: the remainder of a row's key is its folder.

    With cases, the value of the column `key` decides which key counts: a case is a pair
    of a value and the key's column. Each case has `number` folders. One more folder has
    the rows without a case, or without a key.
    """

    key: str
    number: int
    cases: tuple[tuple[str, str], ...] = ()

    kinds, properties = WHOLE_TYPES, None

    @property
    def column(self) -> str:
        """The column that partitions the version."""
        return f"{named_by(self.key, self.cases)}__mod_{self.number}"

    @property
    def selected(self) -> str:
        """SQL for the version's columns, from the columns of its rows."""
        return f"*,\n    {self.of_row} as `{self.column}`"

    @property
    def clause(self) -> str:
        """SQL for the version's partitioning."""
        return f"`{self.column}`"

    @property
    def place(self) -> str:
        """SQL for the folder of a row of the version."""
        return self.clause

    @property
    def keys(self) -> list[str]:
        """The columns that must have a remainder."""
        return [key for _, key in self.cases] or [self.key]

    @property
    def of_row(self) -> str:
        """SQL for the folder of a row, from the row's own columns."""
        if not self.cases:
            return self.of(f"`{self.key}`")
        cases = " ".join(
            f"when '{value}' then {self.of(f'`{key}`', place)}"
            for place, (value, key) in enumerate(self.cases)
        )
        return f"coalesce(case `{self.key}` {cases} end, {self.last})"

    @property
    def last(self) -> int:
        """The folder of the rows without a case or a key."""
        return len(self.cases) * self.number

    def of(self, value: str, case: int = 0) -> str:
        """Return SQL for the folder of a key's value, in a case."""
        remainder = f"pmod(cast({value} as bigint), {self.number})"
        return f"{case * self.number} + {remainder}" if case else remainder

    def match(self, alias: str, other: str, case: int = 0) -> str:
        """Return the condition on the folder for a join of the key with a column.

        If the column is no whole number, the condition limits nothing: an equal value
        may have a different remainder then. Spark knows the type when it plans, and
        keeps only one part of the condition.
        """
        kinds = ", ".join(f"'{kind}'" for kind in WHOLE_TYPES)
        return (
            f" and (typeof({other}) not in ({kinds})"
            f" or {alias}.`{self.column}` = {self.of(other, case)})"
        )

    def places(self, read: PlainRead) -> list[tuple[int, str]]:
        """Return the conditions on the folder that a read allows, with their places.

        Empty if the read does not determine the folders.
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
        """Return the query of the published rows, without the folders' column."""
        return f"select * except (`{self.column}`) from {version}"

    @classmethod
    def read(
        cls, definition: str | None, cases: tuple[tuple[str, str], ...] = ()
    ) -> Folders | None:
        """Return the folders of the version in a view's definition; None without any.

        cases  the node's present cases; a version with different cases is read whole
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
    """The buckets of a version in Iceberg, by a hash of its key.

    The version has no column for them: its view shows the whole version, and Iceberg
    skips the buckets that a query does not need.

    catalog  the version's catalog
    """

    key: str
    number: int
    catalog: str

    kinds, cases, column, selected = WHOLE_TYPES, (), None, "*"

    @property
    def keys(self) -> list[str]:
        """The columns that must have a bucket."""
        return [self.key]

    @property
    def clause(self) -> str:
        """SQL for the version's partitioning."""
        return f"bucket({self.number}, `{self.key}`)"

    @property
    def place(self) -> str:
        """SQL for the bucket of a row."""
        return f"{self.catalog}.system.{self.clause}"

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a version whose rows are sorted before they are written.

        A task then has the files of all its buckets open, each with the rows of a group
        in memory: with groups of Iceberg's default size, 128 MiB, a heap of 2 GB does
        not write 40 million rows.
        """
        return {
            "write.distribution-mode": "none",
            "write.spark.fanout.enabled": "true",
            "write.parquet.row-group-size-bytes": str(8 * 2**20),
        }

    def published_rows(self, version: str) -> str:
        """Return the query of the published rows."""
        return f"select * from {version}"


def named_by(key: str, cases: tuple[tuple[str, str], ...]) -> str:
    """Return how the name of the folders' column begins: with the key and the cases."""
    if not cases:
        return key
    digest = sha256(json.dumps(cases).encode()).hexdigest()
    return f"{key}__{digest[:16]}"


def setting_of(node: dict[str, Any]) -> Any:
    """Return a node's setting `folders`; None if it has none and gets no folders.

    Without it, a node with `cluster_by` has `auto`, unless `statistics` asks for few
    files, or its rows hold for a time.
    """
    config = node["config"]
    setting = config.get("folders")
    if setting is None and not (config.get("statistics") or config.get("in_time")):
        return AUTO
    return setting


def key_of(node: dict[str, Any]) -> str | None:
    """Return the column that decides a node's folders; None if it has no folders.

    Raises CompilationError if the setting `folders` is invalid.
    """
    name, config = node["name"], node["config"]
    setting, columns = setting_of(node), config.get("cluster_by")
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
    """Return the keys of a node's folders, by the value of its first column.

    Raises CompilationError if the setting `folders_by` is invalid.
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
    """Return the number of folders for a number of rows."""
    return next((number for least, number in NUMBERS.items() if rows >= least), 1)


def with_folders(
    node_name: str, sql: str, relation: str, version: str, folders: Folders
) -> str:
    """Let a query read only the folders that it needs of a relation's version.

    Conditions on the folder are inserted. If not all reads of the relation allow one,
    the query reads the whole version, without the folders' column.
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
    """Insert texts into a query, each at its place."""
    for place, text in sorted(texts, reverse=True):
        sql = sql[:place] + text + sql[place:]
    return sql
