with judged_grants as (

    select * from $judged_grants

),

$named_users,

$named_things,

dormant as (

    select
        user_id,
        case
            when date_last_login is null then 'has never logged in'
            else concat('last login on ', cast($login_day as string))
        end as last_seen
    from $stg_users
    where
        is_live
        and $has_logins
        and coalesce($last_seen_day <= date_sub(cast($judged_on as date), $dormant_days), true)

),

$admins,

reached_objects as (

    select
        user_id,
        count(*) as number_of_objects
    from (
        -- A user may hold several rights on an object.
        select distinct paths.user_id, paths.object_type, paths.object_id
        from $int_access_paths as paths
        left semi join dormant
            on paths.user_id = dormant.user_id
        where paths.grant_table != 'user_global_roles'
    ) as objects
    group by user_id

),

$toxic_sides,

told_toxic as (

    select
        user_id,
        object_type,
        object_id,
        pair,
        concat(
            max(case when side = 1 then told end), '; ', max(case when side = 2 then told end),
            coalesce(concat('; not both, because: ', min(reason)), '')
        ) as held_by
    from toxic_sides
    group by user_id, object_type, object_id, pair

),

settled as (

    select
        user_id,
        object_type,
        object_id,
        max(decided_on) as decided_on
    from $judged_decisions
    where verdict = 'counts'
    group by user_id, object_type, object_id

),

$charges,

found as (

    select
        'dormant-admin' as rule,
        concat('user ', admins.user_id) as subject,
        admins.user_id as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat('holds ', admins.role_names, '; ', dormant.last_seen) as detail
    from admins
    inner join dormant
        on admins.user_id = dormant.user_id
    union all
    select
        'dormant-access' as rule,
        concat('user ', dormant.user_id) as subject,
        dormant.user_id as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat('has rights on ', reached_objects.number_of_objects, case when reached_objects.number_of_objects = 1 then ' object; ' else ' objects; ' end, dormant.last_seen) as detail
    from dormant
    inner join reached_objects
        on dormant.user_id = reached_objects.user_id
    left anti join admins
        on dormant.user_id = admins.user_id
    union all
    select
        'too-many-global-admins' as rule,
        'global admins' as subject,
        cast(null as bigint) as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat(number_of_admins, ' live users are Global Admin, and global_admins_limit is $global_admins_limit') as detail
    from (select count(*) as number_of_admins from admins where is_global_admin) as counted
    where number_of_admins > $global_admins_limit
    union all
    select
        'dormant-admin' as rule,
        'users.date_last_login' as subject,
        cast(null as bigint) as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        'not judged: date_last_login is empty in every row of users; look whether the feed brings it' as detail
    from (select count(*) as number_of_rows from $stg_users where is_live) as counted
    where number_of_rows > 0 and not $has_logins
    union all
    select
        'dormant-access' as rule,
        'users.date_last_login' as subject,
        cast(null as bigint) as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        'not judged: date_last_login is empty in every row of users; look whether the feed brings it' as detail
    from (select count(*) as number_of_rows from $stg_users where is_live) as counted
    where number_of_rows > 0 and not $has_logins
    union all
    select
        'data-source-without-owner' as rule,
        concat('Data Source ', sources.object_id) as subject,
        cast(null as bigint) as user_id,
        'Data Source' as object_type,
        sources.object_id as object_id,
        'meta_data_sources' as raw_table,
        sources.object_id as raw_id,
        case
            when sources.owner_user_id is null then 'has no owner'
            when named_users.rejection_reason is not null then concat('its owner: ', $not_live_owner)
            else concat('its owner, ', $owner, ', ', coalesce(named_users.gone, 'is not live'))
        end as detail
    from $int_securable_objects as sources
    left join named_users
        on sources.owner_user_id = named_users.user_id
    where sources.object_type = 'Data Source' and named_users.is_live is not true
    union all
    select
        'group-parent-ignored' as rule,
        concat('User Group ', user_groups.user_group_id) as subject,
        cast(null as bigint) as user_id,
        'User Group' as object_type,
        user_groups.user_group_id as object_id,
        'user_groups' as raw_table,
        user_groups.user_group_id as raw_id,
        concat(
            case when named_things.is_live then 'it is in a ring with its parent, ' else 'its parent, ' end, $parent,
            case
                when named_things.is_live then ''
                when named_things.rejection_reason is not null then concat(', can\'t be used by its newest row (', named_things.rejection_reason, ')')
                else concat(', ', coalesce(named_things.gone, 'is not live'))
            end
        ) as detail
    from $stg_user_groups as user_groups
    left join named_things
        on named_things.object_type = 'User Group' and user_groups.parent_user_group_id = named_things.object_id
    left anti join $int_user_group_ancestors as ancestors
        on
            user_groups.user_group_id = ancestors.user_group_id
            and user_groups.parent_user_group_id = ancestors.ancestor_user_group_id
            and ancestors.depth = 1
    where user_groups.is_live and user_groups.parent_user_group_id is not null
    union all
    select
        'toxic-pair' as rule,
        $toxic_subject as subject,
        user_id as user_id,
        object_type as object_type,
        object_id as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat('holds ', held_by) as detail
    from told_toxic
    union all
    select
        'removed-and-still-there' as rule,
        concat('user ', statuses.user_id, ' on ', statuses.object_type, ' ', statuses.object_id) as subject,
        statuses.user_id as user_id,
        statuses.object_type as object_type,
        statuses.object_id as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat(
            $decider, ' decided on ', cast(statuses.decided_on as string), ' to remove it; the access is there ',
            case when statuses.is_as_seen then 'by the same ways as then' else 'by other ways than then' end
        ) as detail
    from $review_status as statuses
    left join named_users
        on statuses.decided_by_user_id = named_users.user_id
    where statuses.status = 'to be removed'
    union all
    select distinct
        -- Two decisions of one day may differ only in the access that was seen.
        'void-decision' as rule,
        concat('user ', decisions.user_id, ' on ', decisions.object_type, ' ', decisions.object_id, ', by user ', decisions.decided_by_user_id, ' on ', cast(decisions.decided_on as string)) as subject,
        decisions.user_id as user_id,
        decisions.object_type as object_type,
        decisions.object_id as object_id,
        cast(null as string) as raw_table,
        cast(null as bigint) as raw_id,
        concat(decisions.decision, ' was ', decisions.problem) as detail
    from $judged_decisions as decisions
    left semi join $review_status as statuses
        on
            decisions.user_id = statuses.user_id
            and decisions.object_type = statuses.object_type
            and decisions.object_id = statuses.object_id
    left join settled
        on
            decisions.user_id = settled.user_id
            and decisions.object_type = settled.object_type
            and decisions.object_id = settled.object_id
    where
        decisions.verdict = 'void'
        and coalesce(settled.decided_on < decisions.decided_on, true)
    union all
    select
        case verdict
            when 'redundant' then 'redundant-grant'
            when 'has another way' then 'second-way'
            when 'gives nothing' then 'grant-gives-nothing'
        end as rule,
        concat(grant_table, ' ', grant_id) as subject,
        user_id,
        object_type,
        object_id,
        grant_table as raw_table,
        grant_id as raw_id,
        case
            when verdict = 'gives nothing' then missing
            else concat(
                coalesce(concat('the role ', role_name, ': '), ''), 'nobody loses anything without this row, as the same is given by ',
                $stand_ins,
                case when verdict = 'has another way' then '; only access_type changes, which then names one kind of way' else '' end,
                '$for_now'
            )
        end as detail
    from judged_grants
    where verdict in ('redundant', 'has another way', 'gives nothing')$run_out

),

exceptions as (

    select
        trim(rule) as rule,
        trim(subject) as subject,
        min(owner) as owner,
        min(reason) as reason,
        min(expires_on) as expires_on
    from $finding_exceptions
    where trim(owner) != '' and trim(reason) != ''
    group by trim(rule), trim(subject)

),

final as (

    select
        found.rule,
        $severity as severity,
        found.subject,
        found.user_id,
        found.object_type,
        found.object_id,
        found.raw_table,
        found.raw_id,
        found.detail,
        -- As with decisions, nobody acts on a finding about their own access.
        $who_acts as who_acts,
        exceptions.owner as exception_owner,
        exceptions.reason as exception_reason,
        exceptions.expires_on as exception_expires_on,
        coalesce(exceptions.expires_on >= cast($judged_on as date), false) as is_excused
    from found
    left join in_charge
        on
            found.object_type = in_charge.object_type
            and found.object_id = in_charge.object_id
    left join charges as own_charges
        on
            found.user_id = own_charges.user_id
            and found.object_type = own_charges.object_type
            and found.object_id = own_charges.object_id
    left join admins
        on found.user_id = admins.user_id
    left join exceptions
        on
            found.rule = exceptions.rule
            and found.subject = exceptions.subject

)

select * from final
