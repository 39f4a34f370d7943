"""DuckDB and Spark answer questions about random worlds and policies in the same bytes.

Both read the Parquet files of one published state. `WORLDS` in the environment is the
number of random worlds, 2 unless it is given, and `POLICIES` that of worlds with random
policies; `SEED` is the first of each.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
from oracle.policies import LIST
from pipeline import SESSIONS, session_settings
from policy_worlds import keys_of, policy_world
from published_worlds import RAW, SCHEMA, PublishedWorld
from worlds import apart, together

from dbt_secure_spark.session import with_settings
from secure_datasets.engines.duckdb import DuckDB, as_json
from secure_datasets.engines.published import (
    State,
    local_path,
    read_state,
    relations_of,
)
from secure_datasets.engines.spark import Spark
from secure_datasets.questions.asked import FORMATS, QuestionError
from secure_datasets.questions.lookups import Lookups
from secure_datasets.questions.macros import Package
from secure_datasets.questions.output import as_csv, as_document, as_text

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("SEED", "0"))
WORLDS = int(os.environ.get("WORLDS", "2"))
POLICIES = int(os.environ.get("POLICIES", "2"))
IN_A_BATCH = 20
RELATION = re.compile(rf"\b({SCHEMA}|{RAW})\.(\w+)")
ROWS = ("tests", "test_executions", "event_history", "tables", "metadata_objects")
NOWHERE = "987654321"
# Over so few rows, planning and starting takes most of a query's time.
OF_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "100",
}
TIERS = ("data_source", "project", "results")
KEYS = {"project_id": "stg_projects", "meta_data_source_id": "stg_meta_data_sources"}


class FilesInSpark(Spark):
    """The files of a state, as views of a session that other tests have started.

    is_held   whether each is read once, and kept in the session's memory
    """

    def __init__(self, session: Any, state: State, is_held: bool) -> None:
        self.session, self.state, self.is_held = session, state, is_held
        self.views: dict[str, str] = {}
        self.answered: dict[str, list[dict]] = {}
        for name in state.values["relations"]:
            if not RELATION.fullmatch(name):
                self.view(name)

    def ask(self, query: str) -> list[dict]:
        """Return the rows of a query. It is asked once: nothing changes meanwhile."""
        if query not in self.answered:
            seen = RELATION.sub(lambda found: self.view(found[0]), query)
            self.answered[query] = super().ask(seen)
        return [dict(row) for row in self.answered[query]]

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns of a relation with their types."""
        return super().columns(self.view(name))

    def view(self, name: str) -> str:
        """Return the name of a relation's view, which is made when it is first read."""
        relation = self.state.values["relations"].get(name)
        if relation and name not in self.views:
            stored = self.state.values["versions"][relation["version"]]
            folder = local_path(stored["location"])
            files = [str(folder / file) for file, _ in stored["files"]]
            # As told, so that Spark reads no file for it.
            columns = ", ".join(f"`{name}` {kind}" for name, kind in stored["columns"])
            frame = self.session.read.schema(columns).parquet(*files)
            if self.is_held:
                frame = self.session.createDataFrame(frame.toArrow(), frame.schema)
            self.views[name] = RELATION.sub(r"\1_\2", name)
            frame.createOrReplaceTempView(self.views[name])
        return self.views.get(name, name)


class BothEngines:
    """A published world, asked of DuckDB and of Spark."""

    def __init__(
        self, published: PublishedWorld, session: Any, is_held: bool = False
    ) -> None:
        self.published = published
        state = read_state(published.path, version("secure-datasets"))
        self.packages = [
            Package(state, DuckDB(relations_of(state)), as_json),
            Package(state, FilesInSpark(session, state, is_held), None),
        ]
        for package in self.packages:
            for name in ("view_references", "documented_columns", "readers_clock"):
                if name in published.asked._called:
                    package[name] = published.asked._called[name]

    def compare(self, question: Callable[[Package], list[str]], *told: Any) -> None:
        """Hold what the engines say against each other: texts, or what stops them."""
        found = []
        for package in self.packages:
            package.printed.clear()
            try:
                found.append(question(package))
            except QuestionError as why:
                found.append([str(why)])
        assert found[1] == found[0], told
        assert any(found[0]), told

    def why(self, seed: int, **given: Any) -> None:
        """Compare one form of an answer, and the other of the next seed's."""
        form = FORMATS[seed % 2]

        def question(package: Package) -> list[str]:
            package.why(**given, format=form)
            return list(package.printed)

        self.compare(question, given, form)

    def who(self, user: str) -> None:
        """Compare what a user can see."""

        def question(package: Package) -> list[str]:
            package.who(user)
            return list(package.printed)

        self.compare(question, user)

    def look_up(self, name: str, *given: str) -> None:
        """Compare a lookup in all formats."""

        def question(package: Package) -> list[str]:
            found = getattr(Lookups(package), name)(*given)
            data = (as_csv(found.tables), as_document(found, {}))
            return [as_text(found), *data]

        self.compare(question, name, given)

    def rows(self, query: str) -> list[dict]:
        """Return what the world has, to ask about."""
        return self.published.database.rows(query)


class OneOfABatch:
    """What may be asked about one world of a batch, drawn by its seed."""

    def __init__(self, both: BothEngines, seed: int, place: int) -> None:
        self.both, self.place, self.seed = both, place, seed
        self.chance = random.Random(seed)
        self.config = both.packages[0]["secure_datasets_config"]()

    def some(self, relation: str, *keys: str) -> dict[str, Any] | None:
        """Return the keys of a row of this world; the last key bears its place."""
        listed = ", ".join(keys)
        rows = self.both.rows(f"select distinct {listed} from {relation} order by all")
        own = [row for row in rows if row[keys[-1]] is not None]
        own = [row for row in own if abs(row[keys[-1]]) % 1000 == self.place]
        return self.chance.choice(own) if own else None

    def id_of(self, relation: str, key: str) -> str:
        """Return the id of a row of this world, or one of nothing if it has none."""
        found = self.some(relation, key)
        return str(found[key]) if found else NOWHERE

    def ask(self) -> None:
        """Ask about a row and an object, and one of what is looked up."""
        user, other = (self.id_of("stg_users", "user_id") for _ in range(2))
        dataset, tier = ROWS[self.seed % len(ROWS)], TIERS[self.seed % len(TIERS)]
        keys = self.config["datasets"][dataset]["unique_key"]
        if row := self.some(f"vw_dataset_{dataset}", *keys):
            self.both.why(self.seed, user=user, dataset=dataset, row=row)
        keys = self.config["tiers"][tier]["object_keys"]
        named = {key: self.id_of(KEYS[key], key) for key in keys}
        self.both.why(self.seed + 1, user=other, tier=tier, object=named)
        kind = self.seed % 4
        if kind == 0:
            self.both.who(user)
        elif kind == 1:
            self.both.look_up("compare", user, other)
        elif kind == 2:
            group = self.id_of("stg_user_groups", "user_group_id")
            self.both.look_up("of_group", group)
        else:
            project = self.id_of("stg_projects", "project_id")
            self.both.look_up("who_has", f"project {project}")


def batches() -> list[range]:
    """Return the seeds of each batch."""
    end = SEED + WORLDS
    starts = range(SEED, end, IN_A_BATCH)
    return [range(start, min(start + IN_A_BATCH, end)) for start in starts]


@pytest.mark.parametrize("seeds", batches(), ids=lambda seeds: f"worlds {seeds[0]}")
def test_Q3_both_engines_give_the_same_bytes_about_random_worlds(
    spark, tmp_path, seeds
):
    zone, ansi = SESSIONS[seeds[0] // IN_A_BATCH % len(SESSIONS)]
    both = BothEngines(PublishedWorld(tmp_path, together(apart(seeds))), spark, True)
    with session_settings(spark, zone, ansi), with_settings(spark, OF_FEW_ROWS):
        for place, seed in enumerate(seeds, 1):
            OneOfABatch(both, seed, place).ask()


@pytest.mark.parametrize("seed", range(SEED, SEED + POLICIES))
def test_Q3_both_engines_give_the_same_bytes_about_random_policies(
    spark, tmp_path, seed
):
    zone, ansi = SESSIONS[seed % len(SESSIONS)]
    world, chance = policy_world(seed), random.Random(seed)
    published = PublishedWorld(tmp_path, world.world, world.asked())
    # Conditions name it as if it lay in no schema.
    relations = published.values["relations"]
    relations[LIST] = relations[f"{SCHEMA}.{LIST}"]
    published.write()
    both, case = BothEngines(published, spark), world.case
    with session_settings(spark, zone, ansi):
        for dataset in chance.sample(case.datasets, min(2, len(case.datasets))):
            shown = case.expected()[dataset.name]
            rows = shown if dataset.is_query else world.rows
            if rows and case.users:
                row, user = chance.choice(rows), chance.choice(sorted(case.users))
                key = {name: row[name] for name in keys_of(dataset)}
                both.why(seed, user=user, dataset=dataset.name, row=key)
