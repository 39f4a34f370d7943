{#
    The rule that decides whether a user sees a row, by itself: one boolean SQL expression over the
    columns of a dataset's base, for an engine's own row filter. For a dataset over a secure dataset
    the base is the parent's view, whose rows have their user; for a query it is the relation whose
    rows the query counts, and answer_predicate has the rule for its answer.

    name      the dataset
    config    the document of secure_datasets_config()
    user      SQL for the id of the user who reads: a parameter, a value or a function
    relation  the base's name, for columns that need it; none: the name in its rules
    dialect   the SQL dialect of the engine
#}
{% macro row_predicate(name, config, user, relation=none, dialect='spark') %}
    {%- set alias = secure_datasets.base_alias(name, config) -%}
    {{ return(adapter.secure_datasets().printed(secure_datasets.row_rule(name, config), name, config, user, alias, relation, dialect)) }}
{% endmacro %}
