"""The pack of a review for macros in dbt, with rows that Spark streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from secure_datasets.config.errors import SentenceError
from secure_datasets.review.finding_rules import RULES, SEVERITIES
from secure_datasets.review.pack import Row
from secure_datasets.review.reviews import FOLDER, Reviews, first_days

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter
    from pyspark.sql import SparkSession

    from secure_datasets.questions.timeline.days import Access

# The driver reads a partition of a result at once. The first two settings limit the
# number and the size of partitions. The last one turns broadcast joins off: each of the
# many joined relations would take at least a page of the heap until the query ends.
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
        """Return the folder of the pack, in dbt's target."""
        config = self.adapter.config
        return Path(config.project_root) / config.target_path / FOLDER

    def rows(self, query: str) -> Iterator[Row]:
        """Return the rows of a query."""
        return streamed(self._session(), query)

    def stopped(self, sentence: str) -> NoReturn:
        """Raise ReviewError with one sentence, which stops dbt."""
        raise ReviewError(sentence)

    def access_over(
        self, history: dict[str, Any], objects: list[Row], is_whole: bool
    ) -> list[Access]:
        """Return the amount of access at the beginning of each month."""
        # Imported here: Spark starts with the adapter.
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
            # Only this reads the raw tables, which may be missing for the caller.
            self.stop(
                "access over the months can't be read from the raw tables:"
                f" {str(problem).splitlines()[0]} Without months, a pack needs none."
            )

    def _session(self) -> SparkSession:
        # Imported here: Spark starts with the adapter.
        from dbt_secure_spark.session import start_session
        from dbt_secure_spark.submission import session_parameters

        return start_session(session_parameters(self.adapter.config.credentials))


def streamed(spark: SparkSession, query: str) -> Iterator[Row]:
    """Yield the rows of a query, with only one small partition in memory.

    The whole result is computed first and stored on disk. Otherwise the joins of all
    open queries would stay in memory until their last row is read.
    """
    # Imported here: Spark starts with the adapter.
    from pyspark import StorageLevel

    from dbt_secure_spark.session import with_settings

    with with_settings(spark, IN_LITTLE_MEMORY):
        rows = spark.sql(query).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    for row in rows.toLocalIterator():
        yield row.asDict(recursive=True)


def access_reviews(adapter: BaseAdapter) -> AccessReviews:
    """Return the writer of a review's pack."""
    return AccessReviews(adapter)


class SeverityError(SentenceError):
    """A variable that gives a finding a severity that it can't have."""


def finding_rules(adapter: BaseAdapter, severities: Any) -> dict[str, str]:
    """Return how grave each rule is, by the product or by the variable.

    severities  the value of `finding_severities`: severities by rule

    Raises SeverityError.
    """
    if not isinstance(severities, Mapping):
        _stop(f"is '{severities}'; it must be severities by rule.")
    for rule, severity in severities.items():
        if rule not in RULES:
            _stop(f"names the rule '{rule}'; the rules are {', '.join(RULES)}.")
        if severity not in SEVERITIES:
            _stop(f"says '{severity}' of {rule}; it must be high, medium or low.")
    return {name: rule.severity for name, rule in RULES.items()} | dict(severities)


def _stop(what: str) -> NoReturn:
    raise SeverityError(f"finding_severities {what}")
