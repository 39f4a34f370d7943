"""Whatever is run in part, fails or is run again: no secure dataset mixes two states.

The law, over random worlds: at any time each secure dataset shows what one single state
of the raw tables would give, or less of it: what the rights of now leave. How much that
is, test_narrowing.py says. dbt's own order and skipping are played here over the
project's own graph; what is published and what stays is decided by the product's own
code. WORLDS sets how many worlds, SEED which.
"""

from __future__ import annotations

import os
import random
import re
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from metastore_double import Relation, RememberedMetastore

from dbt_spark_session import narrowing, publishing
from dbt_spark_session.queries import parts_of_narrowed
from dbt_spark_session.run import RunLock

WORLDS = int(os.environ.get("WORLDS", "20"))
SEED = int(os.environ.get("SEED", "0"))
SCHEMAS = ("secure_datasets", "repository_sample")
NAME = re.compile(r"\b(\w+)\.(\w+)\b")


class World:
    """The project's relations and raw tables, and dbt runs that change them."""

    def __init__(self, graph: dict[str, Any], number: int) -> None:
        self.graph = graph
        self.choice = random.Random(number)
        self.metastore = RememberedMetastore(*SCHEMAS)
        self.sources = [s["relation_name"] for s in graph["sources"].values()]
        self.metastore.raw = dict.fromkeys(self.sources, 1)
        keys = {
            key
            for node in graph["nodes"].values()
            for key in (node["config"].get("narrowing") or {}).get("unique_key", ())
        }
        self.metastore.columns = [(key, "bigint") for key in ("user_id", *keys)]
        self.states = [dict(self.metastore.raw)]
        # What each version's rows come from, which the product is not told.
        self.origin: dict[str, set[tuple[str, int]]] = {}
        self.runs = 0
        self.order = in_order(graph)
        self.unfinished: list[str] = []
        self.stayed: set[str] = set()

    def load(self, names: list[str] | None = None) -> None:
        """Load these raw tables, or some, anew: the next state."""
        for name in names or self.choice.sample(
            self.sources, self.choice.randint(1, 4)
        ):
            self.metastore.raw[name] += 1
        self.states.append(dict(self.metastore.raw))

    def run(self, selected: set[str], failing: set[str], fail_fast: bool) -> None:
        """Run models in dbt's order; what is below a failure is skipped."""
        self.runs += 1
        name = f"{20260101000000 + self.runs}_0123abcd"
        run = publishing.Run(self.metastore, name, 20, *[list(SCHEMAS)] * 3)
        self.metastore.dbt_run = run
        run.begin(None)
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
                self.build(node, name)
            except CompilationError:
                broken.add(unique_id)
        self.unfinished = sorted(broken)
        self.stayed = set(publishing.end_run(self.metastore))

    def build(self, node: dict[str, Any], run: str) -> None:
        """Build one model as its materialization does."""
        kind = node["config"]["materialized"]
        relation = Relation(node["schema"], node["alias"])
        place = (node["schema"], node["alias"])
        names = [
            self.graph["nodes"][parent]["relation_name"]
            for parent in node["depends_on"].get("nodes", ())
            if parent in self.graph["nodes"]
        ]
        metastore = self.metastore
        if kind == "view":
            sql = "select * from " + ", ".join(filter(None, names))
            query = narrowing.query_of_view(metastore, self.graph, node, relation, sql)
            if query is not None:
                self.switch(place, relation, query, None)
            return
        raw = publishing.read_raw_tables(metastore, self.graph, node)
        version = f"{node['schema']}_versions.{node['alias']}__v{run}"
        metastore.relations[tuple(version.split("."))] = {}
        self.origin[version] = self.origin_of(node)
        publishing.record_version(metastore, self.graph, node, version, raw)
        self.switch(place, relation, f"select * from {version}", 2)

    def switch(self, place, relation, query: str, to_keep: int | None) -> None:
        """Point a view at its new query."""
        definition = publishing.definition_of(self.metastore, relation)
        kept = publishing.versions_before(self.metastore, definition, to_keep)
        publishing.begin_switch(self.metastore, relation, query, kept)
        self.metastore.relations[place] = {"kept_versions": " ".join(kept) or "none"}
        self.metastore.texts[place] = query

    def origin_of(self, node: dict[str, Any]) -> set[tuple[str, int]]:
        """Return from which loads of which raw tables a model's rows come."""
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
        """Return from which loads what a view shows comes, at any distance.

        What only takes rows away from it is left out.
        """
        text = self.metastore.texts.get(place, "")
        text = parts_of_narrowed(text, place[1])[0]
        found: set[tuple[str, int]] = set()
        for version in publishing.versions_read(text):
            assert tuple(version.split(".")) in self.metastore.relations, (
                f"{place} reads {version}, which is gone"
            )
            found |= self.origin.get(version, set())
        for named in set(NAME.findall(text)) & self.metastore.texts.keys():
            found |= self.origin_of_view(named)
        return found

    def check(self) -> None:
        """Assert the law for each secure dataset there is."""
        for place in self.metastore.texts:
            if not place[1].startswith("vw_secure_dataset_"):
                continue
            origin = self.origin_of_view(place)
            assert any(
                all(state[name] == load for name, load in origin)
                for state in self.states
            ), f"{place[1]} mixes {sorted(origin)}"


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


def with_relatives(graph, names: set[str], upstream: bool) -> set[str]:
    """Add to models all that they read, or all that read them."""
    found = set(names)
    for unique_id in reversed(in_order(graph)) if upstream else in_order(graph):
        node = graph["nodes"][unique_id]
        parents = set(node["depends_on"].get("nodes", ()))
        if upstream and unique_id in found:
            found |= parents & graph["nodes"].keys()
        elif not upstream and parents & found:
            found.add(unique_id)
    return found


@pytest.fixture(scope="module")
def graph(parsed) -> dict[str, Any]:
    """The project's own graph, as macros see it."""
    parsed.build_flat_graph()
    return parsed.flat_graph


@pytest.fixture(autouse=True)
def no_signs(monkeypatch):
    """Nobody else runs here, so nobody has to be told that this run lives."""
    monkeypatch.setattr(RunLock, "give_signs_of_life", lambda self: None)


def test_random_partial_runs_never_show_rows_under_rights_of_another_state(graph):
    switched = stayed = 0
    for number in range(SEED, SEED + WORLDS):
        world = World(graph, number)
        everything = set(world.order)
        world.run(everything, set(), False)
        world.check()
        for _ in range(6):
            if world.choice.random() < 0.8:
                world.load()
            some = set(world.choice.sample(world.order, world.choice.randint(1, 12)))
            selected = world.choice.choice(
                [
                    some,
                    with_relatives(graph, some, upstream=True),
                    with_relatives(graph, some, upstream=False),
                    everything,
                    set(world.unfinished),
                ]
            )
            failing = set(
                world.choice.sample(world.order, world.choice.choice([0, 0, 1, 3]))
            )
            world.run(selected, failing, world.choice.random() < 0.3)
            world.check()
            secure = {name for name in selected if ".vw_secure_dataset_" in name}
            stayed += len(secure & world.stayed)
            switched += len(secure - world.stayed)
    # Both must happen often, or the law says little.
    assert stayed > WORLDS
    assert switched > WORLDS


def test_a_whole_run_switches_every_secure_dataset(graph):
    world = World(graph, SEED)
    for _ in range(3):
        world.load()
        world.run(set(world.order), set(), False)
        assert not world.stayed
        newest = set(world.states[-1].items())
        for place in world.metastore.texts:
            if place[1].startswith("vw_secure_dataset_"):
                assert world.origin_of_view(place) <= newest


@pytest.fixture(scope="module")
def rights(dbt, parsed, graph) -> set[str]:
    """What the selector `rights` runs."""
    options = ["--quiet", "ls", "--selector", "rights", "--output", "name"]
    options += ["--resource-type", "model", "--resource-type", "seed"]
    names = set(dbt(*options, manifest=parsed).result)
    return {key for key in in_order(graph) if graph["nodes"][key]["name"] in names}


def secure_datasets(graph: dict[str, Any]) -> set[str]:
    """Return the models of the secure datasets."""
    return {key for key in in_order(graph) if ".vw_secure_dataset_" in key}


def test_the_selector_rights_holds_what_decides_access_and_the_secure_datasets(
    graph, rights
):
    names = {graph["nodes"][key]["name"] for key in rights}
    assert rights >= secure_datasets(graph)
    assert names >= {
        *("vw_secure_user_data_source_access", "vw_secure_user_project_access"),
        *("vw_secure_user_results_access", "vw_secure_user_roles", "user_role_names"),
        *("int_access_paths", "int_user_group_memberships", "stg_users"),
    }
    # Neither rows nor reports, and nothing that a delivery does not bring.
    assert not {name for name in names if name.startswith("vw_dataset_")}
    assert names.isdisjoint({"stg_test_executions", "stg_meta_columns", "stg_events"})
    assert names.isdisjoint({"dangling_references", "rejected_rows", "leaks"})
    assert {graph["nodes"][key]["resource_type"] for key in rights} == {"model"}


def test_a_run_of_rights_switches_all_secure_datasets_to_them(graph, rights):
    world = World(graph, SEED)
    world.run(set(world.order), set(), False)
    of_rows = {
        name
        for key in secure_datasets(graph)
        for parent in set(graph["nodes"][key]["depends_on"]["nodes"]) - rights
        if (node := graph["nodes"][parent])["config"]["materialized"] != "view"
        for name, _ in world.origin_of_view((node["schema"], node["alias"]))
    }
    of_rights = [name for name in world.sources if name not in of_rows]
    tables = {name.split(".")[-1] for name in of_rights}
    assert tables >= {"users", "user_group_members", "data_source_permissions"}

    world.load(of_rights)
    world.run(rights, set(), False)
    assert not world.stayed
    newest = set(world.states[-1].items())
    for place in world.metastore.texts:
        if place[1].startswith("vw_secure_dataset_"):
            assert world.origin_of_view(place) <= newest


def test_runs_of_rights_never_show_rows_of_another_state_and_the_next_run_catches_up(
    graph, rights
):
    switched = stayed = 0
    secure = secure_datasets(graph)
    for number in range(SEED, SEED + WORLDS // 2):
        world = World(graph, number)
        everything = set(world.order)
        world.run(everything, set(), False)
        for _ in range(4):
            world.load()
            failing = world.choice.sample(
                sorted(rights), world.choice.choice([0, 0, 2])
            )
            world.run(rights, set(failing), world.choice.random() < 0.3)
            world.check()
            stayed += len(world.stayed)
            switched += len(secure) - len(world.stayed)
            if world.choice.random() < 0.3:
                world.run(everything, set(world.choice.sample(world.order, 2)), False)
                world.check()
        world.run(everything, set(), False)
        world.check()
        assert not world.stayed
    # Both must happen often, or the law says little.
    assert stayed > WORLDS // 2
    assert switched > WORLDS // 2
