"""Makes small wrong edits, one at a time, each of which the random worlds must notice.

    python tests/helpers/mutants.py [NAME ...]

An edit is made in a copy of the project; the copy is compiled and run over batches of
random worlds until a relation differs from what the oracle expects. One line tells
of each edit: killed by a relation, or SURVIVED. The exit code is 1 if any survived:
then a world is missing that shows what is wrong with it.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from comparison import COMPARED, described
from compiled import CompileError, Model, compile_models
from mutant_runner import Edits, Mutant, chosen, made_in, try_all
from oracle.contract import Evaluation, World, evaluate
from pipeline import SESSIONS, Pipeline, compare, session_of, session_settings
from projects import copy_project
from pyspark.sql import DataFrame, SparkSession
from worlds import batch

# The seeds of each batch; a further one is for what the ones before it don't notice.
BATCHES = (range(0, 8), range(8, 24), range(24, 56), range(56, 120))

READING = "macros/staging/_reading.sql"
STAGE = "macros/staging/stage_raw_table.sql"
FEEDS = "macros/staging/_feeds.sql"
TABLES = "macros/config/repository_tables.sql"
SECURE = "macros/render/secure_dataset.sql"
CONFIG = "macros/config/secure_datasets_config.sql"
ROLES = "seeds/role_permissions.csv"
REJECTED = "models/staging/rejected_rows.sql"
DANGLING = "models/intermediate/dangling_references.sql"
OBJECTS = "models/intermediate/int_securable_objects.sql"
ANCESTORS = "models/intermediate/int_user_group_ancestors.py"
MEMBERSHIPS = "models/intermediate/int_user_group_memberships.py"
PATHS = "models/intermediate/int_access_paths.py"
BY_SOURCE = "models/access/vw_secure_user_data_source_access.py"
BY_PROJECT = "models/access/vw_secure_user_project_access.py"
BY_RESULTS = "models/access/vw_secure_user_results_access.py"
AUDIT = "models/access/vw_dataset_effective_user_permissions.sql"
DATASET = "models/datasets/vw_dataset_{}.sql"


def live(table: str) -> tuple[str, str]:
    """Forget that only the live rows of a staged table count."""
    read = f"from {{{{ ref('stg_{table}') }}}}\n"
    return f"{read}    where is_live\n", read


def only_live(table: str) -> tuple[str, str]:
    """Hide history with its parent."""
    forgotten, read = live(table)
    return read, forgotten


# file: (name, old text, new text); the old text stands in the file exactly once.
MUTANTS: Edits = {
    READING: [
        (
            "text is not trimmed",
            "btrim({{ column }}, {{ secure_datasets.unicode_white_space() }})",
            "{{ column }}",
        ),
        (
            "only spaces are trimmed",
            "btrim({{ column }}, {{ secure_datasets.unicode_white_space() }})",
            "btrim({{ column }})",
        ),
        ("the no-break space is kept", r"\u00A0", ""),
        (
            "a text whose first character is visible needs no trimming",
            " and right({{ column }}, 1) between '!' and '~'",
            "",
        ),
        (
            "a text whose last character is visible needs no trimming",
            "{{ column }} between '!' and '~' and ",
            "",
        ),
        ("empty is not null", "nullif(btrim(", "coalesce(btrim("),
        ("a bigint may end in anything", "'^[+-]?[0-9]+$'", "'^[+-]?[0-9]+'"),
        ("a bigint may begin with anything", "'^[+-]?[0-9]+$'", "'[+-]?[0-9]+$'"),
        ("a bigint has no sign", "'^[+-]?[0-9]+$'", "'^[0-9]+$'"),
        ("1 is not a flag", "            when '1' then true\n", ""),
        (
            "yes is a flag",
            "            when '1' then true\n",
            "            when '1' then true\n            when 'yes' then true\n",
        ),
        (
            "flags in lower case only",
            "case {{ secure_datasets.ascii_lower(text) }}",
            "case {{ text }}",
        ),
        (
            "timestamps in the session's zone",
            "try_cast(concat({{ text }}, 'Z') as timestamp)",
            "try_cast({{ text }} as timestamp)",
        ),
        (
            "timestamps cut to milliseconds",
            "try_cast(concat({{ text }}, 'Z')",
            "try_cast(concat(substring({{ text }}, 1, 23), 'Z')",
        ),
        (
            "there is a year 0",
            "\n                and {{ text }} not like '0000%'",
            "",
        ),
        ("no T in a timestamp", "[ T]([01]", " ([01]"),
        (
            "a timestamp in any form",
            "when {{ text }} rlike '^[0-9]{4}",
            "when true or {{ text }} rlike '^[0-9]{4}",
        ),
        (
            "a decimal in any form",
            "rlike '^[+-]?[0-9]+([.][0-9]+)?$'",
            "rlike '[0-9]'",
        ),
        (
            "a missing time is the earliest",
            "            else 9223372036854775807",
            "            else -9223372036854775808",
        ),
        (
            "a missing time is the latest",
            "then -9223372036854775808",
            "then 9223372036854775807",
        ),
        (
            "an unreadable time is the earliest",
            "', 9223372036854775807)'",
            "', -9223372036854775808)'",
        ),
        (
            "a role is spelled as delivered",
            "{%- if column == 'role_name' -%}\nknown_roles.role_name",
            "{%- if column == 'role_name' -%}\nrole_name_text",
        ),
        (
            "a context is spelled as delivered",
            "column == 'context' -%}\n{{ secure_datasets._known_context(table) }}",
            "column == 'context' -%}\ncontext_text",
        ),
        (
            "contexts in one case only",
            "case {{ secure_datasets.ascii_lower('context_text') }}",
            "case lower(left(context_text, 1)) || substring(context_text, 2)",
        ),
        ("a tie is no conflict", "    when is_conflict then 'conflict'\n", ""),
        (
            "only bigints can be unreadable",
            "column != 'id' and type != 'string'",
            "column != 'id' and type == 'bigint'",
        ),
        (
            "bigints can't be unreadable",
            "column != 'id' and type != 'string'",
            "type not in ['bigint', 'string']",
        ),
        (
            "an unreadable flag is only null",
            "column != 'id' and type != 'string'",
            "column != 'id' and type not in ['boolean', 'string']",
        ),
        (
            "required keys are not asked for",
            "    when {{ column }}_text is null then 'missing {{ column }}'\n",
            "",
        ),
        (
            "two holders are one too many, none is not",
            "when ({{ table.holder[0] }} is null) = ({{ table.holder[1] }} is null)",
            "when {{ table.holder[0] }} is not null"
            " and {{ table.holder[1] }} is not null",
        ),
        (
            "no holder is one too few, two are not",
            "when ({{ table.holder[0] }} is null) = ({{ table.holder[1] }} is null)",
            "when coalesce({{ table.holder[0] }}, {{ table.holder[1] }}) is null",
        ),
        (
            "an unknown role is let in",
            "    when not is_known_role then 'role'\n",
            "",
        ),
        (
            "an unknown context is let in",
            "    when context is null then 'context'\n",
            "",
        ),
        (
            "a context needs no key",
            "context.items() if key %}",
            "context.items() if false %}",
        ),
    ],
    STAGE: [
        (
            "a delivery with no flag counts as active",
            "readings.get('is_active')) }}, false)",
            "readings.get('is_active')) }}, true)",
        ),
        (
            "rows without a readable id are one",
            "where delivery_number = 1 or id is null",
            "where delivery_number = 1",
        ),
        (
            "two deliveries can't conflict",
            "min(delivery) over equally_new != max(delivery) over equally_new",
            "false",
        ),
        (
            "an older delivery conflicts",
            "            range between current row and current row\n",
            "            rows between unbounded preceding and unbounded following\n",
        ),
        (
            "roles in one case only",
            "on {{ secure_datasets.ascii_lower('role_name_text') }}"
            " <=> known_roles.role_key",
            "on role_name_text <=> known_roles.role_name",
        ),
        ("a null role is unknown", "<=> known_roles", "= known_roles"),
        (
            "a row with an unknown role is lost",
            "left join known_roles",
            "join known_roles",
        ),
        (
            "a role of another object type is known",
            "where object_type = '{{ table.object_type }}'",
            "where object_type is not null",
        ),
        (
            "is_active is forgotten",
            "{{ is_told }} and coalesce(is_active, false) as is_live",
            "{{ is_told }} as is_live",
        ),
        (
            "null is active",
            "{{ is_told }} and coalesce(is_active, false) as is_live",
            "{{ is_told }} and coalesce(is_active, true) as is_live",
        ),
        (
            "a rejected row is live",
            "{{ is_told }} and coalesce(is_active, false) as is_live",
            "coalesce(is_active, false) as is_live",
        ),
        (
            "a rejected row keeps its values",
            "case when {{ is_told }} then {{ column }} end as {{ column }}",
            "{{ column }} as {{ column }}",
        ),
    ],
    FEEDS: [
        ("the oldest delivery wins", "else key ~ ' desc'", "else key ~ ' asc'"),
        (
            "the last load wins",
            "return(['modified_order', 'loaded_order', 'not is_active'])",
            "return(['loaded_order', 'modified_order', 'not is_active'])",
        ),
        (
            "the load time does not count",
            "return(['modified_order', 'loaded_order', 'not is_active'])",
            "return(['modified_order', 'not is_active'])",
        ),
        ("the active delivery wins a tie", "'is_active asc' if", "'is_active desc' if"),
        (
            "the flag does not break a tie",
            "return(['modified_order', 'loaded_order', 'not is_active'])",
            "return(['modified_order', 'loaded_order'])",
        ),
    ],
    TABLES: [
        (
            "a member needs no group",
            "required: [user_group_id, user_id]",
            "required: [user_id]",
        ),
        (
            "a project's roles are a report's",
            "object_type: Project\n",
            "object_type: Report\n",
        ),
        (
            "a report's holder is not checked",
            "{report_id: reports, user_id: users, user_group_id: user_groups}\n"
            "    holder: [user_id, user_group_id]\n",
            "{report_id: reports, user_id: users, user_group_id: user_groups}\n",
        ),
        (
            "a Data Source event needs no data source",
            "Data Source: meta_data_source_id}",
            "Data Source: null}",
        ),
        ("no System context", "context: {Global: null,", "context: {System: null,"),
        (
            "a test's control side can't dangle",
            "{project_id: projects, test_data_source_id: meta_data_sources,"
            " control_data_source_id: meta_data_sources}",
            "{project_id: projects, test_data_source_id: meta_data_sources}",
        ),
        (
            "scores of two digits",
            'trust_score: "decimal(9,4)"',
            'trust_score: "decimal(9,2)"',
        ),
    ],
    REJECTED: [
        (
            "a row without an id is not rejected",
            "where rejection_reason is not null",
            "where rejection_reason is not null and raw_id is not null",
        ),
    ],
    DANGLING: [
        ("a ring does not dangle", "            and ancestors.depth = 1\n", ""),
        (
            "rows that are not live dangle",
            "from {{ ref('stg_' ~ name) }}\n    where is_live\n",
            "from {{ ref('stg_' ~ name) }}\n",
        ),
        (
            "a parent that is not live will do",
            "from {{ ref('stg_' ~ parent) }}\n    where is_live\n",
            "from {{ ref('stg_' ~ parent) }}\n",
        ),
        (
            "a link of a group that is not live dangles",
            "where user_groups.is_live and user_groups.",
            "where user_groups.",
        ),
        ("the example is the largest id", "min(row_id)", "max(row_id)"),
    ],
    OBJECTS: [
        ("a data source that is not live can be accessed", *live("meta_data_sources")),
        ("a project that is not live can be accessed", *live("projects")),
        ("a report that is not live can be accessed", *live("reports")),
        (
            "a report has no owner",
            "    owner_user_id\nfrom reports",
            "    cast(null as bigint) as owner_user_id\nfrom reports",
        ),
    ],
    ANCESTORS: [
        (
            "the closure is cut at one level",
            "without_rings(reachable(links))",
            "without_rings(links)",
        ),
        (
            "the closure is cut after one round",
            "        if size == previous:\n",
            "        if size:\n",
        ),
        (
            "a ring is not cut",
            "without_rings(reachable(links))",
            "reachable(links)",
        ),
        (
            "the driver follows one link",
            "nx.all_pairs_shortest_path_length(graph)",
            "nx.all_pairs_shortest_path_length(graph, 1)",
        ),
        (
            "the driver cuts one ring only",
            "graph.out_edges(in_rings)",
            "graph.out_edges(sorted(in_rings)[:1])",
        ),
        (
            "a chain goes on around a ring",
            ".where(chain_goes_on)",
            ".where(chain_goes_on | F.lit(True))",
        ),
        (
            "a chain ends before a ring",
            '<= F.col("last_depth")',
            '< F.col("last_depth")',
        ),
        (
            "a chain ends with the last group of a ring",
            '.agg(F.min("depth").alias("last_depth"))',
            '.agg(F.max("depth").alias("last_depth"))',
        ),
        ("a group passes on only to its own", "own.unionByName(above)", "own"),
        ("a group does not count itself", "own.unionByName(above)", "above"),
        (
            "a group that is not live passes on",
            'live = groups.where(F.col("is_live"))',
            "live = groups",
        ),
        (
            "a group that is not live counts itself",
            'own = groups.where(F.col("is_live")).select(',
            "own = groups.select(",
        ),
        (
            "a missing parent is an ancestor",
            '.join(parents, on="ancestor_user_group_id", how="inner")',
            '.join(parents, on="ancestor_user_group_id", how="left")',
        ),
    ],
    MEMBERSHIPS: [
        (
            "a user who is not live is a member",
            'users.where(F.col("is_live"))',
            "users",
        ),
        (
            "a membership that is not live counts",
            'members.where(F.col("is_live"))',
            "members",
        ),
    ],
    PATHS: [
        (
            "a permission that is not live counts",
            'permissions.where(F.col("is_live"))',
            "permissions",
        ),
        (
            "a user who is not live holds a direct grant",
            '        .join(users, on="user_id", how="inner")\n'
            '        .withColumn("path_kind", F.lit("User"))',
            '        .withColumn("path_kind", F.lit("User"))',
        ),
        (
            "a grant to a group goes to nobody in particular",
            '.join(memberships, on="user_group_id", how="inner")',
            '.join(memberships, on="user_group_id", how="left")',
        ),
        (
            "a group's grant counts as direct",
            '.withColumn("path_kind", F.lit("Group"))',
            '.withColumn("path_kind", F.lit("User"))',
        ),
        (
            "only some entries make a project member",
            'F.col("brought_by").isNull() | (\n'
            '        F.col("brought_by") == F.col("role_name")\n    )',
            'F.col("brought_by").eqNullSafe(F.col("role_name"))',
        ),
        (
            "every role brings every permission",
            ".where(is_brought_by_role)",
            '.where(is_brought_by_role | F.col("role_name").isNotNull())',
        ),
        (
            "a data source admin reaches projects",
            '"Global Data Source Admin": [DATA_SOURCE],',
            '"Global Data Source Admin": [DATA_SOURCE, PROJECT],',
        ),
        (
            "a global admin does not reach reports",
            "[DATA_SOURCE, PROJECT, REPORT]",
            "[DATA_SOURCE, PROJECT]",
        ),
        (
            "a global admin does not reach projects",
            "[DATA_SOURCE, PROJECT, REPORT]",
            "[DATA_SOURCE, REPORT]",
        ),
        (
            "a global role that is not live counts",
            'global_roles.where(F.col("is_live"))',
            "global_roles",
        ),
        (
            "a user who is not live holds a global role",
            '        .join(users, on="user_id", how="inner")\n'
            "        .join(F.broadcast(kinds)",
            "        .join(F.broadcast(kinds)",
        ),
        (
            "a user who is not live is an owner",
            'objects.withColumnRenamed("owner_user_id", "user_id")\n'
            '        .join(users, on="user_id", how="inner")',
            'objects.withColumnRenamed("owner_user_id", "user_id")',
        ),
        (
            "a report's owner is a data source's",
            'REPORT: "Report Owner"',
            'REPORT: "Data Source Owner"',
        ),
        (
            "a global admin is a project member",
            'role_permissions.where(F.col("object_type") != PROJECT)',
            "role_permissions",
        ),
        (
            "an owner holds nothing further",
            "return own.unionByName(further.select(*own.columns))",
            "return own",
        ),
        (
            "a permission on a missing object counts",
            'permissions.join(live_objects, on=OBJECT, how="inner")',
            "permissions",
        ),
        (
            "an object is found by its id alone",
            'permissions.join(live_objects, on=OBJECT, how="inner")',
            "permissions.join("
            'live_objects.select("object_id").distinct(), on="object_id", how="inner")',
        ),
        (
            "ownership is forgotten",
            ").unionByName(holders_by_ownership(objects, live_users))",
            ")",
        ),
    ],
    BY_SOURCE: [
        (
            "results access lets see metadata",
            'F.col("permission_name") == "View Metadata"',
            'F.col("permission_name") == "View Test Results"',
        ),
        (
            "any permission lets see metadata",
            'F.col("permission_name") == "View Metadata"',
            'F.col("permission_name").isNotNull()',
        ),
        ("two groups are two kinds", "F.bit_or(bit)", "F.sum(bit)"),
        ("the first path names the access", "F.bit_or(bit)", "F.min(bit)"),
        (
            "the two admins are mixed up",
            '    "Global Admin": "Global Admin",\n'
            '    "Global Data Source Admin": "Global Data Source Admin",',
            '    "Global Admin": "Global Data Source Admin",\n'
            '    "Global Data Source Admin": "Global Admin",',
        ),
    ],
    BY_PROJECT: [
        (
            "an admin is a project member",
            'F.col("permission_name") == "Project Member"',
            'F.col("permission_name").isNotNull()',
        ),
        ("one way is two", "F.when(by_user & by_group", "F.when(by_user | by_group"),
        (
            "user and group are swapped",
            '.when(by_user, F.lit("User"))\n        .when(by_group, F.lit("Group"))',
            '.when(by_user, F.lit("Group"))\n        .when(by_group, F.lit("User"))',
        ),
        (
            "a group makes nobody a member",
            '& (\n        F.col("permission_name") == "Project Member"',
            '& (F.col("path_kind") == "User") & (\n'
            '        F.col("permission_name") == "Project Member"',
        ),
    ],
    BY_RESULTS: [
        (
            "results without a link",
            '.join(links, on="project_id", how="inner")',
            '.crossJoin(links.select("meta_data_source_id").distinct())',
        ),
        (
            "results without membership",
            'project_access.select("project_id", "user_id")\n',
            'viewers.select("user_id").distinct()'
            '.crossJoin(links.select("project_id").distinct())\n',
        ),
        (
            "results without View Test Results",
            '.join(viewers, on=["meta_data_source_id", "user_id"], how="left_semi")',
            "",
        ),
        (
            "results with View Metadata",
            'F.col("permission_name") == "View Test Results"',
            'F.col("permission_name") == "View Metadata"',
        ),
        (
            "results through a link that is not live",
            'project_data_sources.where(F.col("is_live"))',
            "project_data_sources",
        ),
        (
            "results once for each way to them",
            'how="left_semi"',
            'how="inner"',
        ),
        (
            "results once for each link",
            "linking the same pair twice.\n        .distinct()\n",
            "linking the same pair twice.\n",
        ),
        (
            "results of any viewer of the data source",
            'on=["meta_data_source_id", "user_id"]',
            'on="meta_data_source_id"',
        ),
    ],
    AUDIT: [
        (
            "a group's grant comes first",
            "when 'User' then 1 when 'Group' then 2",
            "when 'User' then 2 when 'Group' then 1",
        ),
        ("an implicit path comes first", "then 2 else 3 end", "then 2 else 0 end"),
        ("only a direct grant has dates", "in ('User', 'Group')", "in ('User')"),
        ("the last grant is named", "min_by(", "max_by("),
        ("null dates first", "date_created is null, date_created", "date_created"),
        (
            "ids compare as text",
            "date_created, grant_id)",
            "date_created, string(grant_id))",
        ),
        (
            "the author modified it",
            "first_grant.created_by as",
            "first_grant.modified_by as",
        ),
        (
            "a user was created when modified",
            "users.date_created as",
            "users.date_modified as",
        ),
        (
            "an object is named by its id alone",
            "permissions.object_type = objects.object_type\n            and ",
            "",
        ),
    ],
    DATASET.format("tables"): [
        ("tables of a data source that is not live", *live("meta_data_sources")),
        ("tables of a schema that is not live", *live("meta_schemas")),
        ("tables that are not live", *live("meta_tables")),
        (
            "a path without the schema",
            "data_sources.name, '.', schemas.name, '.', tables.name",
            "data_sources.name, '.', tables.name",
        ),
    ],
    DATASET.format("columns"): [
        ("columns that are not live", *live("meta_columns")),
        ("columns without a table", "inner join tables", "left join tables"),
        (
            "a path skips null",
            "concat(tables.full_path, '.', columns.name)",
            "concat_ws('.', tables.full_path, columns.name)",
        ),
    ],
    DATASET.format("metadata_objects"): [
        ("schemas of a data source that is not live", *live("meta_data_sources")),
        ("schemas that are not live", *live("meta_schemas")),
        ("a column is named by its path", "column_name as object_name", "full_path"),
        ("a table is a Column", "'Table' as object_type", "'Column' as object_type"),
    ],
    DATASET.format("tests"): [
        ("tests that are not live", *live("tests")),
        ("tests of a project that is not live", *live("projects")),
        (
            "the first result is the status",
            "latest_test_execution_index",
            "earliest_test_execution_index",
        ),
        ("a test that never ran is hidden", "left join latest", "inner join latest"),
    ],
    DATASET.format("jobs"): [
        ("jobs that are not live", *live("jobs")),
        ("jobs of a project that is not live", *live("projects")),
    ],
    DATASET.format("job_executions"): [
        ("job executions that are not live", *live("job_executions")),
        ("job executions hidden with their job", *only_live("jobs")),
        ("job executions without their job", "left join jobs", "inner join jobs"),
        ("job executions unnamed with their project", *only_live("projects")),
        ("job executions of no project", "left join projects", "inner join projects"),
        (
            "a job is named by its project",
            "jobs.name as job_name",
            "projects.name as job_name",
        ),
    ],
    DATASET.format("test_executions"): [
        ("test executions that are not live", *live("test_executions")),
        ("test executions hidden with their test", *only_live("tests")),
        ("test executions without their test", "left join tests", "inner join tests"),
        ("test executions unnamed with their project", *only_live("projects")),
        ("test executions unnamed with their source", *only_live("meta_data_sources")),
        ("the newest is the first of undated", "desc nulls last", "desc nulls first"),
        (
            "equal times by the smallest id",
            "test_execution_id desc",
            "test_execution_id asc",
        ),
        ("the earliest is not the reverse", "asc nulls first", "asc nulls last"),
        (
            "executions are numbered by project",
            "partition by test_executions.test_id\n            order by\n"
            "                test_executions.date_started desc",
            "partition by tests.project_id\n            order by\n"
            "                test_executions.date_started desc",
        ),
        (
            "the control side bears the test side's name",
            "control_data_sources.name as control_data_source",
            "test_data_sources.name as control_data_source",
        ),
    ],
    DATASET.format("template_test_executions"): [
        ("template executions that are not live", *live("template_test_executions")),
        ("template executions hidden with their test", *only_live("tests")),
        (
            "template executions without their test",
            "left join tests",
            "inner join tests",
        ),
        (
            "template executions unnamed with their source",
            *only_live("meta_data_sources"),
        ),
        (
            "template executions of no project",
            "left join projects",
            "inner join projects",
        ),
        (
            "a template's control side is its test side",
            "template_test_executions.control_data_source_id\n            = control",
            "template_test_executions.meta_data_source_id\n            = control",
        ),
    ],
    DATASET.format("event_history"): [
        ("events that are not live", *live("events")),
        (
            "an event's data source is its project",
            "meta_data_source_id as data_source_id",
            "project_id as data_source_id",
        ),
    ],
    "macros/sql/evaluation_result.sql": [
        ("an unknown code is an error", "when 26 then 'Error'", "else 'Error'"),
        (
            "passed and failed are swapped",
            "24 then 'Passed' when 25",
            "25 then 'Passed' when 24",
        ),
    ],
    "macros/sql/whole_seconds_between.sql": [
        (
            "seconds are rounded down",
            "(unix_micros({{ completed }}) - unix_micros({{ started }})) div 1000000",
            "floor((unix_micros({{ completed }}) - unix_micros({{ started }})) / 1e6)",
        ),
        (
            "seconds are cut before the difference",
            "(unix_micros({{ completed }}) - unix_micros({{ started }})) div 1000000",
            "unix_seconds({{ completed }}) - unix_seconds({{ started }})",
        ),
    ],
    SECURE: [
        (
            "the control side of another user",
            "{% do conditions.append(of_user ~ '.user_id = ' ~ access ~ '.user_id') %}",
            "",
        ),
        (
            "the control side in another project",
            "{%- for object_key, column in keys.items() -%}",
            "{%- for object_key, column in keys.items()"
            " if not of_user or object_key != 'project_id' -%}",
        ),
        (
            "the control side alone is joined by data source",
            "{%- for object_key, column in keys.items() -%}",
            "{%- for object_key, column in keys.items()"
            " if of_user or object_key != 'project_id' or keys | length == 1 -%}",
        ),
        ("one key is enough", r"join('\n        and ')", r"join('\n        or ')"),
        (
            "rows without access",
            "inner join {{ ref(tier.access_view) }}",
            "left join {{ ref(tier.access_view) }}",
        ),
        (
            "no control side is a denied one",
            "(base.{{ rule.second_side.unless_null }} is null"
            " or second_access.user_id is not null)",
            "second_access.user_id is not null",
        ),
        (
            "the control side is not checked",
            "second_access.user_id is not null)",
            "access.user_id is not null)",
        ),
        (
            "an event by any context's rule",
            "{%- elif is_case %}\nwhere {{ is_case }}\n",
            "",
        ),
        (
            "all events are for everyone",
            "where {{ 'users.is_live and ' if per_user }}{{ is_case }}\n",
            "",
        ),
    ],
    CONFIG: [
        (
            "tables by their schema's id",
            "unique_key: [table_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: data_source_id}",
            "unique_key: [table_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: schema_id}",
        ),
        (
            "columns by their table's id",
            "unique_key: [column_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: data_source_id}",
            "unique_key: [column_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: table_id}",
        ),
        (
            "objects by their own id",
            "unique_key: [object_type, object_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: data_source_id}",
            "unique_key: [object_type, object_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: object_id}",
        ),
        (
            "tests by their own id",
            "unique_key: [test_id]\n        tier: project\n"
            "        keys: {project_id: project_id}",
            "unique_key: [test_id]\n        tier: project\n"
            "        keys: {project_id: test_id}",
        ),
        (
            "tests by their data source",
            "unique_key: [test_id]\n        tier: project\n"
            "        keys: {project_id: project_id}",
            "unique_key: [test_id]\n        tier: data_source\n"
            "        keys: {meta_data_source_id: test_data_source_id}",
        ),
        (
            "jobs by their own id",
            "unique_key: [job_id]\n        tier: project\n"
            "        keys: {project_id: project_id}",
            "unique_key: [job_id]\n        tier: project\n"
            "        keys: {project_id: job_id}",
        ),
        (
            "job executions by their job",
            "unique_key: [job_execution_id]\n        tier: project\n"
            "        keys: {project_id: project_id}",
            "unique_key: [job_execution_id]\n        tier: project\n"
            "        keys: {project_id: job_id}",
        ),
        (
            "test executions without a second side",
            "meta_data_source_id: test_data_source_id}\n        second_side:\n"
            "            keys: {project_id: project_id,"
            " meta_data_source_id: control_data_source_id}\n"
            "            unless_null: control_data_source_id\n",
            "meta_data_source_id: test_data_source_id}\n",
        ),
        (
            "test executions by their control side",
            "{project_id: project_id, meta_data_source_id: test_data_source_id}\n",
            "{project_id: project_id, meta_data_source_id: control_data_source_id}\n",
        ),
        (
            "template executions without a second side",
            "meta_data_source_id: meta_data_source_id}\n        second_side:\n"
            "            keys: {project_id: project_id,"
            " meta_data_source_id: control_data_source_id}\n"
            "            unless_null: control_data_source_id\n",
            "meta_data_source_id: meta_data_source_id}\n",
        ),
        (
            "template executions by their project",
            "unique_key: [template_test_execution_id]\n        tier: results\n"
            "        keys: {project_id: project_id, meta_data_source_id:",
            "unique_key: [template_test_execution_id]\n        tier: results\n"
            "        keys: {project_id: test_id, meta_data_source_id:",
        ),
        (
            "Global events for each user",
            "Global:\n                    visible_to: everyone\n",
            "Global:\n                    tier: project\n"
            "                    keys: {project_id: project_id}\n",
        ),
        (
            "Project events by their data source",
            "Project:\n                    tier: project\n"
            "                    keys: {project_id: project_id}",
            "Project:\n                    tier: data_source\n"
            "                    keys: {meta_data_source_id: data_source_id}",
        ),
        (
            "Data Source events by their project",
            "                    tier: data_source\n"
            "                    keys: {meta_data_source_id: data_source_id}",
            "                    tier: project\n"
            "                    keys: {project_id: project_id}",
        ),
        (
            "Project events for everyone",
            "Project:\n                    tier: project\n"
            "                    keys: {project_id: project_id}",
            "Project:\n                    visible_to: everyone",
        ),
    ],
    ROLES: [
        ("a viewer sees no results", "Data Source,Viewer,View Test Results\n", ""),
        (
            "who sees metadata sees results",
            "Data Source,ViewMetadata,View Metadata\n",
            "Data Source,ViewMetadata,View Metadata\n"
            "Data Source,ViewMetadata,View Test Results\n",
        ),
        (
            "a security admin is a global admin",
            "Global,Global.SecurityAdmin,\n",
            "Global,Global.SecurityAdmin,Global Admin\n",
        ),
    ],
}


@dataclass
class Battery:
    """A batch of worlds, and what the project gives for it without any edit."""

    seeds: range
    session: tuple[str, str]
    kept: dict[str, DataFrame] = field(default_factory=dict)

    @cached_property
    def world(self) -> World:
        """The worlds."""
        return batch(self.seeds)

    @cached_property
    def expected(self) -> Evaluation:
        """What the contract says."""
        return evaluate(self.world)


class Range:
    """Where mutants are killed: a copy of the project, and batches of worlds."""

    def __init__(self, spark: SparkSession, project: Path) -> None:
        self.spark = spark
        self.project = project
        self.models = self.compile()
        self.code = {model.name: model.code for model in self.models}
        self.batteries = [
            Battery(seeds, SESSIONS[number % len(SESSIONS)])
            for number, seeds in enumerate(BATCHES)
        ]

    def compile(self) -> list[Model]:
        """Compile the copy as it is."""
        return compile_models(self.project, self.project / "target")

    def pipeline(self, models: list[Model], kept: dict[str, DataFrame]) -> Pipeline:
        """The copy's models, with the copy's seeds."""
        return Pipeline(self.spark, models, [self.project / "seeds"], kept)

    def changed(self, models: list[Model], roles_changed: bool) -> list[str]:
        """Return the compared relations that the edit can change, in order."""
        changed = {"role_permissions"} if roles_changed else set()
        for model in models:
            if self.code[model.name] != model.code or changed & set(model.parents):
                changed.add(model.name)
        return [name for name in COMPARED if name in changed]

    def killers(self, mutant: Mutant) -> str | None:
        """Return what notices the edit, if anything does."""
        models = None
        for battery in self.batteries:
            with session_settings(self.spark, *battery.session):
                # Before the edit: Python models are read when they run.
                self.run_without_edit(battery)
                with made_in(self.project, mutant):
                    try:
                        models = models or self.models_under(mutant)
                    except CompileError as error:
                        return f"'does not compile': {str(error).splitlines()[0]}"
                    relations = self.changed(models, mutant.file == ROLES)
                    if killer := self.killer(battery, models, relations):
                        return killer
        return None

    def models_under(self, mutant: Mutant) -> list[Model]:
        """The models with the edit made."""
        is_sql = not mutant.file.endswith((".py", ".csv"))
        return self.compile() if is_sql else self.models

    def run_without_edit(self, battery: Battery) -> None:
        """Keep what the project gives: what an edit leaves as it was need not run."""
        if battery.kept:
            return
        right = self.pipeline(self.models, battery.kept)
        if found := compare(right, battery.world, COMPARED, battery.expected):
            sys.exit(f"without any edit, seeds {battery.seeds}:\n{described(found)}")

    def killer(
        self, battery: Battery, models: list[Model], relations: list[str]
    ) -> str | None:
        """Return the first relation that differs in a batch of worlds."""
        pipeline = self.pipeline(models, dict(battery.kept))
        for relation in relations:
            found = compare(pipeline, battery.world, [relation], battery.expected)
            if found:
                return next(iter(found))
        return None


def main() -> None:
    """Try all mutants, or those named."""
    mutants = chosen(MUTANTS, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder) / "project")
        try_all(mutants, Range(session_of(project), project).killers)


if __name__ == "__main__":
    main()
