{#
    Creates a view that reads the versions of its parents by name, in place of dbt-spark's
    macro: what the parents published together is seen together, from the one statement on
    that replaces the view. The versions that the view read before stay until it is
    replaced again.

    relation  the view
    sql       its compiled query
#}
{% macro spark__create_view_as(relation, sql) -%}
{%- set definition = published_definitions(relation.schema, relation.identifier).get(relation.identifier) -%}
create or replace view {{ relation }}
{{ comment_clause() }}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
{%- endif %}
{{ _kept_versions_clause(_versions_read(definition)) }}
as
{{ _with_named_versions(sql) }}
{%- endmacro %}


{# A query in which each published parent's name has given way to its version's. #}
{% macro _with_named_versions(sql) %}
    {%- set parents = {} -%}
    {%- for parent in model.depends_on.nodes -%}
        {%- set node = graph.nodes.get(parent) -%}
        {%- if node and node.config.materialized in ['published_view', 'seed'] -%}
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
            {%- set name = modules.re.escape(node.relation_name) -%}
            {%- set query.sql = modules.re.sub('(?<![\\w.])' ~ name ~ '(?!\\w)', versions[0], query.sql) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(query.sql) }}
{% endmacro %}
