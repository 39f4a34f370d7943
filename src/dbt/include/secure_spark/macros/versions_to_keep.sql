{# The number of versions of a relation that stay, the published one included: its config, checked. #}
{% macro versions_to_keep() %}
    {%- set to_keep = config.get('versions_to_keep', 2) -%}
    {%- if to_keep is not integer or to_keep < 1 -%}
        {{ exceptions.raise_compiler_error(
            "versions_to_keep of '" ~ model.name ~ "' is " ~ to_keep
            ~ "; it must be a whole number from 1 on."
        ) }}
    {%- endif -%}
    {{ return(to_keep) }}
{% endmacro %}
