"""One row per project and user who is a member of it.

Inputs:  int_access_paths.
Output:  project_id, user_id, access_type (User, Group, User and Group).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def project_access(paths: DataFrame) -> DataFrame:
    """Return the members of each project, and through what they are."""
    is_membership = (F.col("object_type") == "Project") & (
        F.col("permission_name") == "Project Member"
    )
    by_user = F.bool_or(F.col("path_kind") == "User")
    by_group = F.bool_or(F.col("path_kind") == "Group")
    access_type = (
        F.when(by_user & by_group, F.lit("User and Group"))
        .when(by_user, F.lit("User"))
        .when(by_group, F.lit("Group"))
    )
    # Paths are cut where another one to the same permission begins or ends.
    time = [name for name in ("holds_from", "holds_until") if name in paths.columns]
    return (
        paths.where(is_membership)
        # As the version is laid out; grouped there, they are not moved a second time.
        .repartition("user_id")
        .groupBy("object_id", "user_id", *time)
        .agg(access_type.alias("access_type"))
        .select(
            F.col("object_id").cast("bigint").alias("project_id"),
            F.col("user_id").cast("bigint"),
            F.col("access_type").cast("string"),
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
    return project_access(dbt.ref("int_access_paths"))
