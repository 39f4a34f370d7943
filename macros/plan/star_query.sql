{#
    What a dataset reads of the star; none if it reads nothing of it.

    Renders   nothing; returns `columns`, the relation and the column of each dimension,
              `selected`, of a query the SQL and the alias of each of its columns, `root`, the relation to which all others are joined, `has_fact`, whether that is
              a fact, and `roots`, all relations that could be it: there must be one

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro star_query(dataset, config) %}
    {{ return(adapter.secure_datasets().star_query(dataset, config)) }}
{% endmacro %}
