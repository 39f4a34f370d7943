{#
    Renders the roles of policies without a live group that are not global.

    config          the document of secure_datasets_config()
    may_be_missing  the roles that may be missing
    are_listed      whether to look at these, or at all others
#}
{% macro roles_without_a_group(config, may_be_missing, are_listed) -%}
{{ adapter.law_of_roles('roles_without_a_group', secure_datasets, ref, config, may_be_missing=may_be_missing, are_listed=are_listed) }}
{%- endmacro %}
