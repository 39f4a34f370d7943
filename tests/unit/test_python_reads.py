"""What is known of a Python model's reading, by its code alone."""

from __future__ import annotations

import pytest
from projects import ROOT

from dbt_secure_spark.unchanged import may_vary
from secure_datasets.leaks.python import what_python_asks

HEAD = 'def model(dbt, session):\n    df = dbt.ref("people")\n    '


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("import operator", 'return operator.methodcaller("table", "a.b")(session)'),
        ("from operator import attrgetter", 'return attrgetter("table")(session)("a")'),
        ("import string", 'return string.Formatter().get_field("0.x", (df,), {})'),
        ("import dataclasses", 'return dataclasses.sys.modules["os"]'),
        ("import dataclasses", "return dataclasses.builtins.getattr(session, 'table')"),
        ("from dataclasses import sys", 'return sys.modules["os"]'),
        ("import re", 'return re.enum.sys.modules["os"]'),
        ("import pyspark.sql", "return pyspark.os.popen('a')"),
        ("import pyspark.sql", "return pyspark.sql.session.os.popen('a')"),
        ("import pyspark.sql", "return pyspark.pandas.read_parquet('/a')"),
        ("import pyspark.sql", "return pyspark.SparkContext.getOrCreate()"),
        ("from pyspark.sql import functions as F", "return F.sys.modules['os']"),
        ("import pyspark.sql.functions as F", "return F.sys.modules['os']"),
        (
            "",
            'match session:\n        case object(table=t):\n            return t("a")',
        ),
        (
            "from dataclasses import dataclass\n"
            "class Any(type):\n    def __instancecheck__(cls, other): return True\n"
            "@dataclass\nclass Has(metaclass=Any):\n    table: object",
            "match df.sparkSession:\n        case Has(t):\n            return t('a.b')",
        ),
        ("", "return df.rdd.context.textFile('/a')"),
        ("", "session.catalog.setCurrentCatalog('b')\n    return df"),
        ("", "session.sql('use lake.a')\n    return df"),
        ("", "session.sql('set spark.sql.defaultCatalog = lake')\n    return df"),
        ("", "session.conf.set('spark.sql.defaultCatalog', 'b')\n    return df"),
        ("", "k = 'spark.sql.' + 'defaultCatalog'\n    session.conf.set(k, 'b')"),
        ("", "session.conf.set(key='spark.sql.defaultCatalog', value='b')"),
        ("", "c = session.conf\n    c.set('spark.sql.defaultCatalog', 'b')"),
        (
            "",
            "(c := session.conf).set('a', 1)\n    c.set('catalog', 'b')",
        ),
        (
            "from pyspark.sql import SparkSession",
            "SparkSession.builder.config('spark.sql.defaultCatalog', 'b')",
        ),
        ("from pyspark.sql import functions as F", "return df.select(F.reflect('a'))"),
        ("from pyspark.sql.functions import java_method as j", "return df.select(j())"),
        ("", "return session.catalog.createTable('t', '/a', 'parquet')"),
        ("", "return session.catalog.createExternalTable('t', '/a')"),
        ("from pyspark.sql import DataFrameReader as R", "return R(df.sparkSession)"),
        ("import pyspark.sql", "return pyspark.sql.DataFrameReader(df.sparkSession)"),
        ("import json", "return json.codecs.open('a')"),
        ("", "return df.rdd.pipe('cat a')"),
        ("", "return __builtins__['open']('a')"),
        ("", "return __loader__.load_module('os')"),
        ("", "return (row for row in ()).gi_frame.f_globals['a']"),
        ("", "session.udf.registerJavaFunction('f', 'a.B')\n    return df"),
    ],
)
def test_Z4_code_that_may_read_what_it_does_not_name_is_not_known(imports, body):
    assert what_python_asks(f"{imports}\n{HEAD}{body}\n") is None


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        (
            "from pyspark.sql import functions as F, Window",
            "return df.select(F.lit(1))",
        ),
        ("import pyspark.sql.functions as F", 'return df.where(F.col("a") > 1)'),
        ("import datetime, json, math, re", "return df.limit(int(math.sqrt(4)))"),
        ("from functools import reduce", "return reduce(lambda a, b: a, [df])"),
        ("", "match df.count():\n        case int():\n            return df"),
        ("", "session.conf.set('spark.sql.shuffle.partitions', '8')\n    return df"),
        ("", "return df.limit(int(dbt.config.get('rows')))"),
    ],
)
def test_code_that_reads_only_by_ref_is_known(imports, body):
    assert what_python_asks(f"{imports}\n{HEAD}{body}\n") == ()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "models").rglob("*.py")), ids=lambda path: path.stem
)
def test_the_products_python_models_are_known_and_give_the_same_for_the_same(path):
    code = path.read_text()
    node = {"name": path.stem, "language": "python", "raw_code": code}
    assert what_python_asks(code) == ()
    assert not may_vary(None, node, code)


@pytest.mark.parametrize(
    ("body", "is_known"),
    [
        ("return session.sql('select a.peek(1)')", False),
        ("return session.sql('select peek(1) from a.b')", False),
        ("return session.sql('select reflect(a) from a.b')", False),
        ("return df.selectExpr('a.peek(id)')", False),
        ("return df.where('peek(id)')", False),
        ("return df.selectExpr('rand() as r', 'now() as n', 'upper(name)')", True),
        ("return df.where('id in (1, 2) and (name = 1)')", True),
        ("return session.sql('select count(*) from a.b as t(c) where c in (1)')", True),
    ],
)
def test_Z4_a_function_of_one_s_own_may_read_anything(body, is_known):
    assert (what_python_asks(HEAD + body) is not None) == is_known


QUERY = "'id in (select j.id from s.jobs as j)'"
F = "from pyspark.sql import functions as F\n"


@pytest.mark.parametrize(
    "body",
    [
        f"busy = {QUERY}\n    return df.filter(busy)",
        f"busy = {QUERY}\n    return df.filter(busy.strip())",
        f"busy = 'not ' + {QUERY}\n    return df.filter(condition=busy)",
        "busy = 'exists (table s.jobs)'\n    return df.where(busy)",
        f"return [df.filter(busy) for busy in [{QUERY}]][0]",
        f"return df.transform(lambda d, q: d.where(q), {QUERY})",
        f"busy = {{'jobs': {QUERY}}}\n    return df.where(busy['jobs'])",
        f"def of(d, q={QUERY}):\n        return d.where(q)\n    return of(df)",
        f"busy = F.lit(1)\n    busy = {QUERY}\n    return df.where(busy)",
        f"return df.where({QUERY} % ())",
        f"q = {QUERY}\n    return df.where(q * (1 == 1))",
        f"return df.filter(**{{'condition': {QUERY}}})",
        f"q = {QUERY}\n    return df.where(F.cast(str, q))",
        f"q = {QUERY}\n    F = str\n    return df.where(F(q))",
        f"def table(x): return x\n    q = table({QUERY})\n    return df.where(q)",
        "q = 'exists (table/**/jobs)'\n    return df.where(q)",
        f"q = dbt.config.get({QUERY})\n    return df.where(q)",
    ],
)
def test_Z4_a_condition_that_is_no_plain_column_may_hide_a_query(body):
    assert what_python_asks(F + HEAD + body) is None


@pytest.mark.parametrize(
    "call",
    [f"DataFrame.filter(df, {QUERY})", f"DataFrame.where(df, condition={QUERY})"],
)
def test_Z4_a_condition_is_read_where_the_class_takes_it(call):
    code = f"from pyspark.sql import DataFrame\n{HEAD}return {call}"
    (found,) = what_python_asks(code)
    assert "s.jobs" in found


@pytest.mark.parametrize(
    "condition",
    [
        "F.col('a') > 1",
        "~F.col('a').isNull() & df.a.isin(1, 2)",
        "F.exists('a', lambda x: x > 1)",
        "F.col('a') + 1 == 2",
        "df.name.like('a%') | (df.b < 3)",
        "df['is_open']",
        "df.is_open",
        "'a > 3'",
        "df.a if df.a is not None else F.lit(1)",
        "F.filter(F.col('a'), lambda z: z > 1)",
        "df.a.getItem('x')",
        " + ".join(["df.a"] * 1200),
    ],
)
def test_a_condition_that_is_a_column_is_known_beside_a_query(condition):
    body = f"busy = {condition}\n    df = df.filter(busy).where({condition})"
    found = what_python_asks(f"{F}{HEAD}{body}\n    return df.where({QUERY})")
    assert any("s.jobs" in query for query in found)


def test_a_condition_of_any_kind_is_known_where_no_text_is_one_of_a_query():
    body = '"""Rows from here."""\n    return df.filter(df["is_open"]).where(df.a)'
    assert what_python_asks(HEAD + body) == ()
    body = "print('no rows from here')\n    p = df.toPandas()\n    return "
    code = f"import numpy as np\n{HEAD}{body}"
    assert what_python_asks(code + "np.where(p['a'] > 1, 'over 1', 0)") == ()
    assert what_python_asks(code + "p.where(p.notnull(), None)") == ()
