{#
    Drops every version that no view names: those that the config no longer keeps, and
    those of runs that were killed before they published them. Only ever called by a run
    that holds the lock, so that none of them is another run's work.
#}
{% macro drop_unnamed_versions() %}
    {%- set definitions = {} -%}
    {%- for schema in published_schemas() -%}
        {% do definitions.update({schema: published_definitions(schema)}) %}
    {%- endfor -%}
    {%- set named = [] -%}
    {%- for relations in definitions.values() -%}
        {% do named.extend(_named_versions(relations.values() | join(' '))) %}
    {%- endfor -%}
    {%- for schema, relations in definitions.items() -%}
        {%- for row in run_query('show tables in ' ~ versions_schema(schema)).rows -%}
            {%- set version = api.Relation.create(
                schema=versions_schema(schema), identifier=row[1], type='table'
            ) -%}
            {%- set view = modules.re.sub('__v[0-9]{14}_[0-9a-f]{8}$', '', row[1]) -%}
            {# A catalogue that does not tell a view's text can't say what is named. #}
            {%- set is_told = view not in relations or _versions_read(relations[view]) -%}
            {%- if view != row[1] and version.render() not in named and is_told -%}
                {% do adapter.drop_relation(version) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}
