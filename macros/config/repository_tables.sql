{#
    The raw tables, as the application's repository delivers them: the only source of staging,
    the rejects and the dangling references.

    columns      own columns with their types; staging judges them in this order;
                 `id` and the columns that every table has are added to each
    required     keys without which a row is of no use
    references   the raw table that a column points at; a null points at nothing
    holder       a permission row: it names its holder in exactly one of these
    object_type  the role table's object type that `role_name` is looked up under
    context      an event's context, and the key that each context must bring
    gives_rights whether a live row gives somebody a right, which may be limited in time: by the columns
                 `valid_from` and `valid_until`, where the table's feed names them

    A call from a model of the root project may not see the variable of this package: such a model
    needs only the keys and references of the tables. Staging is this package's own.

    The document is plain YAML, so `state:modified` sees every edit of it.
#}
{% macro repository_tables() %}
    {% set document %}
users:
    columns: {login_name: string, first_name: string, last_name: string, email: string, time_zone: string, date_last_login: timestamp}
user_global_roles:
    columns: {user_id: bigint, role_name: string}
    required: [user_id]
    references: {user_id: users}
    object_type: Global
    gives_rights: true
user_groups:
    columns: {name: string, parent_user_group_id: bigint}
    references: {parent_user_group_id: user_groups}
user_group_members:
    columns: {user_group_id: bigint, user_id: bigint}
    required: [user_group_id, user_id]
    references: {user_group_id: user_groups, user_id: users}
    gives_rights: true
meta_data_sources:
    columns: {name: string, owner_user_id: bigint}
    references: {owner_user_id: users}
data_source_permissions:
    columns: {meta_data_source_id: bigint, user_id: bigint, user_group_id: bigint, role_name: string}
    required: [meta_data_source_id]
    references: {meta_data_source_id: meta_data_sources, user_id: users, user_group_id: user_groups}
    holder: [user_id, user_group_id]
    object_type: Data Source
    gives_rights: true
projects:
    columns: {name: string}
project_permissions:
    columns: {project_id: bigint, user_id: bigint, user_group_id: bigint, role_name: string}
    required: [project_id]
    references: {project_id: projects, user_id: users, user_group_id: user_groups}
    holder: [user_id, user_group_id]
    object_type: Project
    gives_rights: true
project_data_sources:
    columns: {project_id: bigint, meta_data_source_id: bigint}
    required: [project_id, meta_data_source_id]
    references: {project_id: projects, meta_data_source_id: meta_data_sources}
    gives_rights: true
reports:
    columns: {name: string, owner_user_id: bigint}
    references: {owner_user_id: users}
report_permissions:
    columns: {report_id: bigint, user_id: bigint, user_group_id: bigint, role_name: string}
    required: [report_id]
    references: {report_id: reports, user_id: users, user_group_id: user_groups}
    holder: [user_id, user_group_id]
    object_type: Report
    gives_rights: true
meta_schemas:
    columns: {meta_data_source_id: bigint, name: string}
    required: [meta_data_source_id]
    references: {meta_data_source_id: meta_data_sources}
meta_tables:
    columns: {meta_schema_id: bigint, name: string, table_type: string, trust_score: "decimal(9,4)", quality_score: "decimal(9,4)", coverage_score: "decimal(9,4)"}
    required: [meta_schema_id]
    references: {meta_schema_id: meta_schemas}
meta_columns:
    columns: {meta_table_id: bigint, name: string, data_type: string, sequence: bigint}
    required: [meta_table_id]
    references: {meta_table_id: meta_tables}
tests:
    columns: {project_id: bigint, name: string, test_type: string, test_data_source_id: bigint, control_data_source_id: bigint, quality_dimension: string}
    required: [project_id]
    references: {project_id: projects, test_data_source_id: meta_data_sources, control_data_source_id: meta_data_sources}
jobs:
    columns: {project_id: bigint, name: string}
    required: [project_id]
    references: {project_id: projects}
job_executions:
    columns: {job_id: bigint, batch_id: bigint, date_started: timestamp, date_completed: timestamp, passed_count: bigint, failed_count: bigint, error_count: bigint}
    required: [job_id]
    references: {job_id: jobs}
test_executions:
    columns: {test_id: bigint, test_version_id: bigint, test_version_number: bigint, is_active_version: boolean, job_step_execution_id: bigint, batch_id: bigint, code_test_evaluation_result_id: bigint, date_started: timestamp, date_completed: timestamp, passed_count: bigint, failed_count: bigint, error_count: bigint, test_row_count: bigint, control_row_count: bigint, matched_row_count: bigint, error_message: string, test_data_source_id: bigint, control_data_source_id: bigint}
    required: [test_id]
    references: {test_id: tests, test_data_source_id: meta_data_sources, control_data_source_id: meta_data_sources}
template_test_executions:
    columns: {test_id: bigint, batch_id: bigint, code_test_evaluation_result_id: bigint, date_started: timestamp, date_completed: timestamp, child_test_count: bigint, meta_data_source_id: bigint, control_data_source_id: bigint}
    required: [test_id]
    references: {test_id: tests, meta_data_source_id: meta_data_sources, control_data_source_id: meta_data_sources}
events:
    columns: {context: string, category: string, object_type: string, event_name: string, project_id: bigint, meta_data_source_id: bigint, actor_user_id: bigint, event_date: timestamp}
    references: {project_id: projects, meta_data_source_id: meta_data_sources, actor_user_id: users}
    context: {Global: null, Project: project_id, Data Source: meta_data_source_id}
    {% endset %}
    {% do secure_datasets.check_adapter() %}
    {{ return(adapter.secure_datasets().raw_tables(document, var('feeds', {}))) }}
{% endmacro %}
