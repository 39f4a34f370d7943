{# The raw tables from which access is resolved, as a list of SQL texts. #}
{% macro tables_that_decide_access() -%}
    {%- set names = [
        'users', 'user_global_roles', 'user_groups', 'user_group_members',
        'meta_data_sources', 'data_source_permissions', 'projects',
        'project_permissions', 'project_data_sources', 'reports', 'report_permissions',
    ] -%}
    {{ return("'" ~ names | join("', '") ~ "'") }}
{%- endmacro %}
