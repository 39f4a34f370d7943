"""Define profiles of this type, and the connections that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkConnectionManager, SparkCredentials
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.adapters.spark.session import SessionConnectionWrapper

from dbt_secure_spark.queries import in_catalog_of_versions
from dbt_secure_spark.session import (
    OF_VIEWS,
    CheckedConnection,
    disk_told,
)

if TYPE_CHECKING:
    import agate

TYPE = "secure_spark"
logger = AdapterLogger("Spark")


@dataclass
class SecureSparkCredentials(SparkCredentials):
    """An output of profiles.yml, as for dbt-spark, with any of its methods.

    versions_catalog  the catalog of the versions, whose tables are Iceberg's; None for
                      the catalog of the views
    """

    versions_catalog: str | None = None

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        """Let an output leave out the host that its method does not use."""
        data = super().__pre_deserialize__(data)
        if data.get("method") == SparkConnectionMethod.SESSION:
            data.setdefault("host", "unused")
        return data

    @property
    def type(self) -> str:
        """Return the type that a profile names."""
        return TYPE

    def _connection_keys(self) -> tuple[str, ...]:
        """Return the keys that `dbt debug` prints; a change makes dbt parse anew."""
        return ("method", "versions_catalog", *super()._connection_keys())


class SecureSparkConnectionManager(SparkConnectionManager):
    """Opens a checked session, and fails with a clear error on a full disk."""

    TYPE = TYPE

    # Called with each statement before it is sent; an exception stops it.
    before_statement: Callable[[str], None] | None = None

    def add_query(
        self,
        sql: str,
        auto_begin: bool = True,
        bindings: Any = None,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """Send a statement: all of dbt's statements pass through here."""
        if self.before_statement:
            # The engine gets the bindings as parts of the statement.
            texts = [text for text in bindings or () if isinstance(text, str)]
            self.before_statement("\n".join([sql, *texts]))
        sql = self.with_catalog_of_versions(sql)
        return super().add_query(sql, auto_begin, bindings, *arguments, **options)

    def with_catalog_of_versions(self, sql: str) -> str:
        """Name the versions' catalog in a statement: no caller names it."""
        catalog = self.profile.credentials.versions_catalog
        return in_catalog_of_versions(sql, catalog) if catalog else sql

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection; a session that does not start fails with a clear error."""
        credentials = connection.credentials
        is_open = connection.state == ConnectionState.OPEN
        # With Thrift, a separate statement would delay each connection, so the settings
        # come with it, and are set again where a view is made. A session's parameters
        # are set before each statement.
        if credentials.method == SparkConnectionMethod.THRIFT:
            credentials.server_side_parameters |= {
                f"set:hiveconf:{name}": value for name, value in OF_VIEWS.items()
            }
        elif credentials.method == SparkConnectionMethod.SESSION:
            credentials.server_side_parameters |= OF_VIEWS
        if is_open or credentials.method != SparkConnectionMethod.SESSION:
            return super().open(connection)

        def connect() -> SessionConnectionWrapper:
            parameters = credentials.server_side_parameters
            return SessionConnectionWrapper(
                CheckedConnection(server_side_parameters=parameters)
            )

        return cls.retry_connection(
            connection,
            connect,
            logger,
            retryable_exceptions=[Exception] if credentials.retry_all else [],
            retry_limit=credentials.connect_retries,
            retry_timeout=credentials.connect_timeout,
        )

    @classmethod
    def get_result_from_cursor(cls, cursor: Any, limit: int | None) -> agate.Table:
        """Return the rows of a statement, as a table that is printed whole."""
        # Loading agate takes time, and dbt parses without it.
        from dbt_secure_spark.tables import whole_table

        return whole_table(super().get_result_from_cursor(cursor, limit))

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Report a failed statement."""
        if self.profile.credentials.method == SparkConnectionMethod.SESSION:
            # The session's cursor has reported full disks, with their folders.
            with super().exception_handler(sql):
                yield
            return
        # The disks are the server's: only its message is known here.
        with disk_told({"spark.remote": "a server"}), super().exception_handler(sql):
            yield
