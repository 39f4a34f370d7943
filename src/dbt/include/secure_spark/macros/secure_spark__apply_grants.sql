{#
    Grants what a relation's config says, as dbt does; nothing with `as_of`: a past state is
    for administrators.

    relation       the relation
    grant_config   grantees by privilege
    should_revoke  whether what the config no longer says is revoked
#}
{% macro secure_spark__apply_grants(relation, grant_config, should_revoke=True) %}
    {%- if var('as_of', none) is none -%}
        {% do default__apply_grants(relation, grant_config, should_revoke) %}
    {%- endif -%}
{% endmacro %}
