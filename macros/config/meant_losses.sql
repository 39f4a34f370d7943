{# The raw tables whose lost ids are meant: the variable `meant_losses`, checked. #}
{% macro meant_losses() %}
    {{ return(secure_datasets._raw_tables_in('meant_losses')) }}
{% endmacro %}
