{#
    The relations that can be joined to a relation of the star, each by its shortest path along
    the relationships: a mapping of relations to lists of relationships, its own list empty.

    start   the relation
    config  the document of secure_datasets_config()
#}
{% macro relationship_paths(start, config) %}
    {{ return(adapter.secure_datasets().relationship_paths(start, config)) }}
{% endmacro %}
