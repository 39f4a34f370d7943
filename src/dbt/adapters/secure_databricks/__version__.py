"""The version that dbt shows: that of ``secure_spark``, of which this is a part."""

from dbt.adapters.secure_spark.__version__ import version

__all__ = ["version"]
