{#
    A policy as messages call it: by its role, or by those that it spares.

    policy  the policy's entry
#}
{% macro named_by_roles(policy) %}
    {%- set called = [] -%}
    {%- for role in secure_datasets.roles_named_by(policy) -%}
        {%- do called.append(adapter.secure_datasets().role_called(role)) -%}
    {%- endfor -%}
    {{ return(('all but ' if 'except' in policy else '') ~ "'" ~ called | join("', '") ~ "'") }}
{% endmacro %}
