"""Runs the project's own compiled models over any raw world, in one Spark session.

dbt compiles the models once; then each world goes through the compiled SQL and the
Python models as temporary views, without a metastore and without files. What differs
from `dbt run` is only where the rows are kept.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from comparison import COMPARED, END, NULL, comparable, values_of, wanted_rows
from compiled import RELATION, SEEDS, Model, name_of_parent, seed_files, seed_types
from oracle.contract import TABLES, Evaluation, World, evaluate
from projects import local_output
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType
from quick import raw_rows

from dbt_secure_spark.in_time import NOW, of_columns
from dbt_secure_spark.session import start_session, with_settings
from secure_datasets.engines.compiled import VERSION

# The settings that must make no difference: session time zone and ANSI mode.
SESSIONS = (("UTC", "false"), ("America/New_York", "true"))
AN_ERROR = "an error"


def load_python_model(path: Path) -> ModuleType:
    """Import a Python model's file."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def session_of(project: Path) -> SparkSession:
    """Start the session of a project's profile."""
    return start_session(local_output(project)["server_side_parameters"])


@contextmanager
def session_settings(spark: SparkSession, zone: str, ansi: str) -> Iterator[None]:
    """Give the session this time zone and ANSI mode, and its own back at the end."""
    values = {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi}
    with with_settings(spark, values):
        yield


class _Dbt:
    """Stands for `dbt` in a Python model; here nothing is stored.

    A model with the setting `in_time` reads the rows of any time, if a relation has
    them.
    """

    def __init__(self, spark: SparkSession, in_time: bool | str | None) -> None:
        self.spark, self.in_time = spark, in_time

    def config(self, **_: Any) -> None: ...

    def ref(self, name: str) -> DataFrame:
        whole = _view_name(name) + VERSION
        has_time = self.in_time and self.spark.catalog.tableExists(whole)
        return self.spark.table(whole if has_time else _view_name(name))


class Pipeline:
    """The compiled models and the session in which they run.

    `kept`, if given, holds results by their inputs, so that a later run of any pipeline
    with the same settings reuses them. `clock` is the moment
    of reading.
    """

    def __init__(
        self,
        spark: SparkSession,
        models: list[Model],
        seeds: Iterable[Path] = SEEDS,
        kept: dict[str, DataFrame] | None = None,
        clock: str = NOW,
    ) -> None:
        self.spark = spark
        self.models = models
        self.clock = clock
        self.keeps = kept is not None
        self.kept = kept if kept is not None else {}
        self.made_of: dict[str, str] = {}
        types = seed_types(seeds)
        for path in seed_files(seeds):
            with path.open(encoding="utf-8", newline="") as file:
                header, *lines = csv.reader(file)
            name = name_of_parent(f"seed.{path.stem}")
            self._load(name, header, lines, types[path.stem])

    def needed(self, names: Iterable[str]) -> set[str]:
        """Return these models and all models that they read."""
        needed = set(names)
        for model in reversed(self.models):
            if model.name in needed:
                needed.update(model.parents)
        return needed

    def load(self, world: World) -> None:
        """Let models read a world's raw tables."""
        for table in TABLES:
            raw = raw_rows(world, table)
            self._load(f"raw_{table}", list(raw.columns), raw.rows)

    def run(self, world: World, only: set[str] | None = None) -> dict[str, DataFrame]:
        """Run the compared models, or only these, over a world; return the results."""
        if only is None:
            only = self.needed(COMPARED)
        self.load(world)
        waiting = [model for model in self.models if model.name in only]
        read = {parent for model in self.models for parent in model.parents}
        results: dict[str, DataFrame] = {}
        # Spark plans a query in one thread, and planning takes longer than running.
        with ThreadPoolExecutor(2) as pool:
            while waiting:
                names = {model.name for model in waiting}
                ready = [model for model in waiting if names.isdisjoint(model.parents)]
                frames = pool.map(lambda m: self._result(m, m.name in read), ready)
                for model, frame in zip(ready, frames, strict=True):
                    results[model.name] = self._published(model, frame)
                waiting = [model for model in waiting if model.name not in results]
        return results

    def _result(self, model: Model, is_read: bool) -> DataFrame:
        """Return a model's result: computed now if models read it, else later."""
        parents = (self.made_of.get(parent, "") for parent in model.parents)
        made_of = self.made_of[model.name] = _digest(model.code, self.clock, *parents)
        if made_of in self.kept:
            return self.kept[made_of]
        if model.sql is None:
            module = load_python_model(model.path)
            # Both ways of nesting groups are compared, each in one of the modes.
            if self.spark.conf.get("spark.sql.ansi.enabled") == "true":
                module.MOST_ON_THE_DRIVER = 0
            frame = module.model(_Dbt(self.spark, model.in_time), self.spark)
        else:
            frame = self.spark.sql(of_the_world(model.sql))
        if model.sql is None or "union all" in model.sql:
            # A union would otherwise grow a task for each of its branches.
            frame = frame.coalesce(1)
        if is_read:
            frame = frame.localCheckpoint()
        return self._keep(made_of, frame)

    def _published(self, model: Model, frame: DataFrame) -> DataFrame:
        """Let models read a result by its model's name; return its visible rows.

        If rows hold for a time, the visible ones are the rows of the moment of reading.
        """
        name = _view_name(model.name)
        self.spark.catalog.dropTempView(name + VERSION)
        of_time = of_columns(frame.columns, self.clock)
        if model.in_time and not model.is_view and of_time:
            frame.createOrReplaceTempView(name + VERSION)
            frame = self.spark.sql(of_time.published_rows(name + VERSION))
        frame.createOrReplaceTempView(name)
        return frame

    def _keep(self, made_of: str, frame: DataFrame) -> DataFrame:
        if self.keeps:
            self.kept[made_of] = frame
        return frame

    def _load(
        self,
        name: str,
        columns: list[str],
        lines: list[list],
        types: dict[str, str] | None = None,
    ) -> None:
        """Make a table of texts, the empty ones null; some columns have other types."""
        made_of = self.made_of[name] = _digest(repr((columns, lines)))
        frame = self.kept.get(made_of)
        if frame is None:
            schema = StructType([StructField(name, StringType()) for name in columns])
            rows = [tuple(value or None for value in line) for line in lines]
            frame = self.spark.createDataFrame(rows, schema, verifySchema=False)
            for column, data_type in (types or {}).items():
                frame = frame.withColumn(column, F.col(column).cast(data_type))
            frame = self._keep(made_of, frame.coalesce(1))
        frame.createOrReplaceTempView(_view_name(name))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _view_name(name: str) -> str:
    # No view may hide a relation of the built sample, which shares the session.
    return f"world_{name}"


def of_the_world(sql: str) -> str:
    """Return compiled SQL that reads the world's relations."""
    return RELATION.sub(_view_of_relation, sql)


def _view_of_relation(found: re.Match) -> str:
    raw = "raw_" if found["schema"] == "repository_sample" else ""
    return _view_name(raw + found["name"])


def comparable_rows(frame: DataFrame) -> Counter:
    """Count a result's rows, each as one text that depends on no setting."""
    if "raw_row" in frame.columns:
        # Any of several tied deliveries may represent a conflict.
        raw_id = F.when(F.col("reason") != "conflict", F.col("raw_id"))
        frame = frame.withColumn("raw_id", raw_id).drop("raw_row")
    columns = [
        F.unix_micros(field.name)
        if isinstance(field.dataType, TimestampType)
        else F.col(f"`{field.name}`")
        for field in frame.schema
    ]
    # One text is fetched many times faster than twenty values.
    texts = [F.coalesce(column.cast("string"), F.lit(NULL)) for column in columns]
    return Counter(text for (text,) in frame.select(F.concat_ws(END, *texts)).collect())


def differences(results: dict[str, DataFrame], expected: Evaluation) -> dict[str, list]:
    """Return, for each relation that differs, rows that are too many or missing."""
    wanted = {
        name: comparable(rows)
        for name, rows in wanted_rows(expected).items()
        if name in results
    }
    frames = [results[name] for name in wanted]
    with ThreadPoolExecutor(2) as pool:
        gotten = dict(zip(wanted, pool.map(comparable_rows, frames), strict=True))
    return {
        name: [
            *(("too many", values_of(row)) for row in (gotten[name] - rows).elements()),
            *(("missing", values_of(row)) for row in (rows - gotten[name]).elements()),
        ]
        for name, rows in wanted.items()
        if gotten[name] != rows
    }


def compare(
    pipeline: Pipeline,
    world: World,
    relations: Iterable[str] = COMPARED,
    expected: Evaluation | None = None,
) -> dict[str, list]:
    """Run a world through project and oracle; return where these relations differ.

    A world that Spark can't run differs in the relation AN_ERROR.
    """
    try:
        results = pipeline.run(world, pipeline.needed(relations))
        compared = {name: results[name] for name in relations}
        return differences(compared, expected or evaluate(world))
    except (PySparkException, Py4JError) as error:
        return {AN_ERROR: [("error", (str(error).split("\n")[0],))]}
