"""The compiled project over any raw world in the quick engine: no dbt, no Spark."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from comparison import COMPARED, comparable, values_of, wanted_rows
from compiled import (
    RELATION,
    SEEDS,
    Model,
    kept_models,
    kept_tests,
    seed_files,
    seed_types,
)
from oracle.contract import (
    GIVING_TABLES,
    LIMITS,
    TABLES,
    Evaluation,
    World,
    read_world,
)
from projects import ROOT

from dbt_secure_spark.in_time import NOW
from secure_datasets.engines.compiled import Models
from secure_datasets.engines.duckdb import DuckDB, Rows, View

LAYER = "secure_datasets"
RAW = "repository_sample"


@cache
def seed_rows(folders: Sequence[Path] = SEEDS) -> dict[str, Rows]:
    """Return the seeds but the raw tables, as dbt loads them."""
    types = seed_types(folders)
    found = {}
    for path in seed_files(folders):
        with path.open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        columns = {name: types[path.stem].get(name, "string") for name in header}
        rows = [
            tuple(
                typed(value, columns[name])
                for name, value in zip(header, line, strict=True)
            )
            for line in lines
        ]
        found[path.stem] = Rows(columns, rows)
    return found


def typed(value: str, data_type: str) -> Any:
    """Return a value of a seed's file in its type; empty values are null."""
    if value == "":
        return None
    if data_type in ("bigint", "int"):
        return int(value)
    if data_type == "boolean":
        return {"true": True, "false": False}[value.lower()]
    return value


class QuickProject:
    """The compiled models, and the quick engine that runs them.

    `nests_in_rounds` nests groups as if they were too many for one machine. `layer` and
    `raw` are the prefixes of the names of models and raw tables; `clock` is the moment
    of reading.
    """

    def __init__(
        self,
        models: Iterable[Model],
        nests_in_rounds: bool = False,
        seeds: dict[str, Rows] | None = None,
        layer: str = f"{LAYER}.",
        raw: str = f"{RAW}.",
        clock: str = NOW,
    ) -> None:
        self.models = list(models)
        self.compiled = Models(self.models, self._named, nests_in_rounds)
        self.seeds = seed_rows() if seeds is None else seeds
        self.begins = {LAYER: layer, RAW: raw}
        self.clock = clock

    def run(self, world: World, engine: DuckDB | None = None) -> DuckDB:
        """Return an engine that makes each model of a world when it is first read."""
        layer = self.begins[LAYER]
        # The laws compare fingerprints of keys.
        engine = engine or DuckDB(fingerprints=True)
        for name, rows in self.seeds.items():
            engine.put(f"{layer}{name}", rows)
        for table in TABLES:
            engine.put(f"{self.begins[RAW]}{table}", raw_rows(world, table))
        seeds = {name: f"{LAYER}.{name}" for name in self.seeds}
        self.compiled.put(engine, seeds, self.clock)
        return engine

    def _named(self, sql: str) -> str:
        return plain(sql, self.begins)


class QuickSample:
    """The sample, built in the quick engine: its relations, and its dbt tests.

    A view of the lakehouse is a view here: it shows the current rows of the relations
    below.
    """

    def __init__(self) -> None:
        models = kept_models()
        self.tests = kept_tests()
        self.project = QuickProject(models)
        world = read_world(ROOT / "seeds" / "repository")
        self.engine = self.project.run(world)
        for model in models:
            self.engine.columns(f"{LAYER}.{model.name}")
        self.views = {
            model.name: View(plain(model.sql)) for model in models if model.is_view
        }
        for name, view in self.views.items():
            self.engine.put(f"{LAYER}.{name}", view)
        self.kept: set[str] = set()
        self.replaced: set[str] = set()

    def rows(self, query: str) -> list[tuple]:
        """Return the rows of a query as tuples."""
        return [tuple(row.values()) for row in self.engine.ask(query)]

    def replace(self, name: str, query: str) -> None:
        """Replace a relation by a query; `{rows}` stands for the old relation."""
        relation, before = f"{LAYER}.{name}", f"before.{name}"
        if name not in self.kept:
            self.engine.store(before, f"select * from {relation}")
            self.kept.add(name)
        self.engine.put(relation, View(query.format(rows=before)))
        self.replaced.add(name)

    def restore(self) -> None:
        """Undo every replacement."""
        for name in self.replaced:
            kept = View(f"select * from before.{name}")
            self.engine.put(f"{LAYER}.{name}", self.views.get(name, kept))
        self.replaced.clear()

    def failing(self, *tests: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows that dbt tests find, by their names; none if they pass."""
        found = {test: self.engine.ask(plain(self.tests[test])) for test in tests}
        return {test: rows for test, rows in found.items() if rows}


def raw_rows(world: World, table: str) -> Rows:
    """Return the rows of a raw table as they are delivered."""
    giving = [row for name in GIVING_TABLES for row in world[name]]
    has_limits = table in GIVING_TABLES and any(LIMITS[0] in row for row in giving)
    limits = LIMITS if has_limits else ()
    columns = [*TABLES[table], *limits]
    rows = [[row[name] or None for name in columns] for row in world[table]]
    return Rows(dict.fromkeys(columns, "string"), rows)


def plain(sql: str, begins: dict[str, str] | None = None) -> str:
    """Return compiled SQL that reads the relations of no past state.

    `begins` has the prefixes that replace schemas.
    """

    def named(relation: re.Match) -> str:
        schema = relation["schema"]
        return (begins or {}).get(schema, f"{schema}.") + relation["name"]

    return RELATION.sub(named, sql)


def found_rows(engine: DuckDB, name: str, schema: str = LAYER) -> Counter:
    """Count a relation's rows in the form in which the oracle's are compared."""
    rows = engine.ask(f"select * from {schema}.{name}")
    if name == "rejected_rows":
        # Any of several tied deliveries may represent a conflict.
        for row in rows:
            del row["raw_row"]
            if row["reason"] == "conflict":
                row["raw_id"] = None
    return comparable([tuple(row.values()) for row in rows])


def differences(
    engine: DuckDB, expected: Evaluation, names: Iterable[str] = COMPARED
) -> dict[str, list]:
    """Return, for each relation that differs, rows that are too many or missing."""
    wanted = {name: comparable(rows) for name, rows in wanted_rows(expected).items()}
    found = {name: found_rows(engine, name) for name in names}
    return {
        name: [
            *(("too many", values_of(r)) for r in (rows - wanted[name]).elements()),
            *(("missing", values_of(r)) for r in (wanted[name] - rows).elements()),
        ]
        for name, rows in found.items()
        if rows != wanted[name]
    }
