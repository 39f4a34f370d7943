"""One run at a time, told by the metastore that all runs share.

A run that begins makes a view that bears its name, and alters it every few seconds
until it ends: it is alive as long as that goes on. A run that finds another's view
waits and looks again. If it was altered meanwhile, the run that has begun goes on and
this one is refused; if not, its run was killed, and the view is dropped.
"""

from __future__ import annotations

import contextvars
import re
import threading
from dataclasses import dataclass
from time import sleep
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_session.session import start_session
from dbt_spark_session.submission import session_parameters

PREFIX = "live_run_"
# A run that waits must not take the pause between two signs of life for the end.
SIGNS_PER_WAIT = 5
# How the names of versions end.
VERSION = re.compile(r"__v[0-9]{14}_[0-9a-f]{8}$")
logger = AdapterLogger("Spark")


@dataclass(frozen=True)
class SignOfLife:
    """What a run's view said: whether the run builds, how often it was altered."""

    is_building: bool
    count: int


class RunLock:
    """The right to build, held from `acquire` to `release`."""

    def __init__(
        self, adapter: SparkAdapter, schema: str, run: str, seconds: float
    ) -> None:
        self.adapter = adapter
        self.schema = schema
        self.name = f"{PREFIX}{run}"
        self.seconds = seconds
        self.ended = threading.Event()

    def acquire(self) -> None:
        """Wait until no other run is alive, or raise if one goes on."""
        self.adapter.execute(
            f"create view {self.schema}.{self.name}"
            " tblproperties ('building' = 'no', 'signs' = '0') as select 1 as alive"
        )
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self.give_signs_of_life,), daemon=True
        ).start()
        if before := self.others():
            logger.info(f"Another run has not ended: watching it {self.seconds} s")
            sleep(self.seconds)
            self.judge(before, self.others())
        self.alter("building", "yes")

    def judge(
        self, before: dict[str, SignOfLife], after: dict[str, SignOfLife]
    ) -> None:
        """Drop the views of dead runs; raise if one that is alive goes first."""
        for name, sign in after.items():
            if sign == before.get(name):
                self.adapter.execute(f"drop view if exists {self.schema}.{name}")
            # Of two that begin at once, the one whose name comes first goes on.
            elif sign.is_building or name < self.name:
                self.release()
                raise DbtRuntimeError(
                    "Another dbt run is building this schema"
                    f" ({name.removeprefix(PREFIX)}): wait for it to end, then run"
                    " this one again."
                )

    def others(self) -> dict[str, SignOfLife]:
        """Return what the views of other runs say."""
        _, table = self.adapter.execute(
            f"show table extended in {self.schema} like '{PREFIX}*'", fetch=True
        )
        return {
            name: SignOfLife(
                is_building="building=yes" in told,
                count=int(re.search(r"signs=(\d+)", told)[1]),
            )
            for _, name, _, told in table.rows
            if name != self.name
        }

    def give_signs_of_life(self) -> None:
        """Alter the view until the run ends."""
        with self.adapter.connection_named(self.name):
            count = 0
            while not self.ended.wait(self.seconds / SIGNS_PER_WAIT):
                count += 1
                try:
                    self.alter("signs", count)
                except Exception as failure:
                    # The run itself meets the same trouble, and tells it better.
                    logger.debug(f"No sign of life: {failure}")

    def alter(self, name: str, value: Any) -> None:
        """Set a property of this run's view."""
        self.adapter.execute(
            f"alter view {self.schema}.{self.name}"
            f" set tblproperties ('{name}' = '{value}')"
        )

    def release(self) -> None:
        """Let another run begin."""
        self.ended.set()
        self.adapter.execute(f"drop view if exists {self.schema}.{self.name}")


def hold_run_lock(adapter: SparkAdapter, schema: str, run: str, seconds: float) -> None:
    """Hold the lock of a schema of versions for this process's run."""
    adapter.run_lock = RunLock(adapter, schema, run, seconds)
    adapter.run_lock.acquire()


def check_session(adapter: SparkAdapter) -> None:
    """Raise if the profile has no session, before anything is built."""
    session_parameters(adapter.config.credentials)


def release_run_lock(adapter: SparkAdapter) -> None:
    """Release the lock that this process holds."""
    adapter.run_lock.release()


def remove_unnamed_folders(adapter: SparkAdapter, schema: str) -> None:
    """Remove the folders of versions that no table has.

    A kill while a version is written leaves its folder and no table. Only the process
    that wrote can leave it so: where a server writes, a killed dbt leaves none.
    """
    credentials = adapter.config.credentials
    parameters = credentials.server_side_parameters or {}
    if credentials.method != "session" or "spark.remote" in parameters:
        return
    spark = start_session(parameters)
    tables = {row.tableName for row in spark.sql(f"show tables in {schema}").collect()}
    described = spark.sql(f"describe schema {schema}").collect()
    (location,) = (row[1] for row in described if row[0] == "Location")
    path = spark._jvm.org.apache.hadoop.fs.Path(location)
    file_system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    for status in file_system.listStatus(path) if file_system.exists(path) else ():
        name = status.getPath().getName()
        if VERSION.search(name) and name not in tables:
            file_system.delete(status.getPath(), True)


ADAPTER_METHODS = (
    check_session,
    hold_run_lock,
    release_run_lock,
    remove_unnamed_folders,
)
