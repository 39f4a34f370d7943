"""The dbt plugin: adds ``submission_method: session`` and publishing to dbt-spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark import session as dbt_session
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt.plugins.manager import dbtPlugin

from dbt_spark_session import leaks, publishing, settings
from dbt_spark_session.session import CheckedConnection, disk_told
from dbt_spark_session.submission import SessionPythonJobHelper
from secure_config import adapter as config

METHOD = "session"


def add_submission_method(adapter: type[SparkAdapter]) -> None:
    """Offer the method, unless the adapter brings one of that name itself."""
    brought = adapter.python_submission_helpers

    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        return {METHOD: SessionPythonJobHelper, **brought.fget(self)}

    adapter.python_submission_helpers = property(python_submission_helpers)


def add_adapter_methods(adapter: type[SparkAdapter]) -> None:
    """Let macros call what needs more than SQL, as methods of `adapter`."""
    modules = (leaks, publishing, settings, config)
    methods = [method for module in modules for method in module.ADAPTER_METHODS]
    for method in methods:
        setattr(adapter, method.__name__, method)
    names = {method.__name__ for method in methods}
    adapter._available_ = adapter._available_ | names


def tell_of_servers_disks(manager: type[SparkConnectionManager]) -> None:
    """Let a failure that a server tells, whose reason is a disk, be one sentence."""
    told_by_dbt = manager.exception_handler

    @contextmanager
    def exception_handler(self: SparkConnectionManager, sql: str) -> Iterator[None]:
        if self.profile.credentials.method == "session":
            # Its cursor has told of them, with their folders.
            with told_by_dbt(self, sql):
                yield
            return
        # The disks are the server's: what it says is all that is known here.
        with disk_told({"spark.remote": "a server"}), told_by_dbt(self, sql):
            yield

    manager.exception_handler = exception_handler


class SparkSessionPlugin(dbtPlugin):
    """Loaded by dbt at the start of every command; needs no Java and no session."""

    _added = False

    def initialize(self) -> None:
        """Add the methods and what tells of disks, once a process."""
        if SparkSessionPlugin._added:
            return
        add_submission_method(SparkAdapter)
        add_adapter_methods(SparkAdapter)
        dbt_session.Connection = CheckedConnection
        tell_of_servers_disks(SparkConnectionManager)
        SparkSessionPlugin._added = True
