"""Simulated dbt runs over a metastore in memory.

The simulation follows dbt's order and skipping over a graph. The product's own code, as
materializations call it, decides what is published and what stays. The simulation notes
the loads of raw tables behind each version's rows; the product does not know them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from dbt import selected_resources
from dbt_common.exceptions import CompilationError
from metastore_double import Relation, RememberedMetastore

from dbt_secure_spark import (
    beginning,
    hooks,
    left_behind,
    narrowing,
    one_state,
    switching,
    unchanged,
)
from dbt_secure_spark.queries import parts_of_narrowed
from dbt_secure_spark.run import Run
from dbt_secure_spark.versions import versions_read

NAME = re.compile(r"\b(\w+)\.(\w+)\b")


def switch(
    metastore: RememberedMetastore, relation: Relation, query: str, to_keep: int | None
) -> None:
    """Point a view at its new query."""
    definition = switching.definition_of(metastore, relation)
    kept = one_state.versions_before(metastore, definition, to_keep)
    switching.begin_switch(metastore, relation, query, kept)
    metastore.relations[tuple(relation)] = {"kept_versions": " ".join(kept) or "none"}
    metastore.texts[tuple(relation)] = query


def in_order(graph: dict[str, Any]) -> list[str]:
    """Return models and seeds, parents before children."""
    nodes = {
        unique_id: set(node["depends_on"].get("nodes", ()))
        for unique_id, node in graph["nodes"].items()
        if node["resource_type"] in ("model", "seed") and node.get("relation_name")
    }
    ordered: list[str] = []
    while nodes:
        ready = sorted(name for name in nodes if not nodes[name] & nodes.keys())
        ordered += ready
        for name in ready:
            del nodes[name]
    return ordered


class PlayedRuns:
    """A project's relations and raw tables, and dbt runs that change them."""

    def __init__(self, graph: dict[str, Any], *schemas: str) -> None:
        self.graph, self.schemas = graph, schemas
        self.metastore = RememberedMetastore(*schemas)
        self.sources = [s["relation_name"] for s in graph["sources"].values()]
        self.metastore.raw = dict.fromkeys(self.sources, 1)
        self.states = [dict(self.metastore.raw)]
        self.origin: dict[str, set[tuple[str, int]]] = {}
        self.runs = self.files = 0
        # The sample's seeds are raw tables: loaded, not built.
        self.order = [
            unique_id
            for unique_id in in_order(graph)
            if graph["nodes"][unique_id]["relation_name"] not in self.sources
        ]
        self.unfinished: list[str] = []
        self.stayed: dict[str, str] = {}
        # The versions that stayed for one more run.
        self.kept: list[str] = []
        # Raw tables that are replaced while a model is built: before and after it has
        # read their rows.
        self.replaced_before: dict[str, list[str]] = {}
        self.replaced_after: dict[str, list[str]] = {}

    def load(self, *names: str) -> None:
        """Load these raw tables anew: the next state."""
        for name in names:
            self.deliver(name, self.metastore.raw[name] + 1)
        self.states.append(dict(self.metastore.raw))

    def deliver(self, name: str, rows: int, written_at: int = 0) -> None:
        """Put rows into another file of a raw table, written at a time, in micros."""
        self.metastore.raw[name] = rows
        self.files += 1
        self.metastore.files[name] = (self.files, written_at)

    def run(
        self,
        selected: Collection[str],
        failing: Collection[str] = (),
        fail_fast: bool = False,
        partly: str | None = None,
    ) -> dict[str, list[str]]:
        """Run models in dbt's order; return the views that the run left behind.

        Nodes below a failure are skipped. `partly` names an option that reads only some
        rows.
        """
        self.runs += 1
        name = f"{20260101000000 + self.runs}_0123abcd"
        run = Run(self.metastore, name, 20, *[list(self.schemas)] * 3)
        self.metastore.dbt_run = run
        run.begin(partly)
        built: list[str] = []
        broken: set[str] = set()
        for unique_id in self.order:
            if unique_id not in selected:
                continue
            node = self.graph["nodes"][unique_id]
            parents = node["depends_on"].get("nodes", ())
            is_stopped = fail_fast and broken
            if is_stopped or unique_id in failing or broken & set(parents):
                broken.add(unique_id)
                continue
            try:
                with patch.object(
                    selected_resources, "SELECTED_RESOURCES", set(selected)
                ):
                    self.build(node, name)
                built.append(unique_id)
            except CompilationError:
                broken.add(unique_id)
        self.unfinished = sorted(broken)
        left = self.left_behind(built)
        hooks.end_run(self.metastore)
        self.stayed = run.stayed
        return left

    def left_behind(self, built: list[str]) -> dict[str, list[str]]:
        """Return the views that the end of a run names as behind."""
        results = [
            SimpleNamespace(node=SimpleNamespace(unique_id=each), status="success")
            for each in built
        ]
        return left_behind.views_left_behind(self.metastore, self.graph, results)

    def build(self, node: dict[str, Any], run: str) -> None:
        """Build one model as its materialization does."""
        kind = node["config"]["materialized"]
        relation = Relation(node["schema"], node["alias"])
        metastore = self.metastore
        if kind == "view":
            sql = "select * from " + ", ".join(self.read_by(node))
            query = narrowing.query_of_view(metastore, self.graph, node, relation, sql)
            if query is not None:
                switch(metastore, relation, query, None)
            return
        code = node["raw_code"] if unchanged.is_python(node) else None
        code = code or "select * from " + ", ".join(self.read_by(node))
        begun = beginning.begin_version(
            metastore, self.graph, node, relation, code, None, False
        )
        raw, made_of, kept = begun["raw"], begun["made_of"], begun["kept"]
        self.load(*self.replaced_before.pop(node["unique_id"], ()))
        if kept:
            self.load(*self.replaced_after.pop(node["unique_id"], ()))
            switching.record_version(metastore, self.graph, node, kept, raw)
            unchanged.note_files(metastore, self.graph, node, kept, made_of)
            self.kept.append(kept)
            return
        version = f"{node['schema']}_versions.{node['alias']}__v{run}"
        metastore.relations[tuple(version.split("."))] = {}
        self.origin[version] = self.origin_of(node)
        self.load(*self.replaced_after.pop(node["unique_id"], ()))
        metastore.contents[version] = hash(frozenset(self.origin[version]))
        sql = node.get("compiled_code")
        switching.record_version(
            metastore, self.graph, node, version, raw, sql, made_of
        )
        switch(metastore, relation, f"select * from {version}", 2)

    def read_by(self, node: dict[str, Any]) -> list[str]:
        """Return the relations that a model's query names."""
        every = self.graph["nodes"] | self.graph["sources"]
        read = (every.get(each) for each in node["depends_on"].get("nodes", ()))
        return [each["relation_name"] for each in read if each["relation_name"]]

    def origin_of(self, node: dict[str, Any]) -> set[tuple[str, int]]:
        """Return the loads of raw tables behind a model's rows."""
        found: set[tuple[str, int]] = set()
        for unique_id in node["depends_on"].get("nodes", ()):
            if unique_id in self.graph["sources"]:
                name = self.graph["sources"][unique_id]["relation_name"]
                found.add((name, self.metastore.raw[name]))
                continue
            parent = self.graph["nodes"].get(unique_id)
            if parent and parent["resource_type"] != "seed":
                found |= self.origin_of_view((parent["schema"], parent["alias"]))
        return found

    def origin_of_view(self, place: tuple[str, str]) -> set[tuple[str, int]]:
        """Return the loads behind a view's rows, at any distance.

        Inputs that only remove rows are left out.
        """
        text = self.metastore.texts.get(place, "")
        text = parts_of_narrowed(text, place[1])[0]
        found: set[tuple[str, int]] = set()
        for version in versions_read(text):
            assert tuple(version.split(".")) in self.metastore.relations, (
                f"{place} reads {version}, which is gone"
            )
            found |= self.origin.get(version, set())
        for named in set(NAME.findall(text)) & self.metastore.texts.keys():
            found |= self.origin_of_view(named)
        return found
