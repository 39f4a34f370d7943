"""The published state of the sample says what readers see."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from dbt_secure_spark import published_state
from dbt_secure_spark.published_state import BUILDING, STATE
from dbt_secure_spark.versions import versions_read


def of_the_sample(spark) -> tuple[Path, dict]:
    """Return the folder of the sample's state, and the state."""
    (row,) = (
        spark.sql("describe schema secure_datasets_versions")
        .where("info_name = 'Location'")
        .collect()
    )
    folder = published_state.local_path(row.info_value)
    return folder, json.loads((folder / STATE).read_text(encoding="utf-8"))


@pytest.mark.spark
def test_the_state_says_what_readers_see(spark, dbt, built):
    """Each view by its text, each version by its rows; after a partial run, too."""
    assert built.success
    for again in (False, True):
        if again:
            before = of_the_sample(spark)[1]
            assert dbt("run", "--full-refresh", "-s", "stg_jobs").success
        folder, state = of_the_sample(spark)
        assert not (folder / BUILDING).exists()
        for schema in ("secure_datasets", "repository_sample"):
            for row in spark.sql(f"show table extended in {schema} like '*'").collect():
                if row.isTemporary:
                    continue
                relation = state["relations"][f"{schema}.{row.tableName}"]
                assert relation["reads"] == versions_read(row.information)
                if relation["reads"]:
                    assert "spark_catalog." in row.information
                text = row.information.replace("spark_catalog.", "")
                assert f"View Text: {relation['query']}\n" in text
        assert state["documents"]["secure_datasets"]["config"]["datasets"]["jobs"]
    moved = {
        name
        for name, relation in state["relations"].items()
        if relation["reads"] != before["relations"][name]["reads"]
    }
    assert moved == {"secure_datasets.stg_jobs"}
    some = ("secure_datasets.stg_jobs", "secure_datasets.int_access_paths")
    for name in (*some, "repository_sample.users"):
        version = state["versions"][state["relations"][name]["version"]]
        place = published_state.local_path(version["location"])
        files = [str(place / name) for name, _ in version["files"]]
        with duckdb.connect() as engine:
            counted = engine.execute("select count(*) from read_parquet(?)", [files])
            assert counted.fetchall() == [(spark.table(name).count(),)]
        fields = spark.table(name).schema
        types = [[field.name, field.dataType.simpleString()] for field in fields]
        assert version["columns"] == types
