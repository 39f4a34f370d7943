"""Measures works in turns, and what a query reads."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

# Fewer, by the environment, are for trying the benchmark itself.
ROUNDS = int(os.environ.get("ROUNDS", "15"))
Key = TypeVar("Key")


def in_turns(
    works: dict[Key, Callable[[], float]], rounds: int | None = None
) -> dict[Key, float]:
    """Do all works once unmeasured, then in turns; return each one's median seconds."""
    rounds = min(rounds or ROUNDS, ROUNDS)
    for work in works.values():
        work()
    taken: dict[Key, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        names = list(works)
        # Who follows whom must not decide.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(works[name]())
    return {name: statistics.median(values) for name, values in taken.items()}


def reading(spark: SparkSession, query: str) -> Callable[[], float]:
    """Return what runs a query, makes every column of every row, and drops them."""

    def work() -> float:
        started = time.monotonic()
        spark.sql(query).write.format("noop").mode("overwrite").save()
        return time.monotonic() - started

    return work


def weighed(
    spark: SparkSession, what: str, queries: dict[Key, str], rounds: int | None = None
) -> dict[Key, float]:
    """Run queries in turns; return the median seconds of each, or stop if they differ.

    what  the comparison, for the message
    """
    counts = {name: spark.sql(query).count() for name, query in queries.items()}
    if len({*counts.values()}) != 1:
        sys.exit(f"{what}: the rows differ: {counts}")
    return in_turns({n: reading(spark, query) for n, query in queries.items()}, rounds)


def rows_read(spark: SparkSession, query: str, columns: int) -> int:
    """Run a query; return the rows that it read of what has as many columns as a base.

    By the metrics of the plan that was carried out: pages and folders that were skipped
    are not among them.
    """
    execution = spark.sql(query)._jdf.queryExecution()
    execution.toRdd().count()
    waiting, found = [execution.executedPlan()], 0
    while waiting:
        plan = waiting.pop()
        name = plan.nodeName()
        if name == "AdaptiveSparkPlan":
            waiting.append(plan.executedPlan())
        elif "QueryStage" in name:
            waiting.append(plan.plan())
        elif name.startswith("Scan parquet") and plan.output().size() >= columns:
            found += plan.metrics().get("numOutputRows").get().value()
        children = plan.children()
        waiting += [children.apply(place) for place in range(children.size())]
    return found
