{#
    Stops dbt, before anything is built, where the profile's output is not of this project's
    adapter, or the adapter is not of this package's version.
#}
{% macro check_adapter() %}
    {#- A type of this project's has the method, `secure_spark` and what is made of it. -#}
    {%- if adapter.check_package is not defined -%}
        {{ exceptions.raise_compiler_error(
            "The output '" ~ target.name ~ "' of the profile is of type " ~ adapter.type()
            ~ ', under which the secure datasets would not be published together with their rights: '
            'write type: secure_spark, which takes the methods of dbt-spark (docs/deployments.md).'
        ) }}
    {%- endif -%}
    {% do adapter.check_package('secure_datasets') %}
{% endmacro %}
