"""Queries in Spark's SQL, answered by DuckDB in this process: no JVM, no metastore.

    engine = DuckDB({
        "lake.jobs": Files(["/warehouse/jobs/v7/*.parquet"]),
        "lake.roles": Rows({"role_name": "string"}, [("Admin",)]),
        "lake.open_jobs": View("select * from lake.jobs where is_open"),
    })
    engine.ask("select count(*) as jobs from lake.open_jobs")   # [{"jobs": 12}]

A relation is read when a query first names it. A query that DuckDB would not answer
exactly as Spark raises `NotExact`; a relation that is not there raises `NotThere`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import duckdb

from secure_datasets.engines.memory import remembered
from secure_datasets.engines.translation import (
    FINGERPRINT,
    FUNCTIONS,
    NotExact,
    Translation,
    translated,
)

__all__ = ["DuckDB", "Files", "Made", "NotExact", "NotThere", "Rows", "View", "as_json"]

Row = dict[str, Any]
# The rows of a stream that are fetched at once.
CHUNK = 1000
# Types by Spark's name, with DuckDB's.
TYPES = {
    "string": "varchar",
    "bigint": "bigint",
    "int": "integer",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
}
MACROS = ";".join(
    f"create temporary macro {head} as {body}" for head, body in FUNCTIONS.items()
)
# Queries that DuckDB has bound, with the types that they read: once is enough.
_checked: set[tuple] = set()


class NotThere(LookupError):
    """The engine does not have a relation; the message is its name."""


class NotRead(Exception):
    """A relation of another place can't be read; the message has the reason."""


@dataclass(frozen=True)
class Files:
    """Parquet files, or patterns of their names; `columns` where there may be none.

    A timestamp without a zone, as old files have it, is in UTC. Folders
    `name=value` are no columns. Foreign files, which no run has written, must all have
    the columns, in their order and of their types.
    """

    paths: Sequence[str | Path]
    columns: Mapping[str, str] | None = None
    is_foreign: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows in memory; `columns` has the type of each column, as Spark calls it."""

    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class View:
    """A query in Spark's SQL, which runs whenever the relation is read."""

    query: str


@dataclass(frozen=True)
class Made:
    """A relation whose query is written when a question first reads it.

    make      returns the query, in Spark's SQL
    is_view   whether it is computed anew at each read
    """

    make: Callable[[], str]
    is_view: bool = False


Relation = Files | Rows | View | Made


class OtherPlaces(Protocol):
    """Relations that are looked for only when a question reads them."""

    def relation(self, name: str) -> Relation | None:
        """Return a relation by its name; None if it is not here either."""

    def as_of(self, table: str, relation: str) -> str | None:
        """Return the name of a raw table as it was then; None if nobody knows."""


class DuckDB:
    """Relations by their names, and the answers to queries over them."""

    def __init__(
        self,
        relations: Mapping[str, Relation] | None = None,
        threads: int | None = 1,
        fingerprints: bool = False,
        elsewhere: Callable[[], OtherPlaces | None] = lambda: None,
    ) -> None:
        """Take relations; with `fingerprints` queries may compare `xxhash64` values.

        Only comparing them is then exact: the numbers are not Spark's. Without a number
        of `threads` there are as many as the machine bears. Further relations may be
        `elsewhere`.
        """
        self.elsewhere = elsewhere
        self._macros = MACROS
        if fingerprints:
            self._macros += f";create temporary macro {FINGERPRINT}"
        opened = duckdb.connect(config={"threads": threads} if threads else {})
        self.connection = _prepared(opened, self._macros)
        self._waiting: dict[str, Relation] = {}
        self._types: dict[str, tuple] = {}
        # The computed relations that are no views.
        self._tables: set[str] = set()
        self._views: dict[str, tuple[View, tuple[str, ...]]] = {}
        self._making: list[str] = []
        for name, relation in (relations or {}).items():
            self.put(name, relation)

    def put(self, name: str, relation: Relation) -> None:
        """Give a name to a relation; the relation that had the name is gone."""
        name = name.lower()
        if self._types.pop(name, None) is not None:
            self._drop(name)
        self._views.pop(name, None)
        self._waiting[name] = relation
        # The views over it are made anew when they are next read.
        for view, (made, read) in [*self._views.items()]:
            if name in read:
                self.put(view, made)

    def ask(self, query: str) -> list[Row]:
        """Return the rows of a query in Spark's SQL, by the names of their columns."""
        found = self._execute(self._ready(query))
        names = [column[0] for column in found.description]
        if len({*names}) < len(names):
            raise NotExact("two columns of the answer have one name")
        try:
            rows = found.fetchall()
        except duckdb.Error as error:
            # DuckDB computes the last rows of many only when they are fetched.
            raise NotExact(_first_line(error)) from error
        return [dict(zip(names, row, strict=True)) for row in rows]

    def stream(self, query: str) -> Iterator[Row]:
        """Yield the rows of a query; further queries may be asked meanwhile."""
        try:
            cursor = _prepared(self.connection.cursor(), self._macros)
            found = cursor.execute(self._ready(query))
            names = [column[0] for column in found.description]
            while rows := found.fetchmany(CHUNK):
                for row in rows:
                    yield dict(zip(names, row, strict=True))
        except duckdb.Error as error:
            raise NotExact(_first_line(error)) from error

    def has(self, name: str) -> bool:
        """Return whether a name has a relation."""
        return name.lower() in self._waiting or name.lower() in self._types

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns of a relation with their types, as Spark calls them."""
        self._make(name.lower())
        return {column: _spark_type(kind) for column, kind in self._types[name.lower()]}

    def store(self, name: str, query: str) -> None:
        """Keep the rows of a query under a name, so that they are computed once."""
        made = self._ready(query)
        self.put(name, View(query))
        del self._waiting[name.lower()]
        self._create(name.lower(), "table", made)

    def is_table(self, name: str) -> bool:
        """Whether a relation is computed, and is no view."""
        return name.lower() in self._tables

    def save(self, name: str, path: Path) -> None:
        """Write a computed relation into a Parquet file."""
        written = str(path).replace("'", "''")
        self._execute(
            f"copy (select * from {_quoted(name.lower())}) to '{written}'"
            " (format parquet)"
        )

    def _ready(self, query: str) -> str:
        """Return a query in DuckDB's SQL, after making the relations that it reads."""
        translation = translated(query)
        for name in translation.relations:
            self._make(name)
        self._check(translation)
        return translation.sql

    def _check(self, translation: Translation) -> None:
        """Raise `NotExact` if values of different kinds are compared."""
        if translation.check is None:
            return
        read = tuple((name, self._types[name]) for name in translation.relations)
        if (translation.check, read) in _checked:
            return

        def bound() -> bool:
            try:
                self.connection.execute(f"describe {translation.check}")
            except duckdb.Error as error:
                raise NotExact(_first_line(error)) from error
            return True

        remembered(("check", translation.check, read), bound)
        _checked.add((translation.check, read))

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return self.connection.execute(sql)
        except duckdb.Error as error:
            raise NotExact(_first_line(error)) from error

    def _make(self, name: str) -> None:
        """Make a relation that waits, after the relations that it reads."""
        if name in self._types:
            return
        if name not in self._waiting:
            elsewhere = self.elsewhere()
            found = elsewhere.relation(name) if elsewhere else None
            if found is None:
                raise NotThere(name)
            self._waiting[name] = found
        if name in self._making:
            raise NotExact(f"the view {name} reads itself")
        self._making.append(name)
        try:
            relation = self._waiting[name]
            if isinstance(relation, Made):
                made = relation.make()
                kind = "view" if relation.is_view else "table"
                self._create(name, kind, self._ready(made))
            elif isinstance(relation, View):
                self._create(name, "view", self._ready(relation.query))
                read = translated(relation.query).relations
                self._views[name] = (relation, read)
            elif isinstance(relation, Files):
                self._read(name, relation)
            else:
                self._load(name, relation)
        finally:
            self._making.pop()
        self._waiting.pop(name, None)

    def _create(self, name: str, kind: str, sql: str) -> None:
        self._execute(f"create {kind} {_quoted(name)} as {sql}")
        self._note(name, kind == "table")

    def _note(self, name: str, is_table: bool) -> None:
        """Note a new relation: its columns, and whether it is no view."""
        found = self.connection.execute(f"describe {_quoted(name)}").fetchall()
        self._types[name] = tuple((column[0], column[1]) for column in found)
        if is_table:
            self._tables.add(name)

    def _drop(self, name: str) -> None:
        kind = "table" if name in self._tables else "view"
        self._execute(f"drop {kind} {_quoted(name)}")
        self._tables.discard(name)

    def _read(self, name: str, files: Files) -> None:
        """Make a view of Parquet files."""
        paths = [str(path) for path in files.paths]
        found = [path for path in paths if _names_a_file(path)]
        if not found:
            if files.columns is None:
                raise NotThere(f"{name}: {', '.join(paths) or 'no file'}")
            self._load(name, Rows(files.columns, []))
            return
        listed = ", ".join(f"'{path.replace(chr(39), chr(39) * 2)}'" for path in found)
        read = f"read_parquet([{listed}], hive_partitioning = false)"
        types = self._execute(f"describe select * from {read}").fetchall()
        replaced = [
            f"{value} as {_quoted(column)}"
            for column, kind, *_ in types
            if (value := _replaced(column, kind))
        ]
        columns = f"* replace ({', '.join(replaced)})" if replaced else "*"
        self._create(name, "view", f"select {columns} from {read}")
        if files.is_foreign:
            self._check_foreign(name, files, listed)

    def _check_foreign(self, name: str, files: Files, listed: str) -> None:
        """Raise `NotExact` unless each file has the columns that Spark reads."""
        shapes = self._execute(
            "select count(*) from (select distinct list((name, type, converted_type,"
            f" logical_type)) from parquet_schema([{listed}]) group by file_name)"
        ).fetchall()
        columns = [*self.columns(name).items()]
        if shapes != [(1,)] or columns != [*(files.columns or {}).items()]:
            raise NotExact(f"the files of {name} have not the columns that Spark reads")

    def _load(self, name: str, relation: Rows) -> None:
        """Make a table of rows in memory."""
        types = {
            column: _type_of(data_type)
            for column, data_type in relation.columns.items()
        }
        lists = ", ".join(
            f"unnest(?::{data_type}[]) as {_quoted(column)}"
            for column, data_type in types.items()
        )
        # A list for each column: values one by one cost far more than their rows.
        values = (
            [list(column) for column in zip(*relation.rows, strict=True)]
            if relation.rows
            else [[] for _ in types]
        )
        try:
            self.connection.execute(
                f"create table {_quoted(name)} as select {lists}", values
            )
        except duckdb.Error as error:
            raise NotExact(f"{name}: {_first_line(error)}") from error
        self._note(name, is_table=True)


def _prepared(
    connection: duckdb.DuckDBPyConnection, macros: str
) -> duckdb.DuckDBPyConnection:
    """Return a connection that has the functions of queries, and moments in UTC."""
    connection.execute("set timezone = 'UTC'")
    # DuckDB computes the next rows while Python reads the earlier ones.
    connection.execute("set streaming_buffer_size = '256MB'")
    connection.execute(macros)
    return connection


def as_json(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the types of JSON: moments to the second, in UTC."""
    return [{name: _json(value) for name, value in row.items()} for row in rows]


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}".rjust(19, "0")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _json(item) for name, item in value.items()}
    return value


def _replaced(column: str, kind: str) -> str | None:
    """Return what stands for a column of a file; None if it stays as it is."""
    if kind in ("TIMESTAMP", "TIMESTAMP_NS"):
        # Spark's timestamps are moments; old files have them in UTC, without a zone.
        return f"try_cast({_quoted(column)} as timestamptz)"
    if "FLOAT" in kind:
        # Beside a decimal Spark takes it for a double, and DuckDB both for floats.
        called = column.replace("'", "''")
        return f"error('not exact: a value of {called}, a FLOAT')"
    return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names_a_file(pattern: str) -> bool:
    path = Path(pattern)
    if not any(sign in pattern for sign in "*?["):
        return path.is_file()
    return any(Path(path.anchor).glob(str(path.relative_to(path.anchor))))


def _type_of(data_type: str) -> str:
    """Return DuckDB's name of a Spark type."""
    said = data_type.lower().strip()
    if said.startswith("array<") and said.endswith(">"):
        return f"{_type_of(said[6:-1])}[]"
    if said.startswith("decimal("):
        return said
    if said not in TYPES:
        raise NotExact(f"the type {data_type}")
    return TYPES[said]


def _spark_type(kind: str) -> str:
    """Return Spark's name of a DuckDB type."""
    if kind.endswith("[]"):
        return f"array<{_spark_type(kind[:-2])}>"
    named = {said.upper(): name for name, said in TYPES.items()}
    named["TIMESTAMP WITH TIME ZONE"] = "timestamp"
    return named.get(kind, kind.lower().replace(" ", ""))


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
