"""The adapter: what macros ask of ``secure_spark``, over dbt-databricks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.databricks.impl import DatabricksAdapter, DatabricksConfig
from dbt.adapters.secure_databricks.connections import (
    NotOffered,
    SecureDatabricksConnectionManager,
)
from dbt.adapters.secure_databricks.relation import SecureDatabricksRelation
from dbt.adapters.secure_spark.impl import PublishingConfig, SecureSparkAdapter


@dataclass
class SecureDatabricksConfig(PublishingConfig, DatabricksConfig):
    """What a node's config may hold beside what dbt-databricks knows."""


class SecureDatabricksAdapter(SecureSparkAdapter, DatabricksAdapter):
    """The methods that macros call, of ``secure_spark``; all else of dbt-databricks.

    Of relations the names are those of ``secure_spark``.
    """

    Relation = SecureDatabricksRelation
    ConnectionManager = SecureDatabricksConnectionManager
    AdapterSpecificConfigs = SecureDatabricksConfig

    def get_relation(self, *_: Any, **__: Any) -> None:
        """Return none: nothing is built, so that a first run is what is compiled."""

    def debug_query(self) -> None:
        """Raise: before it connects, `dbt debug` would ask the host what it is."""
        raise NotOffered

    def submit_python_job(self, *_: Any) -> Any:
        """Raise: a job would be submitted without a connection."""
        raise NotOffered
