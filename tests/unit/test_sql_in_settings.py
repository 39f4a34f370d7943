"""The SQL in the configuration of a node, which the leak detector judges too."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt.artifacts.resources import SeedConfig, SnapshotConfig
from dbt.contracts.graph.model_config import ModelConfig
from projects import ROOT

from secure_datasets.leaks import settings
from secure_datasets.leaks.settings import sql_in_config

OTHERS = "(select max(user_id) from s.jobs)"
KINDS = {"model": ModelConfig, "snapshot": SnapshotConfig, "seed": SeedConfig}


def found(kind: str, columns: tuple[str, ...] = (), **config) -> str | None:
    """Return what is found in the configuration of a node."""
    named = {
        name: SimpleNamespace(name=name.removeprefix("`"), quote=name.startswith("`"))
        for name in columns
    }
    node = SimpleNamespace(
        config=KINDS[kind].from_dict(config), resource_type=kind, columns=named
    )
    return sql_in_config(node, False)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("model", "event_time", f"coalesce(day, {OTHERS})"),
        ("model", "event_time", "day --"),
        ("model", "event_time", "max(day) over ()"),
        ("seed", "event_time", OTHERS),
        ("snapshot", "event_time", OTHERS),
        ("snapshot", "snapshot_meta_column_names", {"dbt_valid_to": f"a, {OTHERS}"}),
        ("snapshot", "snapshot_meta_column_names", {"dbt_scd_id": "User_Id"}),
        ("snapshot", "updated_at", OTHERS),
        ("seed", "column_types", {"id": f"bigint) + {OTHERS} + cast(1 as bigint"}),
        ("model", "partition_by", ["day) as select * from s.jobs where (true"]),
        ("model", "partition_by", f"bucket({OTHERS}, day)"),
        ("model", "file_format", "parquet as select * from s.jobs"),
        ("model", "location_root", "/a' as select * from s.jobs where '"),
        ("model", "options", {"a": 'b") as select * from s.jobs where (\'"'}),
        ("model", "options", {'a "b") as select * from s.jobs where ("': "c"}),
        ("model", "tblproperties", {"a": "b') as select * from s.jobs where ('"}),
        ("model", "tblproperties", {"a": "\\"}),
        ("model", "merge_update_columns", ["job_id = 1, job_id"]),
        ("model", "merge_exclude_columns", ["job_id = 1, job_id"]),
        ("model", "cluster_by", ["job_id limit 5"]),
        ("model", "incremental_predicates", ["a or b"]),
    ],
)
def test_Z4_sql_over_more_than_a_row_is_found(kind, name, value):
    assert found(kind, **{name: value}) == name


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("model", {}),
        ("model", {"event_time": "day", "cluster_by": ["a"], "file_format": "iceberg"}),
        ("model", {"event_time": "cast(day as timestamp)", "partition_by": "`a b`"}),
        ("model", {"partition_by": ["days(day)", "bucket(16, id)"]}),
        ("model", {"tblproperties": {"write.a-b": "x (y)"}, "options": {"a.b": "1"}}),
        ("model", {"location_root": "s3://bucket/folder", "merge_update_columns": "a"}),
        ("snapshot", {"snapshot_meta_column_names": {"dbt_valid_to": "until"}}),
        ("seed", {"column_types": {"a": "decimal(9, 4)", "b": "struct<c: int>"}}),
    ],
)
def test_Z4_settings_of_names_and_of_a_row_are_no_finding(kind, config):
    assert found(kind, **config) is None


def test_Z4_the_columns_of_a_contract_are_names():
    contract = {"enforced": True}
    assert found("model", ("job_id", "`a b"), contract=contract) is None
    assert found("model", (f"{OTHERS} as job_id",), contract=contract) == "columns"


# What a macro asks of the configuration, and writes into no statement that makes rows.
NO_SQL = {
    # These are one of several words, numbers, or switches.
    *("batch_size", "begin", "buckets", "contract", "delimiter", "full_refresh"),
    *("hard_deletes", "incremental_strategy", "lookback", "on_configuration_change"),
    *("on_schema_change", "persist_docs", "store_failures", "store_failures_as"),
    *("strategy", "versions_to_keep"),
    # Grants, statistics and indexes: statements of their own, without rows.
    *("grants", "indexes", "statistics"),
    # What dbt asks of the failures of a data test, and the rows of a unit test.
    *("error_if", "expected_rows", "expected_sql", "fail_calc", "limit", "warn_if"),
    # Part of a test's text, as `limit` and `where` are.
    "where",
    # Each function of dbt's is a finding, whatever it says.
    *("entry_point", "packages", "runtime_version", "volatility"),
    # The graph looks at these itself.
    *("sql_header", "unique_key"),
}


def test_Z4_each_setting_that_a_macro_reads_is_looked_at_or_harmless():
    of_dbt = Path(find_spec("dbt.adapters").submodule_search_locations[0]).parent
    folders = [
        *(of_dbt / "include" / name for name in ("global_project", "spark")),
        ROOT / "src/dbt/include/secure_spark",
    ]
    asked = {
        name
        for folder in folders
        for file in folder.rglob("*.sql")
        for name in re.findall(
            r"config\.(?:get|require)\(\s*['\"](\w+)['\"]", file.read_text()
        )
    }
    looked_at = {
        *settings.OF_NAMES,
        *(*settings.OF_PAIRS, *settings.CONDITIONS, *settings.OF_SNAPSHOTS),
        *(settings.ADDED_BY_SNAPSHOTS, "column_types", "event_time", "narrowing"),
    }
    assert len(asked) > 30
    assert asked - looked_at - NO_SQL == set()
