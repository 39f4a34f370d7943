{# Stops dbt with a sentence about an entry of the config. #}
{% macro config_error(entry, problem) %}
    {{ exceptions.raise_compiler_error('secure_datasets_config: ' ~ entry ~ ': ' ~ problem ~ '.') }}
{% endmacro %}
