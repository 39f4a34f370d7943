"""dbt-databricks with what the product's macros ask, for parsing and compiling.

The type of a profile's output is ``secure_databricks``; all else is as for
dbt-databricks, which has to be installed beside it. No connection is opened. What is
known of Databricks is told in ``docs/deployments.md``.
"""

from dbt.adapters.base import AdapterPlugin
from dbt.include import secure_spark
from dbt_common.exceptions import DbtRuntimeError

try:
    import dbt.adapters.databricks  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "dbt.adapters.databricks":
        raise
    raise DbtRuntimeError(
        "type: secure_databricks needs dbt-databricks beside this project's Python"
        " part: pip install 'secure-datasets[databricks] @ <its path or Git address>'"
        " (docs/deployments.md)."
    ) from missing

from dbt.adapters.secure_databricks.connections import SecureDatabricksCredentials
from dbt.adapters.secure_databricks.impl import SecureDatabricksAdapter

# `secure_spark`, whose macros these are, is not among the dependencies: it depends on
# `spark` as `databricks` does, and dbt stops where it finds a package twice.
Plugin = AdapterPlugin(
    adapter=SecureDatabricksAdapter,
    credentials=SecureDatabricksCredentials,
    include_path=secure_spark.PACKAGE_PATH,
    dependencies=["databricks"],
)
