"""R20 and Z6: no rule is evaluated for a row that the tier hides.

By plan and by attack: the rules call a function of somebody's, which no list knows, and
which raises for the hidden names alone, whatever the ANSI mode.
"""

from __future__ import annotations

import re
from itertools import takewhile

import pytest
import yaml
from policy_sandbox import SparkSandbox
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from dbt_secure_spark.session import with_settings
from secure_datasets.config import plan
from secure_datasets.render.readers import function_body, view_query

pytestmark = pytest.mark.spark

READER, OTHER = 8, 9
SCHEMA = "barrier_tests"
# Not JSON, so that `parse_json` raises and its error tells the value.
HIDDEN = "HIDDEN"
RUNS = [(1, 1, "11", "a", 5), (2, 1, "12", "a", 7), (3, 2, HIDDEN, "b", 9)]
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: [access_type]}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, name, kind, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
    news:
        base: all_runs
        columns: [run_id, team_id, name, kind, amount]
        unique_key: [run_id]
        switch:
            column: kind
            cases:
                a: {visible_to: everyone}
                b: {tier: team, keys: {team_id: team_id}}
    over:
        base: vw_secure_dataset_runs
        columns: [run_id, name, kind]
        unique_key: [run_id]
relations:
    fct_runs:
        kind: fact
        columns: {run_id: bigint, team_id: bigint, name: string, amount: bigint}
    dim_teams: {kind: dimension, columns: {team_id: bigint, unit: string}}
    user_units: {kind: mapping, columns: {user_id: bigint, unit: string}}
relationships:
    - from: {dataset: fct_runs, join_columns: [team_id]}
      to: {dataset: dim_teams}
    - from: {dataset: dim_teams, join_columns: [unit]}
      to: {row_security: units}
"""
UNITS = {
    "unique_name": "units",
    "object_type": "row_security",
    "label": "Units",
    "dataset": "user_units",
    "filter_key_column": "unit",
    "ids_column": "user_id",
    "id_type": "user",
    "scope": "all",
}
RAISES = f"{SCHEMA}.told(name)"
# Datasets by kind: what is added to the document, and which one is asked.
STAR = {"tier": "team", "keys": {"team_id": "team_id"}, "unique_key": ["run_id"]}
STAR |= {"base": "fct_runs", "columns": ["run_id", "team_id", "name", "amount"]}
QUERY = {
    "query": {
        "dimensions": {"name": "fct_runs.name", "unit": "dim_teams.unit"},
        "measures": {"amount": "sum(fct_runs.amount)"},
    },
    "columns": ["name", "unit", "amount"],
    "unique_key": ["name", "unit"],
    "visible_to": "everyone",
}
VIEW = {**STAR, "base": "all_runs", "view_authorization": True}
ALL_RUNS = {"role": "A", "resource": "runs"}


def condition(dataset: str, text: str = f"{RAISES} <> 'x'", **more: object) -> dict:
    """Return the policy of a role that every user here holds."""
    return {"role": "A", "resource": dataset, "condition": text} | more


def mask(dataset: str, text: str = RAISES, **more: object) -> dict:
    """Return a policy that masks the names."""
    return {"role": "A", "resource": f"{dataset}.name", "mask": text, **more}


# By name: the dataset that is asked, its policies, and further entries of the config.
CASES: dict[str, tuple[str, list[dict], dict]] = {
    "a condition": ("runs", [condition("runs")], {}),
    "conditions of two roles": (
        "runs",
        [condition("runs"), {**condition("runs"), "role": "B"}],
        {},
    ),
    "a condition by a subquery": (
        "runs",
        [condition("runs", f"{RAISES} in (select u.unit from barrier_units as u)")],
        {},
    ),
    "a condition by a correlated subquery": (
        "runs",
        [
            condition(
                "runs",
                "exists (select 1 from barrier_units as u"
                f" where u.unit = {SCHEMA}.told(runs.name))",
                check=False,
            )
        ],
        {},
    ),
    "a mask": ("runs", [ALL_RUNS, mask("runs")], {}),
    "a mask without a condition on rows": ("runs", [mask("runs")], {}),
    "a mask's condition": (
        "runs",
        [ALL_RUNS, mask("runs", "'masked'", condition=f"{RAISES} <> 'x'")],
        {},
    ),
    "a mask for everybody else": (
        "runs",
        [{"except": ["B"], "resource": "runs.name", "mask": RAISES}],
        {},
    ),
    "a switch with public rows": ("news", [condition("news")], {}),
    "a condition over a dataset": (
        "over",
        [condition("over")],
        {},
    ),
    "a condition over a masked dataset": (
        "over",
        [mask("runs"), condition("over", "name <> 'x'")],
        {},
    ),
    "a mask over a masked dataset": (
        "over",
        [condition("runs"), mask("runs"), mask("over")],
        {},
    ),
    "row security": (
        "star",
        [condition("star")],
        {"star": STAR},
    ),
    "a mask under row security": (
        "star",
        [mask("star")],
        {"star": STAR},
    ),
    "a query over the star": (
        "query",
        [condition("query")],
        {"query": QUERY},
    ),
    "a restrictive condition": (
        "runs",
        [condition("runs", role="*", **{"as": "restrictive"})],
        {},
    ),
    "a condition under view authorization": (
        "viewed",
        [condition("viewed")],
        {"viewed": VIEW},
    ),
    "a mask under view authorization": (
        "viewed",
        [condition("viewed", "true"), mask("viewed")],
        {"viewed": VIEW},
    ),
}


TELLING = ("a condition", "a condition by a subquery", "row security")


@pytest.fixture(scope="module")
def sandbox(spark):
    """Two teams: the reader is in the first, and the hidden name is the second's."""
    spark.sql(f"drop schema if exists {SCHEMA} cascade")
    spark.sql(f"create schema {SCHEMA}")
    spark.sql(
        f"create function {SCHEMA}.told(name string) returns string"
        " return cast(parse_json(name) as string)"
    )
    spark.sql(
        "create or replace temporary view barrier_units as"
        " select * from values ('11'), ('12') as units (unit)"
    )
    sandbox = SparkSandbox(spark)
    for name in ("all_runs", "fct_runs"):
        sandbox.table(
            name,
            "run_id bigint, team_id bigint, name string, kind string, amount bigint",
            RUNS,
        )
        # Of files, as Spark moves conditions to these.
        spark.table(f"policies_{name}").write.saveAsTable(f"{SCHEMA}.{name}")
        spark.table(f"{SCHEMA}.{name}").createOrReplaceTempView(f"policies_{name}")
    members = [(1, READER, "User"), (2, OTHER, "User")]
    sandbox.table(
        "team_access", "team_id bigint, user_id bigint, access_type string", members
    )
    sandbox.table("dim_teams", "team_id bigint, unit string", [(1, "X"), (2, "Y")])
    sandbox.table(
        "user_units", "user_id bigint, unit string", [(READER, "X"), (OTHER, "Y")]
    )
    sandbox.table(
        "view_outcomes",
        "user_id bigint, view_name string, outcome string",
        [(user, "vw_secure_dataset_viewed", "Transform") for user in (READER, OTHER)],
    )
    (account,) = spark.sql("select current_user()").first()
    sandbox.table("accounts", "account string, user_id bigint", [(account, READER)])
    sandbox.roles({READER: ["A", "B"], OTHER: ["A", "B"]})
    yield sandbox
    spark.sql(f"drop schema {SCHEMA} cascade")


@pytest.fixture
def query_of(spark, sandbox):
    """The query of a readers' function over a case's dataset, for the reader."""

    def call(case: str, is_view: bool = False) -> str:
        name, policies, datasets = CASES[case]
        document = yaml.safe_load(DOCUMENT)
        document["datasets"] |= datasets
        document["policies"] = policies
        if datasets:
            document["row_security"] = [UNITS]
        else:
            for key in ("relations", "relationships"):
                del document[key]
        text = yaml.safe_dump(document, sort_keys=False)
        if name == "over":
            sandbox.secure(text, "runs")
        view = sandbox.secure(text, name)
        source = {
            "name": name,
            "relation": view,
            "columns": sandbox.types[f"vw_secure_dataset_{name}"],
            "has_public_rows": name == "news",
        }
        if is_view:
            accounts = "policies_accounts"
            return view_query(source, accounts, "policies_stg_users")
        body = function_body(source, "policies_stg_users")
        returns = ", ".join(f"{c} {t}" for c, t in source["columns"].items())
        spark.sql(
            f"create or replace temporary function {name}_of(reader string)"
            f" returns table ({returns}) return {body}"
        )
        return f"select * from {name}_of({READER})"

    return call


@pytest.mark.parametrize("case", CASES)
def test_R20_no_rule_is_evaluated_for_a_row_that_the_tier_hides(
    sandbox, spark, query_of, case
):
    with with_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        query = query_of(case)
        shown = sandbox.rows(query)
        assert shown
        assert HIDDEN not in str(shown)
        plan_of = spark.sql(query)._jdf.queryExecution().optimizedPlan()
        check_plan(plan_of.toString(), f" = {READER})")


@pytest.mark.parametrize("case", ["a condition", "a switch with public rows"])
def test_R20_nor_in_a_readers_view(sandbox, spark, query_of, case):
    with with_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        frame = spark.sql(query_of(case, is_view=True))
        assert [row.name for row in frame.collect()].count("11") == 1
        plan_of = frame._jdf.queryExecution().optimizedPlan()
        check_plan(plan_of.toString(), " = scalar-subquery")


def check_plan(text: str, user: str) -> None:
    """Check that below the lowest barriers are all rows, and no rule.

    The filter on the user, which decides how much is read, is there too.
    """
    lines = text.splitlines()

    def below(number: int) -> list[str]:
        def depth(line: str) -> int:
            return len(re.match(r"[ :+-]*", line)[0])

        under = lines[number + 1 :]
        return list(takewhile(lambda line: depth(line) > depth(lines[number]), under))

    barriers = [n for n, line in enumerate(lines) if "Generate inline(" in line]
    lowest = [below(n) for n in barriers]
    lowest = [under for under in lowest if "Generate inline(" not in str(under)]
    assert lowest
    assert "parseJson" in text
    assert "parseJson" not in str(lowest), text
    assert all(user in str(under) for under in lowest), text
    assert text.count("_runs[") == str(lowest).count("_runs["), text


@pytest.mark.parametrize("case", TELLING)
def test_R20_without_the_barrier_the_same_rules_tell_the_hidden_name(
    sandbox, query_of, case, monkeypatch, spark
):
    monkeypatch.setitem(plan.STEPS, "guarded_rows", lambda *_: False)
    with with_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        with pytest.raises((PySparkException, Py4JError)) as told:
            sandbox.rows(query_of(case))
        assert HIDDEN in str(told.value)


def test_a_rule_that_names_no_column_has_no_barrier(sandbox):
    document = yaml.safe_load(DOCUMENT)
    del document["relations"], document["relationships"]
    document["policies"] = [ALL_RUNS, mask("runs", "'masked'")]
    text = yaml.safe_dump(document, sort_keys=False)
    sql = sandbox.macros(text).secure_dataset("runs")
    assert "lateral view" not in sql
    assert not re.search("guarded", sql)


def test_a_column_has_the_type_behind_the_barrier_that_it_has_before(sandbox, spark):
    document = yaml.safe_load(DOCUMENT)
    del document["relations"], document["relationships"]
    condition_of_types = (
        "code = 'a' and code <> 'b' and code in ('a') and word = 'a '"
        " and folded = 'A' and at_least['k'] = 1 and part.x = 2 and list[0] = 3"
    )
    columns = ["code", "word", "folded", "at_least", "part", "list"]
    document["datasets"] = {"runs": document["datasets"]["runs"]}
    document["datasets"]["runs"] |= {"base": "typed", "columns": ["team_id", *columns]}
    document["datasets"]["runs"]["unique_key"] = ["code"]
    document["policies"] = [condition("runs", condition_of_types)]
    spark.sql(
        f"create table {SCHEMA}.typed (team_id bigint, code char(5), word varchar(5),"
        " folded string collate utf8_lcase, at_least map<string, int>,"
        " part struct<x: int>, list array<int>) using parquet"
    )
    spark.sql(
        f"insert into {SCHEMA}.typed select 1, 'a', 'a ', 'a', map('k', 1),"
        " named_struct('x', 2), array(3)"
    )
    spark.table(f"{SCHEMA}.typed").createOrReplaceTempView("policies_typed")
    text = yaml.safe_dump(document, sort_keys=False)
    sql = sandbox.macros(text).secure_dataset("runs")
    assert "lateral view" in sql
    frame = spark.sql(sql)
    types = dict(spark.table(f"{SCHEMA}.typed").dtypes)
    assert {column: types[column] for column in columns}.items() <= dict(
        frame.dtypes
    ).items()
    assert [row.user_id for row in frame.collect()] == [READER]
