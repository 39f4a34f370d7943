"""Plain views: the same models as views all the way down."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from types import ModuleType

from pyspark.sql import DataFrame, SparkSession
from workspace import FOLDER, ROOT, SCHEMA

TARGET = FOLDER / "target" / "local"


class _Session:
    """Stands for dbt in a Python model: reads the views, and stores nothing."""

    def __init__(self, spark: SparkSession, views: set[str]) -> None:
        self.spark = spark
        self.views = views

    def config(self, **_: object) -> None:
        """What a model says about how it is stored is left aside."""

    def ref(self, name: str) -> DataFrame:
        """Read another model's view, or what is no model as it is."""
        is_view = name in self.views
        return self.spark.table(view_name(name) if is_view else f"{SCHEMA}.{name}")


def view_name(model: str) -> str:
    """The temporary view that stands for a model."""
    return f"plain_{model}"


def create_views(spark: SparkSession, asked: Iterable[str]) -> None:
    """Create a temporary view for each of some models, and for all that they read.

    Of those that dbt has just run. What is no model (the raw tables, the role table) is
    read as it is.
    """
    nodes = json.loads((TARGET / "manifest.json").read_text())["nodes"]
    models = {
        node["name"]: node
        for node in nodes.values()
        if node["resource_type"] == "model"
    }
    waiting: dict[str, dict] = {}
    unread = [*asked]
    while unread:
        name = unread.pop()
        if name in models and name not in waiting:
            waiting[name] = models[name]
            parents = models[name]["depends_on"]["nodes"]
            unread += [key.split(".")[-1] for key in parents]
    names = set(waiting)

    def view_of(found: re.Match) -> str:
        name = found["name"]
        return view_name(name) if name in names else found[0]

    while waiting:
        for name, node in list(waiting.items()):
            parents = {key.split(".")[-1] for key in node["depends_on"]["nodes"]}
            if parents & set(waiting):
                continue
            if node["language"] == "sql":
                path = TARGET / "compiled" / node["package_name"]
                sql = (path / node["original_file_path"]).read_text()
                frame = spark.sql(re.sub(rf"\b{SCHEMA}\.(?P<name>\w+)", view_of, sql))
            else:
                module = ModuleType(name)
                code = (ROOT / node["original_file_path"]).read_text()
                exec(compile(code, name, "exec"), module.__dict__)
                frame = module.model(_Session(spark, names), spark)
            frame.createOrReplaceTempView(view_name(name))
            del waiting[name]
