{# The users for readers' views and functions: SQL for a relation with user_id and is_live, one row for each user. #}
{% macro readers_users() -%}
{%- set rights = [] -%}
{%- for node in graph.nodes.values() if node.package_name == 'secure_datasets' and node.name in ['vw_secure_user_data_source_access', 'vw_secure_user_project_access'] -%}
    {%- if node.alias | lower in adapter.definitions(node.schema, node.alias | lower) -%}
        {% do rights.append(adapter.with_catalog(node.relation_name)) %}
    {%- endif -%}
{%- endfor -%}
{{ adapter.secure_datasets().users_of_readers(adapter.with_catalog(secure_datasets.relation_named('stg_users')), rights) }}
{%- endmacro %}
