"""The project's own models, run over rows that are not the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "stg_"
# Put before a model's SQL: its ref() returns the rows side by side.
OWN_REF = "{%- set ref = adapter.access_timelines().ref(graph.nodes) -%}\n"
VIEW = "access_timeline_"
# The load time of a delivery.
LOADED = "sf_date_created"
Facts = dict[str, Any]


def view(name: str) -> str:
    """Return the view that replaces a model."""
    return VIEW + name


class NotToldError(Exception):
    """A model reads a relation without a known past: no model, seed or raw table."""


def models_needed(names: Iterable[str], nodes: Mapping[str, Facts]) -> Facts:
    """Return the parts of these models.

    models  between staging and these: name, language and code to render, parents first
    staged  the raw tables that are staged for them
    """
    by_name = {
        node["name"]: node
        for node in nodes.values()
        if node["resource_type"] == "model"
    }
    models: dict[str, Facts] = {}
    staged: list[str] = []

    def add(name: str) -> None:
        if name not in by_name:
            raise NotToldError(name)
        node = by_name[name]
        if name in models or name in staged:
            return
        if name.startswith(PREFIX) and node["package_name"] == "secure_datasets":
            staged.append(name)
            return
        for parent in node["depends_on"]["nodes"]:
            kind = parent.split(".")[0]
            if kind == "model" and parent in nodes:
                add(nodes[parent]["name"])
            elif kind != "seed":
                raise NotToldError(name)
        code, language = node["raw_code"], node["language"]
        if language == "sql":
            code = OWN_REF + code
        models[name] = {"name": name, "language": language, "code": code}

    for name in names:
        add(name)
    tables = [name.removeprefix(PREFIX) for name in staged]
    return {"models": list(models.values()), "staged": tables}


class _Config:
    """Stands for `dbt.config` in a Python model: here nothing is stored."""

    def __call__(self, **_: Any) -> None: ...

    def get(self, _: str, default: Any = None) -> Any:
        return default


class Dbt:
    """The `dbt` of a Python model: the rows side by side, and the seeds."""

    def __init__(self, spark: SparkSession, seeds: Mapping[str, str]) -> None:
        self.spark = spark
        self.seeds = seeds
        self.config = _Config()

    def ref(self, *name: str) -> DataFrame:
        """Return a relation by its name."""
        return self.spark.table(self.seeds.get(name[-1]) or view(name[-1]))


class Models:
    """Runs models over temporary views, which are dropped at the end."""

    def __init__(self, spark: SparkSession, seeds: Mapping[str, str]) -> None:
        self.spark = spark
        self.dbt = Dbt(spark, seeds)
        self.views: list[str] = []

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.views:
            self.spark.catalog.dropTempView(name)

    def put(self, name: str, frame: DataFrame) -> None:
        """Let models read a frame by this name."""
        frame.createOrReplaceTempView(view(name))
        self.views.append(view(name))

    def result(self, model: Facts) -> DataFrame:
        """Return the rows of a model over these views."""
        if model["language"] == "sql":
            return self.spark.sql(model["code"])
        module: Facts = {"__name__": model["name"]}
        exec(compile(model["code"], f"<{model['name']}>", "exec"), module)
        return module["model"](self.dbt, self.spark)
