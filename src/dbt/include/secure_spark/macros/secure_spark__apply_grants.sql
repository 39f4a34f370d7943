{#
    Applies the grants in a relation's config, as dbt does; a no-op with `as_of`, because a past state
    is for administrators.

    relation       the relation
    grant_config   grantees by privilege
    should_revoke  whether grants that the config no longer has are revoked
#}
{% macro secure_spark__apply_grants(relation, grant_config, should_revoke=True) %}
    {%- if var('as_of', none) is none -%}
        {% do default__apply_grants(relation, grant_config, should_revoke) %}
    {%- endif -%}
{% endmacro %}
