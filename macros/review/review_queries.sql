{#
    The queries for a pack, each in the order of the objects: the live data sources and projects,
    the accesses to them, the findings, and the users with access. With `users`: the queries for
    the pages of these people, in their order, without the objects.

    ids    restricts the pack to objects in the charge of these users; none for everything
    users  the people whose pages are written; none for the pack

    Returns  queries by name: people, findings, users, administrators, roles; of a pack also
             objects, charges, gravest, of_ways; of the pack of everything also rejected
#}
{% macro review_queries(ids=none, users=none) %}
    {%- set charge = secure_datasets._in_charge(ids) -%}
    {%- set queries = {
        'people': charge ~ secure_datasets._reviewed_access(ids, users),
        'findings': charge ~ secure_datasets._reviewed_findings(ids, users),
        'users': charge ~ secure_datasets._reviewed_users(users),
        'administrators': charge ~ secure_datasets._global_administrators(),
        'roles': secure_datasets._roles_with_permissions(),
    } -%}
    {%- if users is none -%}
        {% do queries.update({
            'objects': charge ~ secure_datasets._reviewed_objects(),
            'charges': charge ~ secure_datasets._reviewed_charges(),
            'gravest': charge ~ secure_datasets._reviewed_findings(ids, is_by_severity=true),
            'of_ways': charge ~ secure_datasets._findings_of_ways(),
        }) %}
    {%- endif -%}
    {%- if users is none and ids is none -%}
        {% do queries.update({'rejected': secure_datasets._rejected_that_decide()}) %}
    {%- endif -%}
    {{ return(queries) }}
{% endmacro %}


{# The CTEs of the objects and of the people in charge: live owners, and administrators of projects. #}
{% macro _in_charge(ids) -%}
with live_users as (

    select
        user_id,
        login_name,
        case
            when {{ secure_datasets._is_brought('stg_users', 'date_last_login', secure_datasets.relation_named) }}
                then cast({{ secure_datasets.utc_day('date_last_login') }} as string)
            else 'not known'
        end as last_login,
        coalesce({{ secure_datasets._person_called() }}, concat('user ', user_id)) as person
    from {{ secure_datasets.relation_named('stg_users') }}
    where is_live

),

charges as (

    {{ secure_datasets.charges_query() | indent(4) }}

),

{{ secure_datasets._people_in_charge() }},

{{ secure_datasets._objects_in_pack(ids) }}
{%- endmacro %}


{# The objects of the pack, each with the people in charge. #}
{% macro _objects_in_pack(ids) -%}
objects as (

    select
        objects.object_type,
        objects.object_id,
        objects.object_name,
        coalesce(in_charge.in_charge, 'the global administrators') as in_charge,
        coalesce(in_charge.number_in_charge, 0) as number_in_charge
    from {{ secure_datasets.relation_named('int_securable_objects') }} as objects
    left join in_charge
        on
            objects.object_type = in_charge.object_type
            and objects.object_id = in_charge.object_id
    {%- if ids is not none %}
    left semi join charges
        on
            objects.object_type = charges.object_type
            and objects.object_id = charges.object_id
            and charges.user_id in ({{ ids | join(', ') }})
    {%- endif %}
    where objects.object_type in ('Data Source', 'Project')

)
{%- endmacro %}


{# The people in charge of each object, by name. #}
{% macro _people_in_charge() -%}
numbered_charges as (

    select
        charges.object_type,
        charges.object_id,
        charges.user_id,
        -- A login that is the person's only name is shown once.
        case
            when live_users.person = concat('user ', live_users.user_id) then live_users.person
            else concat(live_users.person, ' (', coalesce(nullif(live_users.login_name, live_users.person), cast(live_users.user_id as string)), ')')
        end as called,
        row_number() over (partition by charges.object_type, charges.object_id order by live_users.user_id) as place
    from charges
    inner join live_users
        on charges.user_id = live_users.user_id

),

in_charge as (

    select
        object_type,
        object_id,
        count(*) as number_in_charge,
        concat(
            array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, called) end)), entry -> entry.called), ', '),
            case when count(*) > 5 then concat(' and ', count(*) - 5, ' more') else '' end
        ) as in_charge
    from numbered_charges
    group by object_type, object_id

)
{%- endmacro %}


{# The objects, each with the number of people who hold a right on it and have no access in the pack. #}
{% macro _reviewed_objects() %},

-- A person may hold several rights.
holders as (

    select distinct
        paths.user_id,
        paths.object_type,
        paths.object_id
    from {{ secure_datasets.relation_named('int_access_paths') }} as paths
    left semi join objects
        on paths.object_type = objects.object_type and paths.object_id = objects.object_id

),

not_listed as (

    select
        holders.object_type,
        holders.object_id,
        count(*) as number_of_people
    from holders
    left anti join {{ secure_datasets.relation_named('review_status') }} as listed
        on
            holders.user_id = listed.user_id
            and holders.object_type = listed.object_type
            and holders.object_id = listed.object_id
    group by holders.object_type, holders.object_id

)

select
    objects.object_type,
    objects.object_id,
    objects.object_name,
    objects.in_charge,
    coalesce(not_listed.number_of_people, 0) as not_listed
from objects
left join not_listed
    on objects.object_type = not_listed.object_type and objects.object_id = not_listed.object_id
order by objects.object_type, objects.object_id
{%- endmacro %}


{# The people in charge of the objects, in the order of the objects. #}
{% macro _reviewed_charges() %}

select
    numbered_charges.object_type,
    numbered_charges.object_id,
    numbered_charges.user_id,
    numbered_charges.called
from numbered_charges
left semi join objects
    on numbered_charges.object_type = objects.object_type and numbered_charges.object_id = objects.object_id
order by numbered_charges.object_type, numbered_charges.object_id, numbered_charges.place
{%- endmacro %}


{# The live global administrators, responsible for every object without people in charge. #}
{% macro _global_administrators() %},

{{ secure_datasets._administrators_by_id() }},

dormant as (

    select distinct user_id
    from {{ secure_datasets.relation_named('access_findings') }}
    where rule = 'dormant-admin'

)

select
    live_users.user_id,
    live_users.person,
    live_users.login_name,
    dormant.user_id is not null as is_dormant
from live_users
left semi join administrators
    on live_users.user_id = administrators.user_id
left join dormant
    on live_users.user_id = dormant.user_id
order by live_users.person, live_users.user_id
{%- endmacro %}


{# The permissions of each role in `role_permissions`, as one text. #}
{% macro _roles_with_permissions() -%}
select
    object_type,
    role_name,
    -- A known role that grants nothing here has no permissions.
    array_join(array_sort(collect_set(permission_name)), ', ') as permissions
from {{ secure_datasets.relation_named('role_permissions') }}
group by object_type, role_name
order by object_type, role_name nulls first
{%- endmacro %}


{# The CTE of the users who hold the role Global Admin. #}
{% macro _administrators_by_id() -%}
administrators as (

    -- Several rows may give the role.
    select distinct user_id
    from {{ secure_datasets.relation_named('vw_secure_user_roles') }}
    where user_group_id is null and role_name = 'Global Admin'

)
{%- endmacro %}


{# The accesses to the objects, with the ways to each; with `users`, only the accesses of these users. #}
{% macro _reviewed_access(ids=none, users=none) %},

{% if users is not none -%}
{{ secure_datasets._asked_access(users) }},

{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'asked', ['object_type', 'object_id', 'user_id'], is_told=true) }},
{%- else -%}
{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'objects', ['object_type', 'object_id'], is_told=true) }},
{%- endif %}

{{ secure_datasets._findings_of_rows() }},

{{ secure_datasets._also_given(ids, users) }},

{{ secure_datasets._people_with_access() }},

{{ secure_datasets._rows_of_pairs() }},

{{ secure_datasets._findings_of_people() }},

{{ secure_datasets._void_decisions() }},

{{ secure_datasets._administrators_by_id() }},

{{ secure_datasets._users_by_name(secure_datasets.relation_named) }}

{{ secure_datasets._access_in_pack(users) }}
{%- endmacro %}


{# The rows of a pack: each access with its status, its findings and the person who decides. #}
{% macro _access_in_pack(users) -%}
select
    people.object_type,
    people.object_id,
    people.user_id,
    live_users.person,
    live_users.login_name,
    people.ways,
    also_given.shortly as elsewhere,
    also_given.told as elsewhere_in_full,
    -- The top of the page names the people in charge.
    {{ secure_datasets._other_decider() | indent(4) }} as decides,
    cast({{ secure_datasets.utc_day('people.since') }} as string) as since,
    live_users.last_login,
    everywhere.found as found_everywhere,
    here.found as found_here,
    people.of_grants as found_of_grants,
    people.of_members as found_of_members,
    here.asked as asked_here,
    people.asked_of_grants,
    people.asked_of_members,
    here.put_off.until as put_off_until,
    here.put_off.owner as put_off_by,
    people.seen,
    objects.object_name,
    objects.in_charge,
    -- The access may be newer than the stored status, because rights are run more often.
    {{ secure_datasets._status_in_pack() | indent(4) }} as status,
    case when people.seen <=> statuses.seen then cast(statuses.certified_until as string) end as certified_until,
    cast(statuses.decided_on as string) as last_decided_on,
    {{ secure_datasets._last_decision() | indent(4) }} as last_decision
from people
{{ secure_datasets._joins_of_names_and_charges() }}
{{ secure_datasets._joins_of_status(users) }}
{{ secure_datasets._joins_of_findings() }}
order by {{ 'people.user_id, objects.object_name, ' if users is not none }}people.object_type, people.object_id, live_users.person, people.user_id
{%- endmacro %}


{# The joins of a person's and an object's names, and of what the person is in charge of, in a query of `people`. #}
{% macro _joins_of_names_and_charges() -%}
inner join live_users
    on people.user_id = live_users.user_id
inner join objects
    on
        people.object_type = objects.object_type
        and people.object_id = objects.object_id
left join charges as in_charge_here
    on
        people.user_id = in_charge_here.user_id
        and people.object_type = in_charge_here.object_type
        and people.object_id = in_charge_here.object_id
left join administrators
    on people.user_id = administrators.user_id
{%- endmacro %}


{# The joins of a person's further access, findings and decider, in a query of `people` and `statuses`. #}
{% macro _joins_of_findings() -%}
left join also_given
    on
        people.user_id = also_given.user_id
        and people.object_type = also_given.object_type
        and people.object_id = also_given.object_id
left join voided
    on
        people.user_id = voided.user_id
        and people.object_type = voided.object_type
        and people.object_id = voided.object_id
        and statuses.status = 'void'
left join named_users
    on coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = named_users.user_id
left join charges as charges_of_decider
    on
        coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = charges_of_decider.user_id
        and people.object_type = charges_of_decider.object_type
        and people.object_id = charges_of_decider.object_id
left join administrators as deciding_administrators
    on coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = deciding_administrators.user_id
left join everywhere
    on people.user_id = everywhere.user_id
left join here
    on
        people.user_id = here.user_id
        and people.object_type = here.object_type
        and people.object_id = here.object_id
{%- endmacro %}


{# The join of the review status of each access in the pack, in a query of `people`. #}
{% macro _joins_of_status(users) -%}
left join (
    select statuses.*
    from {{ secure_datasets.relation_named('review_status') }} as statuses
    left semi join {{ 'objects' if users is none else 'asked' }} as told
        on
            statuses.object_type = told.object_type
            and statuses.object_id = told.object_id
            {%- if users is not none %}
            and statuses.user_id = told.user_id
            {%- endif %}
) as statuses
    on
        people.user_id = statuses.user_id
        and people.object_type = statuses.object_type
        and people.object_id = statuses.object_id
{%- endmacro %}


{# The last decision, and who made it. #}
{% macro _last_decision() -%}
concat(
    coalesce(statuses.decision, voided.decided.decision), ' by ',
    coalesce(nullif(named_users.person, ''), concat('user ', cast(coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) as string))),
    -- The decision counts even so, but auditors ask for it.
    case when charges_of_decider.user_id is null and deciding_administrators.user_id is null then ' (not in charge now)' else '' end,
    ' on ', cast(coalesce(statuses.decided_on, voided.decided.decided_on) as string)
)
{%- endmacro %}


{# The review status of an access, judged by the access and the day of the pack. #}
{% macro _status_in_pack() -%}
case
    when statuses.status is null then 'never reviewed'
    when statuses.status not in ('certified', 'overdue') then statuses.status
    when not (people.seen <=> statuses.seen) then 'new since'
    when not {{ secure_datasets._lasts('statuses') }} then 'overdue'
    else statuses.status
end
{%- endmacro %}


{# The person who decides about an access, unless it is the person in charge at the top of the page. #}
{% macro _other_decider() -%}
nullif(
    {{ secure_datasets._who_else(
        'in_charge_here.user_id is not null', 'objects.number_in_charge', 'administrators.user_id is not null',
        'people.is_global or objects.number_in_charge = 0', 'objects.in_charge',
    ) | indent(8) }},
    objects.in_charge
)
{%- endmacro %}


{# The findings about rows that may give several people access. #}
{% macro _findings_of_rows() -%}
-- The findings about rows that give access, but do not name both the person and the object.
found_rows as (

    select
        raw_table,
        raw_id,
        min({{ secure_datasets._told_finding() }}) as finding
    from {{ secure_datasets.relation_named('access_findings') }}
    where raw_id is not null and (user_id is null or raw_table = 'user_group_members')
    group by raw_table, raw_id

),

-- The rows among several ways that a finding asks to remove, unless it is excused.
asked_rows as (

    select
        findings.raw_table,
        findings.raw_id,
        min(named_struct(
            'rule', findings.rule, 'subject', findings.subject, 'is_of_group', findings.user_id is null,
            'stands_in', concat({{ secure_datasets._told_stand_ins() }}), 'who_acts', findings.who_acts
        )) as asked
    from {{ secure_datasets.relation_named('access_findings') }} as findings
    inner join {{ secure_datasets.relation_named('judged_grants') }} as grants
        on findings.raw_table = grants.grant_table and findings.raw_id = grants.grant_id
    where findings.rule in ('redundant-grant', 'second-way') and not findings.is_excused
    group by findings.raw_table, findings.raw_id

)
{%- endmacro %}


{# The people with access, each with the ways to it. #}
{% macro _people_with_access() -%}
people as (

    select
        user_id,
        object_type,
        object_id,
        min(since) as since,
        {{ secure_datasets._what_is_seen() }} as seen,
        array_sort(collect_list(named_struct(
            'way', way, 'since', cast({{ secure_datasets.utc_day('since') }} as string), 'granted_by', created_by, 'member_by', member_created_by,
            'by_row', concat(grant_table, ' ', grant_id)
        ))) as ways,
        min(grant_table) = 'user_global_roles' and max(grant_table) = 'user_global_roles' as is_global,
        array_sort(collect_set(found_grants.finding)) as of_grants,
        array_sort(collect_set(found_members.finding)) as of_members,
        array_sort(collect_set(asked_grants.asked)) as asked_of_grants,
        array_sort(collect_set(asked_members.asked)) as asked_of_members
    from ways
    left join found_rows as found_grants
        on ways.grant_table = found_grants.raw_table and ways.grant_id = found_grants.raw_id
    left join found_rows as found_members
        on found_members.raw_table = 'user_group_members' and ways.user_group_member_id = found_members.raw_id
    left join asked_rows as asked_grants
        on ways.grant_table = asked_grants.raw_table and ways.grant_id = asked_grants.raw_id
    left join asked_rows as asked_members
        on asked_members.raw_table = 'user_group_members' and ways.user_group_member_id = asked_members.raw_id
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# The findings beside a person's access. #}
{% macro _findings_of_people() -%}
-- The findings about a user in general, and about the user's access here.
everywhere as (

    select
        user_id,
        array_sort(collect_set({{ secure_datasets._told_finding(is_in_full=true) }})) as found
    from {{ secure_datasets.relation_named('access_findings') }}
    where user_id is not null and object_id is null
    group by user_id

),

here as (

    select
        user_id,
        object_type,
        object_id,
        array_sort(collect_set({{ secure_datasets._told_finding() }})) as found,
        array_sort(collect_set(
            case
                when rule = 'toxic-pair' and not is_excused
                    then named_struct('rule', rule, 'subject', subject, 'sides', rows_of_pairs.sides, 'who_acts', who_acts)
            end
        )) as asked,
        max(
            case
                when rule = 'removed-and-still-there' and is_excused and exception_expires_on >= cast({{ secure_datasets.judged_on() }} as date)
                    then named_struct('until', cast(exception_expires_on as string), 'owner', exception_owner)
            end
        ) as put_off
    from {{ secure_datasets.relation_named('access_findings') }} as findings
    left join rows_of_pairs
        on findings.subject = rows_of_pairs.pair_subject
    where user_id is not null and object_id is not null
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# The last void decision about each access. #}
{% macro _void_decisions() -%}
-- A void decision certifies nothing, but its decider is shown.
voided as (

    select
        user_id,
        object_type,
        object_id,
        max(named_struct('decided_on', decided_on, 'decision', decision, 'decided_by_user_id', decided_by_user_id)) as decided
    from {{ secure_datasets.relation_named('judged_decisions') }}
    where verdict = 'void'
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# The CTEs of the rows that give each toxic pair, for both sides of the pair. #}
{% macro _rows_of_pairs() -%}
{{ secure_datasets._toxic_sides(secure_datasets.relation_named, is_found=true) }},

rows_of_pairs as (

    select
        {{ secure_datasets._toxic_subject() }} as pair_subject,
        array_sort(collect_list(named_struct('side', side, 'told', told, 'by_rows', by_rows))) as sides
    from toxic_sides
    group by user_id, object_type, object_id, pair

)
{%- endmacro %}


{# The CTE `asked` for the ways of some users: each of these live users with every object. #}
{% macro _asked_access(users) -%}
asked as (

    select
        objects.object_type,
        objects.object_id,
        live_users.user_id
    from objects
    cross join live_users
    where live_users.user_id in ({{ users | join(', ') }})

)
{%- endmacro %}


{# A text with the rule of a finding, whether it is excused, and its row, if any. #}
{% macro _named_rule() -%}
concat(rule, case when is_excused then ' (excused)' else '' end, coalesce(concat(': ', raw_table, ' ', raw_id), ''))
{%- endmacro %}


{#
    A finding beside a person: its severity, its words, and the rule and subject that identify it.

    is_in_full  whether the words include the detail of the finding
#}
{% macro _told_finding(is_in_full=false) -%}
named_struct(
            'severity', severity, 'told', {{ 'concat(' if is_in_full }}{{ secure_datasets._named_rule() }}{{ ", ': ', detail)" if is_in_full }},
            'rule', rule, 'subject', subject, 'is_excused', is_excused
        )
{%- endmacro %}


{# The raw row in a way that can give rights on many objects: the membership, else the grant. #}
{% macro _row_of_many() -%}
case when user_group_member_id is null then grant_table else 'user_group_members' end as given_table,
coalesce(user_group_member_id, grant_id) as given_id
{%- endmacro %}


{#
    The CTEs of the further objects on which the memberships and global roles of the ways give
    rights: ten by name in short, thirty in full. The pack of an owner names only objects that have
    a page in it.
#}
{% macro _also_given(ids=none, users=none) -%}
{{ secure_datasets._given_objects(users) }},

{{ secure_datasets._rows_of_many(ids) }},

{{ secure_datasets._named_others() }},

{{ secure_datasets._told_others() }},

also_given as (

    -- Several memberships may give the access.
    select
        user_id,
        object_type,
        object_id,
        array_sort(collect_set(named_struct('row', concat(given_table, ' ', given_id), 'told', shortly))) as shortly,
        array_join(array_sort(collect_set(told)), '; ') as told
    from told_others
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# The further objects of each row, as text: short and long. #}
{% macro _told_others() -%}
told_others as (

    select
        user_id,
        object_type,
        object_id,
        given_table,
        given_id,
        {%- for name, number in {'shortly': 10, 'told': 30}.items() %}
        concat(
            given_table, ' ', given_id, ' also gives rights on ', number_of_others,
            case when number_of_others = 1 then ' other object' else ' other objects' end,
            case
                when size(others) = 0 then ', which this pack does not show'
                else concat(
                    ': ', array_join(slice(others, 1, {{ number }}), ', '),
                    case
                        when number_of_others > least(size(others), {{ number }})
                            then concat(' and ', number_of_others - least(size(others), {{ number }}), ' more')
                        else ''
                    end
                )
            end
        ) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from named_others

)
{%- endmacro %}


{# The objects that the rows behind the access in this pack lead to. #}
{% macro _given_objects(users) -%}
here_by_row as (

    -- A row may give several rights.
    select distinct
        {{ secure_datasets._row_of_many() | indent(8) }},
        user_id,
        object_type,
        object_id
    from ways
    where user_group_member_id is not null or grant_table = 'user_global_roles'

),

given_objects as (

    -- A row may give several rights on an object.
    select distinct
        paths.given_table,
        paths.given_id,
        paths.object_type,
        paths.object_id
    from (
        select
            {{ secure_datasets._row_of_many() | indent(12) }},
            user_id,
            object_type,
            object_id
        from {{ secure_datasets.relation_named('explained_access_paths') }}
        where (user_group_member_id is not null or grant_table = 'user_global_roles'){{ ' and user_id in (' ~ users | join(', ') ~ ')' if users is not none }}
    ) as paths
    -- Only rows that the pack shows are looked up.
    left semi join here_by_row
        on
            paths.user_id = here_by_row.user_id
            and paths.given_table = here_by_row.given_table
            and paths.given_id = here_by_row.given_id

)
{%- endmacro %}


{# These objects by name, and the rows that lead to more than one. #}
{% macro _rows_of_many(ids) -%}
named_objects as (

    select
        given_objects.given_table,
        given_objects.given_id,
        given_objects.object_type,
        given_objects.object_id,
        concat(coalesce(nullif(shown_objects.object_name, ''), '(no name)'), ' (', shown_objects.object_type, ' ', shown_objects.object_id, ')') as called,
        row_number() over (
            partition by given_objects.given_table, given_objects.given_id
            order by case when shown_objects.object_id is null then 1 else 0 end, given_objects.object_type, given_objects.object_id
        ) as place
    from given_objects
    left join {{ secure_datasets.relation_named('int_securable_objects') if ids is none else 'objects' }} as shown_objects
        on
            given_objects.object_type = shown_objects.object_type
            and given_objects.object_id = shown_objects.object_id

),

rows_of_many as (

    select
        given_table,
        given_id,
        count(*) - 1 as number_of_others,
        array_sort(collect_list(case when place <= 31 and called is not null then struct(place, object_type, object_id, called) end)) as first_objects
    from named_objects
    group by given_table, given_id
    having count(*) > 1

)
{%- endmacro %}


{# The further objects of each row, numbered. #}
{% macro _named_others() -%}
named_others as (

    select
        here.given_table,
        here.given_id,
        here.user_id,
        here.object_type,
        here.object_id,
        rows_of_many.number_of_others,
        transform(
            filter(rows_of_many.first_objects, each -> not (each.object_type = here.object_type and each.object_id = here.object_id)),
            each -> each.called
        ) as others
    from here_by_row as here
    inner join rows_of_many
        on here.given_table = rows_of_many.given_table and here.given_id = rows_of_many.given_id

)
{%- endmacro %}


{# Whether a certificate still lasts on the day of judgement: the run that stored it may be days old. #}
{% macro _lasts(statuses) -%}
{{ statuses }}.certified_until >= cast({{ secure_datasets.judged_on() }} as date)
{%- endmacro %}


{#
    The findings, excused ones last. Without arguments: all.

    ids             only findings about objects in the charge of these users or owned by them, about
                    people with access to objects in their charge, and about memberships that give
                    this access
    users           only findings about these users, and about the groups' grants that give them access
    is_by_severity  sorts by urgency, not by object
#}
{% macro _reviewed_findings(ids=none, users=none, is_by_severity=false) %},

{{ secure_datasets._users_by_name(secure_datasets.relation_named) }},

{{ secure_datasets._things_by_name(secure_datasets.relation_named) }}
{%- if ids is not none %},

{{ secure_datasets._subjects_of_charge(ids) }}
{%- elif users is not none %},

{{ secure_datasets._grants_behind_access(users) }}
{%- endif %}

select
    findings.object_type,
    findings.object_id,
    {{ secure_datasets._finding_columns() }},
    {{ 'coalesce(findings.user_id, grants_of_groups.user_id) as user_id' if users is not none else 'findings.user_id' }}
from {{ secure_datasets._named_findings() }}
{%- if ids is not none %}
{{ secure_datasets._only_in_charge() }}
{%- elif users is not none %}
{{ secure_datasets._only_about(users) }}
{%- endif %}
order by
    {%- if users is not none %}
    coalesce(findings.user_id, grants_of_groups.user_id),
    {%- elif not is_by_severity %}
    findings.object_type nulls first,
    findings.object_id nulls first,
    {%- endif %}
    {{ secure_datasets._most_urgent_first() }}
{%- endmacro %}


{# The memberships, objects and people that findings in somebody's charge are about. #}
{% macro _subjects_of_charge(ids) -%}
{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'objects', ['object_type', 'object_id']) }},

memberships_here as (

    -- A membership may give several rights.
    select distinct user_group_member_id
    from ways

),

looked_after as (

    select object_type, object_id
    from objects
    union
    select object_type, object_id
    from {{ secure_datasets.relation_named('int_securable_objects') }}
    where owner_user_id in ({{ ids | join(', ') }})

),

-- Findings about these people in general are included.
people_here as (

    -- A person may have access to several objects.
    select distinct statuses.user_id
    from {{ secure_datasets.relation_named('review_status') }} as statuses
    left semi join objects
        on statuses.object_type = objects.object_type and statuses.object_id = objects.object_id

)
{%- endmacro %}


{# The grants that give these users access. #}
{% macro _grants_behind_access(users) -%}
{{ secure_datasets._asked_access(users) }},

{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'asked', ['object_type', 'object_id', 'user_id']) }},

grants_of_groups as (

    -- A grant may give several rights.
    select distinct user_id, grant_table, grant_id
    from ways

)
{%- endmacro %}


{# The joins and the condition that keep the findings about `_subjects_of_charge`. #}
{% macro _only_in_charge() -%}
left join looked_after
    on findings.object_type = looked_after.object_type and findings.object_id = looked_after.object_id
left join people_here
    on findings.user_id = people_here.user_id and findings.object_id is null
left join memberships_here
    on findings.raw_table = 'user_group_members' and findings.raw_id = memberships_here.user_group_member_id
where looked_after.object_id is not null or people_here.user_id is not null or memberships_here.user_group_member_id is not null
{%- endmacro %}


{# The join and the condition that keep the findings about these users and `_grants_behind_access`. #}
{% macro _only_about(users) -%}
left join grants_of_groups
    on findings.user_id is null and findings.raw_table = grants_of_groups.grant_table and findings.raw_id = grants_of_groups.grant_id
where findings.user_id in ({{ users | join(', ') }}) or grants_of_groups.user_id is not null
{%- endmacro %}


{# The columns of a finding in a pack, from `_named_findings`. #}
{% macro _finding_columns() -%}
findings.severity,
    findings.rule,
    findings.subject,
    findings.raw_table,
    concat_ws(' on ', nullif(named_users.person, ''), named_things.name) as named,
    findings.detail,
    case when findings.who_acts like '%global administrator%' then findings.who_acts else coalesce(in_charge.in_charge, findings.who_acts) end as who_acts,
    findings.is_excused,
    -- Exceptions that have expired are shown, too.
    case when findings.exception_expires_on is not null then {{ secure_datasets._excused_by() }} end as excused_by,
    case when findings.exception_expires_on is not null then findings.exception_reason end as excused_because,
    cast(findings.exception_expires_on as string) as excused_until
{%- endmacro %}


{# The owner of an exception, and a note if the finding is about the owner: by id, login or name. #}
{% macro _excused_by() -%}
concat(
        findings.exception_owner,
        case
            when {{ secure_datasets.ascii_lower('trim(findings.exception_owner)') }} in (cast(findings.user_id as string), {{ secure_datasets.ascii_lower('excused_users.login_name') }}, {{ secure_datasets.ascii_lower('trim(excused_users.person)') }})
                then ' (whom it is about)'
            else ''
        end
    )
{%- endmacro %}


{# The findings, joined with the names of their users and objects and of the people in charge. #}
{% macro _named_findings() -%}
{{ secure_datasets.relation_named('access_findings') }} as findings
left join named_users
    on findings.user_id = named_users.user_id
left join live_users as excused_users
    on findings.user_id = excused_users.user_id
left join named_things
    on findings.object_type = named_things.object_type and findings.object_id = named_things.object_id
left join in_charge
    on findings.object_type = in_charge.object_type and findings.object_id = in_charge.object_id
{%- endmacro %}


{# The order of findings: excused ones last, then the gravest first. #}
{% macro _most_urgent_first() -%}
findings.is_excused,
    case findings.severity when 'high' then 1 when 'medium' then 2 else 3 end,
    findings.object_type nulls first,
    findings.object_id nulls first,
    findings.rule,
    findings.subject
{%- endmacro %}


{#
    The findings about rows that give access to an object without being about it, such as
    memberships: one row for each object and finding.
#}
{% macro _findings_of_ways() %},

{{ secure_datasets._users_by_name(secure_datasets.relation_named) }},

{{ secure_datasets._things_by_name(secure_datasets.relation_named) }},

{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'objects', ['object_type', 'object_id']) }},

rows_here as (

    select object_type, object_id, grant_table as raw_table, grant_id as raw_id
    from ways
    -- One grant may give access to several people.
    union
    select object_type, object_id, 'user_group_members' as raw_table, user_group_member_id as raw_id
    from ways
    where user_group_member_id is not null

)

select
    rows_here.object_type,
    rows_here.object_id,
    {{ secure_datasets._finding_columns() }},
    findings.user_id
from {{ secure_datasets._named_findings() }}
inner join rows_here
    on findings.raw_table = rows_here.raw_table and findings.raw_id = rows_here.raw_id
where not (findings.object_type <=> rows_here.object_type and findings.object_id <=> rows_here.object_id)
order by
    rows_here.object_type,
    rows_here.object_id,
    {{ secure_datasets._most_urgent_first() }}
{%- endmacro %}


{# The rejected rows of the raw tables that decide access: they give nothing. #}
{% macro _rejected_that_decide() -%}
{%- set config, tables, parts = secure_datasets.secure_datasets_config(), secure_datasets.repository_tables(), {} -%}
{%- for name in config.tiers -%}
    {%- do parts.update({name: secure_datasets.tier_parts(name, config)}) -%}
{%- endfor -%}
{%- set staged = [] -%}
{%- for name in tables -%}{%- do staged.append('stg_' ~ name) -%}{%- endfor -%}
{%- set names = [] -%}
{%- for name in adapter.access_changes().deciding_tables([{'tiers': parts, 'relations': staged}], tables) -%}
    {%- do names.append(secure_datasets.sql_text(name)) -%}
{%- endfor -%}
select
    table_name,
    raw_id,
    reason,
    raw_row,
    cast({{ secure_datasets.utc_day('sf_date_created') }} as string) as loaded_on
from {{ secure_datasets.relation_named('rejected_rows') }}
where table_name in ({{ names | join(', ') }})
order by table_name, try_cast(raw_id as bigint) nulls first, raw_id, reason, raw_row, loaded_on
{%- endmacro %}


{#
    The users with access to the objects, the most undecided accesses first. With `users`: these
    users, with or without access, in the order of their ids.
#}
{% macro _reviewed_users(users=none) %},

{{ secure_datasets._counted_access() }}

select
    live_users.user_id,
    live_users.person,
    live_users.login_name,
    live_users.last_login,
    coalesce(counted.number_of_objects, 0) as objects,
    coalesce(counted.number_of_objects - counted.certified, 0) as to_decide
from live_users
{{ 'left' if users is not none else 'inner' }} join counted
    on live_users.user_id = counted.user_id
{%- if users is not none %}
where live_users.user_id in ({{ users | join(', ') }})
order by live_users.user_id
{%- else %}
order by to_decide desc, live_users.person, live_users.user_id
{%- endif %}
{%- endmacro %}


{# The number of objects that each user has access to, and of accesses that are certified as they are now. #}
{% macro _counted_access() -%}
{{ secure_datasets._certified_access() }},

{{ secure_datasets._shown_ways(secure_datasets.relation_named, 'certified', ['user_id', 'object_type', 'object_id']) }},

{{ secure_datasets._seen_now() }},

counted as (

    select
        statuses.user_id,
        count(*) as number_of_objects,
        count(seen_now.seen) as certified
    from statuses
    left join seen_now
        on
            statuses.user_id = seen_now.user_id
            and statuses.object_type = seen_now.object_type
            and statuses.object_id = seen_now.object_id
            and statuses.certified = seen_now.seen
    group by statuses.user_id

)
{%- endmacro %}


{# The statuses of the objects' accesses, and the accesses with a certificate that lasts. #}
{% macro _certified_access() -%}
statuses as (

    select
        statuses.user_id,
        statuses.object_type,
        statuses.object_id,
        case when {{ secure_datasets._lasts('statuses') }} and statuses.status = 'certified' then statuses.seen end as certified
    from {{ secure_datasets.relation_named('review_status') }} as statuses
    left semi join objects
        on
            statuses.object_type = objects.object_type
            and statuses.object_id = objects.object_id

),

certified as (

    select user_id, object_type, object_id
    from statuses
    where certified is not null

)
{%- endmacro %}
