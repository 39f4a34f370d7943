"""Start the Spark session, and report what to do when it does not start."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from dbt.adapters.spark import session as dbt_session
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import Row, SparkSession

from dbt_secure_spark.class_archive import OPTIONS, java_option
from dbt_secure_spark.disk import WAREHOUSE, told_of_disk, told_of_folders
from dbt_secure_spark.java import JavaNotFound, find_java_home


class SessionNotStarted(Exception):
    """The session did not start; the message is a clear error that names the remedy."""


# A view or function that is made without a stored path resolves names by its reader's
# path, where the reader's own functions may come before Spark's. Older Spark versions
# know no path: there, both statements set a setting that has no effect.
PATHS_ARE_KEPT = "spark.sql.path.enabled"
OWN_FUNCTIONS = (
    f"set {PATHS_ARE_KEPT} = true",
    # Independent of the server's default.
    "set path = system.builtin, system.session, current_schema",
)

# Views and functions store these settings of the session that makes them. In ANSI mode
# a condition that fails on a row shows its values, and the tier may hide that row. In
# a different zone a moment falls on a different day, and a condition lets different
# rows through.
ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
OF_VIEWS = {PATHS_ARE_KEPT: "true", ANSI: "false", ZONE: "UTC"}

# The version of Scala in the name of a JAR, and in the name of Spark's own library.
OF_SCALA = re.compile(r"_(2\.1\d)[-:][^/]*$")
OWN_SCALA = re.compile(r"scala-library-(2\.\d+)\.").match

_starting = threading.Lock()
_started = False

# A text in the cause of a failed start, and the advice to print.
KNOWN_FAILURES = {
    "XSDB6": (
        "The embedded metastore is in use by another process (Derby serves one at a"
        " time): wait for the other dbt, spark-sql or notebook to end, or stop it."
    ),
    "Connection refused": (
        "The Spark server of this profile does not answer: start it, or check"
        " spark.remote or spark.master in profiles.yml."
    ),
}


def jars_of_spark() -> Path:
    """Return the folder of Spark's own JARs."""
    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(home) / "jars"


def told_of_scala(parameters: Mapping[str, Any], jars: Path) -> str | None:
    """Return a sentence if a profile's JAR is for a different Scala; None otherwise.

    Without it, Spark fails when the JAR is first used, with the name of a class.
    """
    own = {found[1] for each in jars.glob("*.jar") if (found := OWN_SCALA(each.name))}
    for setting in ("spark.jars", "spark.jars.packages"):
        for named in str(parameters.get(setting, "")).split(","):
            found = OF_SCALA.search(named)
            if found and own and found[1] not in own:
                (scala, *_) = sorted(own)
                return (
                    f"{setting} of profiles.yml has {named.strip()}, which is for Scala"
                    f" {found[1]}, and Spark has Scala {scala} here: take the one with"
                    f" _{scala} in its name."
                )
    return None


def start_session(parameters: dict[str, Any]) -> SparkSession:
    """Return the process's session, started with a profile's server-side parameters.

    Same builder as dbt-spark's own session method, so both always share one session.
    """
    global _started
    with _starting:
        if not _started and "spark.remote" not in parameters:
            try:
                home = find_java_home()
            except JavaNotFound as missing:
                raise SessionNotStarted(str(missing)) from None
            os.environ["JAVA_HOME"] = str(home)
            if option := java_option(home):
                given = parameters.get(OPTIONS, "")
                parameters = {**parameters, OPTIONS: f"{given} {option}".lstrip()}
            # The JVM would take a minute to report less. A warehouse may be read-only.
            if told := (
                told_of_folders(parameters, but=[WAREHOUSE])
                or told_of_scala(parameters, jars_of_spark())
            ):
                raise SessionNotStarted(told)
            if str(parameters.get("spark.master", "local")).startswith("local"):
                # Python workers must be of this version; python3 need not be.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            if scratch := parameters.get("spark.local.dir"):
                # The JVM's own temporary folder may lie there, and must exist by then.
                Path(scratch).mkdir(parents=True, exist_ok=True)
        builder = SparkSession.builder.enableHiveSupport()
        for name, value in parameters.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
            # PySpark writes every failed query's JVM stack to stderr, as JSON, beside
            # the exception that it raises.
            logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
            if not _started:
                session.sql("show databases").collect()
            for statement in OWN_FUNCTIONS:
                session.sql(statement)
        except Exception as failure:
            # Java's causes are in the trace that PySpark keeps, not in its message.
            told = f"{failure}\n{getattr(failure, '_stackTrace', '')}"
            for mark, advice in KNOWN_FAILURES.items():
                if mark in told:
                    raise SessionNotStarted(advice) from failure
            if told := told_of_disk(failure, parameters):
                raise SessionNotStarted(told) from failure
            raise
        _started = True
        return session


@contextmanager
def with_settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Give a session settings for a while, and its own back at the end."""
    before = {name: session.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


@contextmanager
def disk_told(parameters: dict[str, Any]) -> Iterator[None]:
    """Turn a failure caused by the disk into a clear error.

    Raises DbtRuntimeError in its place.
    """
    try:
        yield
    except Exception as failure:
        # dbt-spark wraps some of the engine's failures in its own.
        if told := told_of_disk(failure.__cause__ or failure, parameters):
            raise DbtRuntimeError(told) from failure
        raise


class CheckedCursor(dbt_session.Cursor):
    """dbt-spark's cursor, with a clear error for a failure caused by the disk."""

    def execute(self, sql: str, *parameters: Any) -> None:
        """Execute a statement."""
        with disk_told(self.server_side_parameters):
            super().execute(sql, *parameters)

    def fetchall(self) -> list[Row] | None:
        """Fetch all rows."""
        with disk_told(self.server_side_parameters):
            return super().fetchall()

    def fetchone(self) -> Row | None:
        """Fetch the next row."""
        with disk_told(self.server_side_parameters):
            return super().fetchone()


class CheckedConnection(dbt_session.Connection):
    """dbt-spark's session connection, with a clear error for a failed start."""

    def __init__(self, *, server_side_parameters: dict[Any, str] | None = None) -> None:
        super().__init__(server_side_parameters=server_side_parameters)
        start_session(self.server_side_parameters)

    def cursor(self) -> CheckedCursor:
        """Return a cursor."""
        return CheckedCursor(server_side_parameters=self.server_side_parameters)
