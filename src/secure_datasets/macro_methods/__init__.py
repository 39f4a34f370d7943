"""The adapter method that gives macros the config's reader and planner.

``documents``  reads the documents of the config
``checks``     what is checked before a run
``printed``    rules by themselves, for engines, data tests and readers
``project``    all of it, in a dbt project
"""

from __future__ import annotations

from secure_datasets.config.errors import ConfigError
from secure_datasets.macro_methods.project import (
    ProjectDatasets,
    SecureDatasets,
    models_of,
    refuse_grants,
    secure_datasets,
)

__all__ = [
    "ConfigError",
    "ProjectDatasets",
    "SecureDatasets",
    "models_of",
    "refuse_grants",
    "secure_datasets",
]
