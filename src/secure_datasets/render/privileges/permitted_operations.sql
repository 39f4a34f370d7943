$privileges,

judged as (
    select
        roles.role_name,
        required.operation,
        required.object_name,
        required.alternative,
        concat(
            required.privilege, ' on ', required.needed_type, ' ', required.needed_name
        ) as requirement,
        bool_or(
            held.role_name is not null
            and (required.through_secondary_role or not held.is_secondary)
        ) as is_held,
        bool_or(held.role_name is not null) as is_held_somehow
    from roles
    cross join privileges_required as required
    left join privileges_held as held
        on
            roles.role_name = held.role_name
            and required.privilege = held.privilege
            and $is_needed
    group by
        roles.role_name,
        required.operation,
        required.object_name,
        required.alternative,
        required.privilege,
        required.needed_type,
        required.needed_name
),

alternatives as (
    select
        role_name,
        operation,
        object_name,
        alternative,
        bool_and(is_held) as permitted,
        array_join(
            array_sort(collect_list(case
                when is_held then null
                when is_held_somehow
                    then concat(requirement, ' (held through a secondary role only)')
                else requirement
            end)), ', '
        ) as missing
    from judged
    group by role_name, operation, object_name, alternative
)

select
    role_name,
    operation,
    object_name,
    bool_or(permitted) as permitted,
    case when not bool_or(permitted) then array_join(array_sort(collect_list(missing)), ' or ') end
        as missing
from alternatives
group by role_name, operation, object_name
