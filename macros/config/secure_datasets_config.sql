{#
    THE config, which decides who sees which rows of each dataset. One YAML document, in a macro because
    here `ref()` sees it while dbt parses, `state:modified` sees every edit of it, and a unit
    test can replace it. Every use reads and checks it.

    The meaning of each key: models/_docs/secure_datasets_config.md, from the schema of the config.

    A root project that installs this one as a package has a document of its own, which is merged
    onto this one: default__secure_datasets_config.

    Returns   the document with its SQL in Spark's dialect
#}
{% macro secure_datasets_config() %}
    {%- do secure_datasets.check_adapter() -%}
    {% set document %}
tiers:
    data_source:
        access_view: vw_secure_user_data_source_access
        object_keys: [meta_data_source_id]
        carries: [access_type]
        right: {object_type: Data Source, permission: View Metadata}
    project:
        access_view: vw_secure_user_project_access
        object_keys: [project_id]
        carries: [access_type]
        right: {object_type: Project, permission: Project Member}
    results:
        access_view: vw_secure_user_results_access
        object_keys: [project_id, meta_data_source_id]
        carries: []
        right: {object_type: Data Source, permission: View Test Results, key: meta_data_source_id}

datasets:
    tables:
        base: vw_dataset_tables
        columns:
            - data_source_id
            - data_source_name
            - schema_id
            - schema_name
            - table_id
            - table_name
            - table_type
            - full_path
            - trust_score
            - quality_score
            - coverage_score
        unique_key: [table_id]
        tier: data_source
        keys: {meta_data_source_id: data_source_id}

    columns:
        base: vw_dataset_columns
        columns:
            - data_source_id
            - data_source_name
            - schema_id
            - schema_name
            - table_id
            - table_name
            - column_id
            - column_name
            - full_path
            - data_type
            - sequence
        unique_key: [column_id]
        tier: data_source
        keys: {meta_data_source_id: data_source_id}

    metadata_objects:
        base: vw_dataset_metadata_objects
        columns:
            - data_source_id
            - data_source_name
            - object_type
            - object_id
            - object_name
            - full_path
        unique_key: [object_type, object_id]
        tier: data_source
        keys: {meta_data_source_id: data_source_id}

    tests:
        base: vw_dataset_tests
        columns:
            - project_id
            - project_name
            - test_id
            - test_name
            - test_type
            - test_data_source_id
            - control_data_source_id
            - quality_dimension
            - overall_result_status
        unique_key: [test_id]
        tier: project
        keys: {project_id: project_id}
        unchecked:
            test_data_source_id: A test belongs to its project; data sources are no parents.
            control_data_source_id: A test belongs to its project; data sources are no parents.

    jobs:
        base: vw_dataset_jobs
        columns:
            - project_id
            - project_name
            - job_id
            - job_name
        unique_key: [job_id]
        tier: project
        keys: {project_id: project_id}

    job_executions:
        base: vw_dataset_job_executions
        columns:
            - project_id
            - project_name
            - job_id
            - job_name
            - job_execution_id
            - batch_id
            - date_started
            - date_completed
            - duration
            - passed_count
            - failed_count
            - error_count
        unique_key: [job_execution_id]
        tier: project
        keys: {project_id: project_id}

    test_executions:
        base: vw_dataset_test_executions
        columns:
            - test_execution_id
            - job_step_execution_id
            - batch_id
            - test_id
            - test_name
            - test_version_id
            - test_version_number
            - is_active_version
            - project_id
            - project_name
            - test_data_source_id
            - test_data_source
            - control_data_source_id
            - control_data_source
            - code_test_evaluation_result_id
            - result
            - date_started
            - date_completed
            - duration
            - passed_count
            - failed_count
            - error_count
            - test_row_count
            - control_row_count
            - matched_row_count
            - error_message
            - latest_test_execution_index
            - earliest_test_execution_index
        unique_key: [test_execution_id]
        tier: results
        keys: {project_id: project_id, meta_data_source_id: test_data_source_id}
        second_side:
            keys: {project_id: project_id, meta_data_source_id: control_data_source_id}
            unless_null: control_data_source_id

    template_test_executions:
        base: vw_dataset_template_test_executions
        columns:
            - template_test_execution_id
            - test_id
            - test_name
            - project_id
            - project_name
            - meta_data_source_id
            - meta_data_source
            - control_data_source_id
            - control_data_source
            - batch_id
            - code_test_evaluation_result_id
            - result
            - date_started
            - date_completed
            - duration
            - child_test_count
        unique_key: [template_test_execution_id]
        tier: results
        keys: {project_id: project_id, meta_data_source_id: meta_data_source_id}
        second_side:
            keys: {project_id: project_id, meta_data_source_id: control_data_source_id}
            unless_null: control_data_source_id

    event_history:
        base: vw_dataset_event_history
        columns:
            - event_id
            - context
            - category
            - object_type
            - event_name
            - project_id
            - data_source_id
            - actor_user_id
            - event_date
        unique_key: [event_id]
        switch:
            column: context
            cases:
                Project:
                    tier: project
                    keys: {project_id: project_id}
                    unchecked:
                        data_source_id: An event of a project is for its members, whatever it is about.
                Data Source:
                    tier: data_source
                    keys: {meta_data_source_id: data_source_id}
                    unchecked:
                        project_id: An event of a data source needs no membership, as the product has it.
                Global:
                    visible_to: everyone
    {% endset %}
    {{ return(adapter.secure_datasets().read(
        document, context, adapter.dispatch('secure_datasets_config', 'secure_datasets')
    )) }}
{% endmacro %}
