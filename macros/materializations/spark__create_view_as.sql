{#
    Creates a view that reads the versions of its parents by name, in place of dbt-spark's
    macro: what the parents published together is seen together, from the one statement on
    that alters the view. The versions that the view read before stay until it is altered
    again. A view with `reads_latest: true` reads its parents by their published names: what
    they publish is in force at its next read, without a run of the view.

    relation  the view
    sql       its compiled query
#}
{% macro spark__create_view_as(relation, sql) -%}
{%- set definition = published_definitions(relation.schema, relation.identifier).get(relation.identifier) -%}
{%- set query = sql if config.get('reads_latest', false) else _with_named_versions(sql) -%}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
{%- endif %}
{{ switch_view(
    relation, definition, query, kept=_versions_read(definition)
) }}
{%- endmacro %}


{# A query in which each published relation's name has given way to its version's. #}
{% macro _with_named_versions(sql) %}
    {%- set parents = {} -%}
    {# An analysis bears the config of a model, and has no relation. #}
    {%- for node in graph.nodes.values() if node.relation_name and node.config.materialized in ['published_view', 'seed'] -%}
        {%- if modules.re.search(_whole_name(node), sql) -%}
            {% do parents.setdefault(node.schema, []).append(node) %}
        {%- endif -%}
    {%- endfor -%}
    {%- set query = namespace(sql=sql) -%}
    {%- for schema, nodes in parents.items() -%}
        {%- set definitions = published_definitions(schema, nodes | map(attribute='alias') | join('|')) -%}
        {%- for node in nodes -%}
            {%- set versions = _versions_read(definitions.get(node.alias)) -%}
            {%- if versions | length != 1 -%}
                {{ exceptions.raise_compiler_error(
                    "No published version of '" ~ node.name ~ "' was found, which '"
                    ~ model.name ~ "' reads: run it first."
                ) }}
            {%- endif -%}
            {%- set query.sql = modules.re.sub(_whole_name(node), versions[0], query.sql) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(query.sql) }}
{% endmacro %}


{# The pattern of a relation's name where it is no part of a longer one. #}
{% macro _whole_name(node) %}
    {{ return('(?<![\\w.])' ~ modules.re.escape(node.relation_name) ~ '(?!\\w)') }}
{% endmacro %}
