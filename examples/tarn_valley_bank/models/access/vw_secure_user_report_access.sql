{{ config(cluster_by=['user_id'], statistics=['user_id']) }}

with paths as (

    select
        object_id,
        user_id,
        path_kind
    from {{ ref('int_access_paths') }}
    where object_type = 'Report' and permission_name = 'View Report'

),

-- Two groups are one kind of path.
final as (

    select
        object_id as report_id,
        user_id,
        case
            when count(distinct path_kind) > 1 then 'Multiple'
            when min(path_kind) in ('User', 'Group')
                then min(path_kind) || ' - View Report'
            else min(path_kind)
        end as access_type
    from paths
    group by object_id, user_id

)

select * from final
