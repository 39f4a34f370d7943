-- The audit and the access views tell the same of each tier whose right is on one object.
{%- set tiers = secure_datasets.secure_datasets_config().tiers.values() | selectattr('right', 'defined')
    | rejectattr('right.key', 'defined') | list %}
with audit as (

    select
        object_type,
        object_id,
        user_id
    from {{ ref('vw_dataset_effective_user_permissions') }}
    where
        false
        {%- for tier in tiers %}
        or (object_type = {{ secure_datasets.sql_text(tier.right.object_type) }} and permission_name = {{ secure_datasets.sql_text(tier.right.permission) }})
        {%- endfor %}

),

access as (

    select
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as bigint) as user_id
    where false
    {%- for tier in tiers %}
    union all
    select
        {{ secure_datasets.sql_text(tier.right.object_type) }} as object_type,
        {{ tier.object_keys[0] }} as object_id,
        user_id
    from {{ ref(tier.access_view) }}
    {%- endfor %}

)


select
    *,
    'only in the audit' as problem
from (select * from audit except select * from access)
union all
select
    *,
    'only in the access view' as problem
from (select * from access except select * from audit)
