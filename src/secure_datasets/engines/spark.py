"""Queries in Spark's SQL, answered by Spark: the session of a target of dbt."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dbt_secure_spark.queries import relations_read
from secure_datasets.engines.duckdb import Files, Made, NotRead, Rows
from secure_datasets.project import Project

Row = dict[str, Any]
Told = Callable[[str], Any]
CATALOG, IN_MEMORY = "spark.sql.catalogImplementation", "in-memory"
# A plain name of three parts, which a statement can hold as it is.
OF_A_CATALOG = re.compile(r"\w+\.\w+\.\w+")


class NoSession(Exception):
    """The target has no session of Spark; the message has the reason."""


class Spark:
    """The answers of a target's session, which starts with the first question."""

    def __init__(self, project: Project | None) -> None:
        if project is None:
            raise NoSession("Spark can't be asked without a project: leave out --state")
        remote = project.settings.get("spark.remote")
        if project.method != "session" and not remote:
            raise NoSession(
                f"the target '{project.target}' has no session of Spark, its method is"
                f" '{project.method}': ask by dbt run-operation"
            )
        settings = {"spark.remote": remote} if remote else project.settings
        if unread := [name for name, value in settings.items() if "{{" in str(value)]:
            raise NoSession(f"{', '.join(unread)} is for dbt to read: ask by dbt")
        self.project, self.settings = project, settings
        self.session: Any = None

    def ask(self, query: str) -> list[Row]:
        """Return the rows of a query, by the names of their columns."""
        from dbt_secure_spark.session import SessionNotStarted, start_session

        if self.session is None:
            try:
                with _quiet(), contextlib.chdir(self.project.folder):
                    self.session = start_session(self.settings)
            except SessionNotStarted as why:
                raise NoSession(str(why)) from None
        from pyspark.errors import PySparkException

        try:
            return [row.asDict() for row in self.session.sql(query).collect()]
        except PySparkException as failure:
            said = str(failure).splitlines()[0]
            raise NoSession(f"Spark can't answer: {said}") from None

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns of a relation with their types."""
        told = self.ask(f"describe table {name}")
        # The rows after the columns describe the partitions.
        columns = takewhile(
            lambda row: row["data_type"] and row["col_name"][:1] != "#", told
        )
        return {row["col_name"]: row["data_type"].lower() for row in columns}


class SparkRelations(Spark):
    """Relations by their names, as the quick engine has them, in a session of Spark.

    The session has the settings of the target, and a catalog and a warehouse of its
    own, which end with the process: it reads and writes nothing of the project.
    """

    def __init__(self, project: Project | None) -> None:
        super().__init__(project)
        if "spark.remote" in self.settings:
            raise NoSession("cases are run by a session of this process")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.settings = {
            **self.settings,
            CATALOG: IN_MEMORY,
            "spark.sql.warehouse.dir": self._folder.name,
            "spark.sql.session.timeZone": "UTC",
        }
        self._waiting: dict[str, Rows | Made] = {}
        self._made: set[str] = set()

    def put(self, name: str, relation: Rows | Made) -> None:
        """Give a name to a relation; the relation that had the name is gone."""
        self._waiting[name.lower()] = relation
        self._made.discard(name.lower())

    def has(self, name: str) -> bool:
        """Return whether a name has a relation."""
        return name.lower() in self._waiting or name.lower() in self._made

    def ask(self, query: str) -> list[Row]:
        """Return the rows of a query, by the names of their columns."""
        self._make_read(query)
        return super().ask(query)

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns of a relation with their types."""
        self._make(name.lower())
        return dict(self.session.table(name).dtypes)

    def store(self, name: str, query: str) -> None:
        """Keep the rows of a query under a name, so that they are computed once."""
        self._make_read(query)
        self._write(name, self.session.sql(query))

    def _make_read(self, query: str) -> None:
        for name in relations_read("a case", query):
            if name.lower() in self._waiting:
                self._make(name.lower())

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        if self.session is None:
            super().ask("select 1 as one")
            if self.session.conf.get(CATALOG) != IN_MEMORY:
                # New tables would lie beside the project's own tables.
                raise NoSession("a session of this process is there already")
        relation = self._waiting[name]
        if isinstance(relation, Made):
            self.store(name, relation.make())
            return
        texts = ", ".join(f"`{column}` string" for column in relation.columns)
        frame = self.session.createDataFrame([*map(tuple, relation.rows)], texts)
        casts = (
            f"cast(`{c}` as {kind}) as `{c}`" for c, kind in relation.columns.items()
        )
        self._write(name, frame.selectExpr(*casts))

    def _write(self, name: str, frame: Any) -> None:
        schema, _, _ = name.rpartition(".")
        if schema:
            self.session.sql(f"create database if not exists {schema}")
        self.session.sql(f"drop table if exists {name}")
        frame.coalesce(1).write.mode("overwrite").format("parquet").saveAsTable(name)
        self._made.add(name.lower())


class OtherCatalogs(Spark):
    """The raw tables of other catalogs, copied into files for one question.

    Spark reads them by the target's settings, and writes into a folder of its own,
    which ends with the process.
    """

    THEN = "__then"

    def __init__(self, project: Project | None, as_of: str, told: Told) -> None:
        """Take the moment of tables that hold the present, and who tells of copies."""
        self.why_not: str | None = None
        try:
            super().__init__(project)
        except NoSession as why:
            self.why_not = str(why)
        else:
            master = str(self.settings.get("spark.master", "local[*]"))
            if "spark.remote" in self.settings or not master.startswith("local"):
                self.why_not = "Spark works on other machines: this one gets no files"
        self.moment, self.told = as_of, told
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # The relations that stand for past tables, by name.
        self._past: dict[str, str] = {}

    def relation(self, name: str) -> Files | None:
        """Return a copy of a raw table; None if it is in the session's catalog."""
        if not self._is_elsewhere(name):
            return None
        source = self._past.get(name, name)
        columns = {
            row["col_name"]: row["data_type"]
            for row in self.ask(f"describe query select * from {source}")
        }
        folder = Path(self._folder.name) / name
        self._copy(f"select * from {source}", folder)
        files = sorted(folder.glob("*.parquet"))
        if not files:
            raise NotRead(f"Spark has written no copy of {name} on this machine")
        return Files(files, columns)

    def _is_elsewhere(self, name: str) -> bool:
        """Return whether a name is in a catalog; raise if Spark can't copy from it."""
        # The name comes from a state, which anybody may have written.
        if not OF_A_CATALOG.fullmatch(name):
            return False
        if self.why_not:
            raise NotRead(f"{name} is in another catalog, and {self.why_not}")
        return True

    def _copy(self, query: str, folder: Path) -> None:
        """Write the rows of a query into a folder, at least one file."""
        from pyspark.errors import PySparkException

        try:
            self.session.sql(query).write.parquet(folder.as_uri())
        except PySparkException as why:
            raise NotRead(str(why).partition("\n")[0]) from None

    def as_of(self, table: str, relation: str) -> str | None:
        """Return the name of a raw table as it was then; None if it keeps no past."""
        from dbt_common.exceptions import CompilationError

        from dbt_secure_spark.raw_tables import raw_rows_as_of

        if not self._is_elsewhere(relation):
            return None
        try:
            past = raw_rows_as_of(self, table, relation, self.moment)
        except CompilationError as why:
            raise NotRead(why.msg) from None
        if past is None:
            return None
        name = f"{relation}{self.THEN}".lower()
        self._past[name] = past
        return name

    def ask(self, query: str) -> list[Row]:
        """Return the rows of a query, by the names of their columns."""
        if self.session is None:
            self.told("Spark copies raw tables of other catalogs for this question.")
        try:
            return super().ask(query)
        except NoSession as why:
            raise NotRead(str(why)) from None

    def execute(self, query: str, fetch: bool = False) -> tuple[None, Any]:
        """Return the rows of a statement as dbt's adapter does."""
        rows = [tuple(row.values()) for row in self.ask(query)]
        return None, SimpleNamespace(rows=rows)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the output of Java's start out of the answer."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
