"""Runs the project's own compiled models over any raw world, in one Spark session.

dbt compiles the models once; then each world goes through the compiled SQL and the
Python models as temporary views, without a metastore and without files. What differs
from `dbt run` is only where the rows are kept.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from dbt.cli.main import dbtRunner
from oracle.contract import COLUMNS, TABLES, Evaluation, World, evaluate
from projects import ROOT, SAMPLE, local_output
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from dbt_spark_session.folders import Folders, with_folders
from dbt_spark_session.queries import replaced
from dbt_spark_session.session import start_session, with_settings

# What a past state reads stands in schemas that are called after its moment.
RELATION = re.compile(
    r"\b(?P<schema>secure_datasets|repository_sample)(_as_of_[0-9_]+)?\.(?P<name>\w+)"
)
# Compiling a Python model asks the metastore whether it exists; it is run as it stands.
SELECTION = ["--select", "resource_type:model", "--exclude", "file:*.py"]
# What the oracle knows the rows of, the cheapest to work out first.
COMPARED = (
    *("vw_dataset_jobs", "vw_dataset_tables", "vw_dataset_columns"),
    *("vw_dataset_metadata_objects", "vw_dataset_event_history"),
    *("vw_dataset_job_executions", "vw_dataset_test_executions", "vw_dataset_tests"),
    *("vw_dataset_template_test_executions", "vw_secure_user_project_access"),
    *("vw_secure_user_data_source_access", "vw_secure_user_results_access"),
    *(name for name in COLUMNS if name.startswith("vw_secure_dataset_")),
    *("rejected_rows", "dangling_references", "vw_dataset_effective_user_permissions"),
)
# The seeds of the product, and those that the sample brings, of the same names too.
SEEDS = (ROOT / "seeds", ROOT / SAMPLE / "seeds")
# The settings that must make no difference: session time zone and ANSI mode.
SESSIONS = (("UTC", "false"), ("America/New_York", "true"))
AN_ERROR = "an error"
# The moment with which a past state is compiled, to be put off.
COMPILED_AS_OF = datetime(2024, 5, 1)
# A text in a comparison, where a column's own text can't be taken for it.
NULL, END = "\ue000", "\ue001"


@dataclass(frozen=True)
class Model:
    """One compiled model: its code, and the names of what it reads."""

    name: str
    sql: str | None
    path: Path
    parents: tuple[str, ...]

    @property
    def code(self) -> str:
        """What decides the rows: the compiled SQL, or the Python file."""
        return self.path.read_text() if self.sql is None else self.sql


class CompileError(Exception):
    """dbt could not compile the project; the message is dbt's."""


def compile_models(
    project: Path, target: Path, manifest=None, **variables: str
) -> list[Model]:
    """Compile a project without Spark; return its models, parents before children.

    With dbt's manifest of the project, made with the same variables, it is not parsed
    once more.
    """
    arguments = ["--project-dir", str(project), "--profiles-dir", str(project)]
    arguments += ["--target-path", str(target), "--quiet"]
    options = [
        "--no-populate-cache",
        "--no-introspect",
        "--indirect-selection",
        "empty",
        "--vars",
        json.dumps(variables),
    ]
    result = dbtRunner(manifest=manifest).invoke(
        ["compile", *options, *SELECTION, *arguments]
    )
    if not result.success:
        failed = [
            f"{r.node.name}: {r.message}"
            for r in result.result or []
            if r.status != "success"
        ]
        raise CompileError(str(result.exception or "\n".join(failed)))
    manifest = json.loads((target / "manifest.json").read_text())
    nodes, root = manifest["nodes"], manifest["metadata"]["project_name"]
    waiting = {
        node["name"]: Model(
            name=node["name"],
            sql=node.get("compiled_code") if node["language"] == "sql" else None,
            path=_folder_of(project, root, node) / node["original_file_path"],
            parents=tuple(map(_name_of_parent, node["depends_on"]["nodes"])),
        )
        for node in nodes.values()
        if node["resource_type"] == "model"
    }
    ordered = []
    while waiting:
        ready = [
            name
            for name, model in waiting.items()
            if not any(parent in waiting for parent in model.parents)
        ]
        ordered += [waiting.pop(name) for name in ready]
    return ordered


def as_of(models: list[Model], moment: datetime) -> list[Model]:
    """Return models that were compiled as of `COMPILED_AS_OF`, as of another moment.

    To compile the project for each moment would take longer than to run it.
    """
    found = [f"timestamp '{each}Z'" for each in (COMPILED_AS_OF, moment)]
    return [
        replace(model, sql=model.sql and model.sql.replace(*found)) for model in models
    ]


def laid_out(models: list[Model], ansi: str) -> list[Model]:
    """Return models with their bases in folders in one of the modes, as versions lie.

    So both layouts are compared. The folders stand in the query that reads a base.
    """
    if ansi == "false":
        return models
    for base in models:
        if not base.name.startswith("vw_dataset_"):
            continue
        key = re.search(r"config\(\s*cluster_by=\['(\w+)'", base.path.read_text())
        cases = re.search(r"folders_by=(\{[^}]*\})", base.path.read_text())
        by_value = ast.literal_eval(cases[1]) if cases else {}
        if not key or not (cases or key[1].endswith("_id")):
            continue
        relation = f"secure_datasets.{base.name}"
        folders = Folders(key[1], 3, tuple(by_value.items()))
        rows = f"(select *, {folders.of_row} as `{folders.column}` from {relation})"
        models = [
            replace(
                model,
                sql=replaced(
                    with_folders(model.name, model.sql, relation, relation, folders),
                    relation,
                    rows,
                ),
            )
            if base.name in model.parents and model.name.startswith("vw_secure_")
            else model
            for model in models
        ]
    return models


def _folder_of(project: Path, root: str, node: dict) -> Path:
    """Return the folder of a node's project: the root project, or one it installs."""
    package = node["package_name"]
    return project if package == root else project / "dbt_packages" / package


def _name_of_parent(key: str) -> str:
    """Return the name here of a node; a raw table is a source, the sample's a seed."""
    kind, *_, name = key.split(".")
    is_raw = kind in ("source", "seed") and name in TABLES
    return f"raw_{name}" if is_raw else name


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


class _Config:
    """Stands for `dbt.config` in a model: here nothing is stored."""

    def __call__(self, **_: Any) -> None: ...


class Pipeline:
    """The compiled models and the session in which they run.

    `kept`, if given, holds results by what they were made of, so that a later run, by
    any pipeline with the same settings, makes none of them again.
    """

    def __init__(
        self,
        spark: SparkSession,
        models: list[Model],
        seeds: Iterable[Path] = SEEDS,
        kept: dict[str, DataFrame] | None = None,
    ) -> None:
        self.spark = spark
        self.models = models
        self.config = _Config()
        self.keeps = kept is not None
        self.kept = kept if kept is not None else {}
        self.made_of: dict[str, str] = {}
        types = _column_types(seeds)
        for path in _files_of(seeds):
            with path.open(encoding="utf-8", newline="") as file:
                header, *lines = csv.reader(file)
            name = _name_of_parent(f"seed.{path.stem}")
            self._load(name, header, lines, types[path.stem])

    def ref(self, name: str) -> DataFrame:
        """What a Python model gets from `dbt.ref`."""
        return self.spark.table(_view_name(name))

    def needed(self, names: Iterable[str]) -> set[str]:
        """Return the models without which these can't be run, and these."""
        needed = set(names)
        for model in reversed(self.models):
            if model.name in needed:
                needed.update(model.parents)
        return needed

    def load(self, world: World) -> None:
        """Make a world's raw tables those that are read."""
        for table, columns in TABLES.items():
            lines = [[row[name] for name in columns] for row in world[table]]
            self._load(f"raw_{table}", list(columns), lines)

    def run(self, world: World, only: set[str] | None = None) -> dict[str, DataFrame]:
        """Run the compared models, or only these, over a world; return the results."""
        if only is None:
            only = self.needed(COMPARED)
        self.load(world)
        waiting = [model for model in self.models if model.name in only]
        read = {parent for model in self.models for parent in model.parents}
        results: dict[str, DataFrame] = {}
        # Spark plans a query in one thread, and takes longer to plan these than to run.
        with ThreadPoolExecutor(2) as pool:
            while waiting:
                names = {model.name for model in waiting}
                ready = [model for model in waiting if names.isdisjoint(model.parents)]
                frames = pool.map(lambda m: self._result(m, m.name in read), ready)
                for model, frame in zip(ready, frames, strict=True):
                    results[model.name] = frame
                    frame.createOrReplaceTempView(_view_name(model.name))
                waiting = [model for model in waiting if model.name not in results]
        return results

    def _result(self, model: Model, is_read: bool) -> DataFrame:
        """Return a model's result: worked out now if others read it, else later."""
        parents = (self.made_of.get(parent, "") for parent in model.parents)
        made_of = self.made_of[model.name] = _digest(model.code, *parents)
        if made_of in self.kept:
            return self.kept[made_of]
        if model.sql is None:
            module = load_python_model(model.path)
            # Both ways of nesting groups are compared, each in one of the modes.
            if self.spark.conf.get("spark.sql.ansi.enabled") == "true":
                module.MOST_ON_THE_DRIVER = 0
            frame = module.model(self, self.spark)
        else:
            frame = self.spark.sql(of_the_world(model.sql))
        if model.sql is None or "union all" in model.sql:
            # A union would otherwise grow a task for each of its branches.
            frame = frame.coalesce(1)
        if is_read:
            frame = frame.localCheckpoint()
        return self._keep(made_of, frame)

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


def _files_of(folders: Iterable[Path]) -> list[Path]:
    """Return the files of the seeds but the raw tables; a later folder's count."""
    files = {
        path.stem: path
        for folder in folders
        for path in sorted({*folder.rglob("*.csv")} - {*folder.glob("repository/*")})
    }
    return list(files.values())


def _column_types(folders: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Return the types that columns of seeds are loaded as, where they are no text."""
    return {
        entry["name"]: entry.get("config", {}).get("column_types", {})
        for folder in folders
        for path in folder.rglob("_*.yml")
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["seeds"]
    }


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
        # Which of several tied deliveries stands for a conflict is open.
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


def comparable_value(value: Any) -> str:
    """Return an oracle's value as the text that Spark gives for the same."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "timestamp"):
        days = value.toordinal() - 719163  # 1 January 1970
        seconds = (days * 24 + value.hour) * 3600 + value.minute * 60 + value.second
        return str(seconds * 1_000_000 + value.microsecond)
    return str(value)


def comparable(rows: list[tuple]) -> Counter:
    """Count an oracle's rows in the same form."""
    return Counter(END.join(map(comparable_value, row)) for row in rows)


def wanted_rows(expected: Evaluation) -> dict[str, list[tuple]]:
    """Return what the oracle expects of each relation that is compared."""
    rejected = [
        (table, None if reason == "conflict" else raw_id, reason, loaded)
        for table, raw_id, reason, loaded in expected.rejected
    ]
    return expected.relations | {
        "rejected_rows": rejected,
        "dangling_references": expected.dangling,
    }


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
            *(("too many", _values(row)) for row in (gotten[name] - rows).elements()),
            *(("missing", _values(row)) for row in (rows - gotten[name]).elements()),
        ]
        for name, rows in wanted.items()
        if gotten[name] != rows
    }


def _values(row: str) -> tuple[str | None, ...]:
    return tuple(None if text == NULL else text for text in row.split(END))


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


def described(found: dict[str, list], rows: int = 3) -> str:
    """Return differences as text: each relation with its first few rows."""
    lines = []
    for name, differing in found.items():
        lines.append(f"{name}: {len(differing)} rows differ")
        columns = COLUMNS.get(name, ())
        for kind, values in differing[:rows]:
            names = (
                columns if len(columns) == len(values) else range(1, len(values) + 1)
            )
            row = ", ".join(f"{n}={v}" for n, v in zip(names, values, strict=True))
            lines.append(f"    {kind}: {row}")
    return "\n".join(lines)
