"""What statements may grant, by whatever they were put together."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError
from installed_models import CONFIG, FINE, model, of_product

from secure_datasets.installed import granting_of
from secure_datasets.macro_methods import refuse_grants
from secure_datasets.render.granting import UNREADABLE, UnreadableError, grants_of

# What sources may be called, too.
NAMED = ("grant", "tables")
SOURCE = {"resource_type": "source", "relation_name": "raw.users"}
MART = model("mart") | {"relation_name": "marts.mart"}
NODES = [
    *(*FINE, MART, of_product("stg_jobs_2", "staging")),
    *(model(name) | SOURCE | {"relation_name": f"raw.{name}"} for name in NAMED),
    model("users") | SOURCE,
    {"resource_type": "test", "name": "x", "schema": "Test_Failures"},
    model("stored") | {"resource_type": "test", "schema": "s"},
]
READS_ALL = "which shows the rows of all users, to more than `grants` in dbt_project"
FUNCTIONS = {"`main`.S.Jobs_of": ["Portal"]}
BESIDE = "', which is kept beside what is published: take it away, and let `grants`"
MANY = ", and with it what shows the rows of all users: take it away, and let `grants`"


def refusal(
    sql: str, has_views: bool = False, nodes: list[dict] = NODES, is_clone: bool = False
) -> str | None:
    """Return why a statement is not sent, if it is not."""
    held = granting_of(nodes, CONFIG, is_clone, functions=FUNCTIONS)
    return held.refusal(grants_of(sql), lambda: has_views)


@pytest.mark.parametrize(
    ("sql", "is_grant"),
    [
        ("grant select on s.t to a", True),
        ("GRANT\nSELECT /* all */ ON TABLE s.t TO `analysts`", True),
        ('/* {"app": "dbt"} */\ngrant select on s.t to a', True),
        ("-- all of them\ngrant select on s.t to a", True),
        # To Spark a carriage return ends a line.
        ("-- all of them\rgrant select on s.t to a", True),
        ("/**/grant select on s.t to a", True),
        ("-- Grants " + "-" * 60 + "\n(select 1) union (select 2)", False),
        ("create view v as select split(a, ';') as b, \"can't grant\" as c", False),
        ("grant all privileges on s.t to a with grant option", True),
        ("grant select on s.t to a;\n", True),
        # What is called as the words are.
        ("grant select on s.grant to a", True),
        ("grant select on to to on", True),
        ("grant select on s.to to a", True),
        ("analyze table s.t compute statistics", False),
        ("-- grant select on s.t to analysts\nanalyze table a", False),
        ("/* grant select on a to b */ analyze table a", False),
        ("comment on table a is 'grant select on a to b'", False),
        ("comment on table a is 'x; grant select on a to b'", False),
        ("insert into grants select `grant` from a join b on true -- to", False),
        ("create view v as select a.grant from a join b on true where to = 1", False),
        ("revoke select on s.t from analysts", False),
        ("show grants on s.t", False),
        # What the role may see is granted to the role.
        ("grant role a to role b", False),
        # Nor does a schema that somebody may use show rows.
        ("grant usage on schema s to analysts", False),
        ("grant use schema, use catalog on catalog c to analysts", False),
        ("grant usage, create on schema s to analysts", False),
        ("grant create table, create view on schema s to analysts", False),
        ("grant create materialized view, create function on schema s to a", False),
        ("grant create schema on catalog main to analysts", False),
        ("grant create table, create model version on schema s to a", False),
        # Whose files are any.
        ("grant create external table on external location lake to a", True),
        ("grant create external volume on external location lake to a", True),
        ("grant create external location on metastore to a", True),
        ("grant create volume, create model, browse on catalog main to a", False),
        ("grant read volume, write volume on volume s.landing to analysts", False),
        ("grant usage, select on schema s to analysts", True),
        ("grant create, table on s.t to analysts", True),
        ("grant read on schema s to analysts", True),
        # Who may execute the readers' functions chooses the user.
        ("grant usage, execute on schema s to analysts", True),
        ("select grant from s.t", False),
        ("(select 1 as grant)", False),
        ("-- grant", False),
        ("call system.run(where => \"kind = 'granted'\")", False),
        # A model or a profile may be called so, which dbt's comment says.
        ('/* {"node_id": "model.acme.grant"} */\nset a.b = true', False),
        ("-- to grant\nset a.b = true", False),
        ("", False),
    ],
)
def test_a_grant_is_found_where_an_engine_would_run_it(sql, is_grant):
    assert bool([*grants_of(sql)]) is is_grant


@pytest.mark.parametrize(
    "sql",
    [
        "grant select on s.t to 'a",
        "grant select on identifier('s.all_jobs') to a",
        "grant select (a, b) on s.t to a",
        "grant select on s.t",
        "grant select on s.report, s.all_jobs to a",
        "grant select on s.t to a; grant select on s.u to b",
        # Scripts, what runs a text, and what keeps one.
        "begin grant usage on schema s to a; end",
        "lbl: begin if x then grant usage on schema s to a; end if; end",
        "create or replace procedure s.p() as begin grant usage on schema s to a; end",
        "execute immediate 'grant select on s.t to a'",
        "execute immediate r'GRANT select on s.t to a'",
        "execute immediate '\\ngrant select on s.t to a'",
        "declare q string default 'grant all on a to b'",
        "set var q = format_string('grant select on %s to hr', t)",
        "set spark.my.g=grant",
        "call system.run(sql => concat('grant select on ', t))",
        "begin for t as (select 1) do execute immediate 'GRANT SELECT ON TABLE s.'"
        " || t.n || ' TO `a`'; end for; end",
        # With the texts that the engine puts into it.
        "execute immediate %s\ngrant select on s.t to a",
        "grant select on ${spark.my.t} to hr",
        "grant select on s.all_jobs ${spark.my.to_hr}",
        "grant select on `${env}`.all_jobs to hr",
        "grant select on s.report to `${role}`",
        "grant select on s.all_jobs to user",
        # Where a comment in a comment ends.
        "/* /* a */ grant select on b to c */ grant select on s.t to a",
        "/* grant select on b to c",
        # To Spark such a comment goes on.
        "-- x \\\nanalyze this\ngrant select on s.all_jobs to hr",
    ],
)
def test_what_can_t_be_read_may_grant_anything(sql):
    with pytest.raises(UnreadableError):
        list(grants_of(sql))


def test_a_long_statement_that_grants_nothing_is_not_taken_apart(monkeypatch):
    monkeypatch.setattr("secure_datasets.render.granting._tokens", None)
    query = "create view v comment 'a grant on all' as select 'grant x on y to z' as a"
    assert [*grants_of(f'/* {{"app": "dbt"}} */\n{query}')] == []


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("s.all_jobs", READS_ALL),
        ("table main.s.`All_Jobs`", READS_ALL),
        ("all_jobs", READS_ALL),
        ("s.stg_jobs", READS_ALL),
        ("raw.users", READS_ALL),
        ("view catalog.s.all_jobs", READS_ALL),
        ("s_versions.all_jobs__v20260501120000_0a1b2c3d", BESIDE),
        # It would show them, too, in the state that is published.
        ("s_as_of_20260501_000000.all_jobs", READS_ALL),
        ("s_as_of_20260501_000000.vw_secure_dataset_jobs", BESIDE),
        ("main.S_as_of_20260501_000000_versions.x", BESIDE),
        ("s_dbt_test__audit.not_null_x", BESIDE),
        ("test_failures.not_null_x", BESIDE),
        ("s.stored", READS_ALL),
        ("marts_versions.mart", BESIDE),
        ("elsewhere.x__v20260501120000_0a1b2c3d", BESIDE),
        ("access_changes_a_to_b.row_changes", BESIDE),
        ("schema access_changes_a_to_b", MANY),
        ("schema Test_Failures", MANY),
        ("schema marts_versions", MANY),
        ("future tables in schema s", MANY),
        ("schema s_as_of_20260501_000000", MANY),
        ("schema s_dbt_test__audit", MANY),
        ("schema s", MANY),
        ("schema S", MANY),
        ("schema main.s", MANY),
        ("schema raw", MANY),
        ("database `s_versions`", MANY),
        ("all tables in schema s", MANY),
        ("catalog main", MANY),
        ("catalog", MANY),
        ("any file", MANY),
        ("external location lake", MANY),
        ("storage credential lake", MANY),
        ("all_jobs__v20260501120000_0a1b2c3d", BESIDE),
        ("credential lake", MANY),
        ("tables", READS_ALL),
        ("raw.grant", READS_ALL),
        ("grant", READS_ALL),
        ("s.report", None),
        ("s.dim_days", None),
        ("s.access", None),
        ("s.vw_secure_dataset_jobs", None),
        ("function s.others_of", None),
        ("s.jobs_of", "to more than `reader_applications` says"),
        ("s_versions_of_ours.x", None),
        ("schema somewhere_else", None),
        # Nothing of that is in it.
        ("schema marts", None),
        ("somewhere_else.all_jobs", None),
        # What is called as what there may be of others.
        ("elsewhere.catalog", None),
        ("table main.elsewhere.schema", None),
        ("schema view", None),
        # A catalog may be called as a schema is.
        ("schema s.marts", None),
        ("marts.report__v2_final", None),
        ("schema.all_jobs", None),
    ],
)
def test_nothing_grants_what_shows_the_rows_of_all_users(on, said):
    told = refusal(f"grant select on {on} to analysts")
    assert (told is None) is (said is None)
    assert said is None or said in told


def test_who_executes_a_readers_function_chooses_the_user():
    granted = "grant {} on function s.jobs_of to {}".format
    assert refusal(granted("execute", "`portal`")) is None
    nodes = [model("report")]
    # An earlier run may have made functions that this one says nothing of.
    for functions in ({"F.jobs_of": ["portal"]}, {"f.jobs_of": None}):
        held = granting_of(nodes, CONFIG, functions=functions)
        for privilege, is_held in (
            ("execute", True),
            ("all privileges", True),
            ("usage, execute", True),
            ("select", False),
            ("select, create table", False),
        ):
            sql = f"grant {privilege} on schema f to hr"
            told = held.refusal(grants_of(sql), bool)
            assert (told is not None) is is_held
    for privilege in ("execute", "all privileges"):
        told = refusal(granted(privilege, "portal, hr"))
        assert "to more than `reader_applications` says: take it away" in told


def test_in_a_run_of_a_past_state_what_is_published_is_held_too():
    nodes = [
        model("all_jobs") | {"relation_name": "s_as_of_20260501_000000.all_jobs"},
    ]
    for on, said in (("s.all_jobs", READS_ALL), ("schema s", MANY)):
        assert said in refusal(f"grant select on {on} to hr", nodes=nodes)


def test_a_role_of_grants_that_is_no_text_is_one():
    nodes = [model("all_jobs", grants={"select": [123]})]
    assert refusal("grant select on s.all_jobs to `123`", nodes=nodes) is None
    assert READS_ALL in refusal("grant select on s.all_jobs to hr", nodes=nodes)


def test_grants_of_dbt_project_are_made():
    assert refusal("grant select on s.all_jobs to `Admins`") is None
    assert READS_ALL in refusal("grant select on s.all_jobs to admins, role hr")


@pytest.mark.parametrize(
    ("role", "is_refused"), [("analysts", False), ("user `Admins`", True)]
)
def test_who_is_granted_a_base_is_granted_no_secure_dataset(role, is_refused):
    for name in ("vw_secure_dataset_jobs", "access"):
        told = refusal(f"grant select on s.{name} to {role}")
        assert (told is not None) is is_refused
    said = "to 'admins', who may read 's.all_jobs' by `grants` in dbt_project.yml"
    assert not is_refused or said in told


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        ("vw_secure_dataset_jobs", True),
        ("access", True),
        ("report", False),
    ],
)
def test_no_plain_dataset_is_granted_beside_readers_views(name, is_refused):
    told = refusal(f"grant select on s.{name} to hr", has_views=True)
    assert (told is not None) is is_refused
    said = "which filters nothing, beside the readers' views: take it away."
    assert not is_refused or said in told


def test_a_relation_is_known_by_its_alias():
    nodes = [model("all_jobs") | {"relation_name": "`main`.`s`.`Jobs_v2`"}]
    assert READS_ALL in refusal("grant select on s.jobs_v2 to hr", nodes=nodes)
    assert refusal("grant select on s.all_jobs to hr", nodes=nodes) is None


def test_a_clone_of_the_product_may_have_models_beside_it():
    report = of_product("vw_all", "reports", materialized="table")
    for is_clone in (False, True):
        asked = {"nodes": [*NODES, report], "is_clone": is_clone}
        told = refusal("grant select on s.vw_all to hr", **asked)
        assert (told is None) is is_clone
        assert READS_ALL in refusal("grant select on s.stg_jobs_2 to hr", **asked)


def test_of_what_is_built_or_readers_have_a_source_says_nothing():
    places = ("s.all_jobs", "s.report", "s_readers.jobs", "s.vw_secure_dataset_jobs")
    sources = [
        model(place) | {"resource_type": "source", "relation_name": place}
        for place in places
    ]
    held = granting_of([*NODES, *sources], CONFIG, readers_schema="S_readers")
    for grant in (
        "s.all_jobs to admins",
        "s.report to hr",
        "s_readers.jobs to hr",
        "schema s_readers to hr",
        "s.vw_secure_dataset_jobs to hr",
    ):
        assert held.refusal(grants_of(f"grant select on {grant}"), bool) is None
    assert READS_ALL in held.refusal(grants_of("grant all on s.all_jobs to hr"), bool)


def is_source(node: dict) -> bool:
    """Say whether a node of dbt's graph is a source."""
    return node["resource_type"] == "source"


class Dbt:
    """An adapter with a manifest, and what its macros return."""

    def __init__(self, *macros: str, has_views: bool = False) -> None:
        self.asked: list[str] = []
        self.has_views = has_views
        self.told = {
            "secure_datasets_config": CONFIG,
            "readers_objects": SimpleNamespace(
                schema="s_readers", functions=dict, have_views=self.have_views
            ),
        }
        self.manifest = SimpleNamespace(
            macros=dict.fromkeys(macros),
            metadata=SimpleNamespace(project_name="acme"),
            flat_graph={
                "nodes": {node["name"]: node for node in NODES if not is_source(node)},
                "sources": {node["name"]: node for node in NODES if is_source(node)},
            },
        )

    def get_macro_resolver(self) -> SimpleNamespace:
        """Return the manifest."""
        return self.manifest

    def have_views(self) -> bool:
        """Note the question, and say whether readers have views."""
        self.asked.append("have_views")
        return self.has_views

    def execute_macro(self, name: str, project: str) -> object:
        """Return what a macro returns."""
        self.asked.append(f"{project}.{name}")
        return self.told[name]


INSTALLED = "macro.secure_datasets.secure_datasets_config"


def test_the_adapter_asks_of_a_grant_alone_what_the_datasets_are():
    dbt = Dbt(INSTALLED)
    refuse_grants(dbt, "create view v as select 1 as grant")
    refuse_grants(dbt, "grant usage on schema s to hr")
    assert dbt.asked == []
    refuse_grants(dbt, "grant select on s.report to hr")
    of_datasets = ["secure_datasets_config", "readers_objects"]
    assert dbt.asked == [f"secure_datasets.{name}" for name in of_datasets]
    refuse_grants(dbt, "grant select on s.vw_secure_dataset_jobs to hr")
    assert dbt.asked[4:] == ["have_views"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("grant select on s.all_jobs to hr", READS_ALL),
        ("grant select on raw.users to hr", READS_ALL),
        ("grant select on s.access to hr", "beside the readers' views"),
        ("grant select on s.report to 'hr", UNREADABLE),
    ],
)
def test_the_adapter_sends_no_such_statement(sql, said):
    with pytest.raises(DbtRuntimeError) as refused:
        refuse_grants(Dbt(INSTALLED, has_views=True), sql)
    assert said in str(refused.value)
    # An ordinary project grants what it will.
    refuse_grants(Dbt("macro.acme.own"), sql)
