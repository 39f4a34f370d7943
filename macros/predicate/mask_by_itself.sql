{#
    A column's value for a user, as one SQL expression over the columns of the base or of
    the answer, for an engine's own column mask.

    name      the dataset
    config    the document of secure_datasets_config()
    column    the column
    user      SQL for the id of the user who reads
    relation  the name of the base or the answer; none: the name in its rules
    dialect   the SQL dialect of the engine
#}
{% macro mask_by_itself(name, config, column, user, relation=none, dialect='spark') %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set text = secure_datasets.masked_value(name, config, ruling, column, secure_datasets.reader_placeholder()) -%}
    {{ return(adapter.secure_datasets().printed(text, name, config, user, ruling, relation, dialect)) }}
{% endmacro %}
