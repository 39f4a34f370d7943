{#
    A role's name as people write it, without white space at its ends: what staging takes
    for white space, and nothing else.

    role  the name
#}
{% macro trimmed_role(role) %}
    {{ return(adapter.secure_datasets().trimmed_role(role)) }}
{% endmacro %}
