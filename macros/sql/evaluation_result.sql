{# The name of a test's result code; null for a code that is not one of the three. #}
{% macro evaluation_result(code) -%}
case {{ code }} when 24 then 'Passed' when 25 then 'Failed' when 26 then 'Error' end
{%- endmacro %}
