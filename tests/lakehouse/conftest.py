"""The sample built from Parquet, which tables of Iceberg are held against."""

from __future__ import annotations

import pytest
from lakehouse import Lakehouse


@pytest.fixture(scope="session")
def of_parquet(tmp_path_factory) -> tuple[Lakehouse, dict[str, list]]:
    """A lakehouse in which the sample is built from Parquet, and its rows."""
    lakehouse = Lakehouse(tmp_path_factory.mktemp("lakehouse") / "product")
    code, printed = lakehouse.dbt("seed")
    assert code == 0, printed[-4000:]
    lakehouse.run(raw_schema="repository_sample")
    return lakehouse, lakehouse.rows()
