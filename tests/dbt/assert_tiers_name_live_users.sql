-- Fails with each user of a tier's access view who is not live: the tier would show rows to
-- somebody whom the application does not know any more.
{{ config(severity='error') }}
{%- set queries = [] -%}
{%- for name, tier in secure_datasets.secure_datasets_config().tiers.items() -%}
{%- set query -%}
select distinct
    '{{ name }}' as tier,
    held.user_id
from {{ ref(tier.access_view) }} as held
left anti join {{ ref('stg_users') }} as users
    on held.user_id = users.user_id and users.is_live
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor %}
{{ adapter.secure_datasets().union_of(queries) }}
