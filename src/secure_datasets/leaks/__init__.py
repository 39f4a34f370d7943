"""The leak detector: finds models that may show a user rows of a different user.

- ``proof`` follows user_id through one query
- ``scope`` has the rows of relations, and what conditions say of columns
- ``understood`` parses SQL, and refuses what a proof does not understand
- ``detector`` judges all models
- ``graph`` takes the models from dbt
- ``texts`` compiles them
- ``writers`` says which texts may write rows
- ``python`` reads Python models
- ``audience`` says which models of the product are for administrators
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.adapters.spark import SparkAdapter


def find_leaks(adapter: SparkAdapter, config: dict[str, Any]) -> list[list[str]]:
    """Return the leaks of the project: each has model, rule, dataset, path and problem.

    `config` is the document of secure_datasets_config().
    """
    # dbt loads this module for every command, and the parser is slow to load.
    from secure_datasets.leaks.graph import leaks_of_project

    return leaks_of_project(adapter, config)
