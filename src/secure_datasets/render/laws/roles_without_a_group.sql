with named (role_name, group_id, resource) as (
    $named
),

rejected as (

    select
        $delivered_name as name,
        raw_id,
        concat('row of user_groups that does, ', raw_id, ', is rejected: ', rejection_reason) as reason
    from $stg_user_groups
    where rejection_reason is not null

)

select
    named.role_name,
    named.resource,
    coalesce(
        'no live group bears it, and the ' || min(rejected.reason),
        if(named.group_id is null, 'no live group bears it', 'no live group has this id')
    ) as reason
from named
left anti join $stg_user_groups as user_groups
    on if(named.group_id is null, named.role_name = user_groups.name, named.group_id = user_groups.user_group_id) and user_groups.is_live
left join rejected
    on if(named.group_id is null, named.role_name = rejected.name, named.group_id = $rejected_id)
where not (named.group_id is null and named.role_name in ('Global Admin', 'Global Data Source Admin'))
group by named.role_name, named.group_id, named.resource
