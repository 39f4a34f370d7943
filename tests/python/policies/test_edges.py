"""Z5: a printed condition means the same on values at the edges of their types.

Random conditions over one column of each type are asked of Spark, and what can be
printed of them of DuckDB and PostgreSQL; what can't is an error, and never another row.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import duckdb
import pytest
from rendering import Macros, Stopped

from secure_datasets.config.errors import ConfigError
from secure_datasets.config.models import Models
from secure_datasets.macro_methods import SecureDatasets

CONDITIONS = 150
TYPES = {
    "id": "bigint", "b": "tinyint", "s": "smallint", "i": "int", "l": "bigint",
    "n": "decimal(10,2)", "d": "double", "t": "string", "y": "boolean",
}  # fmt: skip
NAMES = {
    "duckdb": {"string": "varchar"},
    "postgres": {"tinyint": "smallint", "string": "text", "double": "double precision"},
}
EDGES = {
    "b": ["-128", "127", "0", "null"],
    "s": ["-32768", "32767", "1", "null"],
    "i": ["-2147483648", "2147483647", "2", "null"],
    "l": ["-9223372036854775808", "9223372036854775807", "3", "null"],
    "n": ["-99999999.99", "99999999.99", "1.00", "null"],
    "d": ["-1e308", "1e308", "1", "null"],
    "t": ["''", "'1'", "'12'", "'true'", "' 1'", "'a'", "null"],
    "y": ["true", "false", "null"],
}
LITERALS = [
    "0", "1", "-1", "127", "128", "-128", "32767", "2147483647", "2147483648",
    "-2147483648", "9223372036854775807", "9223372036854775808", "1.5", "1.00", "0.1",
    "1e0", "1e300", "'1'", "'a'", "'true'", "true", "null", "99999999999.99",
]  # fmt: skip
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [id, b, s, i, l, n, d, t, y]
        unique_key: [id]
        tier: team
        keys: {id: id}
policies:
    - {role: A, resource: runs, condition: "true"}
"""


def value(draw: random.Random, depth: int) -> str:
    """Return a random value."""
    kind = draw.randrange(9 if depth else 3)
    if kind < 2:
        return draw.choice("bsilndty")
    if kind < 3:
        return draw.choice(LITERALS)
    one, other = (value(draw, depth - 1) for _ in range(2))
    if kind < 6:
        return f"({one} {draw.choice('+-*')} {other})"
    if kind < 7:
        wanted = draw.choice(["bigint", "int", "string", "decimal(20,0)", "double"])
        return f"cast({one} as {wanted})"
    if kind < 8:
        return draw.choice([f"coalesce({one}, {other})", f"nullif({one}, {other})"])
    return draw.choice([f"abs({one})", f"(-{one})", f"if(y, {one}, {other})"])


def condition(draw: random.Random) -> str:
    """Return a random condition."""
    one, other, third = (value(draw, draw.randrange(3)) for _ in range(3))
    return draw.choice(
        [
            f"{one} {draw.choice(['=', '<>', '<', '<=', '>', '<=>'])} {other}",
            f"{one} in ({other}, {third})",
            f"{one} between {other} and {third}",
            f"{one} is null",
            f"case {one} when {other} then true else y end",
        ]
    )


def rows() -> list[list[str]]:
    """Return a table in which each edge of each type stands beside others."""
    draw = random.Random(7)
    made = []
    for _ in range(12):
        for column, edges in EDGES.items():
            for edge in edges:
                row = {name: draw.choice(values) for name, values in EDGES.items()}
                made.append([str(len(made)), *(row | {column: edge}).values()])
    return made


def printer() -> Callable[[str, str], str | None]:
    """Return what prints a condition in a dialect; none where that refuses it."""
    config = Macros(DOCUMENT, types={"all_runs": TYPES}).secure_datasets_config()
    datasets = SecureDatasets(Models({"all_runs": TYPES}))

    def printed(text: str, dialect: str) -> str | None:
        try:
            return datasets.printed(text, "runs", config, "1", "runs", None, dialect)
        except ConfigError:
            return None

    return printed


def table(dialect: str) -> list[str]:
    """Return the statements that make the table in an engine."""
    names = NAMES[dialect]
    columns = ", ".join(
        f"{name} {names.get(kind, kind)}" for name, kind in TYPES.items()
    )
    values = ", ".join(f"({', '.join(row)})" for row in rows())
    return [f"create table runs ({columns})", f"insert into runs values {values}"]


@pytest.mark.spark
def test_Z5_a_printed_condition_means_the_same_at_the_edges(spark, request):
    from pyspark.errors import AnalysisException

    from dbt_secure_spark.session import with_settings

    draw, printed_of = random.Random(41), printer()
    asked: dict[str, dict[str, str]] = {}
    while len(asked) < CONDITIONS:
        text = condition(draw)
        found = {dialect: printed_of(text, dialect) for dialect in NAMES}
        if all(found.values()):
            asked[text] = {dialect: str(said) for dialect, said in found.items()}
    with with_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        columns = ", ".join(
            f"cast({name} as {kind}) as {name}" for name, kind in TYPES.items()
        )
        values = ", ".join(f"({', '.join(row)})" for row in rows())
        spark.sql(
            f"create or replace temp view edges as select {columns} from values"
            f" {values} as t ({', '.join(TYPES)})"
        )
        for text in list(asked):
            try:
                spark.sql(f"select {text} from edges")
            except AnalysisException:
                # Spark has no answer for it, so nothing can differ.
                del asked[text]
        assert len(asked) > 0.9 * CONDITIONS
        flags = ", ".join(
            f"({text}) is true as c{number}" for number, text in enumerate(asked)
        )
        seen = spark.sql(f"select id, {flags} from edges").collect()
    wanted = [
        sorted(row[0] for row in seen if row[number + 1])
        for number in range(len(asked))
    ]

    connection = duckdb.connect(":memory:")
    for statement in table("duckdb"):
        connection.execute(statement)
    for (text, said), rows_of in zip(asked.items(), wanted, strict=True):
        query = f"select id from runs where {said['duckdb']} order by id"
        found = [row[0] for row in connection.execute(query).fetchall()]
        assert found == rows_of, ("duckdb", text, said["duckdb"])
    psql = request.getfixturevalue("psql")
    queries = [
        "select coalesce(json_agg(id order by id), '[]') from runs where "
        + each["postgres"]
        for each in asked.values()
    ]
    answers = psql(";".join(table("postgres") + queries) + ";").split("\n")
    lines = [line for line in answers if line.startswith("[")]
    for (text, said), rows_of, line in zip(asked.items(), wanted, lines, strict=True):
        assert json.loads(line) == rows_of, ("postgres", text, said["postgres"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("i + 2147483647 > 0", "add, which can overflow"),
        ("b + -2147483648 > 0", "add, which can overflow"),
        ("l + 1 > 0", "add, which can overflow"),
        ("b * s * i > 0", "mul, which can overflow"),
        ("-l > 0", "neg, which can overflow"),
        ("l < - -9223372036854775808", "neg, which can overflow"),
        ("abs(i) > 0", "abs, which can overflow"),
        ("n + 1 > 0", "add, which can overflow"),
        ("t = 1", "number beside text"),
        ("t in ('a', 1)", "number beside text"),
        ("l = 1e0", "double beside whole number or decimal"),
        ("d = l", "double beside whole number or decimal"),
        ("y = 1", "boolean beside number"),
        ("coalesce(t, 1) = 'a'", "several types beside text"),
        ("cast(l as int) = 1", "try_cast(int)"),
        ("id in (select sum(x.l) from all_runs as x)", "sum, which can overflow"),
    ],
)
def test_Z5_what_would_mean_something_else_is_an_error(text, sentence):
    document = DOCUMENT.replace('"true"', json.dumps(text))
    macros = Macros(document, types={"all_runs": TYPES})
    config = macros.secure_datasets_config()
    for dialect in NAMES:
        with pytest.raises(Stopped) as stopped:
            macros.row_predicate("runs", config, "1", "f", dialect)
        assert f"{dialect} can't say '{sentence}" in str(stopped.value)


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("s + 1 > i", "cast"),
        ("cast(i as bigint) + 2147483647 > 0", "cast(\"i\" as bigint) + 2147483647"),
        ("cast(b as bigint) * cast(s as bigint) = 1", "as bigint) * cast(\"s\""),
        ("l > 1.5 or n = 1", '"l" > 1.5'),
        ("d > 1.5", '"d" > 1.5'),
        ("i > - -1", "-cast(-1 as int)"),
    ],
)  # fmt: skip
def test_Z5_what_is_widened_on_both_sides_is_printed(text, printed, dialect):
    found = printer()(text, dialect)
    assert found is not None and printed in found.lower()
