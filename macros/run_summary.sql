{% macro run_summary(results) %}{% endmacro %}
