"""What runs in each order publish: a secure view over rows and rights, without Spark.

A secure view joins rows and rights, each staged from a raw table of its own. The runs
are played over the metastore's double; what Spark alone can be wrong about is tested in
test_publishing.py.
"""

from __future__ import annotations

import random

import pytest
from dbt.cli.flags import Flags
from dbt.cli.types import Command
from dbt_common.exceptions import CompilationError, DbtRuntimeError
from metastore_double import Relation
from played_runs import PlayedRuns, in_order

from dbt_secure_spark import hooks, lock, narrowing, unchanged
from dbt_secure_spark.run import Run
from dbt_secure_spark.versions import began, raw_reads, versions_kept, versions_read

GRANTS, THINGS = "raw.grants", "raw.things"
MODELS = {
    "stg_grants": ("published_view", GRANTS),
    "stg_things": ("published_view", THINGS),
    "access": ("published_view", "stg_grants"),
    "base": ("published_view", "stg_things"),
    "secure": ("view", "base", "access"),
}
SECURE = ("s", "secure")
ROWS, RIGHTS = ("stg_things", "base"), ("stg_grants", "access")
CHANGED = (
    "its rows and rights were read by several runs, and raw.grants changed between"
)


def node_of(name: str, kind: str, *parents: str) -> dict:
    """Return a node as dbt's graph has it."""
    return {
        **{"unique_id": name, "name": name, "alias": name, "schema": "s"},
        **{"relation_name": f"s.{name}", "resource_type": "model", "language": "sql"},
        **{"depends_on": {"nodes": [*parents]}, "config": {"materialized": kind}},
        **{"columns": {}, "description": ""},
    }


def source_of(name: str) -> dict:
    """Return a raw table as dbt's graph has it."""
    schema, _, table = name.partition(".")
    return {
        **{"relation_name": name, "source_name": schema, "name": table},
        **{"resource_type": "source", "loaded_at_field": None, "unique_id": name},
    }


@pytest.fixture
def runs(monkeypatch) -> PlayedRuns:
    """The project after its first whole run; readers may have a schema of their own."""
    monkeypatch.setattr(lock.RunLock, "give_signs_of_life", lambda self: None)
    monkeypatch.setattr(hooks, "check_session", lambda _: None)
    graph = {
        "nodes": {name: node_of(name, *made) for name, made in MODELS.items()},
        "sources": {name: source_of(name) for name in (GRANTS, THINGS)},
    }
    runs = PlayedRuns(graph, "s", "readers")
    runs.run(MODELS)
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    return runs


def shown(runs: PlayedRuns, place: tuple[str, str] = SECURE) -> dict[str, int]:
    """Return which load of each raw table the secure view shows."""
    return dict(runs.origin_of_view(place))


def test_new_rows_are_not_shown_under_older_rights(runs):
    runs.load(GRANTS, THINGS)
    runs.run([*ROWS, "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    sentence = f"'secure' stays as it was: {CHANGED}. Run '+secure'."
    assert runs.stayed == {"secure": sentence}
    runs.run(MODELS)
    assert shown(runs) == {GRANTS: 2, THINGS: 2}
    assert not runs.stayed


@pytest.mark.parametrize(("when", "of_rows"), [("before", 3), ("after", 2)])
def test_a_raw_table_that_is_replaced_in_mid_run_is_read_as_one_of_its_states(
    runs, when, of_rows
):
    def changed() -> set[str]:
        secure = [Relation(*SECURE)]
        found = hooks.changed_raw_tables(runs.metastore, runs.graph, secure)
        return {raw["table"] for raw in found}

    runs.load(THINGS)
    getattr(runs, f"replaced_{when}")["stg_things"] = [THINGS]
    runs.run(MODELS)
    # Either way it counts as read before, so that it is named as changed since.
    assert shown(runs) == {GRANTS: 1, THINGS: of_rows}
    assert changed() == {THINGS}
    runs.run(MODELS)
    assert shown(runs) == {GRANTS: 1, THINGS: 3}
    assert changed() == set()
    getattr(runs, f"replaced_{when}")["stg_things"] = [THINGS]
    runs.run([*ROWS, "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 3}
    assert f"{THINGS} changed between" in runs.stayed["secure"]


def test_F7_the_version_before_that_a_model_names_does_not_date_its_rows(runs):
    runs.load(THINGS)
    runs.run(MODELS)
    stg_things = ("s", "stg_things")
    told = runs.metastore.told(*stg_things)
    [before], [now] = versions_kept(told), versions_read(told)
    base = runs.graph["nodes"]["base"]
    base["compiled_code"] = f"select * from s.stg_things join {before} using (id)"
    runs.run(["base", "secure"])
    told = runs.metastore.told("s", "base")
    [version] = (version.split(".") for version in versions_read(told))
    of_base, of_staged = (
        raw_reads(runs.metastore.told(*place)) for place in (version, now.split("."))
    )
    assert of_base == of_staged
    assert not runs.stayed


@pytest.mark.parametrize("when", ["before", "after"])
def test_rights_that_are_replaced_in_mid_run_are_not_mixed_with_rows_of_another_state(
    runs, when
):
    runs.load(GRANTS, THINGS)
    getattr(runs, f"replaced_{when}")["stg_grants"] = [GRANTS]
    runs.run(RIGHTS)
    runs.run([*ROWS, "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    assert CHANGED in runs.stayed["secure"]
    runs.run(MODELS)
    assert shown(runs) == {GRANTS: 3, THINGS: 2}


def test_rights_that_are_replaced_after_a_look_are_not_joined_with_later_rows(runs):
    # A view of their own, over rights that another run has read, looks first.
    runs.graph["nodes"]["first"] = node_of("first", "view", "access", "stg_other")
    runs.graph["nodes"]["stg_other"] = node_of("stg_other", "published_view", "raw.o")
    runs.graph["sources"]["raw.o"] = source_of("raw.o")
    runs.metastore.raw["raw.o"] = 1
    runs.order = ["stg_other", "first", *ROWS, "secure"]
    built = runs.build

    def build(node: dict, run: str) -> None:
        if node["name"] == ROWS[0]:
            assert runs.metastore.dbt_run.now
            runs.load(GRANTS, THINGS)
        built(node, run)

    runs.build = build
    runs.run(runs.order)
    assert shown(runs, ("s", "first")) == {GRANTS: 1, "raw.o": 1}
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    assert CHANGED in runs.stayed["secure"]


def test_a_right_ends_though_the_raw_table_of_the_rows_is_lost(runs, monkeypatch):
    said = {"unique_key": ["id"], "rows_from": ["base"]}
    runs.graph["nodes"]["secure"]["config"] |= {"inline_views": True, "narrowing": said}
    runs.metastore.columns = [("id", "bigint"), ("user_id", "bigint")]
    execute = runs.metastore.execute

    def fail(statement: str, fetch: bool = False):
        if THINGS in statement:
            raise DbtRuntimeError(f"[TABLE_OR_VIEW_NOT_FOUND] {THINGS}")
        return execute(statement, fetch)

    monkeypatch.setattr(runs.metastore, "execute", fail)
    runs.load(GRANTS)
    runs.run([*RIGHTS, "secure"])
    now = versions_read(runs.metastore.told("s", "access"))
    assert {*now} < {*versions_read(runs.metastore.told(*SECURE))}
    assert f"{THINGS} changed between" in runs.stayed["secure"]


def test_old_rows_are_not_shown_under_newer_rights_of_another_state(runs):
    # The thing that a user may see now is not the one that had this id.
    runs.load(GRANTS, THINGS)
    runs.run([*RIGHTS, "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    assert "raw.things changed between" in runs.stayed["secure"]


def test_rows_that_were_read_later_are_shown_where_no_right_has_changed_since(runs):
    runs.load(THINGS)
    runs.run([*ROWS, "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 2}


def test_a_right_takes_effect_when_the_secure_dataset_runs(runs):
    runs.load(GRANTS)
    left = runs.run(RIGHTS)
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    assert left["not_run"] == ["secure"]
    left = runs.run(["secure"])
    assert shown(runs) == {GRANTS: 2, THINGS: 1}
    assert left == {"not_run": [], "over_others": []}


def test_a_right_that_acts_is_not_told_as_one_of_before(runs):
    runs.load(GRANTS)
    # As the selector `rights` does: the rows have not moved, and are not worth a word.
    left = runs.run([*RIGHTS, "stg_things", "secure"])
    assert shown(runs) == {GRANTS: 2, THINGS: 1}
    assert left == {"not_run": [], "over_others": []}
    assert not runs.stayed


def test_a_view_is_run_alone_on_what_one_run_has_published(runs):
    runs.load(GRANTS, THINGS)
    # Nothing is read anew, so what was read together still belongs together.
    runs.run(["base", "secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    assert not runs.stayed


def test_a_failed_access_model_and_a_retry_leave_one_state(runs):
    runs.load(GRANTS, THINGS)
    runs.run(MODELS, failing=["access"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    runs.load(GRANTS)
    runs.run(["secure"])
    assert shown(runs) == {GRANTS: 1, THINGS: 1}
    # The rights that the first run has read belong to its rows.
    runs.run(["access", "secure"])
    assert shown(runs) == {GRANTS: 2, THINGS: 2}


def test_a_run_of_no_rows_is_of_no_state(runs, monkeypatch):
    monkeypatch.setattr(unchanged, "option_to_read_some_rows", lambda: "--empty")
    runs.run(MODELS)
    monkeypatch.setattr(unchanged, "option_to_read_some_rows", lambda: None)
    before = runs.metastore.texts[SECURE]
    runs.run([*ROWS, "secure"])
    assert "raw.grants changed between" in runs.stayed["secure"]
    assert runs.metastore.texts[SECURE] == before


def test_what_was_staged_since_a_relation_was_made_is_told(runs):
    def ahead(name: str) -> list[str]:
        relations = [Relation("s", name)]
        found = hooks.made_since(runs.metastore, runs.graph, relations)
        assert found["stored"] == []
        return found["tables"]

    runs.load(GRANTS)
    assert ahead("secure") == []
    runs.run(["stg_grants"])
    assert ahead("secure") == ahead("access") == ["grants"]
    assert ahead("base") == []
    runs.run(["access", "secure"])
    assert ahead("secure") == ahead("access") == []
    # The same rows, read by another run.
    runs.run(["stg_grants", "stg_things"])
    assert ahead("secure") == []


def test_a_narrowed_dataset_names_the_views_of_before_that_decide(runs, monkeypatch):
    """What only such a view decides is not narrowed, so the message says so."""
    nodes = runs.graph["nodes"]
    nodes["own"] = node_of("own", "view", "stg_grants", "stg_things")
    nodes["secure"]["depends_on"]["nodes"].append("own")
    narrowed = {"unique_key": ["id"], "rows_from": ["base"]}
    nodes["secure"]["config"]["narrowing"] = narrowed
    runs.order = in_order(runs.graph)
    runs.run({*MODELS, "own"})
    monkeypatch.setattr(narrowing, "narrowed", lambda *_: "select 1")
    runs.load(GRANTS, THINGS)
    runs.run({*RIGHTS, "own", "secure"})
    assert runs.stayed["own"].startswith("'own' stays as it was")
    assert runs.stayed["secure"].startswith("'secure' shows the rows of before")
    kept = "'own' is as before, and so is what it decides, revoked rights too."
    assert kept in runs.stayed["secure"]
    # The same if the run leaves it out, but not if it gives rows alone.
    runs.load(GRANTS)
    runs.run({*RIGHTS, "secure"})
    assert kept in runs.stayed["secure"]
    narrowed["rows_from"].append("own")
    runs.load(GRANTS)
    runs.run({*RIGHTS, "secure"})
    assert runs.stayed["secure"] and kept not in runs.stayed["secure"]


def test_versions_that_a_view_of_another_schema_reads_stay(runs):
    secure = runs.graph["nodes"]["secure"]
    moved = secure | {"schema": "readers", "relation_name": "readers.secure"}
    runs.graph["nodes"]["secure"] = moved
    runs.run(MODELS)
    # Also of runs that do not know the readers' schema.
    runs.schemas = ("s",)
    # More versions than the two that stay by themselves.
    for _ in range(3):
        runs.load(THINGS)
        runs.run(ROWS)
        assert shown(runs, ("readers", "secure")) == {GRANTS: 1, THINGS: 1}
    # The view that was left in the old schema, too.
    runs.graph["nodes"]["secure"] = secure
    runs.run(["base"])
    for place in (SECURE, ("readers", "secure")):
        assert shown(runs, place) == {GRANTS: 1, THINGS: 1}
    strangers = hooks.views_without_model(runs.metastore, runs.graph)
    assert strangers == ["readers.secure"]


def test_a_run_that_is_replaced_at_its_end_does_not_blame_the_catalog(runs):
    run = Run(runs.metastore, "20260301000000_0123abcd", 20, *[["s"]] * 3)
    run.begin(None)
    # Suspended since: a later run has switched the view that this one had switched.
    run.switched["s.secure"] = "select 1"
    run.note_found = lambda: setattr(run.lock, "is_lost", True)
    with pytest.raises(lock.RunLost):
        run.end()


def test_what_is_deferred_to_another_schema_is_refused(runs):
    for name, node in runs.graph["nodes"].items():
        node["defer_relation"] = {"relation_name": f"s.{name}"}
    runs.graph["nodes"]["access"]["defer_relation"] = {"relation_name": "other.access"}
    node = runs.graph["nodes"]["secure"]
    metastore, relation = runs.metastore, Relation("s", "new")
    metastore.dbt_run = Run(metastore, "run", 20, *[["s"]] * 3)
    sql = "select * from s.base, other.access"
    refused = "'secure' is not created: it would read other.access, by --defer"
    with pytest.raises(CompilationError, match=refused):
        narrowing.query_of_view(metastore, runs.graph, node, relation, sql)
    relation = Relation("s", "secure")
    # A view of somebody's own stays as it was.
    assert narrowing.query_of_view(metastore, runs.graph, node, relation, sql) is None
    # A secure dataset would keep rights that were revoked, and the run would be green.
    node["config"]["narrowing"] = {"unique_key": ["id"], "rows_from": ["base"]}
    refused = "'secure' still shows the rights of before, revoked ones too: it would re"
    with pytest.raises(CompilationError, match=refused):
        narrowing.query_of_view(metastore, runs.graph, node, relation, sql)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"empty": True}, "--empty"),
        ({"sample": "1 day"}, "--sample"),
        (
            {"event_time_start": "2026-01-01", "event_time_end": "2026-02-01"},
            "--event-time-start",
        ),
        ({}, None),
    ],
    ids=str,
)
def test_the_options_to_read_some_rows_are_known_by_dbt_s_flags(
    options, named, monkeypatch, tmp_path
):
    (tmp_path / "dbt_project.yml").write_text("name: a\n")
    place = {"project_dir": str(tmp_path), "profiles_dir": str(tmp_path)}
    # Another test's command decides what dbt does with what is deprecated.
    monkeypatch.setattr(Flags, "fire_deprecations", lambda self, ctx: None)
    flags = Flags.from_dict(Command.RUN, place | options)
    monkeypatch.setattr(hooks, "get_flags", lambda: flags)
    assert hooks.option_to_read_some_rows() == named


def test_a_run_that_reads_some_rows_publishes_over_none_of_all(runs):
    metastore = runs.metastore
    before = metastore.texts.copy()
    models = ["s.base", "s.secure"]
    run = Run(metastore, "run", 20, ["s"], ["s"], models)
    with pytest.raises(DbtRuntimeError) as refused:
        run.begin("--sample")
    told = str(refused.value)
    assert "reads only some rows (--sample) and would publish them over what" in told
    assert metastore.texts == before


# ---------------------------------------------------------------------------
# Versions that stay
# ---------------------------------------------------------------------------

TABLES = ("raw.a", "raw.b", "raw.c")
PYTHON = {"language": "python", "raw_code": "def model(dbt, session):\n    return 1\n"}
# When the files are written that are new to each run that is played.
NEW = began("20260101000000_0123abcd")


class Deliveries(PlayedRuns):
    """Random relations over raw tables, to which anything may be delivered."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice
        nodes: dict[str, dict] = {}
        for number in range(8):
            read = choice.sample([*TABLES, *nodes], choice.randint(1, 3))
            kind = choice.choice(["published_view"] * 3 + ["view"])
            node = node_of(f"m{number}", kind, *read)
            node["config"]["keep_unchanged"] = choice.random() < 0.9
            is_python = kind != "view" and choice.random() < 0.3
            nodes[node["name"]] = node | (PYTHON if is_python else {})
        sources = {name: source_of(name) for name in TABLES}
        super().__init__({"nodes": nodes, "sources": sources}, "s")

    def load(self, *names: str) -> None:
        """Deliver new rows, or those of before, in another file or in the same."""
        for name in names:
            rows, (_, written_at) = self.choice.randint(1, 2), self.file_of(name)
            is_between = self.metastore.dbt_run is None
            if is_between and written_at == NEW and self.choice.random() < 0.5:
                # In the same second, of the same size. No run is that short.
                self.metastore.raw[name] = rows
            else:
                self.deliver(name, rows, self.choice.choice([0, NEW]))

    def file_of(self, name: str) -> tuple[int, int]:
        return self.metastore.files.get(name, (0, 0))

    def replace_some(self) -> None:
        """Let raw tables be replaced while models read them, and perhaps put back."""
        for name in self.choice.sample(self.order, 3):
            read = {*self.graph["nodes"][name]["depends_on"]["nodes"]} & {*TABLES}
            self.replaced_before[name] = self.replaced_after[name] = sorted(read)

    def rows(self) -> dict[str, set[tuple[str, int]]]:
        """Return which rows of raw tables each relation shows."""
        return {name: self.origin_of_view(("s", name)) for name in self.order}


def test_a_run_that_keeps_versions_shows_what_a_full_refresh_would(monkeypatch):
    monkeypatch.setattr(lock.RunLock, "give_signs_of_life", lambda self: None)
    kept = written = 0
    for number in range(30):
        world = Deliveries(random.Random(number))
        world.run(world.order)
        for _ in range(6):
            world.load(*world.choice.sample(TABLES, world.choice.randint(0, 2)))
            if world.choice.random() < 0.6:
                world.replace_some()
                failing = world.choice.sample(world.order, world.choice.choice([0, 1]))
                some = world.choice.sample(world.order, world.choice.randint(4, 8))
                world.run(some, failing)
                world.replaced_before, world.replaced_after = {}, {}
            before, versions = len(world.kept), len(world.origin)
            world.run(world.order)
            kept += len(world.kept) - before
            written += len(world.origin) - versions
            full = PlayedRuns(world.graph, "s")
            full.metastore.raw = dict(world.metastore.raw)
            full.run(full.order)
            assert not full.kept
            assert world.rows() == {
                name: full.origin_of_view(("s", name)) for name in full.order
            }
    # Both must happen often, or the law says little.
    assert kept > 100
    assert written > 100
