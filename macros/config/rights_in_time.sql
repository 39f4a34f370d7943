{# The raw tables whose feeds declare from when, or until when, what their rows give holds. #}
{% macro rights_in_time() %}
    {{ return(secure_datasets.repository_tables().values() | selectattr('holds_for_a_time') | map(attribute='name') | list) }}
{% endmacro %}
