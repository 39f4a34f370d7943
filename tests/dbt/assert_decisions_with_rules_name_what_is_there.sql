-- A decision that puts rules on a table names one that dbt knows: of another there are no rules,
-- and whoever is allowed a view over the meant one reads it whole.
{{ config(meta={'print_failures': true}) }}
{%- set known = adapter.secure_datasets().known_names(graph.nodes if execute else {}, graph.sources if execute else {}) %}

with known (object_name) as (
    {{ secure_datasets.values_query(known, 1) | indent(4) }}
)

select distinct
    decided.object_name,
    decided.decision
from {{ ref('view_decisions') }} as decided
left anti join known
    on lower(trim(decided.object_name)) = known.object_name
where coalesce(decided.decision, '') not in ('Allow', 'Transform to Deny', 'Deny')
