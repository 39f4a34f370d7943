{#
    Renders the masks by `role` that might miss a user with the role: an unusable row of groups, memberships or
    global roles that could lead to the role takes the mask off.

    config          the document of secure_datasets_config()
    may_be_missing  the roles that need no group
#}
{% macro masks_in_doubt(config, may_be_missing) -%}
{{ adapter.law_of_roles('masks_in_doubt', secure_datasets, ref, config, may_be_missing=may_be_missing) }}
{%- endmacro %}
