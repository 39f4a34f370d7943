"""DuckDB resolves the same access from the same files."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession
from workspace import SCHEMA

STAGED = (
    "stg_users",
    "stg_user_global_roles",
    "stg_user_groups",
    "stg_user_group_members",
    "stg_meta_data_sources",
    "stg_data_source_permissions",
    "stg_projects",
    "stg_project_permissions",
    "stg_project_data_sources",
    "role_permissions",
)
RESOLUTION = Path(__file__).with_suffix(".sql")


def files_of(spark: SparkSession, relation: str) -> list[str]:
    """The parquet files that a published relation reads."""
    return [
        name.removeprefix("file:")
        for name in spark.table(f"{SCHEMA}.{relation}").inputFiles()
    ]


def resolve(spark: SparkSession, folder: Path) -> tuple[float, dict[str, int]]:
    """Resolve in DuckDB and write parquet; return the seconds, and the rows by view."""
    with duckdb.connect() as connection:
        connection.execute("set threads to 2")
        for name in STAGED:
            connection.read_parquet(files_of(spark, name)).create_view(name)
        started = time.monotonic()
        connection.execute(RESOLUTION.read_text())
        rows = {}
        for name in ("data_source_access", "project_access", "results_access"):
            (folder / f"{name}.parquet").unlink(missing_ok=True)
            connection.table(name).write_parquet(str(folder / f"{name}.parquet"))
            rows[f"vw_secure_user_{name}"] = len(connection.table(name))
        return time.monotonic() - started, rows
