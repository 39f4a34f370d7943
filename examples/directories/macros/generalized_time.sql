{#- A time of a directory, such as 20260301120000Z, as staging reads it; any other text as it is. -#}
{% macro generalized_time(column) -%}
regexp_replace(
            {{ column }},
            '^([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([.][0-9]+)?Z$',
            '$1-$2-$3 $4:$5:$6'
        )
{%- endmacro %}
