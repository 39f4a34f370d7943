"""Grants in the words of the engine that is named, told apart from any query."""

from __future__ import annotations

import re

import pytest
import sqlglot
from projects import ROOT
from rendering import Macros, Stopped
from sqlglot import exp

from secure_datasets.config.errors import ConfigError
from secure_datasets.macro_methods import SecureDatasets
from secure_datasets.render.grants import ENGINES

# Every privilege of the matrix, on every type of object that it is asked for.
NEEDS = [
    ("USAGE", "COMPUTE", "large"),
    ("USAGE", "DATABASE", "spark_catalog"),
    ("CREATE", "SCHEMA", "secured"),
    ("USAGE", "SCHEMA", "secured"),
    ("MONITOR", "STORED TABLE", "secured.first"),
    ("OPERATE", "STORED TABLE", "secured.first"),
    ("OPERATE", "STORED TABLE", "secured.second"),
    ("OWNERSHIP", "STORED TABLE", "secured.second"),
    ("SELECT", "STORED TABLE", "secured.second"),
    ("SELECT", "TABLE", "raw.users"),
    ("SELECT", "VIEW", "secured.outcomes"),
]
SNOWFLAKE = """
grant usage on warehouse large to role pipeline;
grant usage on database spark_catalog to role pipeline;
grant create dynamic table on schema secured to role pipeline;
grant usage on schema secured to role pipeline;
grant monitor on dynamic table secured.first to role pipeline;
grant operate on dynamic table secured.first to role pipeline;
grant operate on dynamic table secured.second to role pipeline;
grant ownership on dynamic table secured.second to role pipeline;
grant select on dynamic table secured.second to role pipeline;
grant select on table raw.users to role pipeline;
grant select on view secured.outcomes to role pipeline;
"""
UNITY_CATALOG = """
grant use catalog on catalog lake to `pipeline`;
grant create table on schema lake.secured to `pipeline`;
grant use schema on schema lake.secured to `pipeline`;
grant manage on table lake.secured.second to `pipeline`;
grant select on table lake.secured.second to `pipeline`;
grant select on table lake.raw.users to `pipeline`;
grant select on view lake.secured.outcomes to `pipeline`;
-- Not granted, usage on compute large: a permission of the workspace, not of the \
catalog.
-- Not granted, monitor on stored table secured.first: there is no such privilege.
-- Not granted, operate on stored table secured.first, secured.second: there is no \
such privilege; who is to refill a table of somebody else needs modify on it, which \
lets a role write any row.
"""


CATALOGS = {"snowflake": None, "unity_catalog": "lake"}
DIALECTS = {"snowflake": "snowflake", "unity_catalog": "databricks"}


def granted(engine: str, role: str = "pipeline") -> list[str]:
    """Return the statements for every privilege."""
    return SecureDatasets().grants(engine, role, NEEDS, CATALOGS[engine])


def test_P15_snowflake_has_a_word_for_every_privilege():
    assert granted("snowflake") == SNOWFLAKE.strip().split("\n")


def test_P15_unity_catalog_says_what_it_has_no_word_for():
    found = granted("unity_catalog")
    assert found == UNITY_CATALOG.strip().split("\n")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("need", NEEDS, ids=" ".join)
def test_P15_every_need_is_granted_or_said_not_to_be(engine, need):
    (line,) = SecureDatasets().grants(engine, "pipeline", [need], CATALOGS[engine])
    said = f"-- Not granted, {need[0].lower()} on {need[1].lower()} {need[2]}: "
    assert line.startswith(("grant ", said))


def test_P15_a_role_s_name_can_t_end_its_quotes():
    first = granted("unity_catalog", "a`b c")[0]
    assert first == "grant use catalog on catalog lake to `a``b c`;"
    (one,) = SecureDatasets().grants("unity_catalog", "r", [NEEDS[-2]], "a-b")
    assert one == "grant select on table `a-b`.raw.users to `r`;"


@pytest.mark.parametrize(
    ("engine", "catalog", "needs", "said"),
    [
        ("oracle", None, [], "unknown engine 'oracle'; known are snowflake, unity_ca"),
        ("unity_catalog", None, [], "names relations with their catalog: add 'catalog"),
        ("snowflake", "lake", [], "'catalog: <name>' is for unity_catalog al"),
        (
            "unity_catalog",
            "lake",
            [("USAGE", "DATABASE", "other")],
            "'other' is another catalog than 'lake'",
        ),
        ("unity_catalog", "lake", [("FLY", "TABLE", "a.b")], "no words for FLY on TA"),
        ("snowflake", None, [("FLY", "TABLE", "a.b")], "no words for FLY on TABLE"),
    ],
)
def test_P15_what_can_t_be_granted_is_one_sentence(engine, catalog, needs, said):
    with pytest.raises(ConfigError, match=said) as stopped:
        SecureDatasets().grants(engine, "pipeline", needs, catalog)
    message = str(stopped.value)
    assert "render_grants: " in message
    assert message.count("\n") <= 1


@pytest.mark.parametrize("engine", ENGINES)
def test_P15_the_statements_are_read_by_the_parser_of_the_engine(engine):
    for statement in granted(engine):
        if not statement.startswith("--"):
            (tree,) = sqlglot.parse(statement, DIALECTS[engine])
            assert isinstance(tree, exp.Grant | exp.Command), statement
            assert tree.sql().lower().startswith("grant ")


def test_P15_the_page_says_what_each_engine_is_given():
    page = (ROOT / "docs/engines.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]+) on a ([a-z ]+) \| (.+) \| (.+) \|$", page, re.M)
    needs = {(privilege, kind.upper()) for privilege, kind, *_ in rows}
    assert needs == {(privilege, kind) for privilege, kind, _ in NEEDS}
    for privilege, kind, *told in rows:
        name = "spark_catalog" if kind == "database" else "a"
        need = (privilege, kind.upper(), name)
        for engine, words in zip(ENGINES, told, strict=True):
            (line,) = SecureDatasets().grants(engine, "r", [need], CATALOGS[engine])
            if words.startswith("none"):
                assert line.startswith("-- Not granted")
            else:
                assert line.startswith(f"grant {words.strip('`')} "), (need, engine)


@pytest.fixture
def render():
    """Render the operation over an answer of its query; return what it prints."""
    macros = Macros("{}", types={})
    macros.answers.append([("SELECT", "TABLE", "raw.users")])

    def call(**arguments: str) -> list[str]:
        macros.render_grants("pipeline", **arguments)
        return macros.printed

    return call


def test_P15_the_operation_speaks_snowflake_where_no_engine_is_named(render):
    assert render() == ["grant select on table raw.users to role pipeline;"]


def test_P15_the_operation_speaks_the_words_of_the_engine_named(render):
    assert render(engine="unity_catalog", catalog="lake") == [
        "grant select on table lake.raw.users to `pipeline`;"
    ]


def test_P15_an_unknown_engine_is_refused_before_anything_is_asked(render):
    with pytest.raises(Stopped, match="unknown engine 'oracle'"):
        render(engine="oracle")


@pytest.mark.parametrize(
    ("roles", "said"),
    [([("loader",), ("pipeline",)], "'x'; it has loader, pipeline"), ([], "is empty")],
)
def test_P15_a_role_that_is_not_known_is_told_which_are(roles, said):
    macros = Macros("{}", types={})
    macros.answers += [[], roles]
    with pytest.raises(Stopped, match=said):
        macros.render_grants("x")
