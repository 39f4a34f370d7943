{#
    The queries that a pack is written from, each in the order of the objects: the live data
    sources and projects, who has access to them, and what is found.

    ids  the users in charge of what is told; none for everything

    Returns  queries by name: objects, people, findings
#}
{% macro review_queries(ids=none) %}
    {%- set charge = secure_datasets._in_charge(ids) -%}
    {{ return({
        'objects': charge ~ secure_datasets._reviewed_objects(),
        'people': charge ~ secure_datasets._reviewed_access(),
        'findings': charge ~ secure_datasets._reviewed_findings(ids),
    }) }}
{% endmacro %}


{# The CTEs of the objects, and of who is in charge: live owners, and administrators of projects. #}
{% macro _in_charge(ids) -%}
with live_users as (

    select
        user_id,
        login_name,
        date_last_login,
        concat_ws(' ', first_name, last_name) as person
    from {{ secure_datasets.relation_named('stg_users') }}
    where is_live

),

charges as (

    select object_type, object_id, owner_user_id as user_id
    from {{ secure_datasets.relation_named('int_securable_objects') }}
    where object_type = 'Data Source'
    -- By several grants, perhaps.
    union
    select object_type, object_id, user_id
    from {{ secure_datasets.relation_named('int_access_paths') }}
    where object_type = 'Project' and permission_name = 'Project Admin'

),

numbered_charges as (

    select
        charges.object_type,
        charges.object_id,
        concat(live_users.person, ' (', coalesce(live_users.login_name, cast(live_users.user_id as string)), ')') as called,
        row_number() over (partition by charges.object_type, charges.object_id order by live_users.user_id) as place
    from charges
    inner join live_users
        on charges.user_id = live_users.user_id

),

in_charge as (

    select
        object_type,
        object_id,
        concat(
            array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, called) end)), entry -> entry.called), ', '),
            case when count(*) > 5 then concat(' and ', count(*) - 5, ' more') else '' end
        ) as in_charge
    from numbered_charges
    group by object_type, object_id

),

objects as (

    select
        objects.object_type,
        objects.object_id,
        objects.object_name,
        coalesce(in_charge.in_charge, 'the global administrators') as in_charge
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


{# The objects. #}
{% macro _reviewed_objects() %}

select object_type, object_id, object_name, in_charge
from objects
order by object_type, object_id
{%- endmacro %}


{#
    Who has access to the objects: a right that the user sees something by, as the access views
    of the tiers say, with the ways to it.
#}
{% macro _reviewed_access() -%}
{%- set config = secure_datasets.secure_datasets_config() %},

shown as (
    {% for name, tier in config.tiers.items() if tier.right and tier.right.object_type in ['Data Source', 'Project'] %}
    {%- set own = secure_datasets.tier_parts(name, config).rights[0] %}
    -- Once for each object that it is linked to.
    select distinct
        user_id,
        {{ secure_datasets.sql_text(own.object_type) }} as object_type,
        {{ own.key }} as object_id,
        {{ secure_datasets.sql_text(own.permission) }} as permission_name
    from {{ secure_datasets.relation_named(tier.access_view) }}
    {{ 'union' if not loop.last }}
    {%- endfor %}

),

ways as (

    select
        shown.user_id,
        shown.object_type,
        shown.object_id,
        case when paths.member_date_created > paths.date_created then paths.member_date_created else paths.date_created end as since,
        concat(
            shown.permission_name, ': ', paths.path_kind,
            coalesce(concat(', role ', paths.role_name), ''),
            coalesce(concat(', through ', paths.group_chain), ''),
            ', by ', paths.grant_table, ' ', paths.grant_id
        ) as way
    from shown
    left semi join objects
        on shown.object_type = objects.object_type and shown.object_id = objects.object_id
    inner join {{ secure_datasets.relation_named('explained_access_paths') }} as paths
        on
            shown.user_id = paths.user_id
            and shown.object_type = paths.object_type
            and shown.object_id = paths.object_id
            and shown.permission_name = paths.permission_name

),

numbered as (

    select
        user_id,
        object_type,
        object_id,
        since,
        way,
        row_number() over (partition by object_type, object_id, user_id order by way) as place
    from ways

),

people as (

    select
        user_id,
        object_type,
        object_id,
        min(since) as since,
        count(*) as number_of_ways,
        transform(array_sort(collect_list(case when place <= 10 then struct(place, way) end)), entry -> entry.way) as ways
    from numbered
    group by user_id, object_type, object_id

),

-- What is found of a user in general, and of the user here.
everywhere as (

    select
        user_id,
        array_join(array_sort(collect_set(rule)), ', ') as rules
    from {{ secure_datasets.relation_named('access_findings') }}
    where user_id is not null and object_id is null and not is_excused
    group by user_id

),

here as (

    select
        user_id,
        object_type,
        object_id,
        array_join(array_sort(collect_set(rule)), ', ') as rules
    from {{ secure_datasets.relation_named('access_findings') }}
    where user_id is not null and object_id is not null and not is_excused
    group by user_id, object_type, object_id

)

select
    people.object_type,
    people.object_id,
    people.user_id,
    live_users.person,
    live_users.login_name,
    people.ways,
    people.number_of_ways,
    cast({{ secure_datasets.utc_day('people.since') }} as string) as since,
    cast({{ secure_datasets.utc_day('live_users.date_last_login') }} as string) as last_login,
    concat_ws(', ', everywhere.rules, here.rules) as findings
from people
inner join live_users
    on people.user_id = live_users.user_id
left join everywhere
    on people.user_id = everywhere.user_id
left join here
    on
        people.user_id = here.user_id
        and people.object_type = here.object_type
        and people.object_id = here.object_id
order by people.object_type, people.object_id, live_users.person, people.user_id
{%- endmacro %}


{# What is found: all of it, or of the objects that somebody is in charge of. #}
{% macro _reviewed_findings(ids) %}

select
    findings.object_type,
    findings.object_id,
    findings.severity,
    findings.rule,
    findings.subject,
    findings.detail,
    findings.who_acts,
    findings.is_excused
from {{ secure_datasets.relation_named('access_findings') }} as findings
{%- if ids is not none %}
left semi join objects
    on findings.object_type = objects.object_type and findings.object_id = objects.object_id
{%- endif %}
order by
    findings.object_type nulls first,
    findings.object_id nulls first,
    case findings.severity when 'high' then 1 when 'medium' then 2 else 3 end,
    findings.rule,
    findings.subject
{%- endmacro %}
