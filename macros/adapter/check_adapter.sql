{#
    Stops dbt, before anything is built, if the profile's output does not use this project's adapter,
    or the adapter does not have this package's version.
#}
{% macro check_adapter() %}
    {#- `secure_spark` and the types derived from it have this method. -#}
    {%- if adapter.check_package is not defined -%}
        {{ exceptions.raise_compiler_error(
            "The output '" ~ target.name ~ "' of the profile is of type " ~ adapter.type()
            ~ ', under which the secure datasets would not be published together with their rights: '
            'write type: secure_spark, which takes the methods of dbt-spark (docs/deployments.md).'
        ) }}
    {%- endif -%}
    {% do adapter.check_package('secure_datasets') %}
{% endmacro %}
