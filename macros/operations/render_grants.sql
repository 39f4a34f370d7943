{#
    Prints, for an engine with privileges, the statements that grant a role the privileges in the
    matrix for its operations (the seed role_operations). A requirement without a privilege in the
    engine becomes a comment.

    Call     dbt run-operation render_grants --args '{role: pipeline}'
    role     the role
    engine   the engine of the statements: snowflake, or unity_catalog
    catalog  for unity_catalog: the catalog of the relations
#}
{% macro render_grants(role, engine='snowflake', catalog=none) %}
    {%- do adapter.secure_datasets().check_grants(engine, catalog) -%}
    {%- set lines = run_query(secure_datasets.privileges().of_role(role)).rows -%}
    {%- if not lines -%}
        {%- set roles = run_query('select distinct role_name from ' ~ ref('role_operations') ~ ' order by role_name').rows | map('first') | join(', ') -%}
        {{ exceptions.raise_compiler_error("render_grants: the seed role_operations has no operation for a role '" ~ role ~ "'" ~ ('; it has ' ~ roles if roles else ': it is empty, so fill it and run dbt seed') ~ '.') }}
    {%- endif -%}
    {%- for statement in adapter.secure_datasets().grants(engine, role, lines, catalog) -%}
        {{ print(statement) }}
    {%- endfor -%}
{% endmacro %}
