"""dbt-spark with Python models in the session, text-safe seeds and published views.

The type of a profile's output is ``secure_spark``; all else is as for dbt-spark. See
``dbt/include/secure_spark/README.md`` for its additions.
"""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.secure_spark.connections import SecureSparkCredentials
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from dbt.include import secure_spark

Plugin = AdapterPlugin(
    adapter=SecureSparkAdapter,
    credentials=SecureSparkCredentials,
    include_path=secure_spark.PACKAGE_PATH,
    dependencies=["spark"],
)
