"""One row per way in which a user comes to hold a permission on an object.

Inputs:  stg_users, stg_user_global_roles, the three staged permission tables,
         int_securable_objects, int_user_group_memberships, role_permissions.
Output:  user_id, object_type, object_id, permission_name, path_kind, user_group_id (the
         group that holds the grant; null unless path_kind is Group), grant_table and
         grant_id (the granting row), and that row's dates and authors.

Explicit paths (User, Group) come from a permission row, implicit ones (Global Admin,
Global Data Source Admin, Data Source Owner, Report Owner) from a global role or from
ownership. An implicit path brings the permission of its own name and, except on
projects, every permission that the role table knows for the object's type.

Where rows give rights for a time, each path has the time of all its rows together, in
holds_from and holds_until, and is cut where another one to the same permission begins
or ends.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

DATA_SOURCE, PROJECT, REPORT = "Data Source", "Project", "Report"
GLOBAL_ROLE_REACH = {
    "Global Admin": [DATA_SOURCE, PROJECT, REPORT],
    "Global Data Source Admin": [DATA_SOURCE],
}
OWNER_PATH = {DATA_SOURCE: "Data Source Owner", REPORT: "Report Owner"}
OWNED_TABLE = {DATA_SOURCE: "meta_data_sources", REPORT: "reports"}

GRANT = [
    "grant_table",
    "grant_id",
    "date_created",
    "date_modified",
    "created_by",
    "modified_by",
]
OBJECT = ["object_type", "object_id"]
# Of rows that hold for a time, beside their other columns.
TIME = ["holds_from", "holds_until"]
ALWAYS = ["0001-01-01 00:00:00Z", "9999-12-31 23:59:59.999999Z"]
HELD = ["user_id", *OBJECT, "path_kind", "user_group_id", *GRANT]


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


def live_permissions(
    permissions: DataFrame, object_type: str, object_key: str, table: str
) -> DataFrame:
    """Return one staged permission table's live rows in the shape all three share."""
    return permissions.where(F.col("is_live")).select(
        F.lit(object_type).alias("object_type"),
        F.col(object_key).alias("object_id"),
        F.col("user_id"),
        F.col("user_group_id"),
        F.col("role_name"),
        F.lit(table).alias("grant_table"),
        F.col(table.removesuffix("s") + "_id").alias("grant_id"),
        F.col("date_created"),
        F.col("date_modified"),
        F.col("created_by"),
        F.col("modified_by"),
        *(name for name in TIME if name in permissions.columns),
    )


def explicit_paths(
    permissions: DataFrame,
    users: DataFrame,
    memberships: DataFrame,
    role_permissions: DataFrame,
) -> DataFrame:
    """Return the paths through permission rows, to users and through groups."""
    # A permission with no role name goes to every entry of its object type.
    is_brought_by_role = F.col("brought_by").isNull() | (
        F.col("brought_by") == F.col("role_name")
    )
    brought = role_permissions.withColumnRenamed("role_name", "brought_by")
    by_any = brought.where(F.col("brought_by").isNull())
    # A role that names such a permission too brings it no second time.
    by_one = brought.where(F.col("brought_by").isNotNull()).join(
        by_any.select("object_type", "permission_name"),
        on=["object_type", "permission_name"],
        how="left_anti",
    )
    brought = by_any.unionByName(by_one)
    # Before the members of a group multiply them, the rows are few.
    granted = permissions.join(
        F.broadcast(brought), on="object_type", how="inner"
    ).where(is_brought_by_role)
    by_user = (
        granted.where(F.col("user_id").isNotNull())
        .join(users, on="user_id", how="inner")
        .withColumn("path_kind", F.lit("User"))
    )
    time = [name for name in TIME if name in permissions.columns]
    for name in time:
        memberships = memberships.withColumnRenamed(name, f"member_{name}")
    by_group = (
        granted.where(F.col("user_group_id").isNotNull())
        .drop("user_id")
        .join(memberships, on="user_group_id", how="inner")
        .withColumn("path_kind", F.lit("Group"))
    )
    if time:
        by_group = by_group.withColumn(
            "holds_from", F.greatest("holds_from", "member_holds_from")
        ).withColumn("holds_until", F.least("holds_until", "member_holds_until"))
    columns = [*HELD, "permission_name", *time]
    return by_user.select(*columns).unionByName(by_group.select(*columns))


def holders_by_global_role(
    global_roles: DataFrame,
    users: DataFrame,
    objects: DataFrame,
    role_permissions: DataFrame,
) -> DataFrame:
    """Return each holder of a powerful global role with every object it reaches."""
    reach = [
        F.struct(
            F.lit(kind).alias("path_kind"), F.lit(object_type).alias("object_type")
        )
        for kind, object_types in GLOBAL_ROLE_REACH.items()
        for object_type in object_types
    ]
    kinds = (
        role_permissions.where(F.col("object_type") == "Global")
        .select("role_name", F.col("permission_name").alias("path_kind"))
        .withColumn("reached", F.explode(F.array(*reach)))
        .where(F.col("reached.path_kind") == F.col("path_kind"))
        .select("role_name", "path_kind", "reached.object_type")
    )
    return (
        global_roles.where(F.col("is_live"))
        .join(users, on="user_id", how="inner")
        .join(F.broadcast(kinds), on="role_name", how="inner")
        .join(objects.select(*OBJECT), on="object_type", how="inner")
        .withColumn("user_group_id", F.lit(None).cast("bigint"))
        .withColumn("grant_table", F.lit("user_global_roles"))
        .withColumnRenamed("user_global_role_id", "grant_id")
        .select(*HELD, *(name for name in TIME if name in global_roles.columns))
    )


def holders_by_ownership(objects: DataFrame, users: DataFrame) -> DataFrame:
    """Return each owner with the objects owned; the object's own row grants."""
    owned = F.col("object_type")
    path_kind = F.coalesce(
        *[F.when(owned == kind, F.lit(path)) for kind, path in OWNER_PATH.items()]
    )
    table = F.coalesce(
        *[F.when(owned == kind, F.lit(name)) for kind, name in OWNED_TABLE.items()]
    )
    return (
        objects.withColumnRenamed("owner_user_id", "user_id")
        .join(users, on="user_id", how="inner")
        .select(
            F.col("user_id"),
            *OBJECT,
            path_kind.alias("path_kind"),
            F.lit(None).cast("bigint").alias("user_group_id"),
            table.alias("grant_table"),
            F.col("object_id").alias("grant_id"),
            F.lit(None).cast("timestamp").alias("date_created"),
            F.lit(None).cast("timestamp").alias("date_modified"),
            F.lit(None).cast("string").alias("created_by"),
            F.lit(None).cast("string").alias("modified_by"),
        )
    )


def implicit_paths(holders: DataFrame, role_permissions: DataFrame) -> DataFrame:
    """Return what each implicit holder holds: the path's name, and all it implies."""
    implied = (
        role_permissions.where(F.col("object_type") != PROJECT)
        .select("object_type", "permission_name")
        # A set such as Viewer repeats the permissions of single roles.
        .distinct()
    )
    own = holders.withColumn("permission_name", F.col("path_kind"))
    further = holders.join(F.broadcast(implied), on="object_type", how="inner")
    return own.unionByName(further.select(*own.columns))


def access_paths(
    permissions: DataFrame,
    global_roles: DataFrame,
    users: DataFrame,
    memberships: DataFrame,
    objects: DataFrame,
    role_permissions: DataFrame,
) -> DataFrame:
    """Return every path of every live user to every live object."""
    live_users = users.where(F.col("is_live")).select("user_id")
    live_objects = objects.select(*OBJECT)
    granting = role_permissions.where(F.col("permission_name").isNotNull())
    time = [name for name in TIME if name in permissions.columns]
    explicit = explicit_paths(
        permissions.join(live_objects, on=OBJECT, how="inner"),
        live_users,
        memberships.select("user_id", "user_group_id", *time),
        granting,
    )
    by_role, by_owner = with_time(
        holders_by_global_role(global_roles, live_users, objects, granting),
        holders_by_ownership(objects, live_users),
    )
    holders = by_role.unionByName(by_owner)
    paths = explicit.unionByName(implicit_paths(holders, granting))
    if time:
        paths = in_pieces(paths, ["user_id", *OBJECT, "permission_name"])
    return paths.select(
        F.col("user_id").cast("bigint"),
        F.col("object_type").cast("string"),
        F.col("object_id").cast("bigint"),
        F.col("permission_name").cast("string"),
        F.col("path_kind").cast("string"),
        F.col("user_group_id").cast("bigint"),
        F.col("grant_table").cast("string"),
        F.col("grant_id").cast("bigint"),
        F.col("date_created").cast("timestamp"),
        F.col("date_modified").cast("timestamp"),
        F.col("created_by").cast("string"),
        F.col("modified_by").cast("string"),
        *time,
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(materialized="published_view", cluster_by=["user_id"], in_time=True)
    on_data_sources, on_projects, on_reports, global_roles, memberships = with_time(
        dbt.ref("stg_data_source_permissions"),
        dbt.ref("stg_project_permissions"),
        dbt.ref("stg_report_permissions"),
        dbt.ref("stg_user_global_roles"),
        dbt.ref("int_user_group_memberships"),
    )
    permissions = (
        live_permissions(
            on_data_sources,
            DATA_SOURCE,
            "meta_data_source_id",
            "data_source_permissions",
        )
        .unionByName(
            live_permissions(on_projects, PROJECT, "project_id", "project_permissions")
        )
        .unionByName(
            live_permissions(on_reports, REPORT, "report_id", "report_permissions")
        )
    )
    return access_paths(
        permissions,
        global_roles,
        dbt.ref("stg_users"),
        memberships,
        dbt.ref("int_securable_objects"),
        dbt.ref("role_permissions"),
    )
