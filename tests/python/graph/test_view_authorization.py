"""View authorization: the outcomes for each user and view, without Spark.

The compiled models are plain SQL, and SQLite answers them here; `dbt build` of the
sample answers the same text with Spark.
"""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from small_project import database_of, small_project

SCHEMA = "small_views"
DECISIONS = ["Allow", "Transform", "Transform to Deny", "Deny"]
SHORT = {"A": "Allow", "T": "Transform", "TD": "Transform to Deny", "D": "Deny"}
OWNER = 1

# The outcome for the owner on the own view, by what the owner may do on the table and
# on the view.
OWN_OUTCOME = {
    ("A", "A"): "Allow",
    ("A", "T"): "Allow",
    ("A", "TD"): "Deny",
    ("A", "D"): "Deny",
    ("T", "A"): "Transform",
    ("T", "T"): "Transform",
    ("T", "TD"): "Deny",
    ("T", "D"): "Deny",
    ("TD", "A"): "Deny",
    ("TD", "T"): "Deny",
    ("TD", "TD"): "Deny",
    ("TD", "D"): "Deny",
    ("D", "A"): "Deny",
    ("D", "T"): "Deny",
    ("D", "TD"): "Deny",
    ("D", "D"): "Deny",
}
# The outcome for another user, by what the owner may do on the table, the user on the
# table, and the user on the view.
USERS_OUTCOME = {
    ("A", "A", "A"): "Allow",
    ("A", "A", "T"): "Allow",
    ("A", "A", "TD"): "Deny",
    ("A", "A", "D"): "Deny",
    ("A", "T", "A"): "Transform",
    ("A", "T", "T"): "Transform",
    ("A", "T", "TD"): "Deny",
    ("A", "T", "D"): "Deny",
    ("A", "TD", "A"): "Allow",
    ("A", "TD", "T"): "Allow",
    ("A", "TD", "TD"): "Deny",
    ("A", "TD", "D"): "Deny",
    ("A", "D", "A"): "Allow",
    ("A", "D", "T"): "Allow",
    ("A", "D", "TD"): "Deny",
    ("A", "D", "D"): "Deny",
    ("T", "A", "A"): "Allow",
    ("T", "A", "T"): "Allow",
    ("T", "A", "TD"): "Deny",
    ("T", "A", "D"): "Deny",
    ("T", "T", "A"): "Transform",
    ("T", "T", "T"): "Transform",
    ("T", "T", "TD"): "Deny",
    ("T", "T", "D"): "Deny",
    ("T", "TD", "A"): "Allow",
    ("T", "TD", "T"): "Allow",
    ("T", "TD", "TD"): "Deny",
    ("T", "TD", "D"): "Deny",
    ("T", "D", "A"): "Allow",
    ("T", "D", "T"): "Allow",
    ("T", "D", "TD"): "Deny",
    ("T", "D", "D"): "Deny",
    ("TD", "A", "A"): "Deny",
    ("TD", "A", "T"): "Deny",
    ("TD", "A", "TD"): "Deny",
    ("TD", "A", "D"): "Deny",
    ("TD", "T", "A"): "Deny",
    ("TD", "T", "T"): "Deny",
    ("TD", "T", "TD"): "Deny",
    ("TD", "T", "D"): "Deny",
    ("TD", "TD", "A"): "Deny",
    ("TD", "TD", "T"): "Deny",
    ("TD", "TD", "TD"): "Deny",
    ("TD", "TD", "D"): "Deny",
    ("TD", "D", "A"): "Deny",
    ("TD", "D", "T"): "Deny",
    ("TD", "D", "TD"): "Deny",
    ("TD", "D", "D"): "Deny",
    ("D", "A", "A"): "Deny",
    ("D", "A", "T"): "Deny",
    ("D", "A", "TD"): "Deny",
    ("D", "A", "D"): "Deny",
    ("D", "T", "A"): "Deny",
    ("D", "T", "T"): "Deny",
    ("D", "T", "TD"): "Deny",
    ("D", "T", "D"): "Deny",
    ("D", "TD", "A"): "Deny",
    ("D", "TD", "T"): "Deny",
    ("D", "TD", "TD"): "Deny",
    ("D", "TD", "D"): "Deny",
    ("D", "D", "A"): "Deny",
    ("D", "D", "T"): "Deny",
    ("D", "D", "TD"): "Deny",
    ("D", "D", "D"): "Deny",
}


def a_view(*read: str, owner: int | None = OWNER) -> str:
    """A view over these."""
    meta = f", meta={{'owner_user_id': {owner}}}" if owner else ""
    refs = " union all ".join(
        f"select id from {{{{ ref('{name}') }}}}" for name in read
    )
    return f"{{{{ config(materialized='view'{meta}) }}}} {refs}"


STORED = "select 1 as id"
NAMES_TEST = "assert_decisions_with_rules_name_what_is_there"
MODELS = {
    "table": STORED,
    "other_table": STORED,
    "over_table": a_view("table"),
    # A chain: the view of another owner over the first one's, and one more above.
    "over_view": a_view("over_table", owner=2),
    "over_views": a_view("over_view", owner=3),
    # Several tables; through a model that is only text as well.
    "only_text": "{{ config(materialized='ephemeral') }}"
    " select id from {{ ref('other_table') }}",
    "over_tables": a_view("table", "only_text"),
    # What a run stores ends a chain; what has no owner closes one.
    "stored_copy": "select id from {{ ref('over_table') }}",
    "over_copy": a_view("stored_copy"),
    "without_owner": a_view("table", owner=None),
    "over_without_owner": a_view("without_owner"),
}
CHAIN = {
    (1, "table"): "A",
    (2, "over_table"): "A",
    (3, "over_view"): "A",
}


@pytest.fixture(scope="module")
def small(project, tmp_path_factory, dbt) -> Path:
    """The small project, compiled."""
    small = small_project(
        tmp_path_factory.mktemp("views") / "project",
        project,
        SCHEMA,
        {f"models/{name}.sql": text for name, text in MODELS.items()}
        | {"models/staging/stg_users.sql": "select 1 as user_id, true as is_live"},
        copied=(
            *("models/view_authorization", "seeds/view_authorization"),
            f"tests/dbt/{NAMES_TEST}.sql",
        ),
    )
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--indirect-selection", "empty"),
        *("--select", "path:models/view_authorization", NAMES_TEST),
        folder=small,
    )
    assert result.success, result.exception
    return small


class World:
    """Users and their decisions, and what the models answer."""

    def __init__(self, small: Path) -> None:
        compiled = small / "target/compiled/secure_datasets/models/view_authorization"
        self.queries = {path.stem: path.read_text() for path in compiled.glob("*.sql")}
        self.database: sqlite3.Connection = database_of(
            SCHEMA,
            stg_users=["user_id", "is_live"],
            view_decisions=["user_id", "object_name", "decision"],
        )
        self.database.execute(
            f"create view {SCHEMA}.view_outcomes as {self.queries['view_outcomes']}"
        )

    def decide(self, decisions: dict[tuple[int, str], str]) -> World:
        """Put these in the place of all decisions; those who are named are live."""
        for table in ("stg_users", "view_decisions"):
            self.database.execute(f"delete from {SCHEMA}.{table}")
        self.database.executemany(
            f"insert into {SCHEMA}.view_decisions values (?, ?, ?)",
            [(*key, SHORT.get(short, short)) for key, short in decisions.items()],
        )
        self.database.executemany(
            f"insert into {SCHEMA}.stg_users values (?, true)",
            {(user,) for user, _ in decisions} | {(OWNER,), (9,)},
        )
        return self

    def outcome(self, user: int, view: str) -> str:
        """What a user gets of a view."""
        return self.decided(user, view)[0]

    def decided(self, user: int, view: str) -> tuple[str, str]:
        """What a user gets of a view, and by what."""
        (row,) = self.database.execute(
            f"select outcome, decided_by from {SCHEMA}.view_outcomes"
            " where user_id = ? and view_name = ?",
            (user, view),
        )
        return row

    def unrestricted(self) -> set[tuple]:
        """The findings."""
        return set(self.database.execute(self.queries["unrestricted_view_access"]))


@pytest.fixture
def world(small) -> World:
    """A world where nothing is decided."""
    return World(small)


@pytest.mark.parametrize(("on_table", "on_view"), OWN_OUTCOME)
def test_I_the_owner_on_the_own_view(world, on_table, on_view):
    world.decide({(OWNER, "table"): on_table, (OWNER, "over_table"): on_view})
    assert world.outcome(OWNER, "over_table") == OWN_OUTCOME[on_table, on_view]


@pytest.mark.parametrize(("owner", "on_table", "on_view"), USERS_OUTCOME)
def test_I_another_user_on_the_view(world, owner, on_table, on_view):
    world.decide(
        {(OWNER, "table"): owner, (9, "table"): on_table, (9, "over_table"): on_view}
    )
    assert world.outcome(9, "over_table") == USERS_OUTCOME[owner, on_table, on_view]


def test_I_all_cases_are_there():
    assert len(OWN_OUTCOME) == 16
    assert len(USERS_OUTCOME) == 64


def test_I_the_user_needs_nothing_on_the_tables(world):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A"})
    assert world.decided(9, "over_table") == ("Allow", "user on over_table")


@pytest.mark.parametrize("missing", [(OWNER, "table"), (9, "over_table")])
def test_I_no_decision_is_deny(world, missing):
    decisions = {(OWNER, "table"): "A", (9, "over_table"): "A"}
    del decisions[missing]
    world.decide(decisions)
    assert world.outcome(9, "over_table") == "Deny"


@pytest.mark.parametrize("unknown", ["", "allow", "Allow ", "Grant"])
def test_I_what_is_no_decision_is_deny(world, unknown):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): unknown})
    assert world.outcome(9, "over_table") == "Deny"


@pytest.mark.parametrize("unknown", [None, "", "transform", "Transform ", "Filter"])
def test_I_what_is_no_decision_on_a_table_takes_no_rule_off(world, unknown):
    """Deny on a table opens a view that is allowed; what can't be read must not."""
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A"})
    world.database.execute(
        f"insert into {SCHEMA}.view_decisions values (9, 'table', ?)", (unknown,)
    )
    assert world.decided(9, "over_table") == ("Transform", "user on table")


@pytest.mark.parametrize("other", ["A", "TD", "D"])
def test_I_another_decision_on_a_table_takes_no_rule_off(world, other):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A", (9, "table"): "T"})
    world.database.execute(
        f"insert into {SCHEMA}.view_decisions values (9, 'table', ?)", (SHORT[other],)
    )
    assert world.outcome(9, "over_table") == "Transform"


@pytest.mark.parametrize("named", ["Table", " table ", "TABLE"])
def test_I_a_decision_is_about_its_object_however_that_is_spelled(world, named):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A", (9, named): "T"})
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
    world, small, named, decision, is_found
):
    world.decide({})
    world.database.execute(
        f"insert into {SCHEMA}.view_decisions values (9, ?, ?)", (named, decision)
    )
    compiled = small / "target/compiled/secure_datasets/tests/dbt" / f"{NAMES_TEST}.sql"
    # SQLite has no anti join.
    query = compiled.read_text().replace("left anti join", "left join")
    found = world.database.execute(f"{query} and known.object_name is null").fetchall()
    assert found == ([(named, decision)] if is_found else [])


def test_I_of_several_decisions_the_strictest_counts(world):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A"})
    world.database.execute(
        f"insert into {SCHEMA}.view_decisions values (9, 'over_table', 'Deny')"
    )
    assert world.outcome(9, "over_table") == "Deny"


@pytest.mark.parametrize("revoked", ["TD", "D", None])
def test_I_a_revoking_the_owner_stops_the_view_for_everybody_at_the_next_read(
    world, revoked
):
    decisions = {(OWNER, "table"): "A"} | {
        (user, "over_table"): "A" for user in (OWNER, 8, 9)
    }
    world.decide(decisions)
    assert {world.outcome(user, "over_table") for user in (OWNER, 8, 9)} == {"Allow"}
    world.decide(decisions | {(OWNER, "table"): revoked})
    for user in (OWNER, 8, 9):
        assert world.decided(user, "over_table") == ("Deny", "owner 1 on table")


def test_I_a_an_owner_who_is_not_live_has_no_decision(world):
    world.decide(CHAIN | {(9, "over_views"): "A"})
    assert world.outcome(9, "over_views") == "Allow"
    world.database.execute(f"update {SCHEMA}.stg_users set is_live = user_id != 2")
    assert world.decided(9, "over_views") == ("Deny", "owner 2 on over_table")
    world.database.execute(f"delete from {SCHEMA}.stg_users where user_id = 3")
    assert world.outcome(9, "over_views") == "Deny"


def test_I_a_a_user_who_is_not_live_gets_nothing(world):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A", (9, "table"): "D"})
    world.database.execute(f"update {SCHEMA}.stg_users set is_live = user_id != 9")
    found = world.database.execute(
        f"select outcome from {SCHEMA}.view_outcomes where user_id = 9"
    )
    assert (list(found), world.unrestricted()) == ([], set())


AUTHORIZED = "vw_secure_dataset_authorized_projects"


@pytest.fixture
def load_decisions(built, project, dbt):
    """Load the sample's decisions with an edit, as `dbt seed` does and nothing more."""
    file = project / "seeds/view_authorization/view_decisions.csv"
    text = file.read_text()

    def load(old: str = "", new: str = "") -> None:
        assert old in text
        file.write_text(text.replace(old, new) if old else text)
        result = dbt("seed", "--select", "view_decisions")
        assert result.success, result.exception

    yield load
    load()


@pytest.mark.spark
@pytest.mark.parametrize("decision", ["Deny", "Transform to Deny"])
def test_I_a_a_revocation_holds_as_soon_as_the_decisions_are_loaded(
    rows, load_decisions, decision
):
    names = [name for (_, name, _) in rows("show views in secure_datasets")]
    others = [
        name for name in names if name.startswith("vw_secure_") and name != AUTHORIZED
    ]
    of_others = " union all ".join(
        f"select '{name}', count(*), bit_xor(xxhash64(*)) from {name}"
        for name in others
    )
    seen, unrelated = rows(f"select * from {AUTHORIZED}"), sorted(rows(of_others))
    assert {row[2] for row in seen} == {8, 12, 33}
    load_decisions("12,dim_projects,Allow", f"12,dim_projects,{decision}")
    assert rows(f"select * from {AUTHORIZED}") == []
    assert (
        rows("select * from unrestricted_view_access where view_name like 'vw%'") == []
    )
    assert sorted(rows(of_others)) == unrelated
    # A decision about a user closes the view to that user alone.
    load_decisions(f"33,{AUTHORIZED},Allow", f"33,{AUTHORIZED},Deny")
    left = rows(f"select * from {AUTHORIZED}")
    assert sorted(left) == sorted(row for row in seen if row[2] != 33)


@pytest.mark.spark
def test_I_a_decisions_are_read_by_their_published_name(rows):
    def read(view: str) -> set[str]:
        """The relations that the text of a view names."""
        described = rows(f"describe extended {view}")
        text = next(value for key, value, _ in described if key == "View Text")
        return set(re.findall(r"(secure_datasets\w*\.\w+)", text))

    decided = {"secure_datasets.view_decisions", "secure_datasets.stg_users"}
    assert read("view_outcomes") == decided
    # The outcomes are worked out within the dataset, from the users that belong to its
    # rows, and from the decisions as they are loaded.
    by_name = {name for name in read(AUTHORIZED) if "_versions." not in name}
    assert by_name == {"secure_datasets.view_decisions"}
    unrestricted = read("unrestricted_view_access")
    assert unrestricted == decided | {"secure_datasets.view_outcomes"}


def test_I_a_the_outcomes_are_a_view_so_that_the_next_read_knows(small):
    nodes = json.loads((small / "target/manifest.json").read_text())["nodes"]
    model = nodes["model.secure_datasets.view_outcomes"]
    assert model["config"]["materialized"] == "view"


@pytest.mark.parametrize("view", ["over_table", "over_view", "over_views"])
def test_I_b_rules_act_at_the_table_through_the_whole_chain(world, view):
    world.decide(CHAIN | {(9, view): "A", (9, "table"): "T"})
    assert world.decided(9, view) == ("Transform", "user on table")


@pytest.mark.parametrize("ruled", ["over_table", "over_view", "over_views"])
def test_I_b_rules_on_a_view_are_ignored(world, ruled):
    world.decide(CHAIN | {(9, "over_views"): "A"} | {(9, ruled): "T"})
    assert world.outcome(9, "over_views") == "Allow"


@pytest.mark.parametrize(("owner", "read"), CHAIN)
@pytest.mark.parametrize("revoked", ["TD", "D"])
def test_I_b_an_owner_anywhere_in_the_chain_stops_what_is_above(
    world, owner, read, revoked
):
    world.decide(CHAIN | {(9, "over_views"): "A", (owner, read): revoked})
    told = world.decided(9, "over_views")
    assert told == ("Deny", f"owner {owner} on {read}")


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
    tables = ("table", "other_table")
    decisions = {
        (user, table): short
        for user, shorts in ((OWNER, of_owner), (9, of_user))
        for table, short in zip(tables, shorts, strict=True)
        if short
    }
    world.decide(decisions | {(9, "over_tables"): "A"})
    assert world.outcome(9, "over_tables") == outcome


@pytest.mark.parametrize("on_table", ["TD", "D"])
def test_I_d_allow_on_a_view_over_a_denied_table_is_found(world, on_table):
    world.decide(
        {(OWNER, "table"): "A", (9, "over_table"): "A", (9, "table"): on_table}
    )
    assert world.unrestricted() == {(9, "over_table", "table", SHORT[on_table])}


def test_I_d_what_nobody_decided_denies_and_is_found_as_well(world):
    world.decide({(OWNER, "table"): "A", (9, "over_table"): "A"})
    assert world.unrestricted() == {(9, "over_table", "table", None)}


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


def test_I_e_there_is_a_row_for_each_live_user_and_each_view_with_an_owner(world):
    world.decide({(8, "table"): "A"})
    world.database.execute(f"insert into {SCHEMA}.stg_users values (7, false)")
    rows = world.database.execute(
        f"select user_id, view_name from {SCHEMA}.view_outcomes"
    )
    views = {
        *("over_table", "over_view", "over_views", "over_tables", "over_copy"),
        "over_without_owner",
    }
    assert sorted(rows) == sorted((u, view) for u in (1, 8, 9) for view in views)


def test_I_e_what_is_stored_ends_a_chain(world):
    decisions = {(OWNER, "stored_copy"): "A", (9, "over_copy"): "A", (9, "table"): "T"}
    world.decide(decisions)
    assert world.outcome(9, "over_copy") == "Allow"
    world.decide(decisions | {(9, "stored_copy"): "T"})
    assert world.outcome(9, "over_copy") == "Transform"


def test_I_e_a_view_without_an_owner_closes_what_is_above(world):
    every = {(OWNER, name): "A" for name in MODELS}
    world.decide(every | {(9, name): "A" for name in MODELS})
    told = world.decided(9, "over_without_owner")
    assert told == ("Deny", "no owner on table")


def test_I_e_an_owner_that_is_no_user_id_stops_dbt(small, dbt):
    model = small / "models/over_table.sql"
    text = model.read_text()
    assert f"'owner_user_id': {OWNER}" in text
    model.write_text(text.replace(f"_user_id': {OWNER}", "_user_id': 'hpark'"))
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--select", "view_outcomes"),
        folder=small,
    )
    model.write_text(text)
    assert not result.success
    said = str(result.exception or [r.message for r in result.result])
    assert "owner_user_id of 'over_table' is hpark; it must be a user id" in said
