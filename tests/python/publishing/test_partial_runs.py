"""Whatever is run in part, fails or is run again: no secure dataset mixes two states.

The law, over random worlds: at any time each secure dataset shows what one single state
of the raw tables would give, or less of it: what the rights of now leave. How much that
is, test_narrowing.py says. dbt's runs are played over the project's own graph. WORLDS
sets how many worlds, SEED which.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from played_runs import PlayedRuns, in_order

from dbt_secure_spark.lock import RunLock
from dbt_secure_spark.raw_tables import table_of
from dbt_secure_spark.run import found_by
from dbt_secure_spark.versions import Published

WORLDS = int(os.environ.get("WORLDS", "20"))
SEED = int(os.environ.get("SEED", "0"))
SCHEMAS = ("secure_datasets", "repository_sample")


class World(PlayedRuns):
    """The project's relations and raw tables, and dbt runs that change them."""

    def __init__(self, graph: dict[str, Any], number: int) -> None:
        super().__init__(graph, *SCHEMAS)
        self.choice = random.Random(number)
        keys = {
            key
            for node in graph["nodes"].values()
            for key in (node["config"].get("narrowing") or {}).get("unique_key", ())
        }
        self.metastore.columns = [(key, "bigint") for key in ("user_id", *keys)]
        self.tables = {
            table_of(source): source["relation_name"]
            for source in graph["sources"].values()
        }
        # What each run found in the raw tables.
        self.found: dict[str, dict[str, int]] = {}

    def load_some(self) -> None:
        """Load some raw tables anew: the next state."""
        self.load(*self.choice.sample(self.sources, self.choice.randint(1, 4)))

    def run(self, *given: Any) -> dict[str, list[str]]:
        """Note what the run finds."""
        left = super().run(*given)
        self.found[f"{20260101000000 + self.runs}_0123abcd"] = dict(self.metastore.raw)
        return left

    def check_dates(self) -> None:
        """Assert that each version is dated by runs that found the same rows."""
        published = Published()
        for schema in (f"{schema}_versions" for schema in self.schemas):
            found = found_by(self.metastore, schema)
            published.load_reads(self.metastore, schema, found)
        for read in published.reads_of(published.reads):
            if read.content is not None:
                assert self.found[read.run][self.tables[read.table]] == read.rows, read

    def left_behind(self, built: list[str]) -> dict[str, list[str]]:
        """Leave out what other tests prove, and what takes time in a large graph."""
        return {}

    def check(self) -> None:
        """Assert the law for each secure dataset there is."""
        self.check_dates()
        for place in self.metastore.texts:
            if not place[1].startswith("vw_secure_dataset_"):
                continue
            origin = self.origin_of_view(place)
            assert any(
                all(state[name] == load for name, load in origin)
                for state in self.states
            ), f"{place[1]} mixes {sorted(origin)}"


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
                world.load_some()
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
            stayed += len(secure & world.stayed.keys())
            switched += len(secure - world.stayed.keys())
    # Both must happen often, or the law says little.
    assert stayed > WORLDS
    assert switched > WORLDS


def test_a_whole_run_switches_every_secure_dataset(graph):
    world = World(graph, SEED)
    for _ in range(3):
        world.load_some()
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

    world.load(*of_rights)
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
            world.load_some()
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
