{#
    The sources of the readers' own rows: the secure datasets and the access views of their tiers, as
    they are in the catalogue now. A relation that was never built, or that the project no longer has,
    is not included.

    Returns  by the name of the readers' view:
        name             that name
        relation         the relation with everybody's rows, named with its catalog
        view             the same, for dbt's macros about grants
        columns          its columns by name, each with its type
        has_public_rows  whether it shows rows without a user_id, which are for everyone
#}
{% macro readers_sources() %}
    {%- set sources = {} -%}
    {%- for name, model in secure_datasets.readers_names().items() -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name == model -%}
            {#- Not from dbt's cache: a drop in a schema while the cache fills empties it for that schema. -#}
            {%- if node.alias | lower in adapter.definitions(node.schema, node.alias | lower) -%}
                {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias, type='view') -%}
                {%- set columns = {} -%}
                {%- for column in adapter.get_columns_in_relation(relation) -%}
                    {% do columns.update({column.column: column.dtype}) %}
                {%- endfor -%}
                {% do sources.update({name: {
                    'name': name, 'relation': adapter.with_catalog(node.relation_name), 'view': relation, 'columns': columns,
                    'has_public_rows': secure_datasets._has_public_rows(name, relation),
                }}) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(sources) }}
{% endmacro %}


{#
    Whether a published relation has public rows. The config may be newer than the relation, so it
    decides only if the catalogue has no query. All rows of an access view have a user.
#}
{% macro _has_public_rows(name, relation) %}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {%- if name not in config.datasets -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set is_shown = adapter.shows_public_rows(relation) -%}
    {{ return(adapter.secure_datasets().has_public_rows(name, config) if is_shown is none else is_shown) }}
{% endmacro %}
