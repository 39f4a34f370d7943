"""One row per data source, project and user who may view its test results there.

Inputs:  int_access_paths, stg_project_data_sources, vw_secure_user_project_access.
Output:  meta_data_source_id, project_id, user_id.

Three things must hold: the data source is actively linked to the project, the user is a
member of the project, and the user holds View Test Results on the data source.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

KEYS = ["meta_data_source_id", "project_id", "user_id"]
# Of rows that hold for a time, beside their other columns.
TIME = ["holds_from", "holds_until"]
ALWAYS = ["0001-01-01 00:00:00Z", "9999-12-31 23:59:59.999999Z"]


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


def with_time(*inputs: DataFrame) -> list[DataFrame]:
    """Return inputs with a time each, where one of them has rows that hold for one."""
    if not any(TIME[0] in rows.columns for rows in inputs):
        return list(inputs)
    return [
        rows
        if TIME[0] in rows.columns
        else rows.withColumn(TIME[0], F.lit(ALWAYS[0]).cast("timestamp")).withColumn(
            TIME[1], F.lit(ALWAYS[1]).cast("timestamp")
        )
        for rows in inputs
    ]


def results_access(
    paths: DataFrame, project_data_sources: DataFrame, project_access: DataFrame
) -> DataFrame:
    """Return who may view the test results of which data source in which project."""
    is_view_results = (F.col("object_type") == "Data Source") & (
        F.col("permission_name") == "View Test Results"
    )
    paths, project_data_sources, project_access = with_time(
        paths, project_data_sources, project_access
    )
    time = [name for name in TIME if name in paths.columns]
    viewers = paths.where(is_view_results).select(
        F.col("object_id").alias("meta_data_source_id"), "user_id", *time
    )
    links = (
        project_data_sources.where(F.col("is_live"))
        .select("project_id", "meta_data_source_id", *time)
        # Nothing keeps the application from linking the same pair twice.
        .distinct()
    )
    members = project_access.select("project_id", "user_id", *time)
    if time:
        return while_all_hold(members, links, viewers)
    return (
        members.join(links, on="project_id", how="inner")
        # A user may come to the permission in several ways, and has it once.
        .join(viewers, on=["meta_data_source_id", "user_id"], how="left_semi")
        .select(*(F.col(key).cast("bigint") for key in KEYS))
    )


def while_all_hold(
    members: DataFrame, links: DataFrame, viewers: DataFrame
) -> DataFrame:
    """Return the access while membership, link and permission hold, in pieces."""
    links = in_pieces(links, ["project_id", "meta_data_source_id"]).distinct()
    for name in TIME:
        members = members.withColumnRenamed(name, f"member_{name}")
        links = links.withColumnRenamed(name, f"link_{name}")
    every = [[f"{of}{name}" for of in ("", "member_", "link_")] for name in TIME]
    return (
        members.join(links, on="project_id", how="inner")
        # A user may come to the permission in several ways, and has it once.
        .join(viewers.distinct(), on=["meta_data_source_id", "user_id"], how="inner")
        .select(
            *(F.col(key).cast("bigint") for key in KEYS),
            F.greatest(*every[0]).alias("holds_from"),
            F.least(*every[1]).alias("holds_until"),
        )
        .where(F.col("holds_from") < F.col("holds_until"))
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(
        materialized="published_view",
        cluster_by=["user_id"],
        statistics=["user_id"],
        in_time=True,
    )
    return results_access(
        dbt.ref("int_access_paths"),
        dbt.ref("stg_project_data_sources"),
        dbt.ref("vw_secure_user_project_access"),
    )
