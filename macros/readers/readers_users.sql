{#
    The users for readers' views and functions: SQL for a relation with user_id and is_live, one row
    for each user.

    The users come from the published staging, so that switching a user off takes effect at once.
    The application switches ids off and never deletes them, so a bad load lost an id that staging no
    longer has. The build that fails for this keeps the former rights, and a user with rights stays
    live.
#}
{% macro readers_users() -%}
{%- set users = adapter.with_catalog(secure_datasets.relation_named('stg_users')) -%}
{%- set rights = [] -%}
{#- The product's access views have only live users. A customer's own may have ids of no user. -#}
{%- for node in graph.nodes.values() if node.package_name == 'secure_datasets' and node.name in ['vw_secure_user_data_source_access', 'vw_secure_user_project_access'] -%}
    {%- if node.alias | lower in adapter.definitions(node.schema, node.alias | lower) -%}
        {% do rights.append(adapter.with_catalog(node.relation_name)) %}
    {%- endif -%}
{%- endfor -%}
{%- if not rights -%}
{{ users }}
{%- else -%}
(
    select
        user_id,
        is_live
    from {{ users }}
    union all
    select
        resolved.user_id,
        true as is_live
    from (
        {%- for relation in rights | sort %}
        {%- if not loop.first %}
        union
        {%- endif %}
        select user_id from {{ relation }}
        {%- endfor %}
    ) as resolved
    left anti join {{ users }} as users
        on resolved.user_id = users.user_id
)
{%- endif -%}
{%- endmacro %}
