"""One row per live user and group whose rights the user holds, at any depth.

Inputs:  stg_users, stg_user_group_members, int_user_group_ancestors.
Output:  user_id, user_group_id, depth (0: a member of the group itself; otherwise how
         far the group lies above the nearest one that the user is a member of).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def user_group_memberships(
    users: DataFrame, members: DataFrame, ancestors: DataFrame
) -> DataFrame:
    """Return the effective memberships, each once however many ways lead to it."""
    live_users = users.where(F.col("is_live")).select("user_id")
    live_members = members.where(F.col("is_live")).select("user_id", "user_group_id")
    return (
        live_members.join(live_users, on="user_id", how="inner")
        .join(ancestors, on="user_group_id", how="inner")
        .groupBy("user_id", "ancestor_user_group_id")
        .agg(F.min("depth").alias("depth"))
        .select(
            F.col("user_id").cast("bigint"),
            F.col("ancestor_user_group_id").cast("bigint").alias("user_group_id"),
            F.col("depth").cast("int"),
        )
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(materialized="published_view")
    return user_group_memberships(
        dbt.ref("stg_users"),
        dbt.ref("stg_user_group_members"),
        dbt.ref("int_user_group_ancestors"),
    )
