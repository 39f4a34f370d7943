"""One row per data source, project and user who may view its test results there.

Inputs:  int_access_paths, stg_project_data_sources, vw_secure_user_project_access.
Output:  meta_data_source_id, project_id, user_id.

Three things must hold: the data source is actively linked to the project, the user is a
member of the project, and the user holds View Test Results on the data source.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def results_access(
    paths: DataFrame, project_data_sources: DataFrame, project_access: DataFrame
) -> DataFrame:
    """Return who may view the test results of which data source in which project."""
    is_view_results = (F.col("object_type") == "Data Source") & (
        F.col("permission_name") == "View Test Results"
    )
    viewers = paths.where(is_view_results).select(
        F.col("object_id").alias("meta_data_source_id"), "user_id"
    )
    links = (
        project_data_sources.where(F.col("is_live"))
        .select("project_id", "meta_data_source_id")
        # Nothing keeps the application from linking the same pair twice.
        .distinct()
    )
    return (
        project_access.select("project_id", "user_id")
        .join(links, on="project_id", how="inner")
        # A user may come to the permission in several ways, and has it once.
        .join(viewers, on=["meta_data_source_id", "user_id"], how="left_semi")
        .select(
            F.col("meta_data_source_id").cast("bigint"),
            F.col("project_id").cast("bigint"),
            F.col("user_id").cast("bigint"),
        )
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(
        materialized="published_view", cluster_by=["user_id"], statistics=["user_id"]
    )
    return results_access(
        dbt.ref("int_access_paths"),
        dbt.ref("stg_project_data_sources"),
        dbt.ref("vw_secure_user_project_access"),
    )
