{#
    The roles that a policy names: the one that it is for, or those that its `except` spares.
    A name is trimmed as staging trims the names of groups, or none would ever be the other.

    Renders  nothing; returns a list of names and, where a group is named by its id, of numbers

    policy   the policy's entry
#}
{% macro roles_named_by(policy) %}
    {{ return(adapter.secure_datasets().roles_named_by(policy)) }}
{% endmacro %}
