"""Profiles of this type, and why no connection is opened for them."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.contracts.connection import Connection
from dbt.adapters.databricks.connections import DatabricksConnectionManager
from dbt.adapters.databricks.credentials import DatabricksCredentials
from dbt_common.exceptions import DbtRuntimeError

TYPE = "secure_databricks"
NOT_OFFERED = (
    "Publishing on Databricks was never tried and is not offered, so type:"
    f" {TYPE} opens no connection: it parses, lists and compiles, `dbt compile"
    " --no-populate-cache --no-introspect` (docs/deployments.md)."
)


class NotOffered(DbtRuntimeError):
    """What a command would ask of Databricks; nothing was sent there."""

    def __init__(self) -> None:
        super().__init__(NOT_OFFERED)


@dataclass
class SecureDatabricksCredentials(DatabricksCredentials):
    """An output of profiles.yml: that of dbt-databricks."""

    @property
    def type(self) -> str:
        """The type that a profile names."""
        return TYPE


class SecureDatabricksConnectionManager(DatabricksConnectionManager):
    """Opens no connection, so that no command can publish rows without their rights."""

    TYPE = TYPE
    # A connection of type `databricks` in this process sets that of its own class, and
    # with one dbt-databricks would ask a cluster for its version.
    credentials_manager = None

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Raise: every statement asks for a connection first."""
        raise NotOffered
