{# The raw tables whose feeds declare a beginning or an end for the rights that their rows give. #}
{% macro rights_in_time() %}
    {{ return(secure_datasets.repository_tables().values() | selectattr('holds_for_a_time') | map(attribute='name') | list) }}
{% endmacro %}
