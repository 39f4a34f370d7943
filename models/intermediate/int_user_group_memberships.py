"""One row per live user and group whose rights the user holds, at any depth.

Inputs:  stg_users, stg_user_group_members, int_user_group_ancestors.
Output:  user_id, user_group_id, depth (0: a member of the group itself; otherwise how
         far the group lies above the nearest one that the user is a member of).

Where members are in groups for a time, it has a row for each time, with holds_from and
holds_until beside: at any moment one row at most holds.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# Of rows that hold for a time, beside their other columns.
TIME = ["holds_from", "holds_until"]


def in_pieces(rows: DataFrame, keys: list[str]) -> DataFrame:
    """Cut the times of rows where another row of the same keys begins or ends."""
    ends = rows.select(*keys, F.explode(F.array(*TIME)).alias("ends")).distinct()
    pieces = (
        ends.withColumnRenamed("ends", "begins")
        .join(ends, on=keys, how="inner")
        .where(F.col("begins") < F.col("ends"))
        .groupBy(*keys, "begins")
        .agg(F.min("ends").alias("ends"))
    )
    holds = (F.col("holds_from") <= F.col("begins")) & (
        F.col("ends") <= F.col("holds_until")
    )
    return (
        rows.join(pieces, on=keys, how="inner")
        .where(holds)
        .drop(*TIME)
        .withColumnRenamed("begins", "holds_from")
        .withColumnRenamed("ends", "holds_until")
    )


def user_group_memberships(
    users: DataFrame, members: DataFrame, ancestors: DataFrame
) -> DataFrame:
    """Return the effective memberships, each once however many ways lead to it."""
    live_users = users.where(F.col("is_live")).select("user_id")
    time = [name for name in TIME if name in members.columns]
    live_members = members.where(F.col("is_live")).select(
        "user_id", "user_group_id", *time
    )
    held = live_members.join(live_users, on="user_id", how="inner").join(
        ancestors, on="user_group_id", how="inner"
    )
    if time:
        held = in_pieces(held, ["user_id", "ancestor_user_group_id"])
    return (
        held.groupBy("user_id", "ancestor_user_group_id", *time)
        .agg(F.min("depth").alias("depth"))
        .select(
            F.col("user_id").cast("bigint"),
            F.col("ancestor_user_group_id").cast("bigint").alias("user_group_id"),
            F.col("depth").cast("int"),
            *time,
        )
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(materialized="published_view", in_time=True)
    return user_group_memberships(
        dbt.ref("stg_users"),
        dbt.ref("stg_user_group_members"),
        dbt.ref("int_user_group_ancestors"),
    )
