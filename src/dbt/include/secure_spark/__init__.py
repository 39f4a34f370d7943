"""The macros of the adapter, which dbt loads into every project that uses it."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
