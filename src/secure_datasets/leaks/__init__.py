"""The leak detector: whether what a model shows a user tells of another user's rows.

``functions`` names what Spark's functions do with rows, ``proof`` follows user_id
through one query, ``detector`` goes through all models, ``graph`` takes them from dbt,
``texts`` compiles them, ``python`` looks at those that are Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.adapters.spark import SparkAdapter


def find_leaks(adapter: SparkAdapter, config: dict[str, Any]) -> list[list[str]]:
    """Return the leaks of the project: model, rule, dataset, path and problem of each.

    `config` is the document of secure_datasets_config().
    """
    # dbt loads this module for every command, and the parser takes its time to load.
    from secure_datasets.leaks.graph import leaks_of_project

    return leaks_of_project(adapter, config)
