"""The objects of a pack, and the people in charge of them."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.grants import people_in_charge
from secure_datasets.review.models import parts
from secure_datasets.sql.writing import indented

Ids = list[int] | None

# The people in charge of each object, by name.
IN_CHARGE = """numbered_charges as (

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

)"""


def in_charge(built: Built, ids: Ids) -> list[str]:
    """Return the CTEs of the objects of a pack, and of the people in charge of them.

    Live owners of data sources and administrators of projects are in charge.

    ids  restricts the objects to those in the charge of these users; None for all
    """
    macros = built.macros
    return [
        f"""live_users as (

    select
        user_id,
        login_name,
        case
            when {parts.has_logins(built)}
                then cast({macros["utc_day"]("date_last_login")} as string)
            else 'not known'
        end as last_login,
        coalesce({parts.PERSON}, concat('user ', user_id)) as person
    from {built.relation("stg_users")}
    where is_live

)""",
        f"""charges as (

    {indented(people_in_charge(built))}

)""",
        IN_CHARGE,
        _objects_in_pack(built, ids),
    ]


def _objects_in_pack(built: Built, ids: Ids) -> str:
    """Return the CTE of the objects, each with the people in charge."""
    only = (
        ""
        if ids is None
        else f"""
    left semi join charges
        on
            objects.object_type = charges.object_type
            and objects.object_id = charges.object_id
            and charges.user_id in ({in_list(ids)})"""
    )
    return f"""objects as (

    select
        objects.object_type,
        objects.object_id,
        objects.object_name,
        coalesce(in_charge.in_charge, 'the global administrators') as in_charge,
        coalesce(in_charge.number_in_charge, 0) as number_in_charge
    from {built.relation("int_securable_objects")} as objects
    left join in_charge
        on
            objects.object_type = in_charge.object_type
            and objects.object_id = in_charge.object_id{only}
    where objects.object_type in ('Data Source', 'Project')

)"""


def objects(built: Built) -> list[str]:
    """Return the steps of the objects.

    Each has the number of people who hold a right on it and have no access in the pack.
    """
    return [
        f"""-- A person may hold several rights.
holders as (

    select distinct
        paths.user_id,
        paths.object_type,
        paths.object_id
    from {built.relation("int_access_paths")} as paths
    left semi join objects
        on paths.object_type = objects.object_type and paths.object_id = objects.object_id

)""",
        f"""not_listed as (

    select
        holders.object_type,
        holders.object_id,
        count(*) as number_of_people
    from holders
    left anti join {built.relation("review_status")} as listed
        on
            holders.user_id = listed.user_id
            and holders.object_type = listed.object_type
            and holders.object_id = listed.object_id
    group by holders.object_type, holders.object_id

)""",
        """select
    objects.object_type,
    objects.object_id,
    objects.object_name,
    objects.in_charge,
    coalesce(not_listed.number_of_people, 0) as not_listed
from objects
left join not_listed
    on objects.object_type = not_listed.object_type and objects.object_id = not_listed.object_id
order by objects.object_type, objects.object_id""",
    ]


def charges() -> list[str]:
    """Return the step of the people in charge of the objects."""
    return [
        """select
    numbered_charges.object_type,
    numbered_charges.object_id,
    numbered_charges.user_id,
    numbered_charges.called
from numbered_charges
left semi join objects
    on numbered_charges.object_type = objects.object_type and numbered_charges.object_id = objects.object_id
order by numbered_charges.object_type, numbered_charges.object_id, numbered_charges.place"""
    ]
