{#
    The lines of a query's answer that a user sees, by conditions and view authorization, as one
    boolean SQL expression over the columns of the answer.

    name      the dataset
    config    the document of secure_datasets_config()
    user      SQL for the id of the user who reads
    relation  the answer's name; none: the name in its rules
    dialect   the SQL dialect of the engine
#}
{% macro answer_predicate(name, config, user, relation=none, dialect='spark') %}
    {%- set text = secure_datasets.meets_every_rule(name, config, name, secure_datasets.reader_placeholder()) -%}
    {%- if secure_datasets.is_restricted(name, config) -%}
        {%- set text = secure_datasets._is_live(secure_datasets.reader_placeholder()) ~ ('\nand ' ~ text if text != 'true' else '') -%}
    {%- endif -%}
    {{ return(adapter.secure_datasets().printed(text, name, config, user, name, relation, dialect)) }}
{% endmacro %}
