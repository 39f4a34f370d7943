"""Readers' own SQL: views and functions for it, and what it can't tell of the rest."""

from __future__ import annotations

import re
from ast import literal_eval
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from customer_project import customer_project
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError
from jinja2 import Environment
from own_config import SAMPLES, document_of, together
from projects import ROOT
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rendering import Macros

from dbt_secure_spark.session import ANSI, ZONE, with_settings
from secure_datasets.macro_methods import SecureDatasets
from secure_datasets.readers import ReadersObjects
from secure_datasets.render.readers import function_body, view_query

PAGE = (ROOT / "docs/reading.md").read_text(encoding="utf-8")
CONFIG = together()
VIEWS = "secure_datasets_readers"
ACCOUNTS = "readers_security.reader_accounts"
NAMES = [
    *CONFIG["datasets"],
    *(t["access_view"].removeprefix("vw_secure_") for t in CONFIG["tiers"].values()),
]
BOTH = {
    "readers_views": True,
    "readers_functions": True,
    "reader_accounts": ACCOUNTS,
}
# Enough of them for how they are published: a view and a function of each.
FEW = {name: f"vw_secure_dataset_{name}" for name in ("tests", "jobs", "event_history")}
BARRIER = "(monotonically_increasing_id() >= 0)"
READER, OTHER, GONE = 8, 9, 4711


# ---------------------------------------------------------------------------
# What a reader's own SQL can't tell: the same attacks on two worlds that differ in
# nothing but hidden rows and unmasked values must come out the same.
# ---------------------------------------------------------------------------

# `runs` has conditions by tier and role, and a mask. `news` has public rows; it lies in
# folders by name, on which Spark evaluates a join's key if it may.
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, name, pattern, amount, secret]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
    news:
        base: all_news
        columns: [run_id, team_id, name, pattern]
        unique_key: [run_id]
        switch:
            column: pattern
            cases:
                a: {visible_to: everyone}
                (: {tier: team, keys: {team_id: team_id}}
policies:
    - {role: Everyone, resource: runs}
    - {role: Everyone, resource: runs.secret, mask: "'masked'"}
"""
TYPES = {
    "all_runs": "run_id bigint, team_id bigint, name string, pattern string,"
    " amount bigint, secret string",
    "all_news": "run_id bigint, team_id bigint, name string, pattern string",
    "team_access": "team_id bigint, user_id bigint",
    "stg_users": "user_id bigint, is_live boolean",
    "user_role_names": "user_id bigint, role_names array<string>,"
    " user_group_ids array<bigint>",
    "reader_accounts": "account string, user_id bigint",
}
SHOWN = [(1, 1, "1", "a", 0, "{}"), (2, 1, "2", "a", 0, "{}")]
HIDDEN = [(3, 2, "HIDDEN", "(", 1, "{}"), (4, 2, "HIDDEN TOO", "(", 2, "{}")]
WORLDS = {
    "with": [(*row[:5], "SECRET") for row in [*SHOWN, *HIDDEN]],
    "without": [(*row[:5], "other") for row in SHOWN],
}
# Fails where the row is hidden, or the value masked.
FAILS = "if(name like 'HIDDEN%', raise_error(name), true)"
ATTACKS = {
    "cast": "select count(*) from {t} where cast(name as int) > 0",
    "cast of all but the known": (
        "select count(*) from {t} where"
        " cast(case when name in ('1', '2') then '1' else name end as int) = 1"
    ),
    "division": "select run_id from {t} where 1 / if(name like 'H%', 0, 1) = 1",
    "overflow": "select run_id from {t} where 9223372036854775807 + amount > 0",
    "raise_error": f"select run_id from {{t}} where {FAILS}",
    "assert_true": (
        "select run_id from {t} where assert_true(name not like 'H%', name) is null"
    ),
    "array": "select run_id from {t} where array(1)[if(name like 'H%', 9, 0)] = 1",
    "element_at": (
        "select run_id from {t}"
        " where element_at(array(1), if(name like 'H%', 0, 1)) = 1"
    ),
    "map": "select run_id from {t} where map(name, 1, '1', 2)['1'] = 2",
    "regular expression": "select run_id from {t} where 'x' not rlike pattern",
    "date": "select run_id from {t} where to_date(name, 'd') is not null",
    "conversion": "select run_id from {t} where to_number(name, '9') > 0",
    "masked value": (
        "select run_id from {t} where if(secret = 'SECRET', raise_error(secret), true)"
    ),
    "masked value, compared": "select run_id from {t} where secret = 'SECRET'",
    "masked value in the select list": (
        "select if(secret = 'SECRET', raise_error(secret), run_id) from {t}"
    ),
    "select list": f"select {FAILS} from {{t}}",
    "order": f"select run_id from {{t}} order by {FAILS}, run_id limit 1",
    "limit": f"select * from (select name from {{t}} limit 9) where {FAILS}",
    "top": (
        "select * from (select name from {t} order by name desc limit 1)"
        " where cast(name as int) > 0"
    ),
    "distinct": f"select * from (select distinct name from {{t}}) where {FAILS}",
    "key of a join": (
        "select count(*) from {t} t join {o} o on cast(t.name as int) = o.number"
    ),
    "key of a broadcast join": (
        "select /*+ broadcast(o) */ count(*) from {t} t join {o} o"
        " on cast(t.name as int) = o.number where o.kind = 'x'"
    ),
    "key of a join by merging": (
        "select /*+ merge(o) */ count(*) from {t} t join {o} o"
        " on cast(t.name as int) = o.number"
    ),
    "semi join": (
        "select name from {t} where cast(name as int) in (select number from {o})"
    ),
    "anti join": (
        "select name from {t} t where not exists"
        " (select 1 from {o} o where o.number = cast(t.name as int))"
    ),
    "outer join": (
        f"select o.number from {{o}} o left join {{t}} t on {FAILS} and t.name = o.kind"
    ),
    "equal names": (
        f"select count(*) from {{t}} t join {{o}} o on t.name = o.kind where {FAILS}"
    ),
    "aggregate": f"select count(*) filter (where {FAILS}) from {{t}}",
    "grouping": "select cast(name as int), count(*) from {t} group by 1",
    "having": f"select name, count(*) from {{t}} group by name having {FAILS}",
    "window": (
        "select * from (select name, count(*) over (partition by name) as n from {t})"
        f" where {FAILS}"
    ),
    "ranks": (
        "select * from (select name, rank() over (order by cast(name as int)) as n"
        " from {t}) where n = 1"
    ),
    "correlated": (
        "select run_id from {t} t where exists"
        f" (select 1 from {{t}} s where s.run_id = t.run_id and {FAILS})"
    ),
    "scalar subquery": (
        "select (select max(cast(s.name as int)) from {t} s"
        " where s.run_id = t.number) from {o} t"
    ),
    "lateral": f"select t.run_id, x.a from {{t}} t, lateral (select {FAILS} as a) x",
    "explode": (
        "select explode(if(name like 'H%', array(raise_error(name)), array(1)))"
        " from {t}"
    ),
    "lateral view": (
        "select name from {t} lateral view explode(split(name, ' ')) e as word"
        " where cast(word as int) > 0"
    ),
    "union": (
        "select * from (select name from {t} union all select '1')"
        " where cast(name as int) > 0"
    ),
    "except": (
        "select * from (select name from {t} except select '1')"
        " where cast(name as int) > 0"
    ),
    "common table, asked twice": (
        f"with c as (select * from {{t}}) select 1 from c a join c b on a.name = b.name"
        f" where {FAILS.replace('name', 'a.name')}"
    ),
    "pivot": "select * from (select name from {t}) pivot (count(*) for name in ('1'))",
    "a name that is hidden": "select count(*) from {t} where name = 'HIDDEN'",
}
# Two ways in which Spark works: what it plans, and where it evaluates, differs.
WAYS = {
    "ANSI, adaptive, generated code": {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    },
    "not ANSI, not adaptive, interpreted": {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
    },
}

# Those that tell what is hidden where a query has no barrier, by what they ask. Spark
# pushes no filter with raise_error below a join, and `runs` is one.
TELLING_OF_BOTH = (
    *("anti join", "array", "cast", "cast of all but the known", "conversion", "date"),
    *("division", "element_at", "except", "regular expression", "semi join", "union"),
)
TELLING = {
    "runs": (*TELLING_OF_BOTH, "overflow"),
    "news": (
        *(*TELLING_OF_BOTH, "assert_true", "correlated", "distinct", "having"),
        *("outer join", "raise_error", "window"),
    ),
}


def make_world(spark: SparkSession, schema: str, runs: list[tuple]) -> None:
    """Make the tables, the secure datasets and what readers ask, in a schema."""
    spark.sql(f"drop schema if exists {schema} cascade")
    spark.sql(f"create schema {schema}")
    user = spark.sql("select current_user()").first()[0]
    rows = {
        "all_runs": runs,
        "all_news": [run[:4] for run in runs],
        "team_access": [(1, READER), (2, OTHER)],
        "stg_users": [(READER, True), (OTHER, True)],
        "user_role_names": [(READER, ["Everyone"], []), (OTHER, ["Everyone"], [])],
        "reader_accounts": [(user, READER), ("another", OTHER)],
    }
    for name, types in TYPES.items():
        frame = spark.createDataFrame(rows[name], types).coalesce(1).write
        if name == "all_news":
            frame = frame.partitionBy("name")
        frame.saveAsTable(f"{schema}.{name}")
    spark.sql(
        f"create table {schema}.o using parquet as"
        " select * from values (1, 'x'), (7, 'HIDDEN') as o (number, kind)"
    )
    types = {
        name: dict(part.split(" ") for part in text.split(", "))
        for name, text in TYPES.items()
    }
    macros = Macros(DOCUMENT, ref=lambda name: f"{schema}.{name}", types=types)
    for name in ("runs", "news"):
        secure = f"{schema}.vw_secure_dataset_{name}"
        spark.sql(f"create view {secure} as {macros.secure_dataset(name)}")
        columns = {
            field.name: field.dataType.simpleString()
            for field in spark.table(secure).schema
        }
        source = {
            "name": name,
            "relation": secure,
            "columns": columns,
            "has_public_rows": name == "news",
        }
        users = f"{schema}.stg_users"
        query = view_query(source, f"{schema}.reader_accounts", users)
        spark.sql(f"create view {schema}.{name} as {query}")
        spark.sql(f"create view {schema}.{name}_open as {without_barrier(query)}")
        returns = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
        spark.sql(
            f"create function {schema}.{name}_of(reader string)"
            f" returns table ({returns}) return"
            f" {function_body(source, users)}"
        )


def without_barrier(query: str) -> str:
    """Return a readers' query as somebody would write it who knows of no barrier."""
    return query[: query.index("    -- The barrier")]


def outcome(spark: SparkSession, attack: str, schema: str, target: str) -> object:
    """Return the rows that an attack gives, or its error, whatever the schema."""
    query = attack.format(t=f"{schema}.{target}", o=f"{schema}.o")
    try:
        return sorted(map(tuple, spark.sql(query).collect()), key=repr)
    except (PySparkException, Py4JError) as error:
        told = str(error).replace(schema, "")
        return re.sub(r"#\d+L?", "#", told.split("== SQL")[0])


@pytest.fixture(scope="module")
def worlds(spark) -> dict[str, str]:
    """The two worlds, by the names of their schemas."""
    schemas = {name: f"readers_world_{name}" for name in WORLDS}
    for name, schema in schemas.items():
        make_world(spark, schema, WORLDS[name])
    yield schemas
    for schema in schemas.values():
        spark.sql(f"drop schema {schema} cascade")


# Each of these tells by one of the two relations; all others are tried each night.
SOME = {*TELLING["runs"], *TELLING["news"], "key of a broadcast join", "masked value"}
IN_THE_OTHER_WAY = {"cast", "correlated"}


def tried() -> list:
    """Return each attack in each way."""
    first, other = WAYS
    tonight = pytest.mark.nightly
    return [
        pytest.param(attack, way, marks=() if attack in some else tonight)
        for way, some in ((first, SOME), (other, IN_THE_OTHER_WAY))
        for attack in ATTACKS
    ]


@pytest.mark.spark
@pytest.mark.parametrize(("attack", "way"), tried())
def test_a_readers_own_sql_tells_nothing_of_hidden_rows_and_values(
    spark, worlds, attack, way
):
    is_first = way == next(iter(WAYS))
    asked = ["runs" if is_first else f"runs_of({READER})"]
    if attack.startswith("key of"):
        asked.append(f"news_of({READER})" if is_first else "news")
    with with_settings(spark, WAYS[way]):
        for target in asked:
            found = {
                world: outcome(spark, ATTACKS[attack], schema, target)
                for world, schema in worlds.items()
            }
            assert found["with"] == found["without"], target
            assert "HIDDEN" not in str(found["with"]) or attack == "outer join"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("target", "attack"),
    [
        ("runs", "cast"),
        ("news", "raise_error"),
        *(
            pytest.param(target, attack, marks=pytest.mark.nightly)
            for target, attacks in TELLING.items()
            for attack in attacks
        ),
    ],
)
def test_the_attacks_are_some_that_tell_without_the_barrier(
    spark, worlds, target, attack
):
    with with_settings(spark, {"spark.sql.ansi.enabled": "true"}):
        found = [
            outcome(spark, ATTACKS[attack], schema, f"{target}_open")
            for schema in worlds.values()
        ]
    assert found[0] != found[1]


@pytest.mark.spark
def test_a_function_and_a_view_show_at_once_what_a_dataset_is_switched_to(spark):
    schema = "readers_switch"
    make_world(spark, schema, WORLDS["with"])
    columns = spark.table(f"{schema}.vw_secure_dataset_runs").schema
    switched = ", ".join(
        f"cast({READER if column.name == 'user_id' else 7} as"
        f" {column.dataType.simpleString()}) as {column.name}"
        for column in columns
    )
    spark.sql(f"alter view {schema}.vw_secure_dataset_runs as select {switched}")
    for target in ("runs", f"runs_of({READER})"):
        found = spark.sql(f"select run_id from {schema}.{target}").collect()
        assert found == [(7,)]
    spark.sql(f"drop schema {schema} cascade")


IDS = ("8", "8L", "'8'", "cast(8 as tinyint)", "4 + 4")
# What is no id of a user, and what a plain cast to a bigint would make the reader's.
NO_IDS = [
    *("18446744073709551624", "8.9", "'8.9'", "8.0", "8.9D", "8e0", "8.5F", "' 8.9 '"),
    *("-8", "'8x'", "'0x8'", "'8L'", "''", "null", "true", "date'1970-01-09'"),
    *("cast('8' as decimal(38, 1))", "'\u0668'", "'18446744073709551624'"),
    *("99999999999999999999999999999999999999", "current_date()"),
    "'8' || chr(0) || '1'",
]


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_is_no_id_of_a_user_gives_nobody_s_rows(spark, worlds, ansi):
    schema = worlds["with"]
    with with_settings(spark, {"spark.sql.ansi.enabled": ansi}):
        for name in ("runs", "news"):
            for ids, wanted in ((IDS, set(range(len(IDS)))), (NO_IDS, set())):
                queries = [
                    f"select {number} as id from {schema}.{name}_of({each})"
                    for number, each in enumerate(ids)
                ]
                found = spark.sql(" union all ".join(queries)).collect()
                assert {number for (number,) in found} == wanted, name


@pytest.mark.spark
def test_the_id_of_a_function_is_pushed_to_the_files_as_a_number(spark, worlds):
    query = f"select * from {worlds['with']}.runs_of({READER})"
    plan = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    assert f"PushedFilters: [IsNotNull(user_id), EqualTo(user_id,{READER})" in plan
    assert "try_cast" not in plan


@pytest.mark.spark
def test_a_lateral_join_is_refused_and_what_the_page_says_instead_is_not(spark, worlds):
    schema = worlds["with"]
    users = f"{schema}.stg_users"
    lateral = (
        f"select u.user_id, r.run_id from {users} as u, lateral"
        f" {schema}.runs_of(u.user_id) as r"
    )
    with pytest.raises(PySparkException) as told:
        spark.sql(lateral).collect()
    name = "NON_DETERMINISTIC_LATERAL_SUBQUERIES"
    assert name in str(told.value)
    assert name in PAGE
    # What to write instead.
    query = sql_of_the_page("select user_id, test_name from secure_datasets.tests_of")
    for before, by in {
        "secure_datasets.tests_of": f"{schema}.runs_of",
        "test_name": "run_id",
    }.items():
        query = query.replace(before, by)
    assert spark.sql(query).collect()
    query = sql_of_the_page("select team.user_id, tests.test_name")
    for before, by in {
        "secure_datasets.vw_secure_dataset_tests": f"{schema}.vw_secure_dataset_runs",
        "team_members": users,
        "test_name": "run_id",
    }.items():
        query = query.replace(before, by)
    found = spark.sql(query).collect()
    assert {user for user, _ in found} == {READER, OTHER}


# ---------------------------------------------------------------------------
# Over the sample: who gets what, and what a run makes of it.
# ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def publish(rows, spark, dbt, parsed):
    """Publish what readers ask, as a run does at its end: `publish(**BOTH)`.

    Of a few datasets, or `of_all`. At the end of the module nothing of it is left.
    """
    names = parsed.macros["macro.secure_datasets.readers_names"]
    is_there: list[dict] = []
    few = f"{{% macro readers_names() %}}{{{{ return({FEW}) }}}}{{% endmacro %}}"

    def call(
        operation: str = "publish_readers_objects",
        of_all: bool = False,
        options: tuple[str, ...] = ("--quiet",),
        **variables: object,
    ):
        with pytest.MonkeyPatch.context() as patch:
            if not of_all:
                patch.setattr(names, "macro_sql", few)
            vars_ = ("--vars", yaml.safe_dump(variables))
            given = ("run-operation", operation, *options, *vars_)
            if operation != "publish_readers_objects":
                return dbt(*given, manifest=parsed)
            is_there.clear()
            result = dbt(*given, manifest=parsed)
        if result.success and not of_all:
            is_there.append(variables)
        return result

    call.is_there = is_there
    spark.sql("create schema readers_security")
    map_accounts(spark, [("current_user()", READER)])
    yield call
    assert call().success
    spark.sql(f"drop schema {VIEWS}")
    spark.sql("drop schema readers_security cascade")
    spark.sql("use secure_datasets")


@pytest.fixture
def published(publish, spark):
    """Views and functions of a few, with the account of this session for a user.

    A test that has changed them publishes them again at its end.
    """
    map_accounts(spark, [("current_user()", READER)])
    if publish.is_there != [BOTH]:
        assert publish(**BOTH).success


@pytest.fixture(scope="module")
def published_once(publish):
    """Views and functions of all, published for the tests that only read them."""
    assert publish(of_all=True, **BOTH).success


@pytest.fixture
def readable(published_once, spark):
    """What is published, of a few at least, with this session's account for a user."""
    map_accounts(spark, [("current_user()", READER)])


def map_accounts(spark: SparkSession, accounts: list[tuple[str, object]]) -> None:
    """Map accounts, written as SQL, to users."""
    values = [f"({account}, cast({user} as bigint))" for account, user in accounts]
    rows = f"values {', '.join(values)}" if values else "select '', 0L where false"
    spark.sql(f"drop table if exists {ACCOUNTS}")
    spark.sql(
        f"create table {ACCOUNTS} using parquet as"
        f" select * from ({rows}) as accounts (account, user_id)"
    )


def made(spark: SparkSession) -> tuple[set[str], set[str]]:
    """Return the names of the readers' views, and of the functions."""
    # Spark lists the session's temporary ones, too.
    views = spark.sql(f"show views in {VIEWS}").collect()
    functions = spark.sql("show user functions in secure_datasets").collect()
    return (
        {row.viewName for row in views if not row.isTemporary},
        {
            row.function.split(".")[-1]
            for row in functions
            if ".secure_datasets." in f".{row.function}"
        },
    )


def told(spark: SparkSession, function: str) -> list[str]:
    """Return what the catalogue tells of a function."""
    described = spark.sql(f"describe function extended secure_datasets.{function}")
    return [line for (line,) in described.collect()]


def optimized_plan(spark: SparkSession, query: str) -> str:
    """Return the optimized plan of a query."""
    return spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.spark
def test_readers_get_their_own_rows_and_the_public_ones(readable, rows, spark):
    assert made(spark) == (set(NAMES), {f"{name}_of" for name in NAMES})
    for name in NAMES:
        model = f"vw_secure_{'dataset_' if name in CONFIG['datasets'] else ''}{name}"
        public = " or user_id is null" if name == "event_history" else ""
        own = rows(f"select * from {model} where user_id = {READER}{public}")
        assert own, name
        for target in (f"{VIEWS}.{name}", f"secure_datasets.{name}_of({READER})"):
            found = rows(f"select * from {target}")
            assert sorted(found, key=repr) == sorted(own, key=repr), target
            assert spark.table(model).columns == (
                spark.sql(f"select * from {target}").columns
            )


@pytest.mark.spark
def test_the_barrier_is_above_the_rules_and_below_what_a_reader_writes(readable, spark):
    for name in ("tests", "event_history"):
        for target in (f"{VIEWS}.{name}", f"secure_datasets.{name}_of({READER})"):
            query = f"select * from {target} where cast(user_id as string) like '%q_z%'"
            optimized = optimized_plan(spark, query)
            lines = optimized.splitlines()
            (barrier,) = (n for n, line in enumerate(lines) if BARRIER in line)
            (written,) = (n for n, line in enumerate(lines) if "q_z" in line)
            assert written < barrier, optimized
            # The user's filter reaches what is read below the barrier.
            below = "\n".join(lines[barrier:])
            wanted = f"= {READER})" if "_of(" in target else "= scalar-subquery#"
            assert re.search(rf"Filter .*user_id#\d+L {re.escape(wanted)}", below), (
                below
            )


@pytest.mark.spark
def test_an_account_of_two_users_gets_no_rows(readable, rows, spark):
    map_accounts(spark, [("current_user()", READER), ("current_user()", OTHER)])
    for name in NAMES:
        assert rows(f"select * from {VIEWS}.{name}") == [], name


# Each of them, before Spark's own, would show what is another user's, masked or hidden.
OF_THE_READER = {
    "current_user": "() returns string return 'another'",
    "array_contains": "(a array<string>, b string) returns boolean return true",
    "monotonically_increasing_id": "() returns bigint return 1",
}


@pytest.mark.spark
def test_functions_of_a_reader_stand_before_spark_s_own_in_no_view(readable, spark):
    map_accounts(spark, [("current_user()", READER), ("'another'", OTHER)])
    names = ["tests", "star_test_executions"]
    asked = [
        *(f"select * from {VIEWS}.{name}" for name in names),
        *(f"select * from secure_datasets.{name}_of({READER})" for name in names),
        *(
            f"select * from secure_datasets.vw_secure_dataset_{name}"
            f" where user_id = {READER}"
            for name in names
        ),
    ]
    hidden = [
        f"select count(*) from {target} where cast(case when test_id in (select test_id"
        f" from secure_datasets.tests_of({READER})) then '1' else test_name end as int)"
        " = 1"
        for target in (f"{VIEWS}.tests", f"secure_datasets.tests_of({READER})")
    ]
    reader = spark.newSession()
    reader.sql("set spark.sql.ansi.enabled = true")

    def answers() -> list[list]:
        return [
            sorted(map(repr, reader.sql(query).collect())) for query in asked + hidden
        ]

    before = answers()
    assert all(before)
    reader.sql("create schema readers_own")
    try:
        for name, function in OF_THE_READER.items():
            reader.sql(f"create function readers_own.{name}{function}")
        reader.sql("set spark.sql.path.enabled = true")
        reader.sql("set path = spark_catalog.readers_own, system.builtin")
        assert reader.sql("select current_user()").collect() == [("another",)]
        assert answers() == before
    finally:
        reader.sql("drop schema readers_own cascade")


@pytest.mark.nightly
@pytest.mark.spark
def test_a_function_that_calls_others_by_the_reader_s_path_is_made_anew(
    publish, published, spark, monkeypatch
):
    assert any(line.startswith("SQL Path:") for line in told(spark, "tests_of"))
    spark.sql("drop function secure_datasets.tests_of")
    with monkeypatch.context() as before:
        off = ("set spark.sql.path.enabled = false",)
        before.setattr("dbt_secure_spark.session.OWN_FUNCTIONS", off)
        for module in (
            "dbt.adapters.secure_spark.connections",
            "dbt_secure_spark.settings_of_views",
        ):
            before.setattr(f"{module}.OF_VIEWS", {ANSI: "false", ZONE: "UTC"})
        assert publish(**BOTH).success
    assert not any(line.startswith("SQL Path:") for line in told(spark, "tests_of"))
    assert publish(**BOTH).success
    assert any(line.startswith("SQL Path:") for line in told(spark, "tests_of"))


# A catalog that any session may give itself, and keep relations of its own in.
OF_A_READER = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:of_a_reader;create=true",
    ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    ".pushDownPredicate": "false",
}


@pytest.mark.nightly
@pytest.mark.spark
def test_no_catalog_of_a_reader_s_stands_in_the_place_of_a_schema(
    publish, published, spark, monkeypatch
):
    reader = spark.newSession()
    schema = ACCOUNTS.split(".")[0]
    for key, value in OF_A_READER.items():
        reader.conf.set(f"spark.sql.catalog.{schema}{key}", value)
    reader.sql(f"create table {ACCOUNTS} (account string, user_id bigint)")
    reader.sql(f"insert into {ACCOUNTS} values (current_user(), {OTHER})")

    def seen() -> list:
        query = f"select distinct user_id from spark_catalog.{VIEWS}.tests"
        return [user for (user,) in reader.sql(query).collect()]

    def is_named() -> bool:
        described = "\n".join(told(spark, "tests_of"))
        return "from spark_catalog.secure_datasets.vw_" in described

    with monkeypatch.context() as before:
        before.setattr(SecureSparkAdapter, "with_catalog", lambda self, name: name)
        assert publish(**BOTH).success
    assert seen() == [OTHER]
    assert not is_named()
    assert publish(**BOTH).success
    assert seen() == [READER]
    assert is_named()


@pytest.mark.nightly
@pytest.mark.spark
def test_a_dataset_without_a_path_of_its_own_is_named(publish, published, spark, capfd):
    name = "secure_datasets.vw_secure_dataset_jobs"
    described = spark.sql(f"describe extended {name}").collect()
    query = next(row.data_type for row in described if row.col_name == "View Text")
    older = spark.newSession()
    for is_kept, is_told in (("false", True), ("true", False)):
        older.sql(f"set spark.sql.path.enabled = {is_kept}")
        older.sql(f"alter view {name} as {query}")
        capfd.readouterr()
        assert publish(options=(), **BOTH).success
        printed = " ".join(capfd.readouterr().out.split())
        assert ("run vw_secure_dataset_jobs." in printed) is is_told


@pytest.mark.spark
def test_what_one_account_caches_is_shown_to_no_other(readable, rows, spark):
    # A cache is the application's, and Spark looks it up by a plan in which the account
    # is not yet known.
    account = spark._jvm.org.apache.spark.sql.catalyst.CurrentUserContext.CURRENT_USER()
    map_accounts(spark, [("'ann'", READER), ("'bo'", OTHER)])
    names = ("tests", "event_history")
    try:
        account.set("bo")
        alone = {name: rows(f"select * from {VIEWS}.{name}") for name in names}
        for name in names:
            for cached in (
                f"cache table {VIEWS}.{name}",
                f"cache table of_ann_{name} as select * from {VIEWS}.{name}",
            ):
                account.set("ann")
                spark.sql(cached)
                account.set("bo")
                found = rows(f"select * from {VIEWS}.{name}")
                assert Counter(map(repr, found)) == Counter(map(repr, alone[name]))
                spark.catalog.clearCache()
    finally:
        account.remove()
        spark.catalog.clearCache()
        for name in names:
            spark.sql(f"drop view if exists of_ann_{name}")


@pytest.mark.spark
def test_a_function_can_not_be_asked_for_every_user_at_once(readable, rows):
    with pytest.raises(PySparkException, match="NON_DETERMINISTIC_LATERAL"):
        rows("select * from stg_users as u, lateral tests_of(u.user_id)")
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        rows("select * from tests_of(user_id)")
    (users,) = rows(
        "select count(distinct user_id) from tests_of(cast(rand() * 20 as bigint))"
    )
    assert users <= (1,)


@pytest.mark.spark
def test_a_session_can_not_put_its_own_functions_in_the_place_of_the_views(
    readable, spark, rows
):
    session = spark.newSession()
    session.sql("create temporary function current_user() returns string return 'x'")
    session.sql(
        "create temporary function monotonically_increasing_id()"
        " returns bigint return 0"
    )
    map_accounts(spark, [("'x'", OTHER)])
    assert session.table(f"{VIEWS}.tests").collect() == []
    for target in (f"{VIEWS}.tests", f"secure_datasets.tests_of({READER})"):
        query = f"select * from {target} where test_id = 1"
        assert BARRIER in optimized_plan(session, query)


@pytest.mark.spark
def test_public_rows_are_shown_as_long_as_they_are_published(
    publish, published, spark, rows
):
    # What the config says now is another thing.
    name = "secure_datasets.vw_secure_dataset_jobs"
    described = spark.sql(f"describe extended {name}").collect()
    text = next(row.data_type for row in described if row.col_name == "View Text")
    columns = ", ".join(
        "cast(null as bigint) as user_id" if column == "user_id" else column
        for column in spark.table(name).columns
    )
    asked = [f"{VIEWS}.jobs", f"jobs_of({READER})"]
    own = [sorted(rows(f"select * from {target}"), key=repr) for target in asked]
    public = f"select {columns} from ({text}) where user_id = {OTHER}"
    shown = rows(public)
    assert shown
    spark.sql(f"alter view {name} as {text} union all {public}")
    try:
        assert publish(**BOTH).success
        found = [sorted(rows(f"select * from {target}"), key=repr) for target in asked]
        assert found == [sorted([*each, *shown], key=repr) for each in own]
        assert rows(f"select * from jobs_of({GONE})") == []
    finally:
        spark.sql(f"alter view {name} as {text}")
    assert publish(**BOTH).success
    found = [sorted(rows(f"select * from {target}"), key=repr) for target in asked]
    assert found == own
    described = "\n".join(told(spark, "jobs_of"))
    assert "user_id is null" not in described


@pytest.mark.spark
def test_publishing_again_keeps_the_functions_and_mends_the_views(
    published, publish, spark
):
    before = told(spark, "tests_of")
    spark.sql(
        f"alter view {VIEWS}.tests as"
        " select * from secure_datasets.vw_secure_dataset_tests"
    )
    assert publish(**BOTH).success
    assert told(spark, "tests_of") == before
    shown = spark.sql(f"select distinct user_id from {VIEWS}.tests").collect()
    assert [user for (user,) in shown] == [READER]


@pytest.mark.nightly
@pytest.mark.spark
def test_a_function_that_is_not_what_it_shall_be_is_made_anew(
    published, publish, spark
):
    before = told(spark, "tests_of")
    comment = next(line for line in before if line.startswith("Comment:"))
    spark.sql(
        "create or replace function secure_datasets.tests_of(reader string)"
        f" returns table (test_id bigint) comment '{comment.split(maxsplit=1)[1]}'"
        " return select test_id from secure_datasets.vw_secure_dataset_tests"
    )
    assert publish(**BOTH).success
    assert told(spark, "tests_of")[-1] == before[-1]


@pytest.mark.spark
def test_what_is_switched_off_is_dropped_and_nothing_else(published, publish, spark):
    spark.sql(f"create view {VIEWS}.of_somebody as select 1 as a")
    spark.sql(
        "create function secure_datasets.somebody_of(a int)"
        " returns table (a int) return select somebody_of.a"
    )
    try:
        assert publish(readers_functions=True).success
        views, functions = made(spark)
        assert views == {"of_somebody"}
        assert functions == {"somebody_of", *(f"{name}_of" for name in FEW)}
        assert publish().success
        assert made(spark) == ({"of_somebody"}, {"somebody_of"})
    finally:
        spark.sql(f"drop view {VIEWS}.of_somebody")
        spark.sql("drop function secure_datasets.somebody_of")


@pytest.mark.nightly
@pytest.mark.spark
def test_a_run_whose_vars_were_forgotten_drops_nothing(published, dbt, spark, capfd):
    before = made(spark)
    assert before[0] == set(FEW)
    capfd.readouterr()
    assert dbt("run", "--select", "stg_jobs").success
    told = " ".join(capfd.readouterr().out.split())
    for name in ("readers_views", "readers_functions"):
        said = f"This run was not asked for {name}, of which there are {len(FEW)}:"
        assert said in told
    assert made(spark) == before


@pytest.mark.nightly
@pytest.mark.spark
def test_what_dbt_does_not_find_in_its_cache_is_not_taken_for_gone(
    published, publish, spark, monkeypatch
):
    listed = SparkAdapter.list_relations_without_caching

    def list_relations(self, schema):
        # So dbt-spark says of a schema if one of its relations is dropped meanwhile.
        return [] if schema.schema == "secure_datasets" else listed(self, schema)

    name = "list_relations_without_caching"
    monkeypatch.setattr(SparkAdapter, name, list_relations)
    before = made(spark)
    assert before[0] == set(FEW)
    assert publish(**BOTH).success
    assert made(spark) == before


@pytest.mark.nightly
@pytest.mark.spark
def test_a_temporary_view_of_a_dataset_s_name_is_no_readers_view(publish, spark):
    spark.sql("create temporary view tests as select 1 as a")
    try:
        assert publish(**BOTH).success
        assert "tests" in made(spark)[0]
    finally:
        spark.sql("drop view tests")


@pytest.mark.nightly
@pytest.mark.spark
def test_what_somebody_else_made_under_such_a_name_is_left_alone(publish, spark, capfd):
    assert publish().success
    spark.sql(f"create schema if not exists {VIEWS}")
    spark.sql(f"create view {VIEWS}.tests as select 1 as a")
    try:
        assert not publish(**BOTH).success
        said = capfd.readouterr().out
        assert "tests exists, and was not made by this project" in said
    finally:
        spark.sql(f"drop view {VIEWS}.tests")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"readers_views": "yes"}, "readers_views is 'yes'; it must be true or false"),
        ({"readers_functions": 1}, "readers_functions is '1'; it must be true or"),
        ({"readers_views": True}, "reader_accounts is missing"),
        ({**BOTH, "reader_accounts": "accounts"}, "it must be a relation, <schema>"),
        ({**BOTH, "reader_accounts": "a.b; drop table c"}, "it must be a relation"),
        ({**BOTH, "reader_accounts": f"lake.{ACCOUNTS}"}, "of the project's own cata"),
        ({**BOTH, "reader_accounts": "nowhere.accounts"}, "which does not exist"),
        (
            {**BOTH, "reader_accounts": "secure_datasets.stg_users"},
            "needs the columns account, a string, and user_id",
        ),
        ({"reader_applications": ["app"]}, "`readers_functions: true` makes"),
        ({**BOTH, "reader_applications": "app"}, "must be a list of roles"),
        ({**BOTH, "reader_applications": ["a`b"]}, "has 'a`b', which is no role"),
    ],
)
def test_a_wrong_var_stops_dbt_with_one_sentence(publish, capfd, variables, sentence):
    assert not publish("check_readers_vars", **variables).success
    assert sentence in " ".join(capfd.readouterr().out.split())


# ---------------------------------------------------------------------------
# Grants, and the page
# ---------------------------------------------------------------------------


# What was parsed once with some vars, by the project and these.
PARSED: dict[tuple[Path, str], object] = {}


def granted(
    dbt, folder: Path, **variables: object
) -> tuple[dict[str, list[str]], object]:
    """Parse with these vars; return who may select what, and the manifest."""
    given = yaml.safe_dump(variables)
    if (folder, given) not in PARSED:
        options = ("--quiet", "--no-partial-parse", "--no-write-json")
        result = dbt("parse", *options, "--vars", given, folder=folder)
        assert result.success, result.exception
        PARSED[folder, given] = result.result
    manifest = PARSED[folder, given]
    return selecting(manifest), manifest


def selecting(manifest) -> dict[str, list[str]]:
    """Return who may select from what."""
    return {
        node.name: node.config.grants["select"]
        for node in manifest.nodes.values()
        if node.config.get("grants")
    }


def test_readers_are_granted_what_the_page_lists(dbt, product):
    found, _ = granted(dbt, product, readers=["r"])
    grants = PAGE[PAGE.index("## Grants") :]
    listed = re.findall(r"`(vw_secure_\w+)`", grants)
    assert sorted(listed) == sorted(found)
    assert set(map(tuple, found.values())) == {("r",)}
    assert "the twelve relations" in grants
    assert len(found) == 12


@pytest.mark.nightly
def test_an_empty_list_of_readers_leaves_what_was_granted(dbt, product):
    assert granted(dbt, product, readers=[])[0] == {}


@pytest.mark.nightly
def test_a_customer_grants_what_the_product_grants_and_its_own(dbt, product, project):
    products, _ = granted(dbt, product, readers=["r"])
    found, _ = granted(dbt, project, readers=["r"])
    assert products.items() <= found.items()
    own = yaml.safe_load(document_of(SAMPLES))
    assert set(found) - set(products) == {
        *(f"vw_secure_dataset_{name}" for name in own["datasets"]),
        *(tier["access_view"] for tier in own["tiers"].values()),
    }


def test_nothing_is_granted_unless_asked_for(parsed):
    assert selecting(parsed) == {}


@pytest.mark.nightly
def test_with_the_readers_views_no_plain_dataset_is_granted(dbt, project):
    accounts = {"readers_views": True, "reader_accounts": ACCOUNTS}
    found, _ = granted(dbt, project, readers=["r"], **accounts)
    # dbt revokes what is granted and not in the list.
    assert len(found) == 18
    assert set(map(tuple, found.values())) == {()}


@pytest.mark.nightly
@pytest.mark.spark
def test_views_that_are_asked_for_too_late_to_take_the_grants_away_stop_dbt(
    published, dbt, project, capfd
):
    _, manifest = granted(dbt, project, readers=["r"])
    result = dbt(
        *("run-operation", "check_readers_vars", "--quiet"),
        *("--vars", yaml.safe_dump({**BOTH, "readers": ["r"]})),
        manifest=manifest,
    )
    assert not result.success
    said = capfd.readouterr().out
    assert "readers_views must stand in `--vars` beside `readers`" in said


@pytest.mark.nightly
def test_no_other_privilege_on_plain_datasets_is_beside_the_readers_views(
    dbt, product, tmp_path
):
    # Engines know SELECT in any letters, and others by which one may read.
    for number, privilege in enumerate(("SELECT", "all privileges")):
        folder = tmp_path / f"root_{number}"
        grants = {"secure": {"+grants": {privilege: ["analysts"]}}}
        customer_project(folder, product, None, {"models": {"secure_datasets": grants}})
        options = ("--quiet", "--no-partial-parse", "--no-write-json")
        result = dbt("parse", *options, folder=folder)
        assert result.success, result.exception
        result.result.build_flat_graph()
        with pytest.raises(CompilationError) as stopped:
            readers_macros(result.result.flat_graph["nodes"]).check_readers_vars()
        said = stopped.value.msg
        assert "by `grants` in dbt_project.yml 'analysts' would be granted" in said
        assert "beside them, which filters nothing: take these grants away." in said


def readers_macros(nodes: dict, command: str = "run", **others: object) -> Macros:
    """Return macros over nodes, on a metastore that has the accounts.

    others  variables, and `told` of a readers' view, if one is there
    """
    told, asked = others.pop("told", ""), others.pop("asked", [])
    of_vars = {"readers_views": True, "readers_functions": False}
    of_vars |= {"reader_accounts": ACCOUNTS, "reader_applications": [], **others}
    columns = {"account": "string", "user_id": "bigint"}
    adapter = SimpleNamespace(
        readers_objects=lambda *given: ReadersObjects(adapter, *given),
        secure_datasets=SecureDatasets,
        definitions=lambda schema: asked.append(schema) or {"jobs": told},
        execute=lambda query, fetch: (None, SimpleNamespace(rows=[("current_path",)])),
        get_relation=lambda database, schema, name: name,
        get_columns_in_relation=lambda relation: [
            SimpleNamespace(column=name, dtype=of) for name, of in columns.items()
        ],
    )
    macros = Macros("")
    macros.stand_in(
        execute=True,
        flags=SimpleNamespace(WHICH=command),
        target={},
        api=SimpleNamespace(Relation=SimpleNamespace(create=None)),
        var=lambda name, default=None: of_vars.get(name, default),
        project_schema=lambda: "s",
        readers_names=lambda: {"jobs": "vw_secure_dataset_jobs"},
        graph=SimpleNamespace(nodes=nodes),
        adapter=adapter,
    )
    return macros


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"grants": {"select": ["r"]}},
         "must stand in `--vars` beside `readers`, and `grants` in dbt_project.yml ask"
         " for both: else these would be granted s.vw_secure_dataset_jobs too, which"
         " filters nothing."),
        ({"grants": {"select": ["r", "hr"]}},
         "gives readers their views, and by `grants` in dbt_project.yml 'hr' would be"
         " granted s.vw_secure_dataset_jobs beside them, which filters nothing: take"
         " these grants away."),
        # Engines know SELECT in any letters, and others by which one may read.
        *(({"grants": {privilege: ["hr"]}},
           "gives readers their views, and by `grants` in dbt_project.yml 'hr' would be"
           " granted s.vw_secure_dataset_jobs beside them, which filters nothing: take"
           " these grants away.")
          for privilege in ("SELECT", "all privileges")),
        ({"grants": {"select": []}}, None),
    ],
)  # fmt: skip
def test_what_is_granted_beside_the_readers_views_is_told_by_what_grants_it(
    config, said
):
    name = "vw_secure_dataset_jobs"
    node = {"name": name, "relation_name": f"s.{name}", "config": config}
    macros = readers_macros({"a": node}, readers=["r"])
    if said is None:
        macros.check_readers_vars()
    else:
        with pytest.raises(CompilationError) as stopped:
            macros.check_readers_vars()
        assert stopped.value.msg == f"vars: readers_views {said}"


RENDERED = "Table Properties: [rendered_by=secure_datasets]"
GRANTING = {"grants": {"select": ["r"]}}


@pytest.mark.parametrize(
    ("told", "command", "config", "is_refused"),
    [
        (RENDERED, "run", GRANTING, True),
        (RENDERED, "build", GRANTING, True),
        # The operation drops the views, and grants no plain dataset.
        (RENDERED, "run-operation", GRANTING, False),
        (RENDERED, "run", {"grants": {"select": []}}, False),
        ("Table Properties: [of=somebody]", "run", GRANTING, False),
    ],
)
def test_a_run_that_forgot_the_readers_views_grants_no_plain_dataset(
    told, command, config, is_refused
):
    node = {
        "name": "vw_secure_dataset_jobs",
        "relation_name": "s.vw_secure_dataset_jobs",
        "config": config,
    }
    asked = []
    of_vars = {"readers_views": False, "reader_accounts": ""}
    macros = readers_macros({"a": node}, command, told=told, asked=asked, **of_vars)
    if is_refused:
        said = "readers' views are there: s.vw_secure_dataset_jobs, which"
        with pytest.raises(CompilationError, match=said):
            macros.check_readers_vars()
    else:
        macros.check_readers_vars()
        # Without a grant nobody asks for them.
        assert asked == ["s_readers"] * (config == GRANTING and command == "run")


@pytest.mark.parametrize(
    ("has_variable", "told", "has_views"),
    [(True, None, True), (False, RENDERED, True), (False, "of=somebody", False)],
)
def test_readers_have_views_where_a_run_makes_them_or_they_are_there(
    has_variable, told, has_views
):
    adapter = SimpleNamespace(definitions=lambda schema: {"jobs": told})
    objects = ReadersObjects(
        adapter, {}, lambda name: has_variable, {}, {"schema": "s"}
    )
    assert objects.have_views() is has_views


def test_who_reads_the_views_keeps_no_plain_dataset_that_an_earlier_run_granted():
    held = {
        "s.vw_secure_dataset_jobs": {"SELECT": ["App", "People"], "MODIFY": ["people"]},
        "s.vw_secure_dataset_tests": {"SELECT": ["App"]},
    }
    done = []
    macros = Macros("")
    macros.stand_in(
        var=lambda name, default=None: ["people"] if name == "readers" else default,
        run_query=lambda query: query,
        get_show_grant_sql=lambda relation: relation,
        get_revoke_sql="revoke",
        get_dcl_statement_list=lambda relation, held, what: [
            f"{what} {privilege} on {relation} from {roles}"
            for privilege, roles in held.items()
        ],
        call_dcl_statements=done.extend,
        adapter={"standardize_grants_dict": held.get},
    )
    macros._revoke_plain_datasets(
        {name.rpartition("_")[2]: {"view": name} for name in held}
    )
    assert done == [
        "revoke SELECT on s.vw_secure_dataset_jobs from ['People']",
        "revoke MODIFY on s.vw_secure_dataset_jobs from ['people']",
    ]


@pytest.mark.parametrize(
    ("has_views", "readers", "granted"),
    [(False, ["r"], {"select": ["r"]}), (False, [], {}), (True, ["r"], {"select": []})],
)
def test_plain_datasets_are_granted_unless_readers_have_their_views(
    has_views, readers, granted
):
    text = (ROOT / "dbt_project.yml").read_text()
    (grants,) = re.findall(r'grants: &readers "(.*)"', text)
    given = {"readers_views": has_views, "readers": readers}
    found = Environment().from_string(grants).render(var=lambda name, *_: given[name])
    assert literal_eval(found) == granted


def test_a_run_checks_the_vars_first_and_publishes_under_its_lock():
    project = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
    begins = project["on-run-start"]
    assert begins.index("{{ secure_datasets.check_readers_vars() }}") < begins.index(
        "{{ begin_run() }}"
    )
    # While the run still holds its lock.
    ends = project["on-run-end"]
    assert ends.index("{{ secure_datasets.publish_readers_objects() }}") < ends.index(
        "{{ end_run(results) }}"
    )
    off = {"readers_views": False, "readers_functions": False}
    assert off.items() <= project["vars"].items()


def sql_of_the_page(start: str) -> str:
    """Return the SQL example of the page that begins like this."""
    examples = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    return next(example for example in examples if example.startswith(start))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("login", "users"),
    [
        ("hpark", [(READER,)]),
        ("HPARK", []),
        # The Kelvin sign, which lower() makes a k of.
        ("hpar\u212a", []),
        ("nobody", []),
        ("", []),
    ],
)
def test_a_sign_in_maps_to_the_one_live_user_of_exactly_that_name(
    spark, built, login, users
):
    query = sql_of_the_page("select max(user_id)")
    found = spark.sql(query, args={"login": login}).collect()
    assert list(map(tuple, found)) == users


@pytest.mark.nightly
@pytest.mark.spark
def test_what_the_page_asks_of_functions_and_views_can_be_asked(published, spark):
    for start in ("select * from secure_datasets.tests_of", f"select * from {VIEWS}"):
        for query in sql_of_the_page(start).split(";\n"):
            if "select" in query:
                spark.sql(query).collect()
