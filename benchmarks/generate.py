"""Generates raw tables of any size directly in Spark, as the loader delivers them.

Every column is text. Choices are made by hashing ids, so a world depends on its sizes
and nothing else. Groups nest below one all-hands group. The last of every hundred users
are in no group and hold nothing. Data sources, projects and groups belong to domains of
twenty data sources each, within which grants are given and projects are linked: whoever
works on a project mostly also sees its data.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Sizes:
    """How many of each; direct grants go to the first `grantees` users only.

    Who else is added holds what groups give: more users leave a user's rights as they
    are.
    """

    users: int = 50_000
    grantees: int = 40_000
    groups: int = 2_000
    data_sources: int = 2_000
    projects: int = 3_000
    admins: int = 20
    tables: int = 200_000
    columns: int = 2_000_000
    tests: int = 100_000
    executions: int = 5_000_000
    events: int = 500_000


def pick(number: int, *salt: object) -> Column:
    """Return an id from 1 to `number`, by a hash of the row's id and the salt."""
    return F.pmod(F.xxhash64("id", *map(F.lit, salt)), F.lit(number)) + 1


def linked_source(sizes: Sizes, project: Column, place: Column | int) -> Column:
    """Return the data source to which a project is linked at a place, from 0 to 3."""
    return within(sizes, sizes.data_sources, project, F.lit("link"), project, place)


def within(sizes: Sizes, number: int, neighbour: Column, *key: Column | int) -> Column:
    """Return an id up to `number` in the neighbour's domain, by a hash of the key."""
    domains = max(1, sizes.data_sources // 20)
    domain = F.pmod(neighbour - 1, F.lit(domains))
    hashed = F.pmod(F.xxhash64(*key), F.lit(number // domains))
    return hashed * domains + domain + 1


def moment(spread_days: int, *salt: object) -> Column:
    """Return a time in the days after the start of 2026, as text."""
    seconds = pick(spread_days * 86_400, "moment", *salt)
    at = F.timestamp_seconds(F.lit(1_767_225_600) + seconds)
    return F.date_format(at, "yyyy-MM-dd HH:mm:ss")


def one_of(names: list[str], *salt: object) -> Column:
    """Return one of the names, evenly."""
    return F.element_at(
        F.array(*map(F.lit, names)), pick(len(names), *salt).cast("int")
    )


def only_if(condition: Column, value: Column) -> Column:
    """Return the value where the condition holds, null elsewhere."""
    return F.when(condition, value)


def tables(sizes: Sizes) -> dict[str, tuple[int, dict[str, Column]]]:
    """Return, for each raw table, its number of rows and its own columns."""
    row = F.col("id")
    none = F.lit(None).cast("string")
    by_group = F.pmod(row, F.lit(4)) > 0
    # Two memberships each: of the all-hands group, and of another one.
    member = F.floor((row + 1) / 2)
    user = pick(sizes.grantees, "user")

    def holder(granted: Column) -> dict[str, Column]:
        # One grant in a thousand goes to all hands; the others to one user or group.
        is_for_all = F.pmod(row, F.lit(1000)) == 1
        group = within(sizes, sizes.groups, granted, F.lit("group"), row)
        return {
            "user_id": only_if(~by_group, user),
            "user_group_id": only_if(
                by_group, F.when(is_for_all, F.lit(1)).otherwise(group)
            ),
        }

    granted_source = F.pmod(row, F.lit(sizes.data_sources)) + 1
    granted_project = F.pmod(row, F.lit(sizes.projects)) + 1
    day = {"date_started": moment(200, "run"), "date_completed": moment(200, "run")}
    counts = {
        f"{name}_count": pick(100, name) for name in ("passed", "failed", "error")
    }

    def sides(test: Column) -> dict[str, Column]:
        # A test looks at data sources of its project, one in three at two of them.
        project = F.pmod(test, F.lit(sizes.projects)) + 1
        control = linked_source(sizes, project, F.pmod(F.xxhash64(test), F.lit(4)))
        return {
            "test_data_source_id": linked_source(
                sizes, project, F.pmod(test, F.lit(4))
            ),
            "control_data_source_id": only_if(F.pmod(test, F.lit(3)) == 0, control),
        }

    test = F.pmod(row, F.lit(sizes.tests)) + 1
    code = F.lit(23) + pick(3, "code")
    per_table = sizes.columns // sizes.tables
    return {
        "users": (
            sizes.users,
            {
                "login_name": F.concat(F.lit("user"), row),
                "first_name": F.lit("First"),
                "last_name": F.lit("Last"),
                "email": none,
                "time_zone": F.lit("UTC"),
                "date_last_login": moment(200),
            },
        ),
        "user_global_roles": (
            sizes.admins,
            {
                "user_id": row,
                "role_name": one_of(["Global.Admin", "Global.DataSourceAdmin"], "role"),
            },
        ),
        "user_groups": (
            sizes.groups,
            {
                "name": F.concat(F.lit("group "), row),
                # A heap: group n lies below group n / 8, so the tree is shallow.
                "parent_user_group_id": only_if(
                    row > 1, F.greatest(F.lit(1), F.floor(row / 8))
                ),
            },
        ),
        "user_group_members": (
            sizes.users // 100 * 99 * 2,
            {
                "user_group_id": F.when(F.pmod(row, F.lit(2)) == 1, 1).otherwise(
                    F.pmod(F.xxhash64(member), F.lit(sizes.groups)) + 1
                ),
                "user_id": member,
            },
        ),
        "meta_data_sources": (
            sizes.data_sources,
            {
                "name": F.concat(F.lit("source_"), row),
                "owner_user_id": user,
            },
        ),
        "data_source_permissions": (
            sizes.data_sources * 10,
            {
                "meta_data_source_id": granted_source,
                **holder(granted_source),
                "role_name": one_of(
                    ["Viewer", "ViewMetadata", "ViewTestResults"], "role"
                ),
            },
        ),
        "projects": (sizes.projects, {"name": F.concat(F.lit("project "), row)}),
        "project_permissions": (
            sizes.projects * 5,
            {
                "project_id": granted_project,
                **holder(granted_project),
                "role_name": none,
            },
        ),
        "project_data_sources": (
            sizes.projects * 4,
            {
                "project_id": granted_project,
                "meta_data_source_id": linked_source(
                    sizes, granted_project, F.floor((row - 1) / sizes.projects)
                ),
            },
        ),
        "reports": (100, {"name": none, "owner_user_id": user}),
        "report_permissions": (
            100,
            {
                "report_id": row,
                **holder(row),
                "role_name": F.lit("View"),
            },
        ),
        "meta_schemas": (
            sizes.data_sources * 4,
            {
                "meta_data_source_id": F.pmod(row, F.lit(sizes.data_sources)) + 1,
                "name": F.concat(F.lit("schema_"), row),
            },
        ),
        "meta_tables": (
            sizes.tables,
            {
                "meta_schema_id": F.pmod(row, F.lit(sizes.data_sources * 4)) + 1,
                "name": F.concat(F.lit("table_"), row),
                "table_type": F.lit("Table"),
                "trust_score": none,
                "quality_score": none,
                "coverage_score": none,
            },
        ),
        "meta_columns": (
            sizes.columns,
            {
                "meta_table_id": F.floor((row - 1) / per_table) + 1,
                "name": F.concat(F.lit("column_"), row),
                "data_type": F.lit("int"),
                "sequence": F.pmod(row, F.lit(per_table)),
            },
        ),
        "tests": (
            sizes.tests,
            {
                "project_id": granted_project,
                "name": F.concat(F.lit("test "), row),
                "test_type": F.lit("Standard"),
                **sides(row),
                "quality_dimension": F.lit("Accuracy"),
            },
        ),
        "jobs": (
            sizes.projects,
            {
                "project_id": row,
                "name": F.concat(F.lit("job "), row),
            },
        ),
        "job_executions": (
            sizes.projects * 20,
            {
                "job_id": pick(sizes.projects, "job"),
                "batch_id": row,
                **day,
                **counts,
            },
        ),
        "test_executions": (
            sizes.executions,
            {
                "test_id": test,
                "test_version_id": F.lit(1),
                "test_version_number": F.lit(1),
                "is_active_version": F.lit("true"),
                "job_step_execution_id": none,
                "batch_id": row,
                "code_test_evaluation_result_id": code,
                **day,
                **counts,
                "test_row_count": pick(1000, "t"),
                "control_row_count": pick(1000, "c"),
                "matched_row_count": pick(1000, "m"),
                "error_message": none,
                **sides(test),
            },
        ),
        "template_test_executions": (
            sizes.executions // 50,
            {
                "test_id": pick(sizes.tests, "test"),
                "batch_id": row,
                "code_test_evaluation_result_id": code,
                **day,
                "child_test_count": F.lit(3),
                "meta_data_source_id": pick(sizes.data_sources, "source"),
                "control_data_source_id": none,
            },
        ),
        "events": (
            sizes.events,
            {
                "context": one_of(
                    ["Project", "Data Source", "Project", "Global"], "context"
                ),
                "category": F.lit("Metadata"),
                "object_type": F.lit("Test"),
                "event_name": F.concat(F.lit("event "), row),
                "project_id": pick(sizes.projects, "project"),
                "meta_data_source_id": pick(sizes.data_sources, "source"),
                "actor_user_id": user,
                "event_date": moment(200),
            },
        ),
    }


def mappings(sizes: Sizes) -> dict[str, tuple[int, dict[str, Column]]]:
    """Return the mappings of the star: each domain is a business unit."""
    row = F.col("id")
    domains = max(1, sizes.data_sources // 20)
    unit = F.concat(F.lit("unit "), F.pmod(row - 1, F.lit(domains)))
    division = F.concat(F.lit("division "), F.pmod(row - 1, F.lit(domains)) % 5)
    return {
        "data_source_business_units": (
            sizes.data_sources,
            {"meta_data_source_id": row, "business_unit": unit, "division": division},
        ),
        "user_group_business_units": (
            sizes.groups,
            {"user_group_id": row, "business_unit": unit},
        ),
    }


def generate(spark: SparkSession, schema: str, sizes: Sizes) -> None:
    """Write all raw tables of a world into a schema, replacing what is there."""
    spark.sql(f"create schema if not exists {schema}")
    for name in tables(sizes):
        write(spark, schema, name, sizes)


def generate_mappings(spark: SparkSession, schema: str, sizes: Sizes) -> None:
    """Write the mappings of the star where the sample has them as seeds."""
    for name, (count, columns) in mappings(sizes).items():
        spark.range(1, count + 1).select(
            *[value.alias(column) for column, value in columns.items()]
        ).write.mode("overwrite").format("parquet").saveAsTable(f"{schema}.{name}")


def generate_with_more_users(
    spark: SparkSession, schema: str, sizes: Sizes, rest: str
) -> None:
    """Write the tables about users of a larger world, the others as views of `rest`."""
    spark.sql(f"create schema if not exists {schema}")
    for name in tables(sizes):
        if name in ("users", "user_group_members"):
            write(spark, schema, name, sizes)
        else:
            spark.sql(
                f"create or replace view {schema}.{name} as select * from {rest}.{name}"
            )


def write(spark: SparkSession, schema: str, name: str, sizes: Sizes) -> None:
    """Write one raw table, as text."""
    count, own = tables(sizes)[name]
    common = {
        "is_active": F.lit("true"),
        "date_created": F.lit("2026-01-01 00:00:00"),
        "date_modified": moment(200, "modified"),
        "created_by": F.lit("bench"),
        "modified_by": F.lit("bench"),
        "sf_date_created": F.lit("2026-09-01 00:00:00"),
    }
    columns = {"id": F.col("id"), **own, **common}
    spark.range(1, count + 1).select(
        *[value.cast("string").alias(column) for column, value in columns.items()]
    ).write.mode("overwrite").format("parquet").saveAsTable(f"{schema}.{name}")
