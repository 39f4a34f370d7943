{#
    A dataset's query over the star; none if it reads nothing of the star.

    Renders   nothing; returns `columns`, the relation and the column of each dimension,
              `selected`, for a query the SQL and the alias of each of its columns, `root`, the
              first relation, which every further relation joins, `has_fact`, whether the root is
              a fact, and `roots`, all candidates for it: there must be one

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro star_query(dataset, config) %}
    {{ return(adapter.secure_datasets().star_query(dataset, config)) }}
{% endmacro %}
