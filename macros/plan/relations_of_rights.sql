{#
    The relations that decide who sees which rows: users and their roles, the access views of the
    tiers, what row security maps keys by, and what conditions and masks look up. These the
    document itself names by ref().

    config  the document of secure_datasets_config()
#}
{% macro relations_of_rights(config) %}
    {%- set found = [ref('vw_secure_user_roles'), ref('user_role_names'), ref('stg_users')] -%}
    {%- for tier in config.tiers.values() -%}
        {%- do found.append(ref(tier.access_view)) -%}
    {%- endfor -%}
    {%- for object in config.row_security or [] -%}
        {%- do found.append(ref(object.dataset)) -%}
    {%- endfor -%}
    {%- for node in secure_datasets.nodes_of_rules(config) -%}
        {%- do found.append(api.Relation.create(schema=node.schema, identifier=node.alias)) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{#
    The nodes of dbt's graph that conditions and masks look up. Every model that reads the document
    depends on them, whatever its own query names.

    config  the document of secure_datasets_config()
#}
{% macro nodes_of_rules(config) %}
    {%- set texts, found = [], [] -%}
    {%- for policy in config.policies or [] -%}
        {%- do texts.append(policy.get('condition', '') ~ ' ' ~ policy.get('mask', '')) -%}
    {%- endfor -%}
    {%- set text = texts | join(' ') -%}
    {%- for node in (graph.nodes if execute else {}).values() if node.get('relation_name') and node.relation_name in text -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
