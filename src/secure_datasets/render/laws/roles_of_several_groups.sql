with named (role_name, group_id, resource) as (
    $named
),

bearers as (

    select
        name,
        array_join(transform(array_sort(collect_list(user_group_id)), id -> cast(id as string)), ', ') as ids
    from $stg_user_groups
    where is_live
    group by name
    having count(*) > 1

)

select distinct
    named.role_name,
    named.resource,
    concat(
        'the live groups ', bearers.ids, ' bear it, and the members of each hold it:'
        ' rename the others, or name the one that is meant by its id, as in {group: ',
        substring_index(bearers.ids, ',', 1), '}'
    ) as reason
from named
inner join bearers
    on named.role_name = bearers.name
where named.group_id is null and not (named.group_id is null and named.role_name in ('Global Admin', 'Global Data Source Admin'))
union all
$groups_called_everybody
