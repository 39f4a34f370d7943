"""I: what each user gets of each view, and what secure datasets show by that.

One small project is parsed and compiled by dbt; the quick engine answers what dbt made
of it, the outcomes included, over small tables. A mistake is an edit of dbt's manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product as every
from typing import Any

import pytest
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from policy_sandbox import Sandbox, config, view_name
from rendering import Macros, Stopped
from small_project import SmallProject, documented, small_project

SCHEMA = "small_views"
SHORT = {"A": "Allow", "T": "Transform", "TD": "Transform to Deny", "D": "Deny"}
OWNER, ALICE, BEN, CARL, SECOND_OWNER = 1, 2, 3, 4, 5
PREFIX = "vw_secure_dataset_"
NAMES_TEST = "assert_decisions_with_rules_name_what_is_there"
CONFIG = """{% macro secure_datasets_config() %}
    {% set document %}
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    notes:
        base: vw_secure_dataset_runs
        columns: [run_id, amount]
        unique_key: [run_id]
        view_authorization: true
    joined:
        base: joined_runs
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    drafts:
        base: text_of_runs
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    copies:
        base: vw_secure_dataset_runs
        columns: [run_id, amount]
        unique_key: [run_id]
policies:
    - {role: A, resource: runs, condition: unit = 'X'}
    - {role: A, resource: runs.amount, mask: "0"}
    - role: B
      resource: runs
      condition: unit in (select a.unit from {{ ref('allowed') }} as a)
    - {role: A, resource: notes, condition: false}
    - {role: A, resource: notes.amount, mask: "1"}
    - {role: A, resource: joined, condition: unit = 'X'}
    {% endset %}
    {{ return(adapter.secure_datasets().read(document, context)) }}
{% endmacro %}
"""
OF_BASES = {
    base: {"run_id": "nothing", "team_id": "team_access", "unit": "nothing"}
    for base in ("all_runs", "joined_runs", "text_of_runs")
}
REFERENCES = documented({"team_access": {"team_id": "team_access"}, **OF_BASES})
# A masked column has a type.
for base in OF_BASES:
    REFERENCES = REFERENCES.replace(
        f"- name: {base}\n  columns:\n",
        f"- name: {base}\n  columns:\n  - {{name: amount, data_type: bigint}}\n",
    )


def a_view(text: str, owner: int | None = OWNER) -> str:
    """Return a model that stores nothing, with an owner."""
    meta = f", meta={{'owner_user_id': {owner}}}" if owner else ""
    return f"{{{{ config(materialized='view'{meta}) }}}}{text}"


def over(*read: str, owner: int | None = OWNER) -> str:
    """Return a view over these."""
    refs = (f"select * from {{{{ ref('{name}') }}}}" for name in read)
    return a_view(" union all ".join(refs), owner)


def text_of(name: str) -> str:
    """Return a model that is only text."""
    select = f"select * from {{{{ ref('{name}') }}}}"
    return f"{{{{ config(materialized='ephemeral') }}}} {select}"


def secure(name: str, owner: int | None = OWNER) -> str:
    """Return the model of a secure dataset."""
    return a_view(f"{{{{ secure_datasets.secure_dataset('{name}') }}}}", owner)


STORED = "select 1 as run_id"
CHAIN_OF_VIEWS = ("over_table", "over_view", "over_views")
MODELS = {
    **dict.fromkeys(["table", "other_table", "stg_users", "team_access"], STORED),
    **dict.fromkeys(["all_runs", "more_runs", "user_role_names", "allowed"], STORED),
    "over_table": over("table"),
    # A chain: the view of another owner over the first one's, and one more above.
    "over_view": over("over_table", owner=2),
    "over_views": over("over_view", owner=3),
    # Several tables; through a model that is only text as well.
    "only_text": text_of("other_table"),
    "over_tables": over("table", "only_text"),
    # A stored copy ends a chain; a view without an owner closes one.
    "stored_copy": "select run_id from {{ ref('over_table') }}",
    "over_copy": over("stored_copy"),
    "without_owner": over("table", owner=None),
    "over_without_owner": over("without_owner"),
    "joined_runs": over("all_runs", "more_runs"),
    "text_of_runs": text_of("all_runs"),
    f"{PREFIX}runs": secure("runs"),
    f"{PREFIX}notes": secure("notes", SECOND_OWNER),
    f"{PREFIX}joined": secure("joined"),
    f"{PREFIX}drafts": secure("drafts"),
    f"{PREFIX}copies": secure("copies", None),
}
CHAIN = {
    (1, "table"): "A",
    (2, "over_table"): "A",
    (3, "over_view"): "A",
}


def node(manifest: Any, name: str) -> Any:
    """Return a model of a manifest."""
    return manifest.nodes[f"model.secure_datasets.{name}"]


@pytest.fixture(scope="module")
def small(project, tmp_path_factory, dbt) -> SmallProject:
    """The small project, parsed."""
    folder = small_project(
        tmp_path_factory.mktemp("views") / "project",
        project,
        SCHEMA,
        {f"models/{name}.sql": text for name, text in MODELS.items()}
        | {
            "macros/config/secure_datasets_config.sql": CONFIG,
            "models/references.yml": REFERENCES,
        },
        copied=(
            *("models/view_authorization", "seeds/view_authorization"),
            f"tests/dbt/{NAMES_TEST}.sql",
        ),
    )
    return SmallProject(folder, dbt)


@pytest.fixture(scope="module")
def compiled(small) -> dict[str, dict]:
    """The compiled nodes of the small project, by name."""
    return small.compiled("path:models/view_authorization", f"{PREFIX}*", NAMES_TEST)


def query_of(compiled: dict[str, dict], name: str) -> str:
    """Return a compiled query over the small tables."""
    text = compiled[name].get("compiled_code") or MODELS[name].split("}}", 1)[1]
    text = re.sub(r"{{ ref\('(\w+)'\) }}", rf"{SCHEMA}.\1", text)
    return re.sub(rf"\b{SCHEMA}\.(\w+)", lambda found: view_name(found[1]), text)


class World:
    """Small tables, the decisions about views, and what the compiled views show."""

    def __init__(self, compiled: dict[str, dict]) -> None:
        self.compiled = compiled
        sandbox = self.sandbox = Sandbox()
        schema = "run_id bigint, team_id bigint, unit string, amount bigint"
        runs = [(1, 10, "X", 5), (2, 10, "Y", 7), (3, 20, "X", 9)]
        sandbox.table("all_runs", schema, runs)
        sandbox.table("more_runs", schema, [(4, 10, "X", 1), (5, 10, "Z", 2)])
        sandbox.table("allowed", "unit string", [("Y",)])
        everybody = (OWNER, ALICE, BEN, CARL, SECOND_OWNER)
        sandbox.table(
            "team_access",
            "team_id bigint, user_id bigint",
            [(10, u) for u in everybody],
        )
        roles: dict[int, list[str | int]] = {user: [] for user in everybody}
        sandbox.roles(roles | {ALICE: ["A"], BEN: ["A"]})
        self.decide({})
        for name in ("joined_runs", *(n for n in MODELS if n.startswith(PREFIX))):
            self.publish(name)
        for name in ("view_outcomes", "unrestricted_view_access", NAMES_TEST):
            self.publish(name)

    def publish(self, name: str) -> None:
        """Make a view of a compiled query: each read asks anew."""
        self.sandbox.view(view_name(name), query_of(self.compiled, name))

    def decide(
        self,
        decisions: dict[tuple[int, str], str | None],
        more: Iterable[tuple[int, str, str | None]] = (),
        not_live: Iterable[int] = (),
    ) -> World:
        """Put these in the place of all decisions; who is not named is live."""
        rows = [(*key, SHORT[short]) for key, short in decisions.items() if short]
        rows += more
        users = {user for user, *_ in rows} | {*range(1, 6), 8, 9}
        self.sandbox.table(
            "view_decisions",
            "user_id bigint, object_name string, decision string",
            rows,
        )
        self.sandbox.table(
            "stg_users",
            "user_id bigint, is_live boolean",
            [(user, user not in not_live) for user in sorted(users)],
        )
        return self

    def rows(self, relation: str, columns: str = "*") -> list[tuple]:
        """Return the rows of a relation."""
        return self.sandbox.rows(f"select {columns} from {view_name(relation)}")

    def decided(self) -> dict[tuple[int, str], tuple[str, str]]:
        """Return what each user gets of each view, and by which decision."""
        columns = "user_id, view_name, outcome, decided_by"
        return {
            (user, view): (outcome, by)
            for user, view, outcome, by in self.rows("view_outcomes", columns)
        }

    def outcome(self, user: int, view: str) -> str:
        """Return what a user gets of a view."""
        return self.decided()[user, view][0]

    def unrestricted(self) -> set[tuple]:
        """Return the findings."""
        return set(self.rows("unrestricted_view_access"))

    def seen(self, dataset: str) -> dict[int, dict[int, int]]:
        """Return who sees which runs of a secure dataset, with which amounts."""
        found: dict[int, dict[int, int]] = {}
        for user, run, amount in self.rows(
            f"{PREFIX}{dataset}", "user_id, run_id, amount"
        ):
            assert run not in found.setdefault(user, {})
            found[user][run] = amount
        return found


@pytest.fixture(scope="module")
def world(compiled) -> World:
    """The world; each test decides anew."""
    return World(compiled)


# ---------------------------------------------------------------------------
# The matrix
# ---------------------------------------------------------------------------

# The outcome for the owner on the own view: for each decision on the table, those by
# the decision on the view.
OWN_OUTCOME = {
    "A": {"A": "Allow", "T": "Allow", "TD": "Deny", "D": "Deny"},
    "T": {"A": "Transform", "T": "Transform", "TD": "Deny", "D": "Deny"},
    "TD": {"A": "Deny", "T": "Deny", "TD": "Deny", "D": "Deny"},
    "D": {"A": "Deny", "T": "Deny", "TD": "Deny", "D": "Deny"},
}
# The outcome for another user where the owner may read the table, Allow or Transform:
# by the user's decision on the table and that on the view. Else it is Deny.
USERS_OUTCOME = {
    "A": {"A": "Allow", "T": "Allow", "TD": "Deny", "D": "Deny"},
    "T": {"A": "Transform", "T": "Transform", "TD": "Deny", "D": "Deny"},
    "TD": {"A": "Allow", "T": "Allow", "TD": "Deny", "D": "Deny"},
    "D": {"A": "Allow", "T": "Allow", "TD": "Deny", "D": "Deny"},
}


def test_I_the_owner_on_the_own_view(world):
    for on_table, on_view in every(SHORT, SHORT):
        world.decide({(OWNER, "table"): on_table, (OWNER, "over_table"): on_view})
        found = world.outcome(OWNER, "over_table")
        assert found == OWN_OUTCOME[on_table][on_view], (on_table, on_view)


@pytest.mark.parametrize("owner", SHORT)
def test_I_another_user_on_the_view(world, owner):
    users = dict(enumerate(every(SHORT, SHORT), start=100))
    decisions = {(OWNER, "table"): owner}
    for user, (on_table, on_view) in users.items():
        decisions |= {(user, "table"): on_table, (user, "over_table"): on_view}
    found = world.decide(decisions).decided()
    assert {user: found[user, "over_table"][0] for user in users} == {
        user: USERS_OUTCOME[on_table][on_view] if owner in ("A", "T") else "Deny"
        for user, (on_table, on_view) in users.items()
    }


def test_I_the_user_needs_nothing_on_the_tables(world):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A"})
    assert world.decided()[9, "over_table"] == ("Allow", "user on over_table")


ALLOWED = {(OWNER, "table"): "A", (9, "over_table"): "A"}


@pytest.mark.parametrize("missing", ALLOWED)
def test_I_no_decision_is_deny(world, missing):
    world.decide(ALLOWED | {missing: None})
    assert world.outcome(9, "over_table") == "Deny"


def test_I_what_is_no_decision_is_deny(world):
    unknown = {11: "", 12: "allow", 13: "Allow ", 14: "Grant", 15: None}
    found = world.decide(
        ALLOWED, [(user, "over_table", text) for user, text in unknown.items()]
    ).decided()
    assert {found[user, "over_table"][0] for user in unknown} == {"Deny"}


def test_I_what_is_no_decision_on_a_table_takes_no_rule_off(world):
    """Deny on a table opens a view that is allowed; what can't be read must not."""
    unknown = {11: None, 12: "", 13: "transform", 14: "Transform ", 15: "Filter"}
    found = world.decide(
        ALLOWED | {(user, "over_table"): "A" for user in unknown},
        [(user, "table", text) for user, text in unknown.items()],
    ).decided()
    told = {found[user, "over_table"] for user in unknown}
    assert told == {("Transform", "user on table")}


@pytest.mark.parametrize("other", ["A", "TD", "D"])
def test_I_another_decision_on_a_table_takes_no_rule_off(world, other):
    world.decide(ALLOWED | {(9, "table"): "T"}, [(9, "table", SHORT[other])])
    assert world.outcome(9, "over_table") == "Transform"


@pytest.mark.parametrize("named", ["Table", " table ", "TABLE"])
def test_I_a_decision_is_about_its_object_however_that_is_spelled(world, named):
    world.decide(ALLOWED | {(9, named): "T"})
    assert world.outcome(9, "over_table") == "Transform"
    world.decide({(OWNER, named): "A", (9, "Over_Table"): "A"})
    assert world.outcome(9, "over_table") == "Allow"


@pytest.mark.parametrize(
    ("named", "decision", "is_found"),
    [
        ("tabel", "Transform", True), ("tabel", "transform", True),
        ("tabel", None, True), ("tabel", "Deny", False), ("tabel", "Allow", False),
        ("Table", "Transform", False), ("over_table", "Transform", False),
    ],
)  # fmt: skip
def test_I_rules_on_a_table_that_is_not_there_are_told(
    world, named, decision, is_found
):
    world.decide({}, [(9, named, decision)])
    assert world.rows(NAMES_TEST) == ([(named, decision)] if is_found else [])


def test_I_of_several_decisions_the_strictest_counts(world):
    world.decide(ALLOWED, [(9, "over_table", "Deny")])
    assert world.outcome(9, "over_table") == "Deny"


# ---------------------------------------------------------------------------
# The chain of views, and who is in it
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("revoked", ["TD", "D", None])
def test_I_a_revoking_the_owner_stops_the_view_for_everybody_at_the_next_read(
    world, revoked
):
    users = (OWNER, 8, 9)
    decisions = {(OWNER, "table"): "A"} | {(user, "over_table"): "A" for user in users}
    found = world.decide(decisions).decided()
    assert {found[user, "over_table"][0] for user in users} == {"Allow"}
    found = world.decide(decisions | {(OWNER, "table"): revoked}).decided()
    told = {found[user, "over_table"] for user in users}
    assert told == {("Deny", "owner 1 on table")}


def test_I_a_an_owner_who_is_not_live_has_no_decision(world):
    decisions = CHAIN | {(9, "over_views"): "A"}
    assert world.decide(decisions).outcome(9, "over_views") == "Allow"
    found = world.decide(decisions, not_live=[2]).decided()
    assert found[9, "over_views"] == ("Deny", "owner 2 on over_table")
    world.sandbox.table(
        "stg_users",
        "user_id bigint, is_live boolean",
        [(1, True), (2, True), (9, True)],
    )
    assert world.decided()[9, "over_views"] == ("Deny", "owner 3 on over_view")


def test_I_a_a_user_who_is_not_live_gets_nothing(world):
    world.decide(ALLOWED | {(9, "table"): "D"}, not_live=[9])
    assert {user for user, _ in world.decided()}.isdisjoint({9})
    assert world.unrestricted() == set()


def test_I_a_the_outcomes_are_a_view_so_that_the_next_read_knows(compiled):
    assert compiled["view_outcomes"]["config"]["materialized"] == "view"


@pytest.mark.parametrize("view", CHAIN_OF_VIEWS)
def test_I_b_rules_act_at_the_table_through_the_whole_chain(world, view):
    world.decide(CHAIN | {(9, view): "A", (9, "table"): "T"})
    assert world.decided()[9, view] == ("Transform", "user on table")


@pytest.mark.parametrize("ruled", CHAIN_OF_VIEWS)
def test_I_b_rules_on_a_view_are_ignored(world, ruled):
    world.decide(CHAIN | {(9, "over_views"): "A"} | {(9, ruled): "T"})
    assert world.outcome(9, "over_views") == "Allow"


@pytest.mark.parametrize(("owner", "read"), CHAIN)
@pytest.mark.parametrize("revoked", ["TD", "D"])
def test_I_b_an_owner_anywhere_in_the_chain_stops_what_is_above(
    world, owner, read, revoked
):
    world.decide(CHAIN | {(9, "over_views"): "A", (owner, read): revoked})
    assert world.decided()[9, "over_views"] == ("Deny", f"owner {owner} on {read}")


def test_I_b_an_owner_s_rules_do_not_reach_the_users(world):
    world.decide(dict.fromkeys(CHAIN, "T") | {(9, "over_views"): "A"})
    assert world.outcome(9, "over_views") == "Allow"


def test_I_b_the_owner_above_needs_nothing_on_the_table(world):
    world.decide(CHAIN | {(3, "over_views"): "A", (3, "table"): "D"})
    assert world.outcome(3, "over_views") == "Allow"


@pytest.mark.parametrize(
    ("of_owner", "of_user", "outcome"),
    [
        (("A", "A"), (None, None), "Allow"),
        (("A", "A"), ("T", None), "Transform"),
        (("A", "A"), (None, "T"), "Transform"),
        (("T", "A"), ("D", "T"), "Transform"),
        (("T", "T"), ("D", "A"), "Allow"),
        (("A", "D"), ("T", None), "Deny"),
        (("TD", "A"), (None, "T"), "Deny"),
        (("A", None), (None, None), "Deny"),
    ],
)
def test_I_c_several_tables(world, of_owner, of_user, outcome):
    decisions = {
        (user, table): short
        for user, shorts in ((OWNER, of_owner), (9, of_user))
        for table, short in zip(("table", "other_table"), shorts, strict=True)
    }
    world.decide(decisions | {(9, "over_tables"): "A"})
    assert world.outcome(9, "over_tables") == outcome


@pytest.mark.parametrize("on_table", ["TD", "D", None])
def test_I_d_allow_on_a_view_over_a_denied_table_is_found(world, on_table):
    world.decide(ALLOWED | {(9, "table"): on_table})
    said = SHORT.get(on_table)
    assert world.unrestricted() == {(9, "over_table", "table", said)}


@pytest.mark.parametrize(
    "decisions",
    [
        # The user may read the table, with rules or without.
        {(OWNER, "table"): "A", (9, "over_table"): "A", (9, "table"): "A"},
        {(OWNER, "table"): "A", (9, "over_table"): "A", (9, "table"): "T"},
        # The user gets nothing of the view.
        {(OWNER, "table"): "A", (9, "over_table"): "D", (9, "table"): "D"},
        {(OWNER, "table"): "D", (9, "over_table"): "A", (9, "table"): "D"},
    ],
)
def test_I_d_nothing_else_is_found(world, decisions):
    assert world.decide(decisions).unrestricted() == set()


def test_I_d_each_denied_table_at_the_end_of_a_chain_is_found(world):
    world.decide(CHAIN | {(9, "over_views"): "A", (9, "table"): "D"})
    found = {row for row in world.unrestricted() if row[0] == 9}
    assert found == {(9, "over_views", "table", "Deny")}


def test_I_d_a_denied_table_is_found_beside_one_whose_rules_hold(world):
    decisions = {(OWNER, "table"): "A", (OWNER, "other_table"): "A"}
    decisions |= {(9, "table"): "T", (9, "other_table"): "D", (9, "over_tables"): "A"}
    world.decide(decisions)
    assert world.outcome(9, "over_tables") == "Transform"
    assert world.unrestricted() == {(9, "over_tables", "other_table", "Deny")}


def test_I_e_there_is_a_row_for_each_live_user_and_each_view_with_an_owner(world):
    world.decide({(7, "table"): "A"}, not_live=[7])
    views = {
        *(*CHAIN_OF_VIEWS, "over_tables", "over_copy", "over_without_owner"),
        *(
            "joined_runs",
            *(f"{PREFIX}{n}" for n in ("runs", "notes", "joined", "drafts")),
        ),
    }
    found = world.rows("view_outcomes", "user_id, view_name")
    assert found == sorted(every((1, 2, 3, 4, 5, 8, 9), views), key=repr)


def test_I_e_what_is_stored_ends_a_chain(world):
    decisions = {(OWNER, "stored_copy"): "A", (9, "over_copy"): "A", (9, "table"): "T"}
    assert world.decide(decisions).outcome(9, "over_copy") == "Allow"
    world.decide(decisions | {(9, "stored_copy"): "T"})
    assert world.outcome(9, "over_copy") == "Transform"


def test_I_e_a_view_without_an_owner_closes_what_is_above(world):
    allowed = dict.fromkeys(every((OWNER, 9), MODELS), "A")
    found = world.decide(allowed).decided()
    assert found[9, "over_without_owner"] == ("Deny", "no owner on table")


# ---------------------------------------------------------------------------
# What secure datasets show by the outcomes
# ---------------------------------------------------------------------------

ALL, OF_X = {1: 5, 2: 7}, {1: 0}
RUNS_ALLOWED = {(OWNER, "all_runs"): "A"}
NOTES_ALLOWED = RUNS_ALLOWED | {(SECOND_OWNER, f"{PREFIX}runs"): "A"}


def test_I_e_deny_shows_nothing_transform_what_the_rules_leave_allow_everything(world):
    view = f"{PREFIX}runs"
    decisions = RUNS_ALLOWED | {
        (ALICE, view): "A",
        (ALICE, "all_runs"): "T",
        (BEN, view): "A",
        (CARL, view): "D",
    }
    # The owner has no decision on the own view, which denies as well.
    assert world.decide(decisions).seen("runs") == {ALICE: OF_X, BEN: ALL}
    world.decide(decisions | {(BEN, view): "TD", (CARL, view): "A"})
    assert world.seen("runs") == {ALICE: OF_X, CARL: ALL}


@pytest.mark.parametrize(
    ("on_table", "shown"),
    [("A", ALL), ("T", OF_X), ("TD", ALL), ("D", ALL), (None, ALL)],
)
def test_I_e_what_the_user_may_do_with_the_table_matters_for_transform_alone(
    world, on_table, shown
):
    decisions = {(ALICE, f"{PREFIX}runs"): "A", (ALICE, "all_runs"): on_table}
    assert world.decide(RUNS_ALLOWED | decisions).seen("runs") == {ALICE: shown}


def test_I_e_who_holds_no_role_sees_nothing_by_transform(world):
    decisions = {(CARL, f"{PREFIX}runs"): "A", (CARL, "all_runs"): "T"}
    assert world.decide(RUNS_ALLOWED | decisions).seen("runs") == {}


def test_I_e_a_policy_on_the_view_is_ignored_with_a_warning(world):
    text = CONFIG.split("{% set document %}")[1].split("{% endset %}")[0]
    macros = world.sandbox.macros(text)
    macros.secure_dataset("notes")
    assert [warning.split(":")[1] for warning in macros.warnings] == [
        f" the policy of 'A' on '{place}' is ignored"
        for place in ("notes", "notes.amount")
    ]
    macros.secure_dataset("runs")
    assert len(macros.warnings) == 2


@pytest.mark.parametrize("revoked", ["TD", "D", None])
def test_I_a_revoking_the_owner_stops_the_dataset_for_everybody_at_the_next_read(
    world, revoked
):
    users = {OWNER, ALICE, BEN, CARL}
    decisions = RUNS_ALLOWED | {(user, f"{PREFIX}runs"): "A" for user in users}
    assert {*world.decide(decisions).seen("runs")} == users
    assert world.decide(decisions | {(OWNER, "all_runs"): revoked}).seen("runs") == {}
    world.decide(decisions | {(OWNER, "all_runs"): "T"})
    assert ALICE in world.seen("runs")


def test_I_b_rules_act_at_the_end_of_the_chain_and_those_on_the_view_are_ignored(world):
    view = f"{PREFIX}notes"
    world.decide(
        NOTES_ALLOWED
        | {
            **{(user, view): "A" for user in (ALICE, BEN, CARL)},
            (ALICE, "all_runs"): "T",
            # Transform on a view of the chain is no rule.
            (BEN, f"{PREFIX}runs"): "T",
            (CARL, view): "T",
        }
    )
    # The condition on `notes`, false, would show nothing, and its mask a 1.
    assert world.seen("notes") == {ALICE: OF_X, BEN: ALL, CARL: ALL}


@pytest.mark.parametrize(
    ("owner", "read"), [(OWNER, "all_runs"), (SECOND_OWNER, f"{PREFIX}runs")]
)
def test_I_b_each_owner_of_the_chain_can_stop_it(world, owner, read):
    decisions = NOTES_ALLOWED | {(ALICE, f"{PREFIX}notes"): "A"}
    # Alice needs nothing on what the view reads.
    assert world.decide(decisions).seen("notes") == {ALICE: ALL}
    assert world.decide(decisions | {(owner, read): "D"}).seen("notes") == {}


@pytest.mark.parametrize(
    ("of_owner", "of_user", "shown"),
    [
        (("A", "A"), (None, None), {1: 5, 2: 7, 4: 1, 5: 2}),
        (("T", "A"), ("D", "A"), {1: 5, 2: 7, 4: 1, 5: 2}),
        (("A", "A"), ("T", None), {1: 5, 4: 1}),
        (("A", "A"), ("D", "T"), {1: 5, 4: 1}),
        (("A", "D"), ("T", "T"), None),
        (("A", None), ("A", "A"), None),
    ],
)
def test_I_c_of_several_tables_one_can_deny_and_one_can_transform(
    world, of_owner, of_user, shown
):
    tables = ("all_runs", "more_runs")
    decisions = {(OWNER, "joined_runs"): "A", (ALICE, f"{PREFIX}joined"): "A"}
    decisions |= {(OWNER, t): d for t, d in zip(tables, of_owner, strict=True)}
    decisions |= {(ALICE, t): d for t, d in zip(tables, of_user, strict=True)}
    found = world.decide(decisions).seen("joined")
    assert found == ({ALICE: shown} if shown else {})


def test_M8_a_dataset_over_it_that_is_not_under_it_shows_what_it_shows(world):
    decisions = RUNS_ALLOWED | {
        (ALICE, f"{PREFIX}runs"): "A",
        (ALICE, "all_runs"): "T",
        (BEN, f"{PREFIX}runs"): "A",
    }
    assert world.decide(decisions).seen("copies") == {ALICE: OF_X, BEN: ALL}


@pytest.mark.parametrize("outcome", ["Deny", "allow", "Grant", None])
def test_what_is_no_outcome_to_see_by_shows_nothing(world, outcome):
    dataset = (
        "items: {base: all_runs, columns: [run_id, unit], unique_key: [run_id],"
        " visible_to: everyone, view_authorization: true}"
    )
    schema = "user_id bigint, view_name string, outcome string"
    rows = [(ALICE, f"{PREFIX}items", outcome), (BEN, f"{PREFIX}item", "Allow")]
    world.sandbox.table("view_outcomes", schema, rows)
    found = world.sandbox.rows(
        f"select * from {world.sandbox.secure(config(dataset=dataset), 'items')}"
    )
    world.publish("view_outcomes")
    assert found == []


# ---------------------------------------------------------------------------
# What dbt's graph says
# ---------------------------------------------------------------------------


def test_the_outcomes_depend_on_no_secure_dataset_nor_on_a_condition(compiled):
    read, found = ["view_outcomes"], set()
    while read:
        for parent in compiled[read.pop()]["depends_on"].get("nodes", []):
            name = parent.split(".")[-1]
            found.add(name)
            read.append(name)
    assert found == {"view_decisions", "stg_users"}


def test_the_owner_answers_for_where_the_rows_come_from_and_for_nothing_else(compiled):
    text = compiled["view_outcomes"]["compiled_code"]
    rows = re.search(r"gates .*?values(.*?)\n\),", text, re.S)[1]
    gates = re.findall(r"\('(\w+)', '(\d)', '(\w+)'\)", rows)
    assert sorted(gate for gate in gates if "runs" in gate[2]) == sorted(
        [
            (f"{PREFIX}runs", "1", "all_runs"),
            (f"{PREFIX}notes", "5", f"{PREFIX}runs"),
            (f"{PREFIX}notes", "1", "all_runs"),
            (f"{PREFIX}joined", "1", "joined_runs"),
            (f"{PREFIX}joined", "1", "all_runs"),
            (f"{PREFIX}joined", "1", "more_runs"),
            ("joined_runs", "1", "all_runs"),
            ("joined_runs", "1", "more_runs"),
            # What an ephemeral model reads, its reader reads.
            (f"{PREFIX}drafts", "1", "all_runs"),
        ]
    )


@pytest.mark.parametrize(
    ("name", "meta", "said"),
    [
        (
            "over_table",
            {"owner_user_id": "hpark"},
            "owner_user_id of 'over_table' is hpark; it must be a user id",
        ),
        (
            f"{PREFIX}runs",
            {},
            f"'{PREFIX}runs' is under view authorization and has no owner",
        ),
    ],
)
def test_I_e_what_is_no_owner_stops_dbt(small, name, meta, said):
    def edit(manifest) -> None:
        rows_from = node(manifest, name).config.meta.get("rows_from")
        node(manifest, name).config.meta = meta | (
            {"rows_from": rows_from} if rows_from else {}
        )

    assert said in small.refusal("view_outcomes", edit=edit)


def test_a_view_is_not_switched_to_outcomes_that_do_not_know_what_it_reads():
    view = view_name("runs")
    known = {"views": [[view]], "gates": [[view, "1", "a"]], "tables": [[view, "a"]]}
    other = {"views": [["v"]], "gates": [["v", None, "b"]], "tables": [["v", "b"]]}
    references = {key: known[key] + other[key] for key in known}
    macros = Macros("")
    shown = "\n".join(
        f"({name}) as ({macros.values_query(rows, 3)})"
        for name, rows in references.items()
    )
    texts = {"s.view_outcomes": shown}
    model = {"name": "view_outcomes", "resource_type": "model"}
    macros.stand_in(
        view_references=lambda: references,
        graph={"nodes": {"m": model | {"relation_name": "s.view_outcomes"}}},
        adapter={
            "text_of_view": texts.get,
            "secure_datasets": macros.secure_datasets,
        },
    )
    macros._check_outcomes(view)
    # Of another view it may know less: that one is asked when it is run.
    other["tables"][0][1] = references["tables"][1][1] = "c"
    macros._check_outcomes(view)
    for key, row in (("tables", [view, "b"]), ("gates", [view, "2", "a"])):
        references[key] = [*references[key], row]
        with pytest.raises(Stopped, match=f"does not know {', '.join(row)}, by which"):
            macros._check_outcomes(view)
        references[key].pop()
    references["views"] = [["vw_secure_dataset_new"], *references["views"]]
    with pytest.raises(Stopped, match="does not know vw_secure_dataset_new, by which"):
        macros._check_outcomes("vw_secure_dataset_new")
    # Where there is no view yet, who reads it is told so.
    texts.clear()
    macros._check_outcomes("vw_secure_dataset_new")


def test_what_a_view_reads_newly_is_missed_in_outcomes_of_before(
    small, compiled, monkeypatch
):
    before = compiled["view_outcomes"]["compiled_code"]
    asked = []
    monkeypatch.setattr(
        SecureSparkAdapter,
        "text_of_view",
        lambda adapter, view: asked.append(view) or before,
    )

    def as_in_a_run(manifest) -> None:
        # Only a run asks for what is published: here compiling is taken for one.
        macro = manifest.macros["macro.secure_datasets._as_view_of_its_owner"]
        is_run = "flags.WHICH in ['build', 'run']"
        assert is_run in macro.macro_sql
        macro.macro_sql = macro.macro_sql.replace(is_run, "flags.WHICH == 'compile'")

    def reads_a_third_table(manifest) -> None:
        as_in_a_run(manifest)
        joined, allowed = node(manifest, "joined_runs"), node(manifest, "allowed")
        joined.depends_on.nodes.append(allowed.unique_id)

    result = small.compile(f"{PREFIX}*", edit=as_in_a_run)
    assert result.success, result.exception
    assert asked and set(asked) == {f"{SCHEMA}.view_outcomes"}
    said = small.refusal(f"{PREFIX}*", edit=reads_a_third_table)
    assert "'view_outcomes' does not know vw_secure_dataset_" in said
    assert ", allowed, by which it decides who reads 'vw_secure_dataset_" in said
