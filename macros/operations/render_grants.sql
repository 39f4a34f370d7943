{#
    Prints, for an engine that has privileges, the statements that grant a role what the
    matrix asks for the operations that the role is for (the seed role_operations).

    Call   dbt run-operation render_grants --args '{role: pipeline}'
    role   the role
#}
{% macro render_grants(role) %}
    {%- set query -%}
        {{ secure_datasets.privilege_ctes(secure_datasets.stored_object_needs()) }}

        -- Several operations ask for the same privilege.
        select distinct
            required.privilege,
            required.needed_type,
            required.needed_name
        from {{ ref('role_operations') }} as purposes
        inner join privileges_required as required
            on
                purposes.operation = required.operation
                and purposes.object_name in (required.object_name, '*')
        where purposes.role_name = {{ secure_datasets.sql_text(role) }} and required.alternative = '1'
        order by required.needed_type, required.needed_name, required.privilege
    {%- endset -%}
    {%- set lines = run_query(query).rows -%}
    {%- if not lines -%}
        {{ exceptions.raise_compiler_error("render_grants: the seed role_operations has no operation for a role '" ~ role ~ "'.") }}
    {%- endif -%}
    {%- for line in lines -%}
        {{ print(secure_datasets._grant_statement(role, line[0], line[1], line[2])) }}
    {%- endfor -%}
{% endmacro %}


{# One grant in the words of Snowflake, where a stored table is a dynamic table. #}
{% macro _grant_statement(role, privilege, object_type, object_name) %}
    {%- set words = {'STORED TABLE': 'dynamic table', 'COMPUTE': 'warehouse'} -%}
    {%- set right = 'create dynamic table' if privilege == 'CREATE' else privilege | lower -%}
    {{ return('grant ' ~ right ~ ' on ' ~ words.get(object_type, object_type | lower) ~ ' ' ~ object_name ~ ' to role ' ~ role ~ ';') }}
{% endmacro %}
