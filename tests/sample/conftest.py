"""The built sample: a test that asks for it stands in this folder."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def built(spark, dbt):
    """Build the sample, once; the result is dbt's.

    The quick engine runs its data tests over the same rows, and Spark each night.
    """
    tests = ("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test")
    return dbt("build", *tests)


@pytest.fixture(scope="session")
def rows(spark, built):
    """Query the built sample: `rows("select ...")` gives a list of tuples."""
    assert built.success, "the sample does not build"
    spark.sql("use secure_datasets")
    return lambda query: [tuple(row) for row in spark.sql(query).collect()]
