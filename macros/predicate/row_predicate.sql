{#
    The rule by which a user sees a row, by itself: one boolean SQL expression over the columns
    of a dataset's base, for an engine's own row filter. For a dataset over another one the
    base is the view of that, whose rows bear their user; for a query it is the relation that
    the query counts the rows of, and what its answer shows is told by answer_predicate.

    name      the dataset
    config    the document of secure_datasets_config()
    user      SQL for the id of the user who reads: a parameter, a value or a function
    relation  how the base is called where a column must say whose it is; none: as its rules
              call it
    dialect   the SQL dialect of the engine
#}
{% macro row_predicate(name, config, user, relation=none, dialect='spark') %}
    {%- set alias = secure_datasets.base_alias(name, config) -%}
    {{ return(adapter.secure_datasets().printed(secure_datasets.row_rule(name, config), name, config, user, alias, relation, dialect)) }}
{% endmacro %}
