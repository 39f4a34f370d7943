"""Runs the project's own compiled models over any raw world, in one Spark session.

dbt compiles the models once; then each world goes through the compiled SQL and the Python
models as temporary views, without a metastore and without files. What differs from
`dbt run` is only where the rows are kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dbt.cli.main import dbtRunner
from evaluator import TABLES, Evaluation, World
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

RELATION = re.compile(r"\b(?P<schema>secure_datasets|repository_sample)\.(?P<name>\w+)")
# Compiling a Python model asks the metastore whether it exists, and it is run as it stands.
SELECTION = ["--select", "resource_type:model", "--exclude", "file:*.py"]


@dataclass(frozen=True)
class Model:
    """One compiled model: its SQL, or the Python file that holds it."""

    name: str
    sql: str | None
    path: Path
    parents: tuple[str, ...]


class CompileError(Exception):
    """dbt could not compile the project; the message is dbt's."""


def compile_models(project: Path, target: Path) -> list[Model]:
    """Compile a project without Spark; return its models, parents before children."""
    arguments = ["--project-dir", str(project), "--profiles-dir", str(project)]
    arguments += ["--target-path", str(target), "--quiet"]
    options = [
        "--no-populate-cache",
        "--no-introspect",
        "--indirect-selection",
        "empty",
    ]
    result = dbtRunner().invoke(["compile", *options, *SELECTION, *arguments])
    if not result.success:
        failed = [
            f"{r.node.name}: {r.message}"
            for r in result.result or []
            if r.status != "success"
        ]
        raise CompileError(str(result.exception or "\n".join(failed)))
    nodes = json.loads((target / "manifest.json").read_text())["nodes"]
    waiting = {
        key: Model(
            name=node["name"],
            sql=node.get("compiled_code") if node["language"] == "sql" else None,
            path=project / node["original_file_path"],
            parents=tuple(node["depends_on"]["nodes"]),
        )
        for key, node in nodes.items()
        if node["resource_type"] == "model"
    }
    ordered = []
    while waiting:
        ready = [
            key
            for key, model in waiting.items()
            if not any(parent in waiting for parent in model.parents)
        ]
        ordered += [waiting.pop(key) for key in ready]
    return ordered


def load_python_model(path: Path) -> ModuleType:
    """Import a Python model's file."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


class _Config:
    """Stands for `dbt.config` in a model: here nothing is stored."""

    def __call__(self, **_: Any) -> None: ...


class Pipeline:
    """The compiled models and the session in which they run."""

    def __init__(self, spark: SparkSession, models: list[Model], seeds: Path) -> None:
        self.spark = spark
        self.models = models
        self.config = _Config()
        with (seeds / "role_permissions.csv").open(encoding="utf-8") as file:
            header, *lines = [line.rstrip("\n").split(",") for line in file]
        self._view("role_permissions", self._text_frame(header, lines))

    def ref(self, name: str) -> DataFrame:
        """What a Python model gets from `dbt.ref`."""
        return self.spark.table(name)

    def run(self, world: World, only: set[str] | None = None) -> dict[str, DataFrame]:
        """Run every model over a world; return each result by the model's name."""
        for table, columns in TABLES.items():
            lines = [[row[name] for name in columns] for row in world[table]]
            self._view(f"raw_{table}", self._text_frame(list(columns), lines))
        results = {}
        for model in self.models:
            if only is not None and model.name not in only:
                continue
            if model.sql is None:
                frame = load_python_model(model.path).model(self, self.spark)
            else:
                frame = self.spark.sql(RELATION.sub(_view_name, model.sql))
            results[model.name] = self._view(model.name, frame)
        return results

    def _text_frame(self, columns: list[str], lines: list[list]) -> DataFrame:
        schema = StructType([StructField(name, StringType()) for name in columns])
        rows = [tuple(value or None for value in line) for line in lines]
        return self.spark.createDataFrame(rows, schema).coalesce(1)

    def _view(self, name: str, frame: DataFrame) -> DataFrame:
        # One partition: a union would otherwise grow a task for each of its branches.
        kept = frame.coalesce(1).localCheckpoint()
        kept.createOrReplaceTempView(name)
        return kept


def _view_name(found: re.Match) -> str:
    raw = "raw_" if found["schema"] == "repository_sample" else ""
    return raw + found["name"]


def comparable_rows(frame: DataFrame) -> Counter:
    """Count a result's rows, each value as a text that depends on no setting."""
    columns = [
        F.unix_micros(field.name)
        if isinstance(field.dataType, TimestampType)
        else F.col(f"`{field.name}`")
        for field in frame.schema
    ]
    texts = [column.cast("string") for column in columns]
    return Counter(map(tuple, frame.select(*texts).collect()))


def comparable_value(value: Any) -> str | None:
    """Return an evaluator's value as the text that Spark gives for the same."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "timestamp"):
        days = value.toordinal() - 719163  # 1 January 1970
        seconds = (days * 24 + value.hour) * 3600 + value.minute * 60 + value.second
        return str(seconds * 1_000_000 + value.microsecond)
    return str(value)


def comparable(rows: list[tuple]) -> Counter:
    """Count an evaluator's rows in the same form."""
    return Counter(tuple(map(comparable_value, row)) for row in rows)


def differences(results: dict[str, DataFrame], expected: Evaluation) -> dict[str, list]:
    """Return, for each relation that differs, rows that are too many or missing."""
    wanted = {name: comparable(rows) for name, rows in expected.relations.items()}
    # Which of several tied deliveries stands for a conflict is open: leave out raw_id.
    wanted["rejected_rows"] = comparable(
        [(table, reason, loaded) for table, _, reason, loaded in expected.rejected]
    )
    wanted["dangling_references"] = comparable(expected.dangling)
    found = {}
    for name, rows in wanted.items():
        frame = results.get(name)
        if frame is None:
            continue
        if name == "rejected_rows":
            frame = frame.select("table_name", "reason", "sf_date_created")
        got = comparable_rows(frame)
        if got != rows:
            found[name] = [
                *(("too many", row) for row in (got - rows).elements()),
                *(("missing", row) for row in (rows - got).elements()),
            ]
    return found
