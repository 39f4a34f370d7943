{# The rules of findings, each with its severity `high`, `medium` or `low`. #}
{% macro finding_rules() %}
    {{ return(adapter.finding_rules(var('finding_severities'))) }}
{% endmacro %}
