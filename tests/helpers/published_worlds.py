"""Worlds as a run would have published them: Parquet files and `published.json`.

DuckDB writes the files that a Spark run would write. The relations come from the
independent evaluators.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oracle.contract import TABLES, World
from own_config import PRODUCTS, document_of
from rendering import ROOT, Macros
from why_sandbox import Asked, Database, documented_columns, load_world, products

from dbt_secure_spark.lineage import digest_of_code
from dbt_secure_spark.published_state import plain
from secure_datasets.digest import python_part
from secure_datasets.engines.published import BUILDING, STATE
from secure_datasets.macro_methods import SecureDatasets

MACRO = re.compile(r"{%-?\s*macro (\w+)\(.*?{%-?\s*endmacro\s*-?%}", re.S)
REF = re.compile(r"""\bref\(['"](\w+)['"]\)""")
DATASET = "vw_secure_dataset_"
SCHEMA, RAW = "secure_datasets", "repository_sample"
RUN, RUN_BEFORE = "20260701000000_00000000", "20260630000000_00000000"
SINCE = "2026-07-01 00:00:00"
SPARK_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "bigint",
    "INTEGER": "int",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}
PATH = (
    "user_id, object_type, object_id, permission_name, path_kind, grant_table,"
    " grant_id, user_group_id, date_created, created_by"
)
# Models without rows in a world.
UNBUILT = ("view_outcomes", "view_decisions", "vw_secure_user_roles")
VARS = {
    "raw_schema": RAW,
    "sample_schema": RAW,
    "loads_sample": True,
    "feeds": {},
    "absent_tables": [],
    "roles_may_be_missing": [],
}


def macros() -> dict[str, str]:
    """Return the texts of the product's macros."""
    return {
        found[1]: found[0]
        for path in sorted((ROOT / "macros").glob("*/*.sql"))
        for found in MACRO.finditer(path.read_text(encoding="utf-8"))
    }


def document(rendered: Macros | None = None) -> dict[str, Any]:
    """Return what the product hands in, with its own config or that of macros."""
    rendered = rendered or Macros(document_of(PRODUCTS))
    return plain(
        {
            "version": version("secure-datasets"),
            "python_part": python_part(),
            "config": rendered.secure_datasets_config(),
            "raw_tables": rendered.repository_tables(),
            "feeds": {},
            "versions_before": {},
            "vars": VARS,
            "macros": macros(),
            "config_files": [],
        }
    )


class PublishedWorld:
    """A world in a folder, as the state of a run that has read it.

    asked   what a world with a config of its own is asked by
    """

    def __init__(self, folder: Path, world: World, asked: Asked | None = None) -> None:
        self.folder = folder
        if asked is None:
            database = Database()
            load_world(database, world)
            asked = products(database).over(world)
        self.asked, self.database = asked, asked.database
        # It reads the raw tables, which are published too.
        self.asked.uncounted_of("users")
        self.database.connection.execute(
            f"create or replace table int_access_paths as select distinct {PATH}"
            " from explained_access_paths"
        )
        self.values = {
            "format": 1,
            "run": RUN,
            "written_at": "2026-07-01T00:00:00+00:00",
            "project": "secure_datasets",
            "schema": SCHEMA,
            "schemas": [RAW, SCHEMA],
            "relations": {},
            "versions": {},
            "raw": {},
            "graph": {"nodes": {}, "sources": {}},
            "documents": {"secure_datasets": document(asked)},
        }
        folder.mkdir(parents=True, exist_ok=True)
        tables = self.database.connection.execute("show tables").fetchall()
        for (name,) in tables:
            self._publish(name)
        for name in {*UNBUILT} - {name for (name,) in tables}:
            self._add_node(name, SCHEMA, "model", [])
        self._add_code()
        self.write()

    @property
    def path(self) -> Path:
        """The file of the state."""
        return self.folder / STATE

    def write(self, **changes: Any) -> None:
        """Write the state, with some values changed."""
        self.path.write_text(json.dumps(self.values | changes))

    def begin_run(self, name: str) -> None:
        """Leave the files of an unfinished run."""
        (self.folder / BUILDING).write_text(json.dumps({"format": 1, "run": name}))

    def replaces(self, table: str, before: PublishedWorld) -> None:
        """Let a feed hold the present of a table, and keep its version of before."""
        [of_before] = (
            version
            for name, version in before.values["versions"].items()
            if name.endswith(f".stg_{table}__v{RUN}")
        )
        version = f"{SCHEMA}_versions.stg_{table}__v{RUN_BEFORE}"
        self.values["versions"][version] = of_before
        told = self.values["documents"]["secure_datasets"]
        feed = {table: {"kind": "current"}}
        told["feeds"] = SecureDatasets().feeds(feed, told["raw_tables"])
        # The stored rows of an earlier run ignore this feed.
        self.values["relations"].pop(f"{SCHEMA}.uncounted_deliveries")
        told["versions_before"] = {table: {"version": version, "since": SINCE}}
        self.write()

    def _publish(self, table: str) -> None:
        is_raw = table.removeprefix("raw_") in TABLES and table.startswith("raw_")
        name = table.removeprefix("raw_") if is_raw else table
        schema = RAW if is_raw else SCHEMA
        version = f"{schema}_versions.{name}__v{RUN}"
        place = self.folder / f"{name}__v{RUN}"
        place.mkdir()
        file = place / "part-0.parquet"
        connection = self.database.connection
        connection.execute(f"copy {table} to '{file}' (format parquet)")
        described = connection.execute(f"describe {table}").fetchall()
        columns = [[row[0], _spark_type(row[1])] for row in described]
        self.values["versions"][version] = {
            "run": RUN,
            "format": "parquet",
            "partitioned_by": [],
            "columns": columns,
            "location": place.as_uri(),
            "files": [[file.name, file.stat().st_size]],
            "read": [f"repository.{name.removeprefix('stg_')}:{RUN}:1:1:"]
            if name.startswith("stg_")
            else [],
        }
        self.values["relations"][f"{schema}.{name}"] = {
            "version": version,
            "reads": [version],
            "kept": [],
            "query": f"select * from {version}",
            "columns": columns,
        }
        kind = "source" if is_raw else "model"
        self._add_node(name, schema, kind, columns)
        if is_raw:
            self._add_node(name, schema, "seed", columns)

    def _add_code(self) -> None:
        """Add the files of the project: the sources of the models."""
        nodes = self.values["graph"]["nodes"]
        config = self.values["documents"]["secure_datasets"]["config"]
        for path in sorted((ROOT / "models").rglob("*")):
            if path.suffix not in (".sql", ".py") or "changes" in path.parts:
                continue
            name, code = path.stem, path.read_text(encoding="utf-8")
            key = f"model.secure_datasets.{name}"
            if key not in nodes:
                self._add_node(name, SCHEMA, "model", [])
            parents = set(REF.findall(code))
            if dataset := config["datasets"].get(name.removeprefix(DATASET)):
                tiers = [tier["access_view"] for tier in config["tiers"].values()]
                parents |= {dataset["base"], *tiers}
            if name == "uncounted_deliveries":
                parents |= {f"stg_{table}" for table in TABLES}
            raw = {name.removeprefix("stg_")} & {*TABLES} - {name}
            is_sql = path.suffix == ".sql"
            nodes[key] |= {
                "language": "sql" if is_sql else "python",
                "original_file_path": path.relative_to(ROOT).as_posix(),
                "depends_on": {
                    "nodes": [
                        *(f"model.secure_datasets.{each}" for each in parents),
                        *(f"source.secure_datasets.{each}" for each in raw),
                    ]
                },
                **({"raw_code": code} if is_sql else {"sha256": digest_of_code(code)}),
            }
            if name.startswith(DATASET):
                nodes[key]["config"]["materialized"] = "view"
        for node in nodes.values():
            if node["resource_type"] == "model" and "language" not in node:
                node["resource_type"] = "seed"

    def _add_node(
        self, name: str, schema: str, kind: str, columns: list[list[str]]
    ) -> None:
        documented = documented_columns().get(name, {})
        part = "sources" if kind == "source" else "nodes"
        unique_id = f"{kind}.secure_datasets.{name}"
        self.values["graph"][part][unique_id] = {
            "unique_id": unique_id,
            "name": name,
            "resource_type": kind,
            "package_name": "secure_datasets",
            "database": None,
            "schema": schema,
            "alias": name,
            "identifier": name,
            "source_name": "repository",
            "relation_name": f"{schema}.{name}",
            "config": {"materialized": "published_view", "meta": {}},
            "depends_on": {"nodes": []},
            "columns": {
                column: {
                    "name": column,
                    "data_type": data_type,
                    "config": {"meta": documented.get(column, {})},
                }
                for column, data_type in columns
            },
        }


def _spark_type(kind: str) -> str:
    if kind.endswith("[]"):
        return f"array<{_spark_type(kind[:-2])}>"
    return SPARK_TYPES.get(kind, kind.lower())
