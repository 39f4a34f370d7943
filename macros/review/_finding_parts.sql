{#
    The rules of findings, each as CTEs of its own and a query of rule, subject, user_id,
    object_type, object_id, raw_table, raw_id, detail. An exception names the subject.
#}

{# The columns of a finding; an omitted argument gives null. #}
{% macro _finding(rule, subject, detail, user_id='cast(null as bigint)', object_type='cast(null as string)', object_id='cast(null as bigint)', raw_table='cast(null as string)', raw_id='cast(null as bigint)') -%}
'{{ rule }}' as rule,
    {{ subject }} as subject,
    {{ user_id }} as user_id,
    {{ object_type }} as object_type,
    {{ object_id }} as object_id,
    {{ raw_table }} as raw_table,
    {{ raw_id }} as raw_id,
    {{ detail }} as detail
{%- endmacro %}


{#
    The CTEs that rules about people read. A user who never logged in is dormant `dormant_days`
    after the creation of the user, and at once if the time of creation is unknown. If no row of
    users has a login, nobody is dormant.
#}
{% macro _reviewed_people() -%}
{%- set since = secure_datasets.utc_day('coalesce(date_last_login, date_created)') -%}
dormant as (

    select
        user_id,
        case
            when date_last_login is null then 'has never logged in'
            else concat('last login on ', cast({{ secure_datasets.utc_day('date_last_login') }} as string))
        end as last_seen
    from {{ ref('stg_users') }}
    where
        is_live
        and {{ secure_datasets._is_brought('stg_users', 'date_last_login') }}
        and coalesce(
            {{ since }} <= date_sub(cast({{ secure_datasets.judged_on() }} as date), {{ var('dormant_days') }}),
            true
        )

),

{{ secure_datasets._admins() }},

reached_objects as (

    select
        user_id,
        count(*) as number_of_objects
    from (
        -- A user may hold several rights on an object.
        select distinct paths.user_id, paths.object_type, paths.object_id
        from {{ ref('int_access_paths') }} as paths
        left semi join dormant
            on paths.user_id = dormant.user_id
        where paths.grant_table != 'user_global_roles'
    ) as objects
    group by user_id

)
{%- endmacro %}


{# Whether a column of a staged table has a value in any row; if not, its feed does not deliver it. #}
{% macro _is_brought(table, column, relation=ref) -%}
exists (select 1 from {{ relation(table) }} as brought where brought.{{ column }} is not null)
{%- endmacro %}


{# The CTE of the users who hold global roles. #}
{% macro _admins() -%}
admins as (

    -- Several rows may give a user one global role. A group is no global role.
    select
        user_id,
        array_join(array_sort(collect_set(role_name)), ' and ') as role_names,
        max(role_name = 'Global Admin') as is_global_admin
    from {{ ref('vw_secure_user_roles') }}
    where user_group_id is null
    group by user_id

)
{%- endmacro %}


{#
    One finding for each rule about logins, if the feed delivers none: a column that is empty in
    all rows distinguishes nobody.
#}
{% macro _unjudged_findings() -%}
{%- for rule in ['dormant-admin', 'dormant-access'] %}
select
    {{ secure_datasets._finding(
        rule, "'users.date_last_login'",
        "'not judged: date_last_login is empty in every row of users; look whether the feed brings it'",
    ) }}
from (select count(*) as number_of_rows from {{ ref('stg_users') }} where is_live) as counted
where number_of_rows > 0 and not {{ secure_datasets._is_brought('stg_users', 'date_last_login') }}
{{ 'union all' if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# Findings about people: dormant-admin, dormant-access, too-many-global-admins. #}
{% macro _people_findings() -%}
select
    {{ secure_datasets._finding(
        'dormant-admin', "concat('user ', admins.user_id)", "concat('holds ', admins.role_names, '; ', dormant.last_seen)", user_id='admins.user_id',
    ) }}
from admins
inner join dormant
    on admins.user_id = dormant.user_id
union all
select
    {{ secure_datasets._finding(
        'dormant-access', "concat('user ', dormant.user_id)",
        "concat('has rights on ', reached_objects.number_of_objects, case when reached_objects.number_of_objects = 1 then ' object; ' else ' objects; ' end, dormant.last_seen)",
        user_id='dormant.user_id',
    ) }}
from dormant
inner join reached_objects
    on dormant.user_id = reached_objects.user_id
left anti join admins
    on dormant.user_id = admins.user_id
union all
select
    {{ secure_datasets._finding(
        'too-many-global-admins', "'global admins'",
        "concat(number_of_admins, ' live users are Global Admin, and global_admins_limit is " ~ var('global_admins_limit') ~ "')",
    ) }}
from (select count(*) as number_of_admins from admins where is_global_admin) as counted
where number_of_admins > {{ var('global_admins_limit') }}
{%- endmacro %}


{# Findings about rows that give rights: redundant-grant, second-way, grant-gives-nothing. #}
{% macro _grant_findings() -%}
{%- set rules = {
    'redundant-grant': ['redundant', ''],
    'second-way': ['has another way', '; only access_type changes, which then names one kind of way'],
} -%}
{#- The time of the stand-in may end before the time of this row. -#}
{%- set for_now = '; it is so now, and the rows may have other times' if secure_datasets.rights_in_time() else '' -%}
{%- for rule, (verdict, words) in rules.items() %}
select
    {{ secure_datasets._finding(
        rule, "concat(grant_table, ' ', grant_id)",
        "concat(coalesce(concat('the role ', role_name, ': '), ''), 'nobody loses anything without this row, as the same is given by ', " ~ secure_datasets._told_stand_ins() ~ ", '" ~ words ~ for_now ~ "')",
        'user_id', 'object_type', 'object_id', 'grant_table', 'grant_id',
    ) }}
from judged_grants
where verdict = '{{ verdict }}'
union all
{%- endfor %}
select
    {{ secure_datasets._finding(
        'grant-gives-nothing', "concat(grant_table, ' ', grant_id)", 'missing', 'user_id', 'object_type', 'object_id', 'grant_table', 'grant_id',
    ) }}
from judged_grants
where verdict = 'gives nothing'
{%- for name in secure_datasets.rights_in_time() if 'valid_until' in secure_datasets.repository_tables()[name].columns %}
union all
{{ secure_datasets._run_out(secure_datasets.repository_tables()[name]) }}
{%- endfor %}
{%- endmacro %}


{# The rows of a raw table that gave a right until their time was over. #}
{% macro _run_out(table) -%}
{%- set is_of_user = 'user_id' in table.columns -%}
select
    {{ secure_datasets._finding(
        'grant-has-run-out', "concat('" ~ table.name ~ " ', " ~ table.key ~ ")",
        "concat('its time was over on ', cast(" ~ secure_datasets.utc_day('valid_until') ~ " as string), ', and the row is still there')",
        'user_id' if is_of_user else 'cast(null as bigint)', raw_table="'" ~ table.name ~ "'", raw_id=table.key,
    ) }}
from {{ ref('stg_' ~ table.name) }}
where is_live_in_its_time and valid_until <= {{ secure_datasets.readers_clock() }}
{%- endmacro %}


{# The stand-ins of a row, which give the same rights: ten by name, and the number of further ones. #}
{% macro _told_stand_ins() -%}
stands_in, case when stands_in_number > 10 then concat(' and ', stands_in_number - 10, ' more') else '' end
{%- endmacro %}


{# Findings about objects and groups: data-source-without-owner, group-parent-ignored. #}
{% macro _object_findings() -%}
select
    {{ secure_datasets._finding(
        'data-source-without-owner', "concat('Data Source ', sources.object_id)",
        "case when sources.owner_user_id is null then 'has no owner' when named_users.rejection_reason is not null then concat('its owner: ', " ~ secure_datasets._not_live('user', 'sources.owner_user_id', 'named_users.person', 'named_users') ~ ") else concat('its owner, ', " ~ secure_datasets._numbered('user', 'sources.owner_user_id', 'named_users.person') ~ ", ', ', coalesce(named_users.gone, 'is not live')) end",
        object_type="'Data Source'", object_id='sources.object_id', raw_table="'meta_data_sources'", raw_id='sources.object_id',
    ) }}
from {{ ref('int_securable_objects') }} as sources
left join named_users
    on sources.owner_user_id = named_users.user_id
where sources.object_type = 'Data Source' and named_users.is_live is not true
union all
select
    {{ secure_datasets._finding(
        'group-parent-ignored', "concat('User Group ', user_groups.user_group_id)",
        "concat(case when named_things.is_live then 'it is in a ring with its parent, ' else 'its parent, ' end, " ~ secure_datasets._numbered('group', 'user_groups.parent_user_group_id', 'named_things.name') ~ ", case when named_things.is_live then '' when named_things.rejection_reason is not null then concat(" ~ secure_datasets.sql_text(", can't be used by its newest row (") ~ ", named_things.rejection_reason, ')') else concat(', ', coalesce(named_things.gone, 'is not live')) end)",
        object_type="'User Group'", object_id='user_groups.user_group_id', raw_table="'user_groups'", raw_id='user_groups.user_group_id',
    ) }}
from {{ ref('stg_user_groups') }} as user_groups
left join named_things
    on named_things.object_type = 'User Group' and user_groups.parent_user_group_id = named_things.object_id
left anti join {{ ref('int_user_group_ancestors') }} as ancestors
    on
        user_groups.user_group_id = ancestors.user_group_id
        and user_groups.parent_user_group_id = ancestors.ancestor_user_group_id
        and ancestors.depth = 1
where user_groups.is_live and user_groups.parent_user_group_id is not null
{%- endmacro %}


{#
    The CTEs of users who hold both rights of a pair on one object: `toxic_rows` has the rows that
    give each right. Two global roles give both rights on all objects: one pair, without an object.

    relation  the macro that names a relation: `ref` in a model, `relation_named` in an operation
    is_found  restricts the CTEs to users with a stored finding of toxic-pair
#}
{% macro _toxic_rows(relation, is_found=false) -%}
{{ secure_datasets._pairs_of_permissions(relation) }},

{{ secure_datasets._held_permissions(relation, is_found) }},

{{ secure_datasets._toxic_holders() }},

toxic_rows as (

    select
        toxic.user_id,
        toxic.object_type,
        toxic.object_id,
        toxic.pair,
        each_way_round.place as side,
        each_way_round.permission_name,
        each_way_round.reason,
        concat(held_by.grant_table, ' ', held_by.grant_id) as by_row,
        row_number() over (
            partition by toxic.user_id, toxic.object_type, toxic.object_id, toxic.pair, each_way_round.place
            order by held_by.grant_table, held_by.grant_id
        ) as place
    from toxic
    inner join each_way_round
        on
            toxic.object_type = each_way_round.object_type
            and toxic.pair = each_way_round.pair
    inner join held_by
        on
            toxic.user_id = held_by.user_id
            and toxic.object_type = held_by.object_type
            and each_way_round.permission_name = held_by.permission_name
            and (held_by.object_id is null or toxic.object_id = held_by.object_id)

)
{%- endmacro %}


{# The toxic pairs, from either side, and the permissions that they name. #}
{% macro _pairs_of_permissions(relation) -%}
pairs as (

    -- A pair may be listed twice.
    select
        trim(object_type) as object_type,
        trim(permission_name) as permission_name,
        trim(other_permission_name) as other_permission_name,
        min(nullif(trim(reason), '')) as reason
    from {{ relation('toxic_pairs') }}
    group by trim(object_type), trim(permission_name), trim(other_permission_name)

),

each_way_round as (

    select
        object_type,
        case place when 1 then permission_name else other_permission_name end as permission_name,
        case place when 1 then other_permission_name else permission_name end as other_permission_name,
        concat(permission_name, ' and ', other_permission_name) as pair,
        place,
        reason
    from pairs
    cross join (values (1), (2)) as sides (place)

),

named_permissions as (

    -- Several pairs may name one permission.
    select distinct object_type, permission_name from each_way_round

)
{%- endmacro %}


{# The people who hold these permissions, and the rows that give them. #}
{% macro _held_permissions(relation, is_found) -%}
held_by as (

    -- A row may give a permission in several ways, and a global role gives it on every object.
    select distinct
        paths.user_id,
        paths.object_type,
        case when paths.grant_table != 'user_global_roles' then paths.object_id end as object_id,
        paths.permission_name,
        paths.grant_table,
        paths.grant_id
    from {{ relation('int_access_paths') }} as paths
    left semi join named_permissions
        on
            paths.object_type = named_permissions.object_type
            and paths.permission_name = named_permissions.permission_name
    {%- if is_found %}
    -- Only users with a finding are shown.
    left semi join (
        select user_id
        from {{ relation('access_findings') }}
        where rule = 'toxic-pair'
    ) as found
        on paths.user_id = found.user_id
    {%- endif %}

),

held as (

    -- Several rows may give a permission.
    select distinct user_id, object_type, object_id, permission_name from held_by

)
{%- endmacro %}


{# The people who hold both permissions of a pair. #}
{% macro _toxic_holders() -%}
toxic as (

    -- Each pair is found twice, once from either side.
    select distinct
        held.user_id,
        held.object_type,
        held.object_id,
        each_way_round.pair
    from held
    inner join each_way_round
        on
            held.object_type = each_way_round.object_type
            and held.permission_name = each_way_round.permission_name
    inner join held as others
        on
            held.user_id = others.user_id
            and held.object_type = others.object_type
            and each_way_round.other_permission_name = others.permission_name
            -- A global role gives its permissions on every object.
            and (others.object_id is null or held.object_id = others.object_id)

)
{%- endmacro %}


{#
    The CTEs of the sides of toxic pairs: the rows that give each side, and three of them by name.

    relation, is_found  as in `_toxic_rows`
#}
{% macro _toxic_sides(relation, is_found=false) -%}
{{ secure_datasets._toxic_rows(relation, is_found) }},

toxic_sides as (

    select
        user_id,
        object_type,
        object_id,
        pair,
        side,
        min(reason) as reason,
        collect_list(by_row) as by_rows,
        concat(
            min(permission_name), ', by ',
            array_join(transform(array_sort(collect_list(case when place <= 3 then struct(place, by_row) end)), each -> each.by_row), ', '),
            case when count(*) > 3 then concat(' and ', count(*) - 3, ' more') else '' end
        ) as told
    from toxic_rows
    group by user_id, object_type, object_id, pair, side

)
{%- endmacro %}


{# The CTEs with the words of each toxic-pair. #}
{% macro _toxic_pairs() -%}
{{ secure_datasets._toxic_sides(ref) }},

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

)
{%- endmacro %}


{# The subject of a toxic-pair. #}
{% macro _toxic_subject() -%}
concat('user ', user_id, ' on ', coalesce(concat(object_type, ' ', object_id), concat('every ', object_type)), ': ', pair)
{%- endmacro %}


{# Findings of toxic-pair. #}
{% macro _toxic_findings() -%}
select
    {{ secure_datasets._finding(
        'toxic-pair', secure_datasets._toxic_subject(),
        "concat('holds ', held_by)", 'user_id', 'object_type', 'object_id',
    ) }}
from told_toxic
{%- endmacro %}


{# The CTE with the day of the last decision that counts: an older void decision is no finding. #}
{% macro _settled() -%}
settled as (

    select
        user_id,
        object_type,
        object_id,
        max(decided_on) as decided_on
    from {{ ref('judged_decisions') }}
    where verdict = 'counts'
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# Findings about decisions of reviews: removed-and-still-there, void-decision. #}
{% macro _decision_findings() -%}
{%- set about = "concat('user ', {0}.user_id, ' on ', {0}.object_type, ' ', {0}.object_id{1})" -%}
select
    {{ secure_datasets._finding(
        'removed-and-still-there', about.format('statuses', ''),
        "concat(" ~ secure_datasets._numbered('user', 'statuses.decided_by_user_id', 'named_users.person') ~ ", ' decided on ', cast(statuses.decided_on as string), ' to remove it; the access is there ', case when statuses.is_as_seen then 'by the same ways as then' else 'by other ways than then' end)",
        'statuses.user_id', 'statuses.object_type', 'statuses.object_id',
    ) }}
from {{ ref('review_status') }} as statuses
left join named_users
    on statuses.decided_by_user_id = named_users.user_id
where statuses.status = 'to be removed'
union all
select distinct
    -- Two decisions of one day may differ only in the access that was seen.
    {{ secure_datasets._finding(
        'void-decision', about.format('decisions', ", ', by user ', decisions.decided_by_user_id, ' on ', cast(decisions.decided_on as string)"),
        "concat(decisions.decision, ' was ', decisions.problem)",
        'decisions.user_id', 'decisions.object_type', 'decisions.object_id',
    ) }}
from {{ ref('judged_decisions') }} as decisions
left semi join {{ ref('review_status') }} as statuses
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
{%- endmacro %}


{#
    The CTEs of the people who should act: the live owner of an object, or the administrators of a
    project, five of them by id. If neither exists, the global administrators act.
#}
{% macro _who_acts() -%}
{{ secure_datasets._people_with_charges() }},

in_charge as (

    select
        object_type,
        object_id,
        1 as number_in_charge,
        concat('user ', user_id, ', the owner') as who_acts
    from live_owners
    union all
    select
        'Project' as object_type,
        object_id,
        count(*) as number_in_charge,
        concat(
            'the administrators of the project: ',
            array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, user_id) end)), each -> concat('user ', each.user_id)), ', ')
        ) as who_acts
    from project_admins
    group by object_id

)
{%- endmacro %}


{# The administrators of projects, the live owners of objects, and both as people in charge. #}
{% macro _people_with_charges() -%}
project_admins as (

    select
        object_id,
        user_id,
        row_number() over (partition by object_id order by user_id) as place
    from (
        -- Several grants may give the right.
        select distinct object_id, user_id
        from {{ ref('int_access_paths') }}
        where object_type = 'Project' and permission_name = 'Project Admin'
    ) as admins_of_projects

),

live_owners as (

    select
        objects.object_type,
        objects.object_id,
        objects.owner_user_id as user_id
    from {{ ref('int_securable_objects') }} as objects
    inner join {{ ref('stg_users') }} as users
        on objects.owner_user_id = users.user_id and users.is_live

),

charges as (

    select object_type, object_id, user_id
    from live_owners
    union
    select 'Project' as object_type, object_id, user_id
    from project_admins

)
{%- endmacro %}
