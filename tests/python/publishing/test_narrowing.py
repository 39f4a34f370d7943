"""A secure dataset that can't move to a new state whole shows the old rows, or less.

The law, over random worlds of policies, row security, stars and layers: after a partial
run a secure dataset shows what one state gives or, to the cell, what two queries both
give: the last state that it showed whole, and the rights and policies of now over the
same rows. What each gives is worked out by the independent evaluators.
WORLDS sets how many worlds, SEED which.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import sqlglot
from dbt_common.exceptions import CompilationError, DbtRuntimeError
from metastore_double import Relation, RememberedMetastore
from oracle.policies import Case, Dataset, Policy, value
from played_runs import switch
from policy_tables import TEXT
from random_policies import (
    COLUMNS,
    LIST,
    TEAM_COLUMNS,
    document,
    random_case,
    random_policies,
    tables,
)
from rendering import Macros

from dbt_secure_spark import (
    after_tests,
    catalogs,
    hooks,
    narrowing,
    queries,
    switching,
    unchanged,
)
from dbt_secure_spark.lock import RunLock
from dbt_secure_spark.queries import (
    parts_of_narrowed,
    read_by_conditions,
    reads_narrowed,
)
from dbt_secure_spark.run import Run

WORLDS = int(os.environ.get("WORLDS", "20"))
SEED = int(os.environ.get("SEED", "0"))
# What one delivery changes, by what is read together: part of a case, and relations.
PARTS = {
    "rows": (["rows"], ["all_runs"]),
    "teams": (["teams"], ["teams"]),
    "members": (["members"], ["access"]),
    "roles": (
        ["users", "groups"],
        ["vw_secure_user_roles", "user_role_names", "stg_users"],
    ),
    "mapping": (["mapping"], ["group_units", "group_teams"]),
    "listed": (["listed"], [LIST]),
    "outcomes": (["outcomes"], ["view_outcomes"]),
    "staff": (["staff"], ["staff"]),
}
RIGHTS = set(PARTS) - {"rows", "teams"}
LAYER = "vw_secure_dataset_"
FIRST = "concat(left(v, 1), '*')"


class Metastore(RememberedMetastore):
    """The metastore double, over tables in DuckDB that tell the columns of queries."""

    def __init__(self) -> None:
        super().__init__("s")
        self.tables = duckdb.connect(config={"threads": 1})
        # Its optimizer loses rows of two queries that both left join: DuckDB 2.0.0.
        self.tables.execute("pragma disable_optimizer")
        self.tables.execute("create schema s_versions")

    def execute(self, statement: str, fetch: bool = False):
        """Answer what only an engine knows from DuckDB."""
        kind, _, query = statement.partition("\n")
        if kind == "describe query":
            try:
                rows = self.rows(f"describe {in_duckdb(query)}")
            except duckdb.Error as failure:
                raise DbtRuntimeError(str(failure)) from failure
            return None, SimpleNamespace(rows=rows)
        return super().execute(statement, fetch)

    def rows(self, query: str) -> list[tuple]:
        """Return the rows of a query."""
        return self.tables.execute(query).fetchall()


def in_duckdb(query: str) -> str:
    """Return a query in Spark's SQL as DuckDB's."""
    return sqlglot.transpile(query, read="spark", write="duckdb")[0]


class World:
    """The secure datasets of a case, and dbt runs that publish parts of its states."""

    def __init__(self, number: int) -> None:
        self.choice = random.Random(f"narrowing {number}")
        self.metastore = Metastore()
        self.states = [self.with_only_masks(random_case(number))]
        # Of which state each part is published, and each dataset's last whole one.
        self.published: dict[str, int] = {}
        self.loaded = dict.fromkeys(PARTS, 0)
        self.before: dict[str, Case] = {}
        self.rendered: dict[str, str] = {}
        # dbt's results of the last run, and the rows that each dataset's test read.
        self.results: dict[str, SimpleNamespace] = {}
        self.tested: dict[str, Counter] = {}
        self.runs = 0
        self.masked = 0
        self.stored = [name for _, names in PARTS.values() for name in names]
        self.metastore.raw = {f"raw.{name}": 0 for name in self.stored}
        self.graph = {"nodes": {}, "sources": {}}
        for name in self.stored:
            self.graph["sources"][f"source.{name}"] = {
                **{"relation_name": f"raw.{name}", "loaded_at_field": None},
                **{"source_name": "raw", "name": name, "resource_type": "source"},
            }
            self.add(name, "published_view", [f"source.{name}"])
        for dataset in self.now.datasets:
            self.add(LAYER + dataset.name, "view", [], inline_views=True)
            self.graph["nodes"][check_of(dataset)] = {
                **{"unique_id": check_of(dataset), "name": check_of(dataset)},
                **{"resource_type": "test", "config": {"materialized": "test"}},
                "depends_on": {"nodes": [LAYER + dataset.name]},
            }

    def with_only_masks(self, case: Case) -> Case:
        """Return a case in which some datasets have one mask on a column."""
        policies = case.policies
        roles = sorted(set().union(*case.users.values()), key=str)
        for dataset in case.datasets:
            is_able = not dataset.is_query and "unit" in dataset.columns and roles
            if not is_able or self.choice.random() < 0.4:
                continue
            policies = [
                p for p in policies if (p.dataset, p.column) != (dataset.name, "unit")
            ]
            role, mask = self.choice.choice(roles), ("text", "*")
            policies.append(Policy(role, dataset.name, column="unit", mask=mask))
        return replace(case, policies=policies)

    def add(self, name: str, kind: str, parents: list[str], **config: Any) -> None:
        """Put a model into the graph."""
        self.graph["nodes"][name] = {
            **{"unique_id": name, "name": name, "alias": name, "schema": "s"},
            **{"relation_name": f"s.{name}", "resource_type": "model"},
            **{"depends_on": {"nodes": parents}, "language": "sql"},
            "config": {"materialized": kind, **config},
        }

    @property
    def now(self) -> Case:
        """The newest state, with the newest policies."""
        return self.states[-1]

    def deliver(self, parts: set[str]) -> None:
        """Load new values of some parts: the next state."""
        case, chance = self.now, self.choice
        units = [row["unit"] for row in case.rows]
        fresh: dict[str, Any] = {}
        if "rows" in parts:
            rows = [dict(row) for row in case.rows]
            for row in chance.sample(rows, min(4, len(rows))):
                row |= {"team_id": chance.choice([10, 20, 30, None])}
                row |= {"amount": chance.choice([None, *range(6)])}
            new = {"run_id": max(r["run_id"] for r in rows) + 1, "team_id": 10}
            fresh["rows"] = [*rows[chance.choice([0, 0, 2]) :], rows[0] | new]
        if "teams" in parts:
            fresh["teams"] = [
                team | {"business_unit": chance.choice(units)} for team in case.teams
            ]
        if "members" in parts:
            fresh["members"] = {
                (team, user)
                for team in (10, 20, 30)
                for user in case.users
                if chance.random() < 0.6
            }
        if "roles" in parts:
            roles = sorted(set().union(*case.users.values()))
            groups = sorted(set().union(*case.groups.values()))
            for name, values in (("users", roles), ("groups", groups)):
                fresh[name] = {
                    user: {value for value in values if chance.random() < 0.5}
                    for user in case.users
                }
        if "mapping" in parts:
            kept = [pair for pair in case.mapping if chance.random() < 0.6]
            fresh["mapping"] = kept + chance.sample(case.mapping, bool(case.mapping))
        if "listed" in parts:
            fresh["listed"] = [unit for unit in {*units} if chance.random() < 0.4]
        if "outcomes" in parts:
            values = sorted({*case.outcomes.values(), "Deny"})
            fresh["outcomes"] = {
                key: chance.choice(values) for key in sorted(case.outcomes)
            }
        if "staff" in parts:
            kept = [row for row in case.staff if chance.random() < 0.6]
            fresh["staff"] = kept + chance.sample(case.staff, bool(case.staff))
        self.states.append(replace(case, **fresh))
        for part in parts:
            self.loaded[part] = len(self.states) - 1
            for name in PARTS[part][1]:
                self.metastore.raw[f"raw.{name}"] += 1

    def change_policies(self) -> None:
        """Edit the config: other policies over the same datasets."""
        policies = random_policies(self.choice, self.now.datasets)
        self.states[-1] = self.with_only_masks(replace(self.now, policies=policies))
        self.rendered.clear()

    def of_parts(self, states: dict[str, int]) -> Case:
        """Return the case of some states' parts, under the policies of now."""
        return replace(
            self.now,
            **{
                name: getattr(self.states[state], name)
                for part, state in states.items()
                for name in PARTS[part][0]
            },
        )

    def run(
        self, parts: set[str], statuses: dict[str, str] | None = None
    ) -> dict[str, str]:
        """Stage parts anew, and run all secure datasets; return what was not whole.

        statuses  the results of the datasets' tests that ran, if datasets wait for them
        """
        self.waits = statuses is not None
        self.runs += 1
        name = f"{20260101000000 + self.runs}_0123abcd"
        run = Run(self.metastore, name, 20, *[["s"]] * 3)
        self.metastore.dbt_run = run
        run.begin(None)
        for part in sorted(parts):
            made = tables(self.now)
            for stored in PARTS[part][1]:
                self.publish(stored, name, *made[stored])
            self.published[part] = len(self.states) - 1
        for dataset in self.now.datasets:
            self.switch_secure(dataset)
        built = dict.fromkeys(self.layer_names(), "success")
        results = [
            SimpleNamespace(node=SimpleNamespace(unique_id=name), status=status)
            for name, status in {**built, **(statuses or {})}.items()
        ]
        self.results = {result.node.unique_id: result for result in results}
        for dataset in self.now.datasets if self.waits else ():
            self.tested[dataset.name] = self.read_by_test(dataset)
        after_tests.switch_tested(self.metastore, self.graph, results, "warn")
        hooks.end_run(self.metastore)
        return run.stayed

    def publish(self, name: str, run: str, schema: str, rows: list[tuple]) -> None:
        """Write a version of a stored relation and switch its view to it."""
        node, version = self.graph["nodes"][name], f"s_versions.{name}__v{run}"
        columns = schema.replace("string", TEXT["duckdb"])
        columns = re.sub(r"array<(\w+)>", r"\1[]", columns)
        self.metastore.tables.execute(f"create or replace table {version} ({columns})")
        for row in rows:
            marks = ", ".join("?" for _ in row)
            self.metastore.tables.execute(
                f"insert into {version} values ({marks})", list(row)
            )
        raw = unchanged.read_raw_tables(self.metastore, self.graph, node, None)
        self.metastore.relations[tuple(version.split("."))] = {}
        switching.record_version(self.metastore, self.graph, node, version, raw)
        switch(self.metastore, Relation("s", name), f"select * from {version}", 2)

    def macros(self, text: str | None = None) -> Macros:
        """Return the project's macros over the newest policies, or over a document."""
        types = dict.fromkeys(["all_runs", *self.layer_names()], COLUMNS)
        macros = Macros(
            text or document(self.now),
            ref="s.{}".format,
            types={**types, "teams": TEAM_COLUMNS},
            clock=self.now.moment,
        )
        macros._called["view_references"] = lambda: {"gates": [], "tables": []}
        return macros

    def layer_names(self) -> list[str]:
        """Return the names of the secure datasets' models."""
        return [LAYER + dataset.name for dataset in self.now.datasets]

    def switch_secure(self, dataset: Dataset) -> None:
        """Build a secure dataset as its materialization does."""
        node = self.graph["nodes"][LAYER + dataset.name]
        if dataset.name not in self.rendered:
            macros, settings = self.macros(), {}
            macros.stand_in(config=lambda **given: settings.update(given) or "")
            self.rendered[dataset.name] = macros.secure_dataset(dataset.name)
            node["config"] |= {"narrowing": settings["narrowing"]}
        sql = self.rendered[dataset.name]
        named = [key for key in self.graph["nodes"] if queries.names(sql, f"s.{key}")]
        node["depends_on"] = {"nodes": named}
        relation = Relation("s", node["name"])
        query = narrowing.query_of_view(
            self.metastore, self.graph, node, relation, sql, self.waits
        )
        if query is not None:
            switch(self.metastore, relation, query, None)

    # -- what the evaluators say --------------------------------------------------

    def rows_of_before(self, dataset: Dataset) -> set[str]:
        """Return the parts that a dataset's rows are of, below other datasets too."""
        end = dataset
        while end.below:
            end = next(d for d in self.now.datasets if d.name == end.below)
        node = self.graph["nodes"][LAYER + end.name]
        read = set(node["config"]["narrowing"]["rows_from"])
        return {part for part in ("rows", "teams") if read & set(PARTS[part][1])}

    def check(self, narrowed: set[str]) -> None:
        """Assert for each secure dataset that it shows what it must."""
        for dataset in self.now.datasets:
            states = dict(self.published)
            if LAYER + dataset.name not in narrowed:
                expected = Counter(
                    map(tuple_of, self.of_parts(states).expected()[dataset.name])
                )
                assert self.shown(dataset) == expected, (dataset.name, "whole")
                self.before[dataset.name] = (self.of_parts(states), states)
                continue
            text = self.metastore.texts["s", LAYER + dataset.name]
            # However many runs narrow it, both parts are whole queries.
            for part in parts_of_narrowed(text, LAYER + dataset.name):
                assert part != text
                assert not reads_narrowed(part)
            case, states_before = self.before[dataset.name]
            states |= {
                part: states_before[part] for part in self.rows_of_before(dataset)
            }
            keys = ["run_id"]
            if dataset.is_query:
                keys = [column for column in dataset.columns if column != "total"]
            expected = both(
                case.expected()[dataset.name],
                self.of_parts(states).expected()[dataset.name],
                keys,
                self.only_masks(case, dataset),
            )
            self.masked += sum(
                value is not None and old[column] != value
                for row in expected
                for old in case.expected()[dataset.name]
                if all(row[k] == old[k] for k in [*keys, "user_id"])
                for column, value in row.items()
            )
            assert self.shown(dataset) == Counter(map(tuple_of, expected)), dataset.name

    def only_masks(self, before: Case, dataset: Dataset) -> dict[str, Policy]:
        """Return the columns with one mask, also before, that reads no other one."""
        old, new = masks_of(before, dataset), masks_of(self.now, dataset)
        return {
            column: next(iter(masks.values()))
            for column, masks in new.items()
            if len(masks) == 1
            and old.get(column, {}).keys() <= masks.keys()
            and next(iter(masks))[0] != "column"
        }

    def shown(self, dataset: Dataset) -> Counter:
        """Return the rows that a secure dataset shows."""
        text = catalogs.text_of_view(self.metastore, f"s.{LAYER}{dataset.name}")
        return self.rows_of(dataset, text)

    def read_by_test(self, dataset: Dataset) -> Counter:
        """Return the rows that a data test reads of a secure dataset."""
        node = self.graph["nodes"][check_of(dataset)]
        sql = f"select * from s.{LAYER}{dataset.name}"
        tested = after_tests.rows_to_test(self.metastore, self.graph, node, sql, True)
        if tested == sql:
            return self.shown(dataset)
        return self.rows_of(dataset, tested)

    def rows_of(self, dataset: Dataset, text: str) -> Counter:
        """Return the rows of a query with a secure dataset's columns."""
        names = ", ".join([*dataset.columns, "user_id"])
        query = f"select {names} from (\n{text}\n) as shown"
        return Counter(map(repr, self.metastore.rows(in_duckdb(query))))


def check_of(dataset: Dataset) -> str:
    """Return the name of a dataset's data test."""
    return f"check_{dataset.name}"


def masks_of(case: Case, dataset: Dataset | None) -> dict[str, dict]:
    """Return the policies that mask each column, by their masks, below it too."""
    found: dict[str, dict] = {}
    while dataset:
        # Under view authorization only the rules at the end of the chain act.
        if not (dataset.is_authorized and dataset.below):
            for policy in case.of(dataset.name)[1]:
                found.setdefault(policy.column, {})[policy.mask] = policy
        dataset = next((d for d in case.datasets if d.name == dataset.below), None)
    return found


def tuple_of(row: dict[str, Any]) -> str:
    """Return a row as what is compared."""
    return repr(tuple(row.values()))


def both(
    before: list[dict], now: list[dict], keys: list[str], masks: dict[str, Policy]
) -> list[dict]:
    """Return what two answers both give, row by row and cell by cell.

    A value that one of them masks is masked where that can be known.
    """

    def cell(column: str, old: Any, new: Any) -> Any:
        if column in keys or old == new:
            return old
        if column in masks:
            mask = masks[column].mask
            for shown, hidden in ((new, old), (old, new)):
                made = [value(mask, {column: each}, ()) for each in (hidden, shown)]
                if made == [shown, shown]:
                    return shown
        return None

    return [
        {column: cell(column, old, other[column]) for column, old in row.items()}
        | {"user_id": other["user_id"] if row["user_id"] is None else row["user_id"]}
        for row in before
        for other in now
        if all(row[key] == other[key] for key in keys)
        and (
            row["user_id"] == other["user_id"]
            or None in (row["user_id"], other["user_id"])
        )
    ]


@pytest.fixture(autouse=True)
def no_signs(monkeypatch):
    """Nobody else runs here, so nobody has to be told that this run lives."""
    monkeypatch.setattr(RunLock, "give_signs_of_life", lambda self: None)


def worlds(first: int, count: int) -> list[int]:
    """Return the numbers of worlds; what Spark would replace in a text, no view has."""
    numbers = (
        n for n in itertools.count(first) if "${" not in document(random_case(n))
    )
    return list(itertools.islice(numbers, count))


def play(number: int) -> tuple[int, int, int]:
    """Play partial runs in a world.

    Count the datasets narrowed and moved whole, and the values newly masked.
    """
    narrowed = whole = 0
    world = World(number)
    assert not world.run(set(PARTS))
    world.check(set())
    for _ in range(3):
        parts = sorted(PARTS)
        world.deliver(set(world.choice.sample(parts, world.choice.randint(1, 4))))
        if world.choice.random() < 0.3:
            world.change_policies()
        some = world.choice.choice(
            [RIGHTS, {"rows", "teams"}, {world.choice.choice(parts)}, set()]
        )
        stayed = world.run(some)
        world.check(set(stayed))
        narrowed += len(stayed)
        whole += len(world.now.datasets) - len(stayed)
    assert not world.run(set(PARTS))
    world.check(set())
    return narrowed, whole, world.masked


def test_after_a_partial_run_a_secure_dataset_shows_what_both_states_show():
    counts = [play(number) for number in worlds(SEED, WORLDS)]
    # Both must happen often, or the law says little.
    narrowed, whole, masked = map(sum, zip(*counts, strict=True))
    assert narrowed > WORLDS * 2
    assert whole > WORLDS
    # That a value gets its mask is rarer.
    assert masked or WORLDS < 100


def play_tests(number: int) -> tuple[int, int]:
    """Play whole runs in which tests pass, warn, fail or do not run.

    Count the datasets that stayed and those that moved.
    """
    stayed = moved = 0
    world, choice = World(number), random.Random(f"after tests {number}")
    outcomes = ["pass", "warn", "fail", "error", "skipped", None]
    for _ in range(4):
        # The checks of the laws begin with a state that was published whole.
        if world.runs:
            parts = sorted(PARTS)
            world.deliver(set(choice.sample(parts, choice.randint(1, 4))))
            if choice.random() < 0.3:
                world.change_policies()
        statuses = {
            check_of(dataset): outcome
            for dataset in world.now.datasets
            if (outcome := "pass" if not world.runs else choice.choice(outcomes))
        }
        before = {
            name: Counter(map(tuple_of, case.expected()[name]))
            for name, (case, _) in world.before.items()
        }
        left = world.run(set(PARTS), statuses)
        world.check(set(left))
        now = world.of_parts(world.published).expected()
        for dataset in world.now.datasets:
            name, layer = dataset.name, LAYER + dataset.name
            assert world.tested[name] == Counter(map(tuple_of, now[name]))
            passed = statuses.get(check_of(dataset)) in ("pass", "warn")
            # A dataset whose query is the one of before has nothing to wait for.
            assert layer in left or passed or world.shown(dataset) == before[name]
            # A dataset waits for the datasets that it reads, too.
            waits = left.keys() & world.graph["nodes"][layer]["depends_on"]["nodes"]
            assert layer in left or not waits
            assert layer not in left or not passed or waits
        stayed += len(left)
        moved += len(world.now.datasets) - len(left)
    return stayed, moved


def test_until_its_tests_pass_a_secure_dataset_shows_what_both_states_show():
    some = max(1, WORLDS // 4)
    counts = [play_tests(number) for number in worlds(SEED, some)]
    stayed, moved = map(sum, zip(*counts, strict=True))
    assert stayed > some * 2
    assert moved > some * 2


def test_a_new_dataset_shows_no_row_before_its_tests_pass():
    world = World(worlds(SEED, 1)[0])
    assert world.run(set(PARTS), {}).keys() == {*world.layer_names()}
    for dataset in world.now.datasets:
        assert not world.shown(dataset)
        # What reads it is not built over it as if it were whole.
        assert reads_narrowed(world.metastore.texts["s", LAYER + dataset.name])
    passed = {check_of(dataset): "pass" for dataset in world.now.datasets}
    assert not world.run(set(), passed)
    world.check(set())


def test_a_dataset_that_waits_and_can_not_be_narrowed_is_an_error():
    world = World(worlds(SEED, 1)[0])
    passed = {check_of(dataset): "pass" for dataset in world.now.datasets}
    assert not world.run(set(PARTS), passed)
    del world.metastore.texts["s", LAYER + "runs"]
    world.deliver(set(PARTS))
    world.tested.clear()
    left = world.run(set(PARTS), passed | {check_of(world.now.datasets[0]): "fail"})
    assert world.now.datasets[0].name == "runs"
    assert LAYER + "runs" not in left
    result = world.results[LAYER + "runs"]
    assert str(result.status) == "error"
    assert "still shows the rights of before, revoked ones too" in result.message


def narrowed_world() -> World:
    """Return a world in which the dataset `runs` is narrowed."""
    for number in worlds(SEED, 100):
        world = World(number)
        world.run(set(PARTS))
        world.deliver({"rows", "members"})
        if LAYER + "runs" in world.run({"members"}):
            return world
    raise AssertionError("no dataset was narrowed")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("select user_id from s_versions.access{}", "its column run_id, by which rows"),
        ("select * from s_versions.gone{}", "Table with name gone"),
        (None, "its text is not known to the metastore"),
    ],
    ids=["another key", "a version that is gone", "no text"],
)
def test_a_dataset_that_can_not_be_narrowed_is_an_error(text, why):
    world, place = narrowed_world(), ("s", LAYER + "runs")
    text = text and text.format("__v20260101000001_0123abcd")
    if text:
        world.metastore.texts[place] = text
    else:
        del world.metastore.texts[place]
    world.deliver({"members"})
    sentence = "'vw_secure_dataset_runs' still shows the rights of before, revoked ones"
    with pytest.raises(CompilationError, match=sentence) as wrong:
        world.run({"members"})
    assert why in str(wrong.value)
    assert world.metastore.texts.get(place) == text


def test_a_policy_holds_over_the_versions_that_a_dataset_shows():
    """They are of one state, whatever the raw tables hold by now."""
    changed = 0
    for number in worlds(SEED, 6):
        world = World(number)
        # The same rows and rights, but of several runs.
        for parts in (set(PARTS), RIGHTS):
            assert not world.run(parts)
            world.check(set())
        world.deliver(set(PARTS))
        before = world.metastore.texts.copy()
        world.change_policies()
        # One that reads more than before narrows.
        stayed = world.run(set())
        world.check(set(stayed))
        changed += any(
            text != before[place]
            for place, text in world.metastore.texts.items()
            if place[1].startswith(LAYER) and place[1] not in stayed
        )
    assert changed


NOBODY = "cast(null as bigint)"


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        # A row that bears no user is for everyone.
        (NOBODY, NOBODY, [None]),
        (NOBODY, "8", [8]),
        ("8", NOBODY, [8]),
        ("8", "8", [8]),
        ("8", "9", []),
    ],
)
def test_a_row_for_everyone_meets_the_row_of_each_user(before, now, shown):
    metastore = Metastore()
    queries = [
        f"select 1 as k, 'a' as v, {user} as user_id"
        if user == NOBODY
        else f"select 1 as k, 'a' as v, cast({user} as bigint) as user_id"
        for user in (before, now)
    ]
    said = {"unique_key": ["k"], "rows_from": []}
    query = narrowing.intersection(metastore, "secure", said, *queries)
    assert metastore.rows(in_duckdb(query)) == [(1, "a", user) for user in shown]


def test_what_is_new_or_not_compared_is_null():
    metastore = Metastore()
    before = "select 1 as k, 'a' as same, 'b' as masked, 2 as other, 8 as user_id"
    now = "select 1 as k, 'a' as same, '*' as masked, '2' as other, 'n' as new, 8"
    said = {"unique_key": ["k"], "rows_from": []}
    query = narrowing.intersection(
        metastore, "secure", said, before, f"{now} as user_id"
    )
    assert metastore.rows(in_duckdb(query)) == [(1, "a", None, None, None, 8)]


def test_what_decides_rights_is_read_as_it_is_now_though_rows_come_from_it():
    graph = World(SEED).graph
    for name, kind, parents, config in (
        # A plain view, whose query stands in the dataset's, over what maps users.
        ("listed_runs", "view", ["all_runs", "group_units"], {}),
        ("secure", "view", ["listed_runs", "access"], {}),
        ("mapped", "view", ["listed_runs", "group_units"], {}),
        ("above", "view", ["mapped", "all_runs"], {"rows_from": ["mapped"]}),
    ):
        rows_from = config.get("rows_from", ["listed_runs"])
        said = {"narrowing": {"unique_key": ["run_id"], "rows_from": rows_from}}
        graph["nodes"][name] = {
            "name": name,
            "relation_name": f"s.{name}",
            "depends_on": {"nodes": parents},
            "config": {"materialized": kind} | ({} if name == "listed_runs" else said),
        }
    found = {
        name: narrowing.row_relations(graph, graph["nodes"][name])
        for name in ("secure", "mapped", "above")
    }
    assert found["secure"] == {"s.all_runs", "s.group_units"}
    assert found["mapped"] == {"s.all_runs"}
    assert found["above"] == set(), "of the dataset below, rights are left out too"


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("select * from s.a where x in (select y from s.b)", {"s.b"}),
        ("with t as (select * from s.a where k = 1) select * from t", set()),
        ("select case when x = (select y from s.b) then 1 end as x from s.a", {"s.b"}),
        ("select 1 from (select * from s.a) as t inner join s.b on t.k = b.k", set()),
    ],
)
def test_what_conditions_and_masks_read_is_known(query, read):
    assert read_by_conditions("secure", query) == read


def test_a_rule_that_looks_into_the_dataset_s_own_rows_looks_into_those_of_now(
    monkeypatch,
):
    text_of = document
    looks = "ref('all_runs')"
    monkeypatch.setitem(
        globals(),
        "document",
        lambda case: text_of(case).replace(f"ref('{LIST}')", looks),
    )
    found = set()
    for number in worlds(SEED, 40):
        world = World(number)
        world.run(set(PARTS))
        rule = "from s.all_runs as a" in " ".join(world.rendered["runs"].split())
        if len(found) == 2 or rule in found:
            continue
        world.deliver({"rows", "members"})
        world.run({"rows"})
        text = world.metastore.texts["s", LAYER + "runs"]
        before, now = parts_of_narrowed(text, LAYER + "runs")
        if reads_narrowed(text):
            newest = "s_versions.all_runs__v20260101000002_0123abcd"
            assert (newest in now) == rule
            assert newest not in before
            found.add(rule)
    assert found == {True, False}


def test_each_secure_dataset_tells_what_all_rules_look_up():
    """It depends on that too, and would never be of one state by its own query."""
    found = set()
    for number in worlds(SEED, 20):
        world = World(number)
        macros, looks_up = world.macros(), LIST in document(world.now)
        macros.graph.nodes[LIST] = {"relation_name": f"s.{LIST}"}
        for dataset in world.now.datasets:
            macros.secure_dataset(dataset.name)
            assert macros.noted_rules.pop() == ([f"s.{LIST}"] if looks_up else [])
        found.add(looks_up)
    assert found == {True, False}


def test_a_text_that_is_equal_by_its_collation_alone_is_no_equal_value(monkeypatch):
    """As a name is to the same in small letters, by which it is masked."""
    kinds = {"k": "bigint", "v": "string collate utf8_lcase", "user_id": "bigint"}
    monkeypatch.setattr(narrowing, "_columns", lambda adapter, query: kinds)
    said = {"unique_key": ["k"], "rows_from": []}
    query = narrowing.intersection(
        Metastore(), "secure", said, "select 1", "select lower(2)"
    )
    assert "cast(null as string collate utf8_lcase) as `v`" in query
    kinds["k"] = kinds["v"]
    with pytest.raises(DbtRuntimeError, match="column k, by which rows are matched"):
        narrowing.intersection(Metastore(), "secure", said, "select 1", "select 2")


def test_two_rows_of_one_key_show_only_what_both_states_show_of_them():
    """A key that is not unique can't carry a row over: see the page on deployments."""
    metastore = Metastore()
    text = "select * from (values {}) as t(k, name, place, user_id)"
    # The first row's right was revoked, and the second's is new.
    before = text.format("(1, 'Ann', 'Bern', 8)")
    now = text.format("(1, 'Ben', 'Bern', 8), (1, 'Ann', 'Rome', 9)")
    said = {"unique_key": ["k"], "rows_from": [], "masks": {"name": "left(name, 1)"}}
    query = narrowing.intersection(metastore, "secure", said, before, now)
    assert metastore.rows(in_duckdb(query)) == [(1, None, "Bern", 8)]


@pytest.mark.parametrize(
    ("mask", "before", "now", "shown"),
    [
        (FIRST, "'Ann'", "'A*'", "A*"),
        (FIRST, "'A*'", "'Ann'", "A*"),
        # Neither is what the mask makes of the other: masked before by another mask.
        (FIRST, "'#'", "'Ann'", None),
        (FIRST, "'Ann'", "'B*'", None),
        (FIRST, "'Ann'", "cast(null as string)", None),
        # Made twice, or after the mask of before, it shows the value.
        ("reverse(v)", "'Ann'", "'nnA'", None),
        ("reverse(v)", "'nnA'", "'Ann'", None),
        ("reverse(v)", "'Anna'", "'annA'", None),
        ("0 - v", "5", "-5", None),
        ("substr(v, 2)", "'xAnn'", "'Ann'", None),
        ("substr(v, 2)", "'Ann'", "'xAnn'", None),
        ("'x' || v", "'Ann'", "'xAnn'", None),
    ],
)
def test_a_value_that_one_state_masks_shows_the_mask(mask, before, now, shown):
    metastore = Metastore()
    said = {"unique_key": ["k"], "rows_from": [], "masks": {"v": mask}}
    queries = [
        f"select * from (values (1, {v}, 8)) as t(k, v, user_id)" for v in (before, now)
    ]
    query = narrowing.intersection(metastore, "secure", said, *queries)
    assert metastore.rows(in_duckdb(query)) == [(1, shown, 8)]


@pytest.mark.parametrize(
    ("old", "shown"),
    [
        ("v", "ab"),
        ("least(v, reverse(v))", "ab"),
        # `ba` is what this makes of the value that the mask of now makes of it.
        ("reverse(v)", None),
    ],
)
def test_a_mask_that_undoes_another_one_of_before_shows_nothing(old, shown):
    """The value is `ab`, or `ba` where it was shown."""
    metastore, mask = Metastore(), "least(v, reverse(v))"
    said = {"unique_key": ["k"], "rows_from": [], "masks": {"v": mask}}
    value = "'ba'" if old == "v" else "'ab'"
    before, now = (
        f"select k, case when user_id = 8 then {mask} else v end as v, user_id"
        f" from (select 1 as k, {value} as v, 8 as user_id) as rows_of_all"
        for mask in (old, mask)
    )
    query = narrowing.intersection(metastore, "secure", said, before, now)
    assert metastore.rows(in_duckdb(query)) == [(1, shown, 8)]
