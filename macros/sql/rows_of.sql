{# The rows of a query as mappings, whatever its columns and their types. #}
{% macro rows_of(query) %}
    {%- set found = [] -%}
    {%- set as_json -%}
select to_json(struct(found.*), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss', 'timeZone', 'UTC')) as line
from (
{{ query }}
) as found
    {%- endset -%}
    {%- for line in run_query(as_json).rows -%}
        {% do found.append(fromjson(line[0])) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
