"""Queries in Spark's SQL, answered by Spark: the session of a target of dbt."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Any

from secure_datasets.project import Project

Row = dict[str, Any]


class NoSession(Exception):
    """The target has no session of Spark; the message says why."""


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
        from dbt_spark_session.session import SessionNotStarted, start_session

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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Java prints while it starts out of the answer."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
