-- Every right of the access views is explained by a path to it, and nothing else is.
{%- set config, queries = secure_datasets.secure_datasets_config(), [] -%}
{%- for name, tier in config.tiers.items() -%}
{%- set query %}
select
    '{{ name }}' as tier,
    coalesce(seen.user_id, explained.user_id) as user_id,
    coalesce(seen.object_keys, explained.object_keys) as object_keys,
    case
        when seen.user_id is null then 'no right'
        when explained.user_id is null then 'no explanation'
        else 'no path'
    end as problem
from (
    select access_rows.user_id, {{ adapter.secure_datasets().named_keys(tier.object_keys, 'access_rows') }} as object_keys
    from {{ ref(tier.access_view) }} as access_rows
) as seen
full outer join (
    select
        user_id,
        object_keys,
        count_if(permission_name = {{ secure_datasets.sql_text(tier.right.permission) if tier.right else 'null' }}) as paths
    from {{ ref('access_explanations') }}
    where tier = '{{ name }}'
    group by user_id, object_keys
) as explained
    on seen.user_id = explained.user_id and seen.object_keys = explained.object_keys
where
    seen.user_id is null
    or explained.user_id is null
    {%- if tier.right %}
    or explained.paths = 0
    {%- endif %}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{{ adapter.secure_datasets().union_of(queries) }}
