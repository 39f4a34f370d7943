{%- set object = var('object', 'meta_data_source_id=1') %}
-- Who has access to an object of a tier, and why?
select
    user_id,
    permission_name,
    path_kind,
    grant_table,
    grant_id,
    group_chain
from {{ ref('access_explanations') }}
where
    tier = {{ secure_datasets.sql_text(var('tier', 'data_source')) }}
    -- The keys in whatever order.
    and array_sort(split(replace(object_keys, ' ', ''), ','))
    = array_sort(split(replace({{ secure_datasets.sql_text(object) }}, ' ', ''), ','))
order by user_id, permission_name, path_kind, grant_table, grant_id, group_chain
