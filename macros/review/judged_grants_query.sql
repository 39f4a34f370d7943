{#
    Renders the verdict on each live row that gives rights or leads to rights: permissions, global
    roles, memberships, and rows that link objects. A row is redundant exactly if no row of an
    access view and no right of the audit disappears without it.
#}
{% macro judged_grants_query() -%}
{{ adapter.query_of_review('judged_grants', secure_datasets, ref, {
    'config': secure_datasets.secure_datasets_config(),
    'tables': secure_datasets.repository_tables(),
}) }}
{%- endmacro %}
