{#
    Renders the findings of an access review, by the rules of finding_rules(): each with its severity,
    the people who should act, and the exception that excuses it as long as it is in force.
#}
{% macro access_findings_query() -%}
{{ adapter.query_of_review('access_findings', secure_datasets, ref, {
    'tables': secure_datasets.repository_tables(),
    'finding_rules': secure_datasets.finding_rules(),
    'dormant_days': var('dormant_days'),
    'global_admins_limit': var('global_admins_limit'),
}) }}
{%- endmacro %}
