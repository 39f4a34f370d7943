"""How the rows of a review reach the driver: from the disk, and in small parts."""

import pytest

from dbt_secure_spark.session import with_settings
from secure_datasets.review import adapter

# Of some megabytes, which nothing makes smaller.
QUERY = (
    "select id, array_join(transform(sequence(1, 20), n -> sha2(concat(id, n), 512)),"
    " '') as text from range(5000) order by id desc"
)


@pytest.fixture
def small_parts(spark, monkeypatch):
    # The tests' session plans each query once.
    adaptive = "spark.sql.adaptive.enabled"
    before = spark.conf.get(adaptive)
    spark.conf.set(adaptive, "true")
    settings = dict.fromkeys(adapter.IN_LITTLE_MEMORY, "16")
    settings["spark.sql.adaptive.advisoryPartitionSizeInBytes"] = "1k"
    monkeypatch.setattr(adapter, "IN_LITTLE_MEMORY", settings)
    yield
    spark.conf.set(adaptive, before)


def stored_rows(spark):
    """Return the RDDs that are kept, by their ids."""
    return dict(spark.sparkContext._jsc.getPersistentRDDs())


def test_V2_rows_lie_on_the_disk_and_are_read_in_small_parts(spark, small_parts):
    before = stored_rows(spark).keys()
    rows = adapter.streamed(spark, QUERY)
    assert stored_rows(spark).keys() == before
    read = [next(rows)]
    # Whatever it was joined by is let go before the first row is read.
    (stored,) = (rdd for key, rdd in stored_rows(spark).items() if key not in before)
    level = stored.getStorageLevel()
    assert level.useDisk() and not level.useMemory()
    assert stored.getNumPartitions() > 2
    read += rows
    assert [row["id"] for row in read] == list(reversed(range(5000)))


def test_a_query_that_fails_is_told_and_the_session_is_set_as_before(
    spark, small_parts
):
    from pyspark.errors import PySparkException

    name = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    with with_settings(spark, {name: "7m"}):
        next(adapter.streamed(spark, QUERY))
        assert spark.conf.get(name) == "7m"
        with pytest.raises(PySparkException, match="no such row"):
            next(adapter.streamed(spark, "select raise_error('no such row') as id"))
        assert spark.conf.get(name) == "7m"
    assert all(spark.conf.get(each, None) is None for each in adapter.IN_LITTLE_MEMORY)
