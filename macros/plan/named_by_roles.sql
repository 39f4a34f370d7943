{#
    A policy as messages call it: by its role, or by those that it spares.

    policy  the policy's entry
#}
{% macro named_by_roles(policy) %}
    {{ return(('all but ' if 'except' in policy else '') ~ "'" ~ policy.get('except', [policy.role]) | join("', '") ~ "'") }}
{% endmacro %}
