{#
    Renders the roles whose name several live groups have, each with these groups.

    config  the document of secure_datasets_config()
#}
{% macro roles_of_several_groups(config) -%}
{{ adapter.law_of_roles('roles_of_several_groups', secure_datasets, ref, config) }}
{%- endmacro %}
