"""The version that was installed; the one place of it is dbt_project.yml."""

from importlib.metadata import version as version_of

version = version_of("secure-datasets")
