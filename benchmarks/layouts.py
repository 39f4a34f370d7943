"""How access and bases could be laid out, and what one user's query then costs.

    python benchmarks/layouts.py [ROWS]

The same rows in each layout, one user's query in turns: the layouts that were weighed,
against the filter by hand. A data source tier of 2,000 data sources and 50,000 users.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from measure import in_turns, reading
from pyspark.sql import SparkSession
from workspace import Workspace

SOURCES = 2_000
USERS = 50_000
BUCKETS = 8
# By the hashed key: a user's few keys then lie in few folders.
PARTITIONS = 64
# In how many files the access view may lie.
FILES = (1, 8)
FOLDER_OF_USER = f"pmod(hash(user_id), {PARTITIONS})"
# How many keys the users asked for have.
KEYS = (4, 40)
BASE = f"""
    select
        pmod(id, {SOURCES}) + 1 as data_source_id,
        if(id % 2 = 0, pmod(id, {SOURCES}) + 1, null) as project_id,
        if(id % 2 = 0, 'Project', 'Data Source') as context,
        concat('source_', pmod(id, {SOURCES})) as data_source_name,
        id as row_id,
        concat('schema_', pmod(id, {SOURCES * 4})) as schema_name,
        concat('table_', id div 10) as table_name,
        concat('column_', id) as column_name,
        concat('source.schema.table_', id div 10, '.column_', id) as full_path,
        'int' as data_type
    from range({{rows}})
"""
# Half the users hold few keys, half of them more.
ACCESS = f"""
    select distinct
        pmod(xxhash64(users.id, keys.id), {SOURCES}) + 1 as meta_data_source_id,
        users.id as user_id,
        'Group' as access_type
    from range(1, {{users}} + 1) as users
    inner join range({max(KEYS)}) as keys
        on keys.id < if(users.id % 2 = 0, {min(KEYS)}, {max(KEYS)})
"""
# Everyone holds the two roles that the policies name, and others.
ROLES = f"""
    select
        users.id as user_id,
        concat(
            'role ', if(roles.id < 3, roles.id, pmod(xxhash64(users.id, roles.id), 100))
        ) as role_name
    from range(1, {USERS + 1}) as users
    cross join range(10) as roles
"""
TABLES = {
    "base": "using parquet as {base} cluster by data_source_id",
    "access": "using parquet as {access} cluster by user_id",
    "access_by_user": (
        "using parquet clustered by (user_id) sorted by (user_id)"
        f" into {BUCKETS} buckets as {{access}} distribute by user_id"
    ),
    "base_by_key": (
        f"using parquet clustered by (data_source_id) into {BUCKETS} buckets"
        " as {base} distribute by data_source_id"
    ),
    "access_by_key": (
        "using parquet clustered by (meta_data_source_id) sorted by (user_id)"
        f" into {BUCKETS} buckets as {{access}} distribute by meta_data_source_id"
    ),
    "base_in_folders": (
        "using parquet partitioned by (part) as"
        f" select *, pmod(hash(data_source_id), {PARTITIONS}) as part from ({{base}})"
        " distribute by part sort by part, data_source_id"
    ),
    "access_in_folders": (
        "using parquet as"
        f" select *, pmod(hash(meta_data_source_id), {PARTITIONS}) as part"
        " from ({access}) cluster by user_id"
    ),
    "access_by_user_folder": (
        f"using parquet partitioned by (part) as select *, {FOLDER_OF_USER} as part"
        " from ({access}) distribute by part sort by part, user_id"
    ),
    "access_of_more": "using parquet as {access_of_more} cluster by user_id",
    **{
        f"access_in_{number}": (
            f"using parquet as select * from (select /*+ repartition({number}, user_id)"
            " */ * from ({access})) sort by user_id"
        )
        for number in FILES
    },
    "roles": f"using parquet as {ROLES} cluster by user_id",
    "role_names": (
        "using parquet as select user_id, collect_set(role_name) as role_names"
        f" from ({ROLES}) group by user_id cluster by user_id"
    ),
    "events_by_key": "using parquet as {base} cluster by project_id, data_source_id",
    "events_by_context": (
        "using parquet as {base} cluster by context, project_id, data_source_id"
    ),
}
ADAPTIVE_OFF = {"spark.sql.adaptive.enabled": "false"}
# Spark's own threshold is 10 MB.
MORE_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "256m"}
# Then Spark does not know how little one user's part of an access view is.
NOT_ESTIMATED = {"spark.sql.cbo.enabled": "false"}
# Whether a user holds a role, by the roles stored.
HOLDS = "array_contains(role_names, '{}')"
# Stand for the user's id and keys.
USER, KEYS_OF_USER = "<user>", "<keys>"
Layouts = dict[str, tuple[str, dict[str, str]]]


def join(
    base: str,
    access: str,
    hint: str = "",
    also: str = "",
    key: str = "data_source_id",
) -> str:
    """The query that a secure dataset renders, over one layout."""
    return (
        f"select {hint} base.*, access.user_id, access.access_type"
        f" from {base} as base inner join {access} as access"
        f" on base.{key} = access.meta_data_source_id {also}"
    )


def under_policies(roles: str, holds: str = HOLDS) -> str:
    """Return the rows that two conditions leave, by one way to look up roles."""
    return (
        f"select rows.* from ({join('base', 'access')}) as rows"
        f" inner join ({roles}) as roles on rows.user_id = roles.user_id"
        f" where ({holds.format('role 1')} and row_id % 2 = 0)"
        f" or {holds.format('role 2')}"
    )


def by_context(events: str) -> str:
    """The rows of two contexts: each is a read of its own."""
    sources = join(events, "access") + " where base.context = 'Data Source'"
    projects = join(events, "access", key="project_id")
    return f"{sources} union all {projects} where base.context = 'Project'"


def in_one_read() -> str:
    """The same rows by one join on the context and its key."""
    return (
        "select base.*, access.user_id, access.access_type"
        " from events_by_context as base inner join ("
        " select 'Data Source' as context, * from access"
        " union all select 'Project' as context, * from access) as access"
        " on base.context = access.context and access.meta_data_source_id ="
        " case base.context when 'Project' then base.project_id"
        " else base.data_source_id end"
    )


BY_TIER: Layouts = {
    "as it is": (join("base", "access"), {}),
    "without adaptive execution": (join("base", "access"), ADAPTIVE_OFF),
    "access in buckets by user": (join("base", "access_by_user"), {}),
    "both in buckets by key": (
        join("base_by_key", "access_by_key", hint="/*+ shuffle_hash(access) */"),
        {},
    ),
    "base in folders by hashed key": (
        join(
            "base_in_folders", "access_in_folders", also="and base.part = access.part"
        ),
        {},
    ),
    **{
        f"access in files, {number}": (join("base", f"access_in_{number}"), {})
        for number in FILES
    },
}
OF_MORE_USERS: Layouts = {
    "ten times the users (as it is)": (join("base", "access_of_more"), {}),
    "without statistics": (join("base", "access_of_more"), NOT_ESTIMATED),
    "without, broadcast up to 256 MB": (
        join("base", "access_of_more"),
        NOT_ESTIMATED | MORE_BROADCAST,
    ),
}
# What a reader's function may ask, since it knows the user when it is planned.
ONE_USERS_KEYS = "select meta_data_source_id from {} where user_id = {}"


def of_one_user(condition: str, access: str = "access") -> str:
    """Return the rows for which a condition holds, by the keys of `USER`."""
    keys = ONE_USERS_KEYS.format(access, USER)
    return (
        f"select *, {USER} as user_id, 'Group' as access_type from base"
        f" where {condition.format(keys=keys)}"
    )


BY_ARGUMENT: Layouts = {
    "keys as a list in a subquery": (
        of_one_user(
            "array_contains((select collect_list(meta_data_source_id) from ({keys})),"
            " data_source_id)"
        ),
        {},
    ),
    "the same, between the least and greatest": (
        of_one_user(
            "data_source_id between (select min(meta_data_source_id) from ({keys}))"
            " and (select max(meta_data_source_id) from ({keys}))"
            " and data_source_id in ({keys})"
        ),
        {},
    ),
    "keys by a subquery": (of_one_user("data_source_id in ({keys})"), {}),
    "by a reader's function": (f"select * from rows_of({USER})", {}),
    # A bound: the text would have to be written anew for each user.
    "keys as a local relation": (
        f"select base.*, {USER} as user_id, 'Group' as access_type from base"
        f" inner join (values {KEYS_OF_USER}) as keys (key)"
        " on base.data_source_id = keys.key",
        {},
    ),
    "access in folders by user": (
        of_one_user(
            "data_source_id in ({keys}"
            f" and part = {FOLDER_OF_USER.replace('user_id', USER)})",
            "access_by_user_folder",
        ),
        {},
    ),
}
UNDER_POLICIES: Layouts = {
    "roles gathered by the query": (
        under_policies(
            "select user_id, collect_set(role_name) as role_names from roles"
            " where role_name in ('role 1', 'role 2') group by user_id"
        ),
        {},
    ),
    "roles stored by user": (under_policies("select * from role_names"), {}),
    "stored, and asked by user (as it is)": (
        under_policies(
            "select user_id, named_struct('role 1', {}, 'role 2', {}) as held_roles"
            " from role_names".format(HOLDS.format("role 1"), HOLDS.format("role 2")),
            holds="held_roles['{}']",
        ),
        {},
    ),
}
BY_CONTEXT: Layouts = {
    "two contexts, sorted by key": (by_context("events_by_key"), {}),
    "sorted by context (as it is)": (by_context("events_by_context"), {}),
    "two contexts in one read": (in_one_read(), {}),
}


def under(
    spark: SparkSession, settings: dict[str, str], work: Callable[[], float]
) -> Callable[[], float]:
    """Return the work with some of Spark's settings changed."""

    def work_under() -> float:
        before = {name: spark.conf.get(name) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            return work()
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)

    return work_under


def weigh(
    spark: SparkSession, title: str, by_hand: str, layouts: Layouts, user: int
) -> None:
    """Ask one user's query in each layout, and print the ratios."""
    keys = ", ".join(f"({key})" for key in keys_of(spark, user))
    asked = {
        name: f"select * from ({query}) where user_id = {user}".replace(
            USER, f"{user}L"
        ).replace(KEYS_OF_USER, keys)
        for name, (query, _) in layouts.items()
    }
    counts = {name: spark.sql(query).count() for name, query in asked.items()}
    if set(counts.values()) != {spark.sql(by_hand).count()}:
        sys.exit(f"{title}: the rows differ: {counts}")
    works = {"by hand": reading(spark, by_hand)}
    for name, (_, settings) in layouts.items():
        works[name] = under(spark, settings, reading(spark, asked[name]))
    seconds = in_turns(works)
    for name, taken in seconds.items():
        times = taken / seconds["by hand"]
        print(f"{title:10} {name:34} {taken:6.3f} s {times:5.2f}x", flush=True)


def keys_of(spark: SparkSession, user: int) -> list[int]:
    """Return the keys that a user holds."""
    held = ONE_USERS_KEYS.format("access", user)
    return [key for (key,) in spark.sql(held).collect()]


def main() -> None:
    """Build the layouts, ask, and print the ratios."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spark = Workspace().reader()
    parts = {
        "base": BASE.format(rows=rows),
        "access": ACCESS.format(users=USERS),
        "access_of_more": ACCESS.format(users=USERS * 10),
    }
    for name, statement in TABLES.items():
        spark.sql(f"create table {name} {statement.format(**parts)}")
    for name in ("access", "access_of_more", "role_names"):
        spark.sql(f"analyze table {name} compute statistics for columns user_id")
    columns = ", ".join(
        f"{field.name} {field.dataType.simpleString()}"
        for field in spark.sql(join("base", "access")).schema
    )
    spark.sql(
        f"create temporary function rows_of(reader bigint) returns table ({columns})"
        f" return select * from ({join('base', 'access')}) where user_id = reader"
    )
    for user, kind in ((2, "few keys"), (1, "more keys")):
        keys = ", ".join(map(str, keys_of(spark, user)))
        by_hand = f"select * from base where data_source_id in ({keys})"
        weigh(spark, kind, by_hand, BY_TIER, user)
        weigh(spark, kind, by_hand, BY_ARGUMENT, user)
        weigh(spark, kind, by_hand, OF_MORE_USERS, user)
        weigh(spark, kind, by_hand, UNDER_POLICIES, user)
        events = (
            "select * from events_by_context where"
            f" (context = 'Data Source' and data_source_id in ({keys}))"
            f" or (context = 'Project' and project_id in ({keys}))"
        )
        weigh(spark, kind, events, BY_CONTEXT, user)


if __name__ == "__main__":
    main()
