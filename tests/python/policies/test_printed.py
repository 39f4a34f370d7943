"""Z5: a printed predicate means the same in other engines as the dataset in Spark.

Random policies are printed in the dialect of an engine, which then filters the base for
one user at a time. That must give what the oracle says the user sees. Dialects
without an engine here are compared with golden text.

`POLICIES` in the environment is the number of random cases: 40 unless it is given.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_origin

import duckdb
import pytest
from jinja2 import Environment
from oracle.policies import Case, Dataset
from policy_sandbox import Sandbox, view_name
from policy_tables import literal, script, tables_of
from projects import ROOT
from random_policies import USERS, choices, document, random_case
from rendering import Macros, Stopped
from sqlglot import parse_one

from secure_datasets.config import reference

SEEDS = range(int(os.environ.get("POLICIES", "15")))
GOLDEN = ROOT / "tests/golden/predicates/spark.sql"
# What is printed for the reader's id; each user's own takes its place.
READER = "the_reader"
# What engines call the reader's clock, in whose place stands when a case is read.
CLOCK = re.compile(r"(current|statement)_timestamp(\(\))?")
ODD = ["${v}", "a\nb", "it's", "back\\slash", "-- x", "/* x", "{{ x }}", "'", '"']


def questions(
    case: Case, dialect: str, ref: Callable[[str], str] = str
) -> Iterator[tuple[str, int, list[str], str]]:
    """Print what each user sees of each dataset, as a query over its base."""
    types = {name: columns for name, (columns, _) in tables_of(case).items()}
    macros = Macros(document(case), types=types, ref=ref)
    config = macros.secure_datasets_config()
    for dataset in case.datasets:
        if dataset.is_query:
            continue
        rows_of = macros.rules(config).ruling(dataset.name)
        options = (config, READER, "f", dialect)
        values = [
            macros.mask_by_itself(dataset.name, config, column, *options[1:])
            for column in dataset.columns
        ]
        predicate = macros.row_predicate(dataset.name, *options)
        rest = f"from {ref(rows_of['base'])} as f where {predicate}"
        for user in [*USERS, *case.gone]:
            asked = [
                CLOCK.sub(
                    f"timestamptz '{case.moment}+00:00'"
                    if dialect != "spark"
                    else f"timestamp '{case.moment}Z'",
                    text.replace(READER, f"{user}"),
                )
                for text in (*values, rest)
            ]
            yield dataset.name, user, asked[:-1], asked[-1]


def expected(case: Case, dataset: Dataset, user: int) -> Counter:
    """Return what a user sees of a dataset, and what everyone sees."""
    rows = case.expected()[dataset.name]
    return Counter(
        json.dumps([row[column] for column in dataset.columns])
        for row in rows
        if row["user_id"] in (user, None)
    )


def compare(
    dialect: str,
    answers: Callable[[Case, str], dict[tuple[str, int], list[list]]],
    seeds: range = SEEDS,
) -> None:
    """Compare what an engine answers with what the oracle says."""
    sights = set()
    for seed in seeds:
        case = random_case(seed)
        found = answers(case, f"case_{seed}")
        for dataset in case.datasets:
            if dataset.is_query:
                continue
            for user in [*USERS, *case.gone]:
                gotten = Counter(map(json.dumps, found[dataset.name, user]))
                wanted = expected(case, dataset, user)
                assert gotten == wanted, (dialect, seed, dataset.name, user)
                sights.add(tuple(sorted(wanted)))
    assert len(sights) >= len(seeds)


OVER_PUBLIC_ROWS = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    events:
        base: all_events
        columns: [event_id, context, team_id, actor, unit]
        unique_key: [event_id]
        switch:
            column: context
            cases:
                Project: {tier: team, keys: {team_id: team_id}}
                Global: {visible_to: everyone}
    deeds:
        base: vw_secure_dataset_events
        columns: [event_id, actor, unit]
        unique_key: [event_id]
reader: {relation: staff, key: user_id}
policies:
    - {role: "*", resource: deeds, check: false, condition: "%s"}
    - {role: "*", resource: deeds.unit, mask: "'***'", condition: "%s"}
"""


@pytest.mark.parametrize(
    ("shows", "hides"),
    [
        ("not (actor <=> deeds.user_id)", "event_id < 0"),
        (
            "not exists (select 1 from {{ ref('blocked') }} where who = deeds.user_id)",
            "event_id < 0",
        ),
        ("unit = reader.unit", "event_id < 0"),
        ("event_id > 0", "reader.grade < 4"),
        ("event_id > 0", "actor = deeds.user_id"),
    ],
)
def test_Z5_the_user_of_a_row_for_everyone_is_the_reader(shows, hides):
    sandbox = Sandbox()
    schema = "event_id bigint, context string, team_id bigint, actor bigint"
    rows = [(1, "Project", 10, 1, "X"), (2, "Global", None, 1, "X")]
    rows.append((3, "Global", None, 2, "Y"))
    sandbox.table("all_events", f"{schema}, unit string", rows)
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(10, 1), (10, 2)])
    staff = [(1, "X", 1), (2, "Y", 9)]
    sandbox.table("staff", "user_id bigint, unit string, grade bigint", staff)
    sandbox.table("blocked", "who bigint", [(1,)])
    sandbox.roles({1: ["A"], 2: ["A"], 3: []})
    written = OVER_PUBLIC_ROWS % (shows, hides)
    sandbox.secure(written, "events")
    macros, view = sandbox.macros(written), sandbox.secure(written, "deeds")
    config, columns, sights = macros.secure_datasets_config(), ["event_id", "unit"], []
    for user in (1, 2, 3):
        options = ("deeds", config, str(user), "f", "spark")
        values = [macros.mask_by_itself(*options[:2], c, *options[2:]) for c in columns]
        found = sandbox.rows(
            f"select {', '.join(values)} from {view_name('vw_secure_dataset_events')}"
            f" as f where {macros.row_predicate(*options)}"
        )
        seen = f"select event_id, unit from {view} where user_id = {user}"
        assert sorted(found) == sorted(sandbox.rows(seen)), user
        sights.append(found)
    assert len({*map(str, sights)}) > 1


def test_Z5_duckdb_shows_what_the_secure_dataset_shows():
    with duckdb.connect(":memory:") as connection:

        def answers(case: Case, schema: str) -> dict[tuple[str, int], list[list]]:
            for statement in script(case, schema, "duckdb"):
                connection.execute(statement)
            return {
                (name, user): [
                    list(row)
                    for row in connection.execute(
                        f"select {', '.join(values)} {rest}"
                    ).fetchall()
                ]
                for name, user, values, rest in questions(case, "duckdb")
            }

        compare("duckdb", answers)


def test_Z5_postgresql_shows_what_the_secure_dataset_shows(psql):
    def answers(case: Case, schema: str) -> dict[tuple[str, int], list[list]]:
        statements = list(script(case, schema, "postgres"))
        asked = list(questions(case, "postgres"))
        for name, user, values, rest in asked:
            statements.append(
                f"select json_build_array('{name}', {user}, json_build_array("
                f"{', '.join(values)})) {rest}"
            )
        found = {(name, user): [] for name, user, _, _ in asked}
        for line in filter(None, psql(";\n".join(statements) + ";").split("\n")):
            name, user, row = json.loads(line)
            found[name, user].append(row)
        return found

    compare("postgres", answers)


@pytest.mark.spark
def test_Z5_spark_shows_what_the_secure_dataset_shows(spark):
    def answers(case: Case, schema: str) -> dict[tuple[str, int], list[list]]:
        def ref(model: str) -> str:
            return view_name(f"printed_{schema}_{model}")

        for name, (types, rows) in tables_of(case).items():
            columns = ", ".join(f"{column} {kind}" for column, kind in types.items())
            frame = spark.createDataFrame(rows, columns).coalesce(1)
            frame.cache().createOrReplaceTempView(ref(name))
        asked = list(questions(case, "spark", ref))
        parts = [
            f"select '{name}' as name, {user} as reader, to_json(named_struct("
            + ", ".join(f"'c{n}', {value}" for n, value in enumerate(values))
            + f"), map('ignoreNullFields', 'false')) as seen {rest}"
            for name, user, values, rest in asked
        ]
        found = {(name, user): [] for name, user, _, _ in asked}
        for name, user, seen in spark.sql(" union all ".join(parts)).collect():
            found[name, user].append(list(json.loads(seen).values()))
        return found

    compare("spark", answers, range(4))


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_Z5_an_odd_literal_means_the_same(dialect, request):
    config = {
        "tiers": {
            "t": {"access_view": "a", "object_keys": ["k"], "carries": []},
        },
        "datasets": {
            "things": {
                "base": "all_things", "columns": ["id", "name"], "unique_key": ["id"],
                "visible_to": "everyone",
            }
        },
        "policies": [
            {"role": f"R{number}", "resource": "things",
             "condition": f"name = {_spark(text)}"}
            for number, text in enumerate(ODD)
        ],
    }  # fmt: skip
    macros = Macros("{% raw %}" + json.dumps(config) + "{% endraw %}", types={})
    parsed = macros.secure_datasets_config()
    rows = [(number, text) for number, text in enumerate(ODD)]
    made = [
        "create schema odd",
        "set search_path to 'odd'",
        "create table all_things (id bigint, name text)",
        *(f"insert into all_things values ({n}, {literal(t)})" for n, t in rows),
        "create table stg_users (user_id bigint, is_live boolean)",
        "create table vw_secure_user_roles (user_id bigint, role_name text)",
        *(f"insert into stg_users values ({n}, true)" for n, _ in rows),
        *(f"insert into vw_secure_user_roles values ({n}, 'R{n}')" for n, _ in rows),
    ]
    ask = [
        "select id from all_things as f where "
        + macros.row_predicate("things", parsed, f"{number}", "f", dialect)
        for number, _ in rows
    ]
    if dialect == "duckdb":
        with duckdb.connect(":memory:") as connection:
            for statement in made:
                connection.execute(statement)
            found = [connection.execute(query).fetchall() for query in ask]
        assert found == [[(number,)] for number, _ in rows]
    else:
        psql = request.getfixturevalue("psql")
        found = psql(";\n".join(made + ask) + ";").split()
        assert found == [str(number) for number, _ in rows]


def _spark(text: str) -> str:
    """Write a text as a person would in Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, unit, day, amount, since, days, ratio, tags, place]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
policies:
    - role: it's A
      resource: runs
      condition: >-
        (unit like 'x%' or unit <=> 'a\\\\b') and day >= date'2026-01-31'
        and amount between 1 and 5
    - {role: B, resource: runs.unit, mask: "concat('unit ', team_id)"}
    - {role: B, resource: runs.amount, condition: amount > 3, mask: "0",
       valid_from: 2026-05-01, valid_until: 2026-05-31 18:00:00.5}
"""
TYPES = {
    "all_runs": {
        "run_id": "bigint", "team_id": "bigint", "unit": "string", "day": "date",
        "amount": "bigint", "since": "timestamp", "days": "int", "ratio": "double",
        "tags": "array<string>", "place": "struct<city:string>",
    },
    "t": {
        "unit": "string", "day": "date", "amount": "bigint", "since": "timestamp",
        "tags": "array<string>",
    },
}  # fmt: skip
DIALECTS = (
    "spark", "databricks", "snowflake", "postgres", "duckdb", "trino", "bigquery",
)  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_Z5_a_predicate_is_printed_in_every_dialect(dialect, request):
    macros = Macros(DOCUMENT, types=TYPES)
    config = macros.secure_datasets_config()
    parts = [macros.row_predicate("runs", config, "reader()", "f", dialect)]
    parts += [
        macros.mask_by_itself("runs", config, column, "reader()", "f", dialect)
        for column in ("unit", "amount")
    ]
    for part in parts:
        parse_one(part, read=dialect)
    if dialect == "spark":
        text = "\n\n".join(parts) + "\n"
        if request.config.getoption("--renew-golden"):
            GOLDEN.write_text(text)
        assert text == GOLDEN.read_text()


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("substring(unit, -1) = 'x'", "substring"),
        ("hash(unit) = 1", "hash"),
        ("amount / 2 = 1", "div"),
        ("unit rlike 'x'", "regexp_like"),
        ("cast(unit as bigint) = 1", "try_cast(bigint)"),
        ("array_contains(array(1), amount)", "array"),
        ("unit like 'a\\\\\\\\_b'", "like"),
        ("own.my_function(unit)", "my_function"),
        # Each engine has capitals of its own for some letters: of the sharp s, say.
        ("upper(unit) <> 'STRASSE'", "upper"),
        ("lower(unit) = 'x'", "lower"),
        ("unit = upper('stra\u00dfe')", "upper"),
        # The sessions of readers say what a day is as a text, and when it begins.
        ("concat(day, '') <> '2026-12-01'", "concat"),
        ("cast(day as string) <> '2026-12-01'", "try_cast(string)"),
        ("since > day", "timestamp beside a date"),
        ("day in (since)", "date beside a timestamp"),
        ("coalesce(since, day) = since", "timestamp beside a date"),
        ("case when amount = 1 then since else day end = since", "timestamp beside"),
        ("day >= (select max(r.nothing) from t as r)", "date beside an unknown type"),
        ("day in (select r.since from t as r)", "date beside a timestamp"),
        # In Spark a tuple is never null, and two with nulls in one place are equal.
        ("(since, 1) in ((since, 2))", "tuple"),
        ("(amount, unit) = (1L, 'x')", "tuple"),
        ("(amount, unit) is null", "tuple"),
        ("nullif((amount, unit), (1, 'x')) is null", "tuple"),
        ("case (amount, unit) when (1L, 'x') then true end", "tuple"),
        # What a number is as a text depends on how it is held.
        ("concat('x', 1e3) = 'x1000.0'", "concat"),
        ("concat('x', case when amount > 1 then 1 else 2.5 end) = 'x1.0'", "concat"),
        ("concat('x', coalesce(1, 2.5)) = 'x1.0'", "concat"),
        ("unit = cast(1e3 as string)", "try_cast(string)"),
        ("length(amount) > 1", "length of other than a text"),
        ("length(day) = 10", "length of other than a text"),
        ("ratio = cast('1.555' as decimal(10, 2))", "try_cast(decimal"),
        ("trim(day) = '2026-01-01'", "trim"),
        ("length(trim(ratio)) = 3", "trim"),
        (
            "exists (select 1 from t as r having count(distinct (r.day, 1), 2) > 1)",
            "tuple",
        ),
        ("ratio = 1e-400", "1e-400, which is no double"),
        ("ratio = cast('1e400' as double)", "try_cast(double)"),
        ("day > '0000-01-01'", "date beside a string"),
        # Spark makes them decimals of 38 digits, and null of what has more.
        ("amount > 0.1234567890123456789012345", "numbers of more than 38 digits"),
        ("exists (select count(r.amount, r.unit) from t as r)", "count of several"),
        (
            "amount in (select r.amount from t as r union by name select r.amount from"
            " t as r)",
            "union by name",
        ),
        (
            "(amount, day) in (select r.amount, r.nothing from t as r)",
            "date beside an unknown type",
        ),
        ("day > unit", "date beside a string"),
        ("since < '2026-01-01 00:00:00 Europe/Berlin'", "timestamp beside a string"),
        # Where Spark compares texts
        ("since in ('2026-01-31')", "in of a timestamp and a text of another form"),
        ("since not in ('2026-01-31T10:00:00')", "in of a timestamp and a text of"),
        ("since in ('2026-01-31 10:00:00.50')", "in of a timestamp and a text of"),
        ("coalesce(since, '2026-01-31') in (since)", "coalesce of a timestamp and a"),
        ("if(amount = 1, since, '2026-01-31') in (since)", "if of a timestamp and a"),
        (
            "case when amount = 1 then '2026-01-31' else since end not in (since)",
            "case of a timestamp and a text of another form",
        ),
        # Where it compares one end of a `between` otherwise than the other
        ("'2026-01-31' between '2026-01-31 00:00:00' and since", "between of a timest"),
        ("day between '2026-01-31 12:00:00' and since", "between of a timestamp, a te"),
        (
            "nullif('2026-01-31', since) = '2026-01-31 00:00:00'",
            "nullif of a text and a timestamp",
        ),
        ("since > cast(0 as timestamp)", "try_cast(timestamp)"),
        # Other engines fail where Spark counts on from the first day of its calendar.
        ("day + days > day", "add of days that are no constant"),
        ("day - days > day", "sub of days that are no constant"),
        # Nulls come first in Spark and last in DuckDB, and PostgreSQL takes a struct
        # of nulls for null.
        ("tags > tags", "array"),
        ("user_id = unit", "text beside whole number or decimal"),
        ("unit in (user_id)", "text beside whole number or decimal"),
        # What the compared columns are, and whether both have one type, no text says.
        ("exists (select 1 from t as r join t as q using (amount))", "a join by the"),
        ("exists (select 1 from t as r natural join t as q)", "a join by the names"),
        (
            "exists (select 1 from t as r left semi join t as q on r.days = q.days)",
            "a semi join",
        ),
        ("place is null", "struct"),
        ("place.city = 'x'", "place.city, a part of a value"),
        ("runs.place.city = 'x'", "place.city, a part of a value"),
        ("(select max(r.tags) from t as r) is null", "array"),
    ],
)
def test_Z5_what_a_dialect_can_t_say_is_an_error_with_its_name(condition, name):
    start = DOCUMENT.index("      condition: >-")
    end = DOCUMENT.index("    - {role: B, resource: runs.unit")
    quoted = json.dumps(condition.replace("\\\\", "\\"))
    text = f"{DOCUMENT[:start]}      condition: {quoted}\n{DOCUMENT[end:]}"
    macros = Macros(text, types=TYPES)
    config = macros.secure_datasets_config()
    macros.row_predicate("runs", config, "1", "f", "spark")
    for dialect in ("duckdb", "trino", "snowflake"):
        with pytest.raises(Stopped, match=f"{dialect} can't say '") as stopped:
            macros.row_predicate("runs", config, "1", "f", dialect)
        assert f"can't say '{name}" in str(stopped.value)


@pytest.mark.parametrize(
    "condition", ["not ratio > 10", "ratio = ratio", "ratio in (1, 2)"]
)
def test_Z5_where_nan_is_another_number_no_doubles_are_compared(condition):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    for dialect in ("duckdb", "postgres", "snowflake"):
        macros.row_predicate("runs", config, "1", "f", dialect)
    for dialect in ("bigquery", "trino"):
        with pytest.raises(Stopped, match=f"{dialect} can't say 'a comparison of"):
            macros.row_predicate("runs", config, "1", "f", dialect)


@pytest.mark.parametrize(
    ("condition", "dialects", "name"),
    [
        (
            "amount < 9223372036854775808",
            ("bigquery", "trino"),
            "the number 9223372036",
        ),
        ("amount in (1, -9223372036854775808)", ("bigquery", "trino"), "the number 92"),
        ("amount < 1.234567890123456789", ("bigquery",), "the number 1.23456789012345"),
        ("amount < cast('1' as decimal(38, 0))", ("bigquery",), "try_cast(decimal(38"),
        (
            "amount < cast('1.5' as decimal(20, 10))",
            ("bigquery",),
            "try_cast(decimal(20",
        ),
    ],
)
def test_Z5_a_number_is_printed_where_it_can_be_read(condition, dialects, name):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    for dialect in ("duckdb", "postgres", "snowflake", "trino", "bigquery"):
        if dialect not in dialects:
            macros.row_predicate("runs", config, "1", "f", dialect)
            continue
        with pytest.raises(Stopped, match=f"{dialect} can't say '") as stopped:
            macros.row_predicate("runs", config, "1", "f", dialect)
        assert f"can't say '{name}" in str(stopped.value)


@pytest.mark.parametrize(
    "condition",
    ["ratio is null", "coalesce(case when days = 1 then ratio end) is null"],
)
def test_Z5_a_double_that_is_compared_with_none_is_printed(condition):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    for dialect in ("bigquery", "trino"):
        macros.row_predicate("runs", config, "1", "f", dialect)


def with_condition(condition: str) -> Macros:
    """Return the macros of the document with another condition."""
    start = DOCUMENT.index("      condition: >-")
    end = DOCUMENT.index("    - {role: B, resource: runs.unit")
    text = (
        f"{DOCUMENT[:start]}      condition: {json.dumps(condition)}\n{DOCUMENT[end:]}"
    )
    return Macros(text, types=TYPES)


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        ("unit >= 'b'", """\"unit" >= 'b' COLLATE "C\""""),
        ("unit = (select max(r.unit) from t as r)", """MAX(r.unit COLLATE "C")"""),
        ("unit = (select min(r.unit) from t as r)", """MIN(r.unit COLLATE "C")"""),
        ("amount = (select max(r.amount) from t as r)", "MAX(r.amount)"),
        ("amount > 3", '"amount" > 3'),
        # What it is not known to be could be a text, which the locale orders.
        ("amount = (select max(r.nothing) from t as r)", None),
        ("exists (select 1 from t as r where r.one < r.two)", None),
        ("exists (select 1 from t as r where r.one between r.two and r.three)", None),
    ],
)
def test_Z5_postgresql_orders_texts_as_spark_does_or_says_that_it_can_t(
    condition, printed
):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    if printed is None:
        with pytest.raises(Stopped, match=r"postgres can't say '.+ of an unknown"):
            macros.row_predicate("runs", config, "1", "f", "postgres")
        return
    text = macros.row_predicate("runs", config, "1", "f", "postgres")
    assert printed.lower() in text.lower()


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        # `size` of null is -1, and `log(10, x)` of 1000 less than 3.
        ("array_size(tags) < 1", "array_size(tags) < 1"),
        ("size(tags) < 1", "size(tags) < 1"),
        ("log10(amount) >= 3", "log10(amount) >= 3"),
        ("`log10`(amount) >= 3", "log10(amount) >= 3"),
        ("`log`(2, amount) > 3", "log(2, amount) > 3"),
        ("`array_size`(tags) < 1", "array_size(tags) < 1"),
        ("regexp_like(not amount = 1, 'x')", "( not amount = 1 ) rlike 'x'"),
        ("log2(log10(amount)) >= 3", "log2(log10(amount)) >= 3"),
        ("log(10, amount) >= 3", "log(10, amount) >= 3"),
        # Spark reads `a = b rlike c` for `(a = b) rlike c`.
        ("(amount = 1) = regexp_like(unit, 'x')", "= ( unit rlike 'x' )"),
        ("regexp_like(unit, 'x') is null", "( unit rlike 'x' ) is null"),
        ("not regexp_like(unit, 'x') and true", "not unit rlike 'x' and true"),
    ],
)
def test_Z5_spark_is_given_what_was_written(condition, printed):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    text = macros.row_predicate("runs", config, "1", "f", "spark")
    assert printed in " ".join(text.lower().split()), text


def test_Z5_duckdb_takes_spaces_away_and_nothing_else_as_spark_does():
    macros = with_condition("trim(unit) = 'x'")
    config = macros.secure_datasets_config()
    text = macros.row_predicate("runs", config, "1", "f", "duckdb")
    assert "trim(f.\"unit\", ' ')" in text.lower() or "trim(\"unit\", ' ')" in text


DAY = "day < cast('2026-01-31' as date)"
NOON = "12:00:00"
SINCE = "since >= cast('2026-01-31 {} as timestamp"


@pytest.mark.parametrize("dialect", DIALECTS[2:])
@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        ("day < '2026-01-31'", DAY),
        ("day < date'2026-01-31'", DAY),
        ("day + 1 > (select max(r.day) from t as r)", "day + 1 > (select max(r.day)"),
        ("day is null or day <=> null", "day is null"),
        ("day in ('2026-01-31')", "day in (cast('2026-01-31' as date))"),
        ("since >= '2026-01-31'", SINCE.format("00:00:00+00:00'")),
        ("since >= timestamp'2026-01-31T12:00:00.5'", SINCE.format(f"{NOON}.5+00:00'")),
        ("unit = upper('a-1')", "unit = 'A-1'"),
    ],
)
def test_Z5_no_setting_of_a_session_or_a_locale_has_a_say(condition, printed, dialect):
    macros = with_condition(condition)
    config = macros.secure_datasets_config()
    if dialect == "snowflake" and "since" in condition:
        # Its sessions say how a text is read as a moment.
        with pytest.raises(Stopped, match=r"snowflake can't say '.*timestamp"):
            macros.row_predicate("runs", config, "1", "f", dialect)
        return
    if dialect == "snowflake":
        printed = printed.replace("'2026-01-31'", "date_from_parts(2026, 1, 31)")
    text = macros.row_predicate("runs", config, "1", "f", dialect)
    text = " ".join(text.replace('"', "").replace("`", "").split())
    assert printed.lower() in text.replace("( ", "(").replace(" )", ")").lower()
    assert ("upper" not in condition) or "'A-1'" in text


@pytest.mark.parametrize("dialect", ["spark", "databricks"])
@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        # In other words Spark finds no unit, and takes the value for null.
        ("day = trunc(day, 'MM')", "day = trunc(day, 'MM')"),
        # In brackets Spark reads no interval.
        ("day > day - interval '1' day", "day > day - INTERVAL '1' DAY"),
        ("day > day - interval 2 days", "day > day - INTERVAL '2' DAYS"),
        # One interval, and no sum: or its second part would be added here.
        (
            "day > day - interval 1 month 2 days",
            "day > day - INTERVAL '1 MONTH 2 DAYS'",
        ),
        ("day > day - interval 1 day 2 hours '3' minutes", "'1 DAY 2 HOURS 3 MINUTES'"),
        # Without its format `to_date` reads texts that it does not read with it.
        ("day = to_date('31.1', 'dd.M')", "day = to_date('31.1', 'dd.M')"),
        (
            "from_unixtime(1, 'yyyy-MM-dd HH:mm:ss') = unit",
            "from_unixtime(1, 'yyyy-MM-dd HH:mm:ss') = unit",
        ),
        (
            "from_unixtime(unix_timestamp('2026', 'yyyy')) > unit",
            "from_unixtime(unix_timestamp('2026', 'yyyy')) > unit",
        ),
        # What Jinja or an editor could change is written so that they don't.
        ("unit = '${x}\u2028'", r"unit = '\u0024{x}\u2028'"),
    ],
)
def test_Z5_a_text_stays_what_it_is_for(condition, printed, dialect):
    macros = with_condition(condition)
    given = ("runs", macros.secure_datasets_config(), "1", "f", dialect)
    if dialect == "databricks" and re.search(r"to_date|unix_timestamp", condition):
        with pytest.raises(Stopped, match="ANSI mode"):
            macros.row_predicate(*given)
        return
    assert printed.lower() in macros.row_predicate(*given).lower()


# Functions without brackets in one engine or another, and words kept by its grammar.
WORDS = [
    "user", "current_role", "current_catalog", "current_schema", "current_time",
    "localtime", "system_user", "sysdate", "rownum", "order", "limit",
    "end", "column", "placing", "window", "desc", "plain",
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_Z5_a_column_is_meant_whatever_its_name_is_there(dialect, request):
    condition = " and ".join(
        [
            *(f"`{word}` <> 'root'" for word in WORDS),
            "user <> 'root' and Localtime <> 'root' and exists (select 1"
            " from odd.more as m where m.Localtimestamp = 'x'"
            " and m.current_role = 'x' and things.User <> m.`Order`)",
        ]
    )
    config = {
        "tiers": {"t": {"access_view": "a", "object_keys": ["k"], "carries": []}},
        "datasets": {
            "things": {
                "base": "all_things", "columns": ["id", *WORDS], "unique_key": ["id"],
                "visible_to": "everyone",
            }
        },
        "policies": [
            {"role": "R", "resource": "things", "check": False, "condition": condition}
        ],
    }  # fmt: skip
    macros = Macros(json.dumps(config), types={})
    predicate = macros.row_predicate(
        "things", macros.secure_datasets_config(), "1", "F", dialect
    )
    columns = ", ".join(f'"{word}" text' for word in WORDS)
    rows = [["root" if n == m else "x" for m in range(len(WORDS))]
            for n in range(len(WORDS) + 1)]  # fmt: skip
    made = [
        "create schema odd",
        "set search_path to 'odd'",
        f"create table all_things (id bigint, {columns})",
        *(
            f"insert into all_things values ({n}, {', '.join(map(literal, row))})"
            for n, row in enumerate(rows)
        ),
        'create table more ("localtimestamp" text, "current_role" text, "order" text)',
        "insert into more values ('x', 'x', 'y')",
        "create table stg_users (user_id bigint, is_live boolean)",
        "create table vw_secure_user_roles (user_id bigint, role_name text)",
        "insert into stg_users values (1, true)",
        "insert into vw_secure_user_roles values (1, 'R')",
    ]
    query = f"select id from all_things as F where {predicate}"
    if dialect == "duckdb":
        with duckdb.connect(":memory:") as connection:
            for statement in made:
                connection.execute(statement)
            found = [str(row[0]) for row in connection.execute(query).fetchall()]
    else:
        psql = request.getfixturevalue("psql")
        found = psql("drop schema if exists odd cascade;"
                     + ";\n".join([*made, query, "drop schema odd cascade"])
                     + ";").split()  # fmt: skip
    assert found == [str(len(WORDS))]


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("postgres", '"unit"'),
        ("duckdb", '"Unit"'),
        ("trino", '"Unit"'),
        ("bigquery", "`Unit`"),
        ("snowflake", '"UNIT"'),
    ],
)
def test_Z5_a_name_is_spelled_as_a_bare_one_is_read_there(dialect, name):
    for written in ("Unit", "`Unit`"):
        macros = with_condition(f"{written} = 'x'")
        config = macros.secure_datasets_config()
        text = macros.row_predicate("runs", config, "1", "f", dialect)
        assert f"{name} = 'x'" in text


def test_Z5_an_unknown_dialect_is_refused():
    macros = Macros(DOCUMENT, types=TYPES)
    with pytest.raises(Stopped, match="unknown dialect 'oracle'; known are spark,"):
        config = macros.secure_datasets_config()
        macros.row_predicate("runs", config, "1", "f", "oracle")


# Keys and choices that no random case has, each with the reason. What gives a right on
# an object is no policy: its random cases are those of the tiers' oracle.
ELSEWHERE = {
    ("Dataset", "second_side"): "of the tier: worlds of random_worlds.py",
    ("Dataset", "switch"): "of the tier: worlds of random_worlds.py",
    ("Dataset", "unchecked"): "of the tier: nothing is rendered of it",
    ("Tier", "right"): "it decides about nothing: it tells people what was decided",
    ("SecondSide", "keys"): "of the tier",
    ("SecondSide", "unless_null"): "of the tier",
    ("Switch", "column"): "of the tier",
    ("Switch", "cases"): "of the tier",
    ("Case", "tier"): "of the tier",
    ("Case", "keys"): "of the tier",
    ("Case", "second_side"): "of the tier",
    ("Case", "unchecked"): "of the tier",
    ("Case", "visible_to"): "of the tier",
    ("Config", "sml"): "files with entries of the same kinds: test_sml.py",
    ("Relation", "hierarchy"): "a name: nothing is rendered of it",
    ("Near", "hierarchy"): "a name: nothing is rendered of it",
    ("Near", "level"): "a name: nothing is rendered of it",
    ("Relationship", "unique_name"): "a name: nothing is rendered of it",
    ("Dataset", "renamed_from"): "of comparisons: nothing is rendered of it",
    ("QueryDataset", "renamed_from"): "of comparisons: nothing is rendered of it",
    ("Relationship", "type"): "it has one value: nothing is rendered of it",
}


def entries_of(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return all entries of a config, each with what the schema calls it."""
    yield "Config", config
    yield "Reader", config["reader"]
    for dataset in config["datasets"].values():
        yield ("QueryDataset" if "query" in dataset else "Dataset"), dataset
        if "query" in dataset:
            yield "Query", dataset["query"]
    for part, kind in (
        ("tiers", "Tier"), ("policies", "Policy"), ("relations", "Relation"),
        ("row_security", "RowSecurity"), ("relationships", "Relationship"),
    ):  # fmt: skip
        entries = config.get(part, [])
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield kind, entry
    for policy in config.get("policies", []):
        yield from (("ShownTo", line) for line in policy.get("shown_to", []))
    for link in config["relationships"]:
        yield "Near", link["from"]
        yield "Far", link["to"]


def test_the_random_configs_have_every_key_and_choice_of_the_schema():
    """A key that the schema learns is generated, or it is said here why not."""
    used: dict[tuple[str, str], set[str]] = {}
    for seed in SEEDS:
        text = Environment().from_string(document(random_case(seed))).render(ref=str)
        for kind, entry in entries_of(json.loads(text)):
            for key, value in entry.items():
                used.setdefault((kind, key), set()).add(json.dumps(value))
    keys = {
        (model.__name__, field.alias or name): model
        for _, model in reference.ENTRIES
        for name, field in model.model_fields.items()
    }
    assert used.keys() | ELSEWHERE.keys() == keys.keys()
    assert not used.keys() & ELSEWHERE.keys()
    for (kind, key), values in used.items():
        model = keys[kind, key]
        name = next(n for n, f in model.model_fields.items() if (f.alias or n) == key)
        annotation = model.model_fields[name].annotation
        if annotation is bool or get_origin(annotation) is Literal:
            wanted = set(map(json.dumps, choices(model, name)))
            assert values == wanted, (kind, key)
