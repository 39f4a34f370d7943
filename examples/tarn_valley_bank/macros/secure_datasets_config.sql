{#
    What Tarn Valley Bank adds to the product's config, which stays as it is: a tier, its own
    datasets, the policies on them, and a star. What each key means is told on the product's page
    about the config.

    Renders   the document, which is laid on the product's
#}
{% macro default__secure_datasets_config() %}
tiers:
    reports:
        access_view: vw_secure_user_report_access
        object_keys: [report_id]
        carries: [access_type]
        right: {object_type: Report, permission: View Report}

datasets:
    reports:
        base: vw_dataset_reports
        columns: [report_id, report_name]
        unique_key: [report_id]
        tier: reports
        keys: {report_id: report_id}

    # On the bank's star of test executions: what the other parts of the config are for.
    star_test_executions:
        base: fct_test_executions
        columns:
            - test_execution_id
            - test_id
            - project_id
            - data_source_id
            - control_data_source_id
            - day
            - result
            - passed_count
            - failed_count
            - error_count
        unique_key: [test_execution_id]
        tier: results
        keys: {project_id: project_id, meta_data_source_id: data_source_id}
        second_side:
            keys: {project_id: project_id, meta_data_source_id: control_data_source_id}
            unless_null: control_data_source_id

    executions_by_unit:
        query:
            dimensions:
                business_unit: dim_data_sources.business_unit
            measures:
                executions: count(*)
                failed_executions: count_if(fct_test_executions.result = 'Failed')
        columns: [business_unit, executions, failed_executions]
        unique_key: [business_unit]
        visible_to: everyone

    executions_in_total:
        query:
            measures:
                executions: count(*)
                failed_executions: count_if(fct_test_executions.result = 'Failed')
        columns: [executions, failed_executions]
        unique_key: []
        visible_to: everyone

    authorized_projects:
        base: dim_projects
        columns: [project_id, project_name]
        unique_key: [project_id]
        tier: project
        keys: {project_id: project_id}
        view_authorization: true

policies:
    - role: Data Office
      resource: star_test_executions
    - role: Operations
      resource: star_test_executions
      condition: result = 'Failed' or result = 'Error'
    - except: [Operations]
      resource: star_test_executions.error_count
      condition: result = 'Error'
      mask: "0"
    - role: Data Office
      resource: authorized_projects
      condition: project_id = 7
    - except: [Global Admin]
      resource: authorized_projects.project_name
      mask: concat('project ', project_id)

relations:
    fct_test_executions:
        kind: fact
        columns:
            test_execution_id: bigint
            test_id: bigint
            project_id: bigint
            data_source_id: bigint
            control_data_source_id: bigint
            day: date
            result: string
            passed_count: bigint
            failed_count: bigint
            error_count: bigint
    dim_data_sources:
        kind: dimension
        columns:
            data_source_id: bigint
            data_source_name: string
            business_unit: string
            division: string
        levels: [[data_source_id, data_source_name], [business_unit], [division]]
    dim_projects:
        kind: dimension
        columns: {project_id: bigint, project_name: string}
    dim_days:
        kind: dimension
        columns: {day: date, month: date, year: int}
    map_user_group_business_units:
        kind: mapping
        columns: {user_group_id: bigint, business_unit: string}

row_security:
    - unique_name: business_units_of_groups
      object_type: row_security
      label: Business units of groups
      description: The members of a group see the business units that it is mapped to.
      dataset: map_user_group_business_units
      filter_key_column: business_unit
      ids_column: user_group_id
      id_type: group
      scope: fact

relationships:
    - from: {dataset: fct_test_executions, join_columns: [data_source_id]}
      to: {dataset: dim_data_sources}
    - from: {dataset: fct_test_executions, join_columns: [project_id]}
      to: {dataset: dim_projects}
    - from: {dataset: fct_test_executions, join_columns: [day]}
      to: {dataset: dim_days}
    - from: {dataset: dim_data_sources, join_columns: [business_unit]}
      to: {row_security: business_units_of_groups}
{% endmacro %}
