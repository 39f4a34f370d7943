{#
    THE config: who sees which rows of which dataset. One YAML document, in a macro because
    here `ref()` sees it while dbt parses, `state:modified` sees every edit of it, and a unit
    test can put another in its place. It is checked wherever it is used; see
    validate_secure_datasets_config.

    tiers     How a right to see is looked up. An access view has one row per object and
              user who may see it.
        access_view    the model
        object_keys    its columns that name the object, without user_id
        carries        its columns that a secure dataset hands on after user_id

    datasets  What is published, as vw_secure_dataset_<name>. A dataset that declares nothing
              is an error: there is no open default.
        base           the model with the rows
        columns        all columns of the base, in order: what is published
        unique_key     the columns that tell the base's rows apart
        tier           the tier whose right is asked for
        keys           for each object key of the tier, the column of the base that holds it
        second_side    a second right on the same tier that the user must hold too: its own
                       `keys`, and `unless_null`, the one of their columns whose null means
                       that the row has no second side
        unchecked      columns of the base that refer to an object of a tier's kind, and for which
                       no right is asked on purpose, each with the reason. What a column refers
                       to is said by the base's documentation, see check_references
        switch         instead of tier and keys: the row's own value of `column` decides, by
                       one of `cases`; each case has what stands beside a tier, or is
                       `visible_to: everyone`; a value without a case is seen by nobody
        visible_to     instead of tier and keys: `everyone`, where a policy below says by a
                       condition who sees which rows
        view_authorization
                       true: as a view of its model's owner, it shows a user what
                       view_outcomes says: nothing, all that tier and row security leave, or
                       what the policies leave of that (default false: that, to everyone)
        A dataset whose base is another one, vw_secure_dataset_<name>, has no tier: a user
        sees there what that shows to the same user. With view_authorization, which both must
        have, the policies at the end of the chain hold, by the outcome on the dataset above.

    policies  What the roles see of a dataset, beyond its tier; a role is the name
              of a user group, or Global Admin or Global Data Source Admin. A dataset with a
              condition is seen only through a role that has one.
        role           the role
        except         of a mask, instead of role: the roles that see the value. The mask is put
                       on for everybody else, so that a role that is missing, rejected or
                       misspelt hides. With `role`, it would show
        resource       <dataset>, for a condition on its rows, or <dataset>.<column>, for a mask
        condition      SQL over the dataset's columns: which rows the role sees, or of which
                       rows the column is masked for it; without one, all
        mask           SQL: what the role gets in the column's place, in the column's type
        mask_order     of several masks on a column, the one with the highest order is put on
                       (default 0); no two have the same
        mask_on_null   what a mask's condition means where it is null: mask (the default), pass
        check          whether rows that the role writes must satisfy its condition, see
                       checked_rows (default true)

    relations      The star: the models and seeds that the two parts below, and queries, name.
        kind           fact, dimension or mapping
        columns        the columns with their types
        levels         the columns of a dimension by level, the lowest first
    row_security   Security objects: a user sees what leads to a key of the user's. Which
                   datasets they restrict: see restrictions_on.
        unique_name, object_type (row_security), label, description
        dataset        the relation that maps ids to keys
        filter_key_column, ids_column, id_type: user or group
        scope          related, fact or all
        use_filter_key whether a user's keys are looked up as a list (default false: joined)
        secure_totals  whether totals over the secured level are restricted (default true)
    relationships  What may be joined to what: `from` a dataset and its join_columns `to` a
                   dataset that has the same columns, or to a row_security object.

    A dataset may be a query over the star instead of having a base: `query` has the
    dimensions, each <relation>.<column>, the measures, SQL aggregates of a fact's columns,
    and, where several facts could be meant, `fact`. It is visible_to everyone, as far as
    row security and policies let it.

    All parts but tiers and datasets are optional.
#}
{% macro secure_datasets_config() %}
    {% set document %}
tiers:
    data_source:
        access_view: vw_secure_user_data_source_access
        object_keys: [meta_data_source_id]
        carries: [access_type]
    project:
        access_view: vw_secure_user_project_access
        object_keys: [project_id]
        carries: [access_type]
    results:
        access_view: vw_secure_user_results_access
        object_keys: [project_id, meta_data_source_id]
        carries: []

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


    # What the other parts of the config are for, shown on a star of test executions.
    unit_test_executions:
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
      resource: unit_test_executions
    - role: Operations
      resource: unit_test_executions
      condition: result = 'Failed' or result = 'Error'
    - except: [Operations]
      resource: unit_test_executions.error_count
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
    {% endset %}
    {{ return(fromyaml(document)) }}
{% endmacro %}
