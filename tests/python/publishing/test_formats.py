"""What formats of tables differ in; no test makes a table of Delta's."""

from __future__ import annotations

from types import SimpleNamespace

import jinja2
import pytest
from dbt_common.exceptions import DbtRuntimeError
from metastore_double import RememberedMetastore
from rendering import ROOT

from dbt_secure_spark import layout
from dbt_secure_spark.formats import FORMATS, format_of

MACRO = ROOT / "src/dbt/include/secure_spark/macros/publish_rows.sql"
VERSION = "s_versions.a__v20260101000000_0123abcd"
ANALYZED = f"analyze table {VERSION} compute statistics for columns user_id, b"
CALLED = (
    f"call lake.system.compute_table_stats(table => 'lake.{VERSION}',"
    " columns => array('user_id', 'B'))"
)


class Publishing:
    """The macro that publishes a version with statistics, over a metastore."""

    def __init__(self, file_format: str | None, method: str) -> None:
        self.adapter, self.failure, self.sent = RememberedMetastore(), None, []
        credentials = self.adapter.config.credentials
        is_databricks = method in ("http", "odbc")
        credentials.method = method
        credentials.versions_catalog = None if is_databricks else "lake"
        self.adapter.execute = self.execute
        self.config = {"statistics": ["user_id", "b"], "file_format": file_format}

    def execute(self, statement: str, fetch: bool = False):
        """Note a statement, or fail; return the columns of a table."""
        if statement == f"describe table {VERSION}":
            rows = [("user_id", "bigint", None), ("B", "string", None)]
            return None, SimpleNamespace(rows=rows)
        if self.failure:
            raise DbtRuntimeError(self.failure)
        return self.sent.append(statement), None

    def run(self, kept: str | None = None) -> list[str]:
        """Publish; return the statements that were sent."""

        def quiet(*_, **__) -> str:
            return ""

        def count_values(*given) -> None:
            layout.count_values(self.adapter, *given)

        names = ("record_version", "check_lock", "note_files")
        environment = jinja2.Environment(extensions=["jinja2.ext.do"])
        environment.globals |= dict.fromkeys(
            ("publish_version", "apply_grants", "run_hooks"), quiet
        )
        environment.globals |= {"config": self.config, "model": {}, "graph": {}}
        environment.globals["adapter"] = SimpleNamespace(
            count_values=count_values, **dict.fromkeys(names, quiet)
        )
        text = MACRO.read_text() + "{{ publish_rows(begun) }}"
        begun = {"version": VERSION, "kept": kept}
        environment.from_string(text).render(begun=begun)
        return self.sent


@pytest.mark.parametrize(
    ("file_format", "method", "expected"),
    [
        ("parquet", "session", [ANALYZED]),
        (None, "thrift", [ANALYZED]),
        ("iceberg", "session", [CALLED]),
        ("Iceberg", "thrift", [CALLED]),
        ("iceberg", "http", []),
        ("delta", "session", []),
        ("DELTA", "thrift", []),
        ("delta", "http", [ANALYZED]),
        ("delta", "odbc", [ANALYZED]),
    ],
)
def test_values_are_counted_as_the_format_bears_it(file_format, method, expected):
    assert Publishing(file_format, method).run() == expected
    # Those of a version that stays were counted when it was written.
    assert Publishing(file_format, method).run(kept=VERSION) == []


@pytest.mark.parametrize(
    "told",
    [
        "Procedure lake.system.compute_table_stats not found",
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'call'. SQLSTATE: 42601",
    ],
)
def test_an_iceberg_that_counts_no_values_is_a_warning(told, monkeypatch):
    warned = []
    monkeypatch.setattr(layout.logger, "warning", warned.append)
    publishing = Publishing("iceberg", "session")
    publishing.failure = told
    assert publishing.run() == publishing.run() == []
    (warning,) = warned
    assert warning.startswith(f"The values of {VERSION} and of later versions")
    assert warning.endswith(told)


@pytest.mark.parametrize("file_format", ["iceberg", "parquet"])
@pytest.mark.parametrize(
    "told", ["Connection refused", "An error occurred\nProcedure: 404, not found"]
)
def test_other_failures_end_the_model(file_format, told):
    publishing = Publishing(file_format, "session")
    publishing.failure = told
    with pytest.raises(DbtRuntimeError):
        publishing.run()


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
