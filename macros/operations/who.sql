{#
    Prints what one user can see, per tier, with the kinds of path that lead there, and what
    each policy shows, hides or masks of that.

    Call   dbt run-operation who --args '{user: hpark}'
    user   a user's id, login name or e-mail address
#}
{% macro who(user) %}
    {%- set given = user | string | trim -%}
    {%- set found = run_query(
        "select user_id, login_name, first_name, last_name, is_live from "
        ~ _relation('stg_users')
        ~ " where cast(user_id as string) = " ~ sql_text(given)
        ~ " or " ~ ascii_lower('login_name') ~ " = " ~ ascii_lower(sql_text(given))
        ~ " or " ~ ascii_lower('email') ~ " = " ~ ascii_lower(sql_text(given))
        ~ " order by user_id"
    ).rows -%}
    {%- if not found -%}
        {{ exceptions.raise_compiler_error("who: there is no user with the id, login name or e-mail address '" ~ printable(given) ~ "'.") }}
    {%- endif -%}
    {%- for person in found -%}
        {{ print('') }}
        {{ print('User ' ~ person[0] ~ ', ' ~ printable(person[2] ~ ' ' ~ person[3] ~ ' (' ~ person[1] ~ ')')
            ~ ('' if person[4] else ': not active, so nothing but the global events')) }}
        {% do _print_objects(person[0]) %}
        {% do _print_datasets(person[0]) %}
        {% do _print_policies(person[0]) %}
    {%- endfor -%}
{% endmacro %}


{# A model's relation. An operation belongs to no group, so ref() would refuse it some. #}
{% macro _relation(name) -%}
    {{ return(graph.nodes['model.' ~ project_name ~ '.' ~ name].relation_name) }}
{%- endmacro %}


{# Each object that the user reaches through a tier, and the paths to it. #}
{% macro _print_objects(user_id) %}
    {%- set query -%}
        with seen as (
            select 'data source' as tier, meta_data_source_id as object_id,
                cast(null as bigint) as project_id, access_type
            from {{ _relation('vw_secure_user_data_source_access') }} where user_id = {{ user_id }}
            union all
            select 'project', project_id, null, access_type
            from {{ _relation('vw_secure_user_project_access') }} where user_id = {{ user_id }}
            union all
            select 'results', meta_data_source_id, project_id, null
            from {{ _relation('vw_secure_user_results_access') }} where user_id = {{ user_id }}
        ),
        rights as (
            select 'data source' as tier, 'Data Source' as object_type, 'View Metadata' as permission_name
            union all select 'project', 'Project', 'Project Member'
            union all select 'results', 'Data Source', 'View Test Results'
        ),
        paths as (
            select paths.object_type, paths.object_id, paths.permission_name,
                array_join(array_sort(collect_set(
                    concat(paths.path_kind, coalesce(concat(' "', `groups`.name, '"'), ''))
                )), ', ') as through
            from {{ _relation('int_access_paths') }} as paths
            left join {{ _relation('stg_user_groups') }} as `groups`
                on paths.user_group_id = `groups`.user_group_id
            where paths.user_id = {{ user_id }}
            group by paths.object_type, paths.object_id, paths.permission_name
        )
        select seen.tier, objects.object_name, projects.object_name, seen.access_type, paths.through
        from seen
        inner join rights on seen.tier = rights.tier
        inner join {{ _relation('int_securable_objects') }} as objects
            on objects.object_type = rights.object_type and objects.object_id = seen.object_id
        left join {{ _relation('int_securable_objects') }} as projects
            on projects.object_type = 'Project' and projects.object_id = seen.project_id
        inner join paths
            on paths.object_type = rights.object_type and paths.object_id = seen.object_id
            and paths.permission_name = rights.permission_name
        order by array_position(array('data source', 'project', 'results'), seen.tier), 2, 3
    {%- endset -%}
    {%- set rows = [] -%}
    {%- for line in run_query(query).rows -%}
        {% do rows.append([
            line[0],
            (line[1] or '(no name)') ~ (' in ' ~ line[2] if line[0] == 'results' else ''),
            line[3] or '-', line[4],
        ]) %}
    {%- endfor -%}
    {% do print_table(['tier', 'object', 'access type', 'through'], rows, align='left') %}
{% endmacro %}


{# How many rows of each secure dataset the user reads. #}
{% macro _print_datasets(user_id) %}
    {%- set config = secure_datasets_config() -%}
    {%- set query -%}
        {%- for name, dataset in config.datasets.items() %}
        select {{ loop.index }} as place, '{{ name }}' as dataset,
            '{{ dataset.tier or ('context' if dataset.switch is defined else '-') }}' as tier, count(*) as row_count
        from {{ _relation('vw_secure_dataset_' ~ name) }}
        where user_id = {{ user_id }} or user_id is null
        {{ 'union all' if not loop.last }}
        {%- endfor %}
        order by place
    {%- endset -%}
    {%- set rows = [] -%}
    {%- for line in run_query(query).rows -%}
        {% do rows.append(['vw_secure_dataset_' ~ line[1], line[2], line[3] | string]) %}
    {%- endfor -%}
    {% do print_table(['secure dataset', 'tier', 'rows'], rows) %}
{% endmacro %}
