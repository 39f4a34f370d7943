{#
    A role as people write it: a name, without white space at its ends as staging takes it for
    that, or of `{group: 17}` the number.

    role  the name, or the mapping
#}
{% macro read_role(role) %}
    {{ return(adapter.secure_datasets().role_of(role)) }}
{% endmacro %}
