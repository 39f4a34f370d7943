"""Names of relations, as ``secure_spark`` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.base.relation import Policy
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.databricks.relation import DatabricksRelation
from dbt.adapters.spark.relation import SparkIncludePolicy, SparkQuotePolicy
from dbt_common.exceptions import DbtRuntimeError


@dataclass(frozen=True, eq=False, repr=False)
class SecureDatabricksRelation(DatabricksRelation):
    """A relation, called by schema and name without backticks.

    Versions are found and leaks are proven by such names. Their catalog is that of the
    profile, which dbt-databricks makes the one of its connections.
    """

    quote_policy: Policy = field(default_factory=SparkQuotePolicy)
    include_policy: Policy = field(default_factory=SparkIncludePolicy)

    @classmethod
    def create_from(
        cls, quoting: Any, relation_config: RelationConfig, **kwargs: Any
    ) -> SecureDatabricksRelation:
        """Make a node's or source's relation; raise if it is in another catalog.

        quoting  while dbt parses: its config, with the profile's credentials; of a
                 source that is rendered: only what is quoted
        """
        if credentials := getattr(quoting, "credentials", None):
            own, catalog = relation_config.database, credentials.database
            if own and own.lower() != catalog.lower():
                raise DbtRuntimeError(
                    f"{relation_config.schema}.{relation_config.identifier} is in the"
                    f" catalog {own}, and the profile's is {catalog}: type:"
                    " secure_databricks writes names without their catalog, so that"
                    " all must be in that of the profile (docs/deployments.md)."
                )
        return super().create_from(quoting, relation_config, **kwargs)
