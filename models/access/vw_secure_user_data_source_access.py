"""One row per data source and user who may view its metadata.

Inputs:  int_access_paths.
Output:  meta_data_source_id, user_id, access_type (the kind of path, or Multiple).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# A bit for each kind: two groups are one kind, and an `or` of bits costs less than
# counting distinct names.
ACCESS_TYPES = {
    "User": "User - View Metadata",
    "Group": "Group - View Metadata",
    "Global Admin": "Global Admin",
    "Global Data Source Admin": "Global Data Source Admin",
    "Data Source Owner": "Data Source Owner",
}


def data_source_access(paths: DataFrame) -> DataFrame:
    """Return who may view which data source's metadata, and through what."""
    bits = {kind: 1 << place for place, kind in enumerate(ACCESS_TYPES)}
    bit = F.coalesce(
        *[F.when(F.col("path_kind") == kind, F.lit(bit)) for kind, bit in bits.items()]
    )
    access_type = F.coalesce(
        *[
            F.when(F.col("kinds") == bits[kind], F.lit(name))
            for kind, name in ACCESS_TYPES.items()
        ],
        F.lit("Multiple"),
    )
    is_view_metadata = (F.col("object_type") == "Data Source") & (
        F.col("permission_name") == "View Metadata"
    )
    # Paths are cut where another one to the same permission begins or ends.
    time = [name for name in ("holds_from", "holds_until") if name in paths.columns]
    return (
        paths.where(is_view_metadata)
        # As the version is laid out; grouped there, they are not moved a second time.
        .repartition("user_id")
        .groupBy("object_id", "user_id", *time)
        .agg(F.bit_or(bit).alias("kinds"))
        .select(
            F.col("object_id").cast("bigint").alias("meta_data_source_id"),
            F.col("user_id").cast("bigint"),
            access_type.cast("string").alias("access_type"),
            *time,
        )
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(
        materialized="published_view",
        cluster_by=["user_id"],
        statistics=["user_id"],
        in_time=True,
    )
    return data_source_access(dbt.ref("int_access_paths"))
