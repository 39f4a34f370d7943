{#
    The users as readers' views and functions ask for them: SQL for a relation with user_id and
    is_live, one row for each user.

    They are those of staging as it is published now, so that whoever is switched off is so at
    once. Ids are switched off and never deleted, so one that staging no longer has was lost by a
    bad load. A build that fails for it keeps the rights of before, and who has some stays live.
#}
{% macro readers_users() -%}
{%- set users = adapter.with_catalog(secure_datasets.relation_named('stg_users')) -%}
{%- set rights = [] -%}
{#- Of live users alone, as the product resolves them. Others may hold what is no user. -#}
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
