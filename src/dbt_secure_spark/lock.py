"""Lock the schemas of versions for one run at a time, through the shared metastore.

A run creates a view with its own name in each schema of versions, and alters it every
few seconds until it ends: while the view changes, the run is alive. A later run that
finds the view waits and looks again. If the view has changed, the earlier run goes on
and the later run is refused; if not, the earlier run was killed, and its view is
dropped.

A suspended run may be mistaken for a killed one. So each sign of life is a lease:
nobody can take the lock before the lease expires, and from then on the run checks the
lock before it publishes.
"""

from __future__ import annotations

import contextvars
import re
import threading
import time
from dataclasses import dataclass
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.versions import definitions

PREFIX = "live_run_"
# A waiting run must not mistake the pause between two signs of life for the end.
SIGNS_PER_WAIT = 5
logger = AdapterLogger("Spark")


class RunLost(DbtRuntimeError):
    """This run was mistaken for a killed one: a later run may be building by now."""


class RunRefused(DbtRuntimeError):
    """A different run is alive, and goes first."""


@dataclass(frozen=True)
class SignOfLife:
    """The state of a run's view: whether the run builds, how often it was altered."""

    is_building: bool
    count: int | None
    # The length of a lease: a view unchanged for so long belongs to a killed run.
    seconds: float = 0

    @classmethod
    def parse(cls, told: str) -> SignOfLife:
        """Parse the metastore's definition of a run's view."""
        count = re.search(r"\bsigns=(\d+)", told)
        seconds = re.search(r"\bseconds=(\d+(?:\.\d+)?)", told)
        return cls(
            is_building="building=yes" in told,
            count=int(count[1]) if count else None,
            seconds=float(seconds[1]) if seconds else 0,
        )


def now() -> float:
    """Return seconds of a clock that runs while the process or machine is suspended."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class RunLock:
    """The right to build the contents of some schemas of versions, until `release`."""

    def __init__(
        self, adapter: SparkAdapter, schemas: list[str], run: str, seconds: float
    ) -> None:
        self.adapter = adapter
        # Every run uses the same order, so one of two runs is first in all schemas.
        self.schemas = sorted(schemas)
        self.run = run
        self.name = f"{PREFIX}{run}"
        self.seconds = seconds
        self.ended = threading.Event()
        self.is_lost = False
        self.leased_until = 0.0
        # The model threads and the thread that gives signs may check at once.
        self.asking = threading.Lock()
        self.count = 0

    def acquire(self) -> list[str]:
        """Wait until no competing run is alive, and return the killed runs.

        Their views stay until `bury`. Raises RunRefused if a competing run goes on.
        """
        begun = now()
        for schema in self.schemas:
            self.adapter.execute(
                f"create view {schema}.{self.name} tblproperties ('building' = 'no',"
                f" 'signs' = '0', 'seconds' = '{self.seconds}') as select 1 as alive"
            )
        self.leased_until = begun + self.seconds
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self.give_signs_of_life,), daemon=True
        ).start()
        dead: list[str] = []
        if before := self.others():
            longest = max(self.seconds, *(sign.seconds for sign in before.values()))
            logger.info(f"Another run has not ended: watching it {longest} s")
            time.sleep(longest)
            dead = self.judge(before, self.others())
        self.alter("building", "yes")
        return dead

    def judge(
        self,
        before: dict[tuple[str, str], SignOfLife],
        after: dict[tuple[str, str], SignOfLife],
    ) -> list[str]:
        """Return the dead runs. Raises RunRefused if a live run goes first."""
        dead = []
        for (schema, name), sign in after.items():
            if sign == before.get((schema, name)):
                dead.append(name.removeprefix(PREFIX))
            # If two runs begin at once, the run with the earlier name goes on.
            elif sign.is_building or name < self.name:
                self.release()
                raise RunRefused(
                    "Another dbt run is building this schema"
                    f" ({name.removeprefix(PREFIX)}): wait for it to end, then run"
                    " this one again."
                )
        return list(dict.fromkeys(dead))

    def bury(self, runs: list[str]) -> None:
        """Drop the views of dead runs, once their leftovers are cleared away."""
        for run in runs:
            for schema in self.schemas:
                self.adapter.execute(f"drop view if exists {schema}.{PREFIX}{run}")

    def others(self) -> dict[tuple[str, str], SignOfLife]:
        """Return the signs of life in the views of all runs but this one."""
        return {
            (schema, name): SignOfLife.parse(told)
            for schema in self.schemas
            for name, told in definitions(self.adapter, schema, f"{PREFIX}*").items()
            if name != self.name
        }

    def give_signs_of_life(self) -> None:
        """Alter the view until the run ends."""
        with self.adapter.connection_named(self.name):
            while not self.ended.wait(self.seconds / SIGNS_PER_WAIT):
                try:
                    self.check()
                    self.renew()
                except RunLost as lost:
                    logger.warning(str(lost))
                    return
                except Exception as failure:
                    # The run checks the lock again before it publishes.
                    logger.debug(f"No sign of life: {failure}")

    def renew(self) -> None:
        """Give a sign of life, which renews the lease."""
        begun = now()
        self.count += 1
        try:
            self.alter("signs", self.count)
        except BaseException:
            # A different run may have taken the lock: the next check must look first.
            self.leased_until = 0.0
            raise
        self.leased_until = begun + self.seconds

    def check(self) -> None:
        """Check that this run may still publish. Raises RunLost if not."""
        with self.asking:
            if not self.is_lost and not self.ended.is_set() and self.schemas:
                self.ask_if_due()
            if self.is_lost:
                raise RunLost(
                    f"This run ({self.run}) was suspended for longer than"
                    f" run_lock_seconds ({self.seconds}) and taken for killed by"
                    " another one: it publishes nothing further. Run dbt again."
                )

    def ask_if_due(self) -> None:
        """Renew an expired lease, if nobody has taken the lock meanwhile."""
        if now() < self.leased_until:
            return
        # A competing run may have looked twice already, and drop this run's view at any
        # moment. It has decided as soon as its own view, or this run's, is gone.
        deadline = now() + 2 * self.seconds
        while self.is_there():
            try:
                self.renew()
                others = self.others().values()
            except DbtRuntimeError:
                if now() > deadline:
                    raise
            else:
                # A run that builds has decided, but not yet dropped this run's view.
                if any(sign.is_building for sign in others):
                    break
                if not others or now() > deadline:
                    return
            time.sleep(self.seconds / SIGNS_PER_WAIT)
        self.is_lost = True

    def is_there(self) -> bool:
        """Return whether this run's view is in every schema."""
        return all(
            self.name in definitions(self.adapter, schema, self.name)
            for schema in self.schemas
        )

    def alter(self, name: str, value: Any) -> None:
        """Set a property of this run's view."""
        for schema in self.schemas:
            self.adapter.execute(
                f"alter view {schema}.{self.name}"
                f" set tblproperties ('{name}' = '{value}')"
            )

    def release(self) -> None:
        """Release the lock, so that the next run can begin."""
        self.ended.set()
        for schema in self.schemas:
            self.adapter.execute(f"drop view if exists {schema}.{self.name}")
