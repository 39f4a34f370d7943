{#
    The relations that decide who sees which rows: users and their roles, the access views of the
    tiers, the mappings of row security, and the lookups of conditions and masks. The document
    itself names these by ref().

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
