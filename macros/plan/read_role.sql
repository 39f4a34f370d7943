{#
    A role from the config: its name, trimmed as staging trims texts, or the number in
    `{group: 17}`.

    role  the name, or the mapping
#}
{% macro read_role(role) %}
    {{ return(adapter.secure_datasets().role_of(role)) }}
{% endmacro %}
