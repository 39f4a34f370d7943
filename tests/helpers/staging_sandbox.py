"""The project's own SQL of staging in DuckDB, without Spark.

What differs between the two engines is replaced where the rules of staging leave no
doubt of what Spark does.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache, lru_cache
from itertools import count
from typing import Any
from weakref import finalize

import duckdb
import sqlglot
from sqlglot import exp

from secure_datasets.render.staging.reading import SPACE

WITH_NULLS = re.compile(r",\s*map\('ignoreNullFields', 'false'\)")
NUMBERS = count()
UTC_TEXT = "strftime(a::timestamptz at time zone 'UTC', '%Y-%m-%d %H:%M:%S.%f')"
FUNCTIONS = (
    f"utc_text(a) as {UTC_TEXT}",
    "btrim(a, b) as trim(a, b)",
    # DuckDB also takes fractions, exponents and underscores.
    "whole_number(a) as case when typeof(a) != 'VARCHAR'"
    " or regexp_full_match(a::varchar, '[+-]?[0-9]+') then try_cast(a as bigint) end",
    "timestamp_seconds(a) as make_timestamptz(a * 1000000)",
    "timestamp_millis(a) as make_timestamptz(a * 1000)",
    "timestamp_micros(a) as make_timestamptz(a)",
    # As Spark calls them.
    "spark_type(a) as case typeof(a) when 'TIMESTAMP WITH TIME ZONE' then 'timestamp'"
    " when 'TIMESTAMP' then 'timestamp_ntz' else lower(typeof(a)) end",
)


@lru_cache(maxsize=2000)
def in_duckdb(sql: str) -> str:
    """Return compiled SQL of a staged table as DuckDB's."""
    sql = sql.replace(SPACE, "getvariable('white_space')")
    sql = WITH_NULLS.sub("", sql)
    tree = sqlglot.parse_one(sql, read="spark")
    return tree.transform(as_here, copy=False).sql("duckdb", copy=False)


def as_here(node: exp.Expression) -> exp.Expression:
    """Call a function of Spark's as it is called here."""
    if isinstance(node, exp.Func) and node.sql_name().lower() == "typeof":
        return exp.Anonymous(this="spark_type", expressions=[node.this])
    if isinstance(node, exp.Hour | exp.Minute | exp.UnixDate):
        # DuckDB's own are longer, and overflow later.
        node.set("this", node.this.transform(as_here, copy=False))
        return exp.Cast(this=node.copy(), to=exp.DataType.build("int"))
    if isinstance(node, exp.TryCast) and node.to.is_type("bigint"):
        value = node.this.transform(as_here, copy=False)
        return exp.Anonymous(this="whole_number", expressions=[value])
    if isinstance(node, exp.Extract) and node.this.name.lower() == "second":
        # Its fraction too.
        moment = node.expression.sql("duckdb")
        return sqlglot.parse_one(
            f"((epoch_us({moment}) % 60000000 + 60000000) % 60000000) / 1000000.0"
        )
    if isinstance(node, exp.Anonymous) and node.name.lower() == "to_csv":
        (value,) = node.expressions[0].expressions
        value = value.expression if isinstance(value, exp.PropertyEQ) else value
        value = value.transform(as_here, copy=False)
        return exp.Anonymous(this="utc_text", expressions=[value])
    return node


@cache
def _process() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process."""
    return duckdb.connect(config={"threads": 1})


def _detach(name: str) -> None:
    """Free a database that nobody holds any longer."""
    _process().execute(f"detach {name}")


def own_database() -> duckdb.DuckDBPyConnection:
    """Return a connection to a database of its own, in UTC."""
    connection = _process().cursor()
    # A new connection takes sixty times as long.
    name = f"database_{next(NUMBERS)}"
    connection.execute(f"attach ':memory:' as {name}; use {name}")
    connection.execute("set timezone = 'UTC'")
    finalize(connection, _detach, name)
    return connection


def connected() -> duckdb.DuckDBPyConnection:
    """Return a connection that has the functions of Spark's that staging calls."""
    connection = own_database()
    characters = SPACE.strip("'").encode("ascii").decode("unicode_escape")
    connection.execute("set variable white_space = ?", [characters])
    for function in FUNCTIONS:
        connection.execute(f"create macro {function}")
    return connection


def without_zone(value: Any) -> Any:
    """Return a moment in UTC without saying so, and any other value as it is."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
