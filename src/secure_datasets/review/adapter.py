"""What macros call in dbt: the pack of a review, whose rows Spark streams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from secure_datasets.config.errors import SentenceError
from secure_datasets.review.pack import Row
from secure_datasets.review.reviews import FOLDER, Reviews, first_days

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter
    from pyspark.sql import SparkSession

    from secure_datasets.questions.timeline.days import Access

# A part of a result is read by the driver at once: into how many a large one is cut at
# most, and how large each may be before it is cut. And each of the many relations that
# are joined would be kept in the heap, in a page at least, until the query ends.
IN_LITTLE_MEMORY = {
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "64",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


class ReviewError(SentenceError):
    """A review that can't be written."""


class AccessReviews(Reviews):
    """Writes the pack of a review from the rows of a target's session."""

    def __init__(self, adapter: BaseAdapter) -> None:
        self.adapter = adapter

    @property
    def folder(self) -> Path:
        """Where the pack is written: in dbt's target."""
        config = self.adapter.config
        return Path(config.project_root) / config.target_path / FOLDER

    def rows(self, query: str) -> Iterator[Row]:
        """Return the rows of a query."""
        return streamed(self._session(), query)

    def stopped(self, sentence: str) -> NoReturn:
        """Stop dbt with one sentence."""
        raise ReviewError(sentence)

    def access_over(
        self, history: dict[str, Any], objects: list[Row], is_whole: bool
    ) -> list[Access]:
        """Return how much access there was when months began."""
        # Spark is needed here alone, and starts with the adapter.
        from pyspark.errors import PySparkException

        from secure_datasets.questions.timeline.days import access_on

        days = first_days(date.fromisoformat(history["last"]), history["months"])
        ids: dict[str, set[int]] = {}
        for each in objects:
            ids.setdefault(each["object_type"], set()).add(each["object_id"])
        parts, spark = history["parts"], self._session()
        try:
            return access_on(spark, days, ids, parts, are_all=is_whole)
        except PySparkException as problem:
            # The raw tables are read for it alone, and may not be there for who asks.
            self.stop(
                "access over the months can't be read from the raw tables:"
                f" {str(problem).splitlines()[0]} Without months, a pack needs none."
            )

    def _session(self) -> SparkSession:
        # Spark is needed here alone, and starts with the adapter.
        from dbt_secure_spark.session import start_session
        from dbt_secure_spark.submission import session_parameters

        return start_session(session_parameters(self.adapter.config.credentials))


def streamed(spark: SparkSession, query: str) -> Iterator[Row]:
    """Yield the rows of a query, of which one small part at a time is held.

    All of it is worked out first and lies on the disk: what a query is joined by would
    otherwise stay in memory until its last row is read, beside that of all others.
    """
    # Spark is needed here alone, and starts with the adapter.
    from pyspark import StorageLevel

    from dbt_secure_spark.session import with_settings

    with with_settings(spark, IN_LITTLE_MEMORY):
        rows = spark.sql(query).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    for row in rows.toLocalIterator():
        yield row.asDict(recursive=True)


def access_reviews(adapter: BaseAdapter) -> AccessReviews:
    """Return what writes the pack of a review."""
    return AccessReviews(adapter)
