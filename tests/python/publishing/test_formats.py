"""Formats of tables that no test can make here: Delta is as others describe it."""

from __future__ import annotations

from types import SimpleNamespace

import jinja2
import pytest
from metastore_double import RememberedMetastore
from rendering import ROOT

from dbt_secure_spark import catalogs
from dbt_secure_spark.formats import FORMATS, format_of

MACRO = ROOT / "src/dbt/include/secure_spark/macros/publish_rows.sql"
VERSION = "s_versions.a__v20260101000000_0123abcd"


def sent_on_publishing(file_format: str | None, method: str) -> list[str]:
    """Return the statements that a new version with statistics is published with."""
    adapter, sent = RememberedMetastore(), []
    adapter.config.credentials.method = method
    config = {"statistics": ["user_id"], "file_format": file_format}
    quiet = dict.fromkeys(("record_version", "note_made_of"), lambda *_: None)
    counts_values = lambda name: catalogs.counts_values(adapter, name)  # noqa: E731
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    environment.globals |= {
        **dict.fromkeys(("publish_version", "apply_grants"), lambda *_, **__: ""),
        **{"run_hooks": lambda _: "", "config": config, "model": {}, "graph": {}},
        "adapter": SimpleNamespace(counts_values=counts_values, **quiet),
        "statement": lambda _, caller: sent.append(" ".join(caller().split())) or "",
    }
    begun = {"version": VERSION, "kept": None}
    text = MACRO.read_text() + "{{ publish_rows(begun) }}"
    environment.from_string(text).render(begun=begun)
    return sent


@pytest.mark.parametrize(
    ("file_format", "method", "is_counted"),
    [
        ("parquet", "session", True),
        (None, "thrift", True),
        ("iceberg", "session", False),
        ("Iceberg", "http", False),
        ("delta", "session", False),
        ("DELTA", "thrift", False),
        ("delta", "http", True),
        ("delta", "odbc", True),
    ],
)
def test_values_are_counted_where_the_format_bears_it(file_format, method, is_counted):
    counted = f"analyze table {VERSION} compute statistics for columns user_id"
    assert sent_on_publishing(file_format, method) == [counted] * is_counted


def test_rows_of_delta_are_not_what_its_files_say():
    assert not format_of("delta").is_in_files
    # A later commit may replace files that stay in the folder.
    assert not format_of("Delta").is_listed
    assert {name for name in FORMATS if format_of(name).is_listed} == {
        "parquet",
        "iceberg",
    }
    # A view has no format, and nothing is known of one that is not listed here.
    for name in (None, "hive", "VIEW"):
        assert not format_of(name).is_in_files and not format_of(name).is_listed
