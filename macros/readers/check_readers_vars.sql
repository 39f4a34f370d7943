{#
    Stops dbt, before anything is built, at the first invalid variable about readers: it checks
    values while dbt parses, and the catalogue before a run.
#}
{% macro check_readers_vars() %}
    {% do secure_datasets.readers_objects().check(execute and var('as_of', var('before', none)) is none) %}
{% endmacro %}
