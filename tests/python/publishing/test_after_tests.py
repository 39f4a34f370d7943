"""A secure dataset shows new rows and rights only after its data tests, on Spark.

What it shows until then is a law of test_narrowing.py.
"""

from __future__ import annotations

import pytest
from small_project import plain_project

pytestmark = pytest.mark.spark
CHECKS = "tests"
SCHEMA, RAW = "after_tests", "after_tests_raw"
AFTER_TESTS = ("--vars", "{publish_after_tests: true}")
FILES = {
    "models/sources.yml": f"""\
sources:
  - name: raw
    schema: {RAW}
    tables: [{{name: grants}}, {{name: things}}]
""",
    "models/base.sql": "select thing_id, name from {{ source('raw', 'things') }}",
    "models/access.sql": "select user_id, thing_id from {{ source('raw', 'grants') }}",
    "models/secure.sql": (
        "{{ config(materialized='view', inline_views=true, narrowing={\n"
        "    'unique_key': ['thing_id', 'name'], 'rows_from': ['base']}) }}\n"
        "select base.thing_id, base.name, access.user_id\n"
        "from {{ ref('base') }} as base\n"
        "inner join {{ ref('access') }} as access on base.thing_id = access.thing_id"
    ),
    "models/report.sql": (
        "{{ config(materialized='view') }}\nselect name from {{ ref('secure') }}"
    ),
    "models/kept.sql": "select name from {{ ref('report') }}",
    f"{CHECKS}/secure_is_whole.sql": (
        "select * from {{ ref('secure') }} where name = 'broken'"
    ),
    f"{CHECKS}/nothing_is_new.sql": (
        "{{ config(store_failures=true, severity='warn') }}\n"
        "select * from {{ ref('report') }} where name = 'new'"
    ),
}


@pytest.fixture(scope="module")
def folder(product, tmp_path_factory):
    """A project with a secure dataset, and a view of one's own over it."""
    folder = tmp_path_factory.mktemp("after_tests") / "project"
    return plain_project(folder, product, SCHEMA, FILES)


@pytest.fixture(scope="module")
def call(spark, dbt, folder):
    """Load raw tables and call dbt; give the results by node's name, or the error."""
    schemas = (SCHEMA, f"{SCHEMA}_versions", f"{SCHEMA}_dbt_test__audit", RAW)
    for schema in schemas:
        spark.sql(f"drop schema if exists {schema} cascade")
    spark.sql(f"create schema {RAW}")

    def run(*arguments: str, grants: tuple, things: tuple, fails: bool = False):
        for table, columns, rows in (
            ("grants", "user_id, thing_id", [(user, 1) for user in grants]),
            ("things", "thing_id, name", [(1, name) for name in things]),
        ):
            values = ", ".join(map(str, rows))
            spark.sql(f"drop table if exists {RAW}.{table}")
            spark.sql(
                f"create table {RAW}.{table} using parquet as"
                f" select * from values {values} as t ({columns})"
            )
        result = dbt(*arguments, *AFTER_TESTS, folder=folder)
        assert result.success is not fails, result.exception
        if result.exception:
            return str(result.exception)
        return {each.node.name: each for each in result.result}

    return run


def test_new_rows_wait_for_the_tests_and_a_revocation_does_not(call, spark):
    def seen() -> set[tuple]:
        found = spark.sql(f"select name, user_id from {SCHEMA}.secure").collect()
        return {tuple(row) for row in found}

    build = ("build", "--exclude", "kept")
    broken = {"grants": (8, 9), "things": ("one", "broken"), "fails": True}
    results = call(*build, **broken)
    assert seen() == set(), "nobody has seen a row yet"
    assert results["secure_is_whole"].failures == 2
    assert results["secure"].message.startswith(
        "'secure' is new and shows no row: secure_is_whole failed."
    )

    call(*build, grants=(8, 9), things=("one",))
    assert seen() == {("one", 8), ("one", 9)}

    results = call(*build, **broken | {"grants": (8,)})
    assert seen() == {("one", 8)}
    assert results["secure"].status == "warn"
    assert results["secure"].message == (
        "'secure' shows the rows of before, to those who may see them both before and"
        " now: secure_is_whole failed. New rows and new rights wait. Run dbt build."
    )
    assert results["secure_is_whole"].failures == 1

    mended = {"grants": (7, 8), "things": ("one", "new")}
    results = call("run", "--exclude", "kept", **mended)
    assert seen() == {("one", 8)}
    assert "secure_is_whole did not run" in results["secure"].message
    results = call(*build, **mended)
    assert seen() == {(name, user) for name in ("one", "new") for user in (7, 8)}
    # It reads what waits too, through a view, and stores it.
    assert results["nothing_is_new"].failures == len(mended["grants"])


def test_a_model_that_would_store_the_rows_of_before_stops_the_run(call, spark):
    told = call("build", grants=(8,), things=("other",), fails=True)
    assert (
        "'kept' stores rows of 'secure', which waits for its tests until the end of"
        " this run (publish_after_tests): leave 'kept' out, and run it after this run."
    ) in told
    found = spark.sql(f"select * from {SCHEMA}.base where name = 'other'").collect()
    assert not found, "nothing was built"
