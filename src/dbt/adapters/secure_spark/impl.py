"""The adapter: its interface to dbt, and the methods that macros call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.__about__ import version as base_version
from dbt.adapters.base import AdapterConfig, PythonJobHelper, available
from dbt.adapters.base.impl import AdapterTrackingRelationInfo
from dbt.adapters.contracts.connection import Connection
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.secure_spark.__version__ import version
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.impl import SparkConfig
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark import (
    added,
    after_tests,
    appended,
    beginning,
    catalogs,
    hooks,
    layout,
    left_behind,
    macros,
    narrowing,
    one_state,
    raw_tables,
    run,
    seeds,
    settings,
    settings_of_views,
    switching,
    unchanged,
    versions,
)
from dbt_secure_spark.published_state import plain
from dbt_secure_spark.submission import SessionPythonJobHelper

SESSION = "session"


@dataclass
class PublishingConfig(AdapterConfig):
    """The keys of a node's config for publishing, beside the engine's keys."""

    submission_method: str | None = None
    cluster_by: list[str] | None = None
    statistics: list[str] | None = None
    folders: int | str | None = None
    folders_by: dict[str, str] | None = None
    keep_unchanged: bool = False
    in_time: bool | str | None = None
    versions_to_keep: int = 2
    inline_views: bool = False
    reads_latest: bool = False
    narrowing: dict[str, Any] | None = None
    text_digest: str | None = None


@dataclass
class SecureSparkConfig(PublishingConfig, SparkConfig):
    """The keys of a node's config, with dbt-spark's."""


class SecureSparkAdapter(added.added_methods(), SparkAdapter):
    """dbt-spark's adapter, with the methods that macros need beyond SQL.

    Further packages add methods for their macros by entry points.

    A method that macros call is really called while dbt parses.
    """

    ConnectionManager = SecureSparkConnectionManager
    AdapterSpecificConfigs = SecureSparkConfig

    # One run at a time, and what it publishes
    begin_run = available(hooks.begin_run)
    hold_run = available(hooks.hold_run)
    note_raw_schema = available(hooks.note_raw_schema)
    check_raw_schema = available(hooks.check_raw_schema)
    end_run = available(hooks.end_run)
    note_document = available(hooks.note_document)
    check_lock = available(switching.check_lock)
    comment = available(versions.comment)
    check_session = available(hooks.check_session)
    seed_text = available(seeds.seed_text)
    check_file_formats = available(catalogs.check_file_formats)
    begin_switch = available(switching.begin_switch)
    properties_to_set = available(switching.properties_to_set)
    contract_of = available(unchanged.contract_of)
    fits_contract = available(switching.fits_contract)
    note_switch = available(switching.note_switch)
    set_for_views = available(settings_of_views.set_for_views)
    views_left_behind = available(left_behind.views_left_behind)
    query_of_view = available(narrowing.query_of_view)
    check_what_is_stored = available(after_tests.check_what_is_stored)
    rows_to_test = available(after_tests.rows_to_test)
    switch_tested = available(after_tests.switch_tested)
    note_rules = available(run.note_rules)
    in_its_catalog = available(catalogs.in_its_catalog)
    with_catalog = available(catalogs.with_catalog)
    table_of = available(catalogs.table_of)
    versions_before = available(one_state.versions_before)
    version_before = available(one_state.version_before)
    record_version = available(switching.record_version)
    whole_versions = available(one_state.whole_versions)
    begin_version = available(beginning.begin_version)
    count_values = available(layout.count_values)
    note_files = available(unchanged.note_files)
    note_key = available(appended.note_key)
    # The published state and its inputs
    definition_of = available(switching.definition_of)
    definitions = available(versions.definitions)
    text_of_view = available(catalogs.text_of_view)
    shows_public_rows = available(one_state.shows_public_rows)
    read_by = available(one_state.read_by)
    views_without_model = available(hooks.views_without_model)
    raw_tables_of = available(hooks.raw_tables_of)
    changed_raw_tables = available(hooks.changed_raw_tables)
    raw_columns = available(raw_tables.raw_columns)
    raw_rows_as_of = available(raw_tables.raw_rows_as_of)
    raw_snapshots = available(raw_tables.raw_snapshots)
    made_since = available(hooks.made_since)
    # The project's settings and macros
    names_of_vars = available(settings.names_of_vars)
    check_macros = available(macros.check_macros)
    macros_of = available(macros.macros_of)
    files_of_macros = available(macros.files_of_macros)
    check_vars = available(settings.check_vars)
    check_spelling_of_vars = available(settings.check_spelling_of_vars)
    schema_name = available(settings.schema_name)
    as_of_text = available(settings.as_of_text)
    check_as_of = available(settings.check_as_of)
    dbt_flag = available(settings.dbt_flag)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.connections.before_statement = partial(added.check_statement, self)

    def execute(self, *arguments: Any, **options: Any) -> Any:
        """Execute a statement; a failure from a lost lock gets a clear error."""
        try:
            return super().execute(*arguments, **options)
        except DbtRuntimeError as failure:
            switching.tell_of_lost_lock(self, failure)
            raise

    @available
    def run_sql_for_tests(self, sql: str, fetch: str, conn: Connection) -> Any:
        """Send a test's statement by a connection, checked like all statements."""
        added.check_statement(self, sql)
        sql = self.connections.with_catalog_of_versions(sql)
        return super().run_sql_for_tests(sql, fetch, conn)

    def cleanup_connections(self) -> None:
        """Close a command's connections, and leave a run that did not end."""
        hooks.leave_run(self)
        super().cleanup_connections()

    @available
    def product_version(self) -> str:
        """Return the version of the product, which is the adapter's, too."""
        return version

    @available
    def write_result(self, name: str, text: str) -> None:
        """Write a file beside dbt's own results."""
        folder = Path(self.config.project_root) / self.config.target_path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    @available
    def write_document(self, name: str, document: Any) -> None:
        """Write a macro's document as a file of JSON beside dbt's own results."""
        self.write_result(name, json.dumps(plain(document), ensure_ascii=False))

    @property
    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        """Return the ways to run a Python model: dbt-spark's, and the session."""
        return {**super().python_submission_helpers, SESSION: SessionPythonJobHelper}

    @property
    def default_python_submission_method(self) -> str:
        """Return the default submission method: the session if no cluster is set."""
        if self.config.credentials.cluster:
            return super().default_python_submission_method
        return SESSION

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> Any:
        """Return the adapter and versions that built a relation.

        dbt would look for the version in a module with this class's name.
        """
        return AdapterTrackingRelationInfo(
            adapter_name=cls.type(),
            base_adapter_version=base_version,
            adapter_version=version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )
