"""The findings about the objects and people of a pack, and rows that do not count."""

from __future__ import annotations

from secure_datasets.questions.changes.macro_methods import AccessChanges
from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.render.staging.reading import ascii_lower
from secure_datasets.review.models import parts
from secure_datasets.review.models.ways import shown_ways
from secure_datasets.review.queries.objects import Ids
from secure_datasets.sql.expressions import sql_text

OBJECT = ["object_type", "object_id"]
ACCESS = [*OBJECT, "user_id"]

# Excused ones last, then the gravest first.
MOST_URGENT_FIRST = """findings.is_excused,
    case findings.severity when 'high' then 1 when 'medium' then 2 else 3 end,
    findings.object_type nulls first,
    findings.object_id nulls first,
    findings.rule,
    findings.subject"""

# Keeps the findings about the CTEs of `_subjects_of_charge`.
ONLY_IN_CHARGE = """left join looked_after
    on findings.object_type = looked_after.object_type and findings.object_id = looked_after.object_id
left join people_here
    on findings.user_id = people_here.user_id and findings.object_id is null
left join memberships_here
    on findings.raw_table = 'user_group_members' and findings.raw_id = memberships_here.user_group_member_id
where looked_after.object_id is not null or people_here.user_id is not null or memberships_here.user_group_member_id is not null"""


def findings(
    built: Built, ids: Ids = None, people: Ids = None, is_by_severity: bool = False
) -> list[str]:
    """Return the steps of the findings, excused ones last. Without arguments: all.

    ids             only findings about objects in the charge of these users or owned by
                    them, about people with access to objects in their charge, and about
                    memberships that give this access
    people          only findings about these users, and about the groups' grants that
                    give them access
    is_by_severity  sorts by urgency, not by object
    """
    steps, user, only = [], "findings.user_id", ""
    by_object = "findings.object_type nulls first, findings.object_id nulls first,"
    order = "" if is_by_severity else by_object
    if ids is not None:
        steps, only = _subjects_of_charge(built, ids), ONLY_IN_CHARGE
    elif people is not None:
        steps, only = _grants_behind_access(built, people), _only_about(people)
        user = "coalesce(findings.user_id, grants_of_groups.user_id)"
        order = f"{user},"
    return [
        parts.users_by_name(built),
        parts.things_by_name(built),
        *steps,
        f"""select
    findings.object_type,
    findings.object_id,
    {_columns(built)},
    {user}{" as user_id" if people is not None else ""}
from {_named_findings(built)}
{only}
order by
    {order}
    {MOST_URGENT_FIRST}""",
    ]


def _subjects_of_charge(built: Built, ids: list[int]) -> list[str]:
    """Return CTEs: memberships, objects and people that somebody's findings are about."""
    return [
        shown_ways(built, "objects", OBJECT),
        """memberships_here as (

    -- A membership may give several rights.
    select distinct user_group_member_id
    from ways

)""",
        f"""looked_after as (

    select object_type, object_id
    from objects
    union
    select object_type, object_id
    from {built.relation("int_securable_objects")}
    where owner_user_id in ({in_list(ids)})

)""",
        f"""-- Findings about these people in general are included.
people_here as (

    -- A person may have access to several objects.
    select distinct statuses.user_id
    from {built.relation("review_status")} as statuses
    left semi join objects
        on statuses.object_type = objects.object_type and statuses.object_id = objects.object_id

)""",
    ]


def asked_access(people: list[int]) -> str:
    """Return the CTE `asked` for the ways of users: each live one with every object."""
    return f"""asked as (

    select
        objects.object_type,
        objects.object_id,
        live_users.user_id
    from objects
    cross join live_users
    where live_users.user_id in ({in_list(people)})

)"""


def _grants_behind_access(built: Built, people: list[int]) -> list[str]:
    """Return the CTEs of the grants that give these users access."""
    return [
        asked_access(people),
        shown_ways(built, "asked", ACCESS),
        """grants_of_groups as (

    -- A grant may give several rights.
    select distinct user_id, grant_table, grant_id
    from ways

)""",
    ]


def _only_about(people: list[int]) -> str:
    """Return what keeps the findings about users, and about `_grants_behind_access`."""
    return f"""left join grants_of_groups
    on findings.user_id is null and findings.raw_table = grants_of_groups.grant_table and findings.raw_id = grants_of_groups.grant_id
where findings.user_id in ({in_list(people)}) or grants_of_groups.user_id is not null"""


def _columns(built: Built) -> str:
    """Return the columns of a finding in a pack, from `_named_findings`."""
    owner = ascii_lower("trim(findings.exception_owner)")
    login, person = (
        ascii_lower(name)
        for name in ("excused_users.login_name", "trim(excused_users.person)")
    )  # fmt: skip
    return f"""findings.severity,
    findings.rule,
    findings.subject,
    findings.raw_table,
    concat_ws(' on ', nullif(named_users.person, ''), named_things.name) as named,
    findings.detail,
    case when findings.who_acts like '%global administrator%' then findings.who_acts else coalesce(in_charge.in_charge, findings.who_acts) end as who_acts,
    findings.is_excused,
    -- Exceptions that have expired are shown, too.
    case when findings.exception_expires_on is not null then concat(
        findings.exception_owner,
        case
            -- By id, login or name.
            when {owner} in (cast(findings.user_id as string), {login}, {person})
                then ' (whom it is about)'
            else ''
        end
    ) end as excused_by,
    case when findings.exception_expires_on is not null then findings.exception_reason end as excused_because,
    cast(findings.exception_expires_on as string) as excused_until"""


def _named_findings(built: Built) -> str:
    """Return the findings, joined with names and with the people in charge."""
    return f"""{built.relation("access_findings")} as findings
left join named_users
    on findings.user_id = named_users.user_id
left join live_users as excused_users
    on findings.user_id = excused_users.user_id
left join named_things
    on findings.object_type = named_things.object_type and findings.object_id = named_things.object_id
left join in_charge
    on findings.object_type = in_charge.object_type and findings.object_id = in_charge.object_id"""


def findings_of_ways(built: Built) -> list[str]:
    """Return the steps of the findings about rows that give access, such as memberships.

    They are not about the object: one row for each object and finding.
    """
    return [
        parts.users_by_name(built),
        parts.things_by_name(built),
        shown_ways(built, "objects", OBJECT),
        """rows_here as (

    select object_type, object_id, grant_table as raw_table, grant_id as raw_id
    from ways
    -- One grant may give access to several people.
    union
    select object_type, object_id, 'user_group_members' as raw_table, user_group_member_id as raw_id
    from ways
    where user_group_member_id is not null

)""",
        f"""select
    rows_here.object_type,
    rows_here.object_id,
    {_columns(built)},
    findings.user_id
from {_named_findings(built)}
inner join rows_here
    on findings.raw_table = rows_here.raw_table and findings.raw_id = rows_here.raw_id
where not (findings.object_type <=> rows_here.object_type and findings.object_id <=> rows_here.object_id)
order by
    rows_here.object_type,
    rows_here.object_id,
    {MOST_URGENT_FIRST}""",
    ]


def rejected_that_decide(built: Built) -> str:
    """Return the query of the rejected rows of the raw tables that decide access.

    They give nothing.
    """
    tiers = {name: built.tier_parts(name) for name in built.config["tiers"]}
    state = {"tiers": tiers, "relations": [f"stg_{name}" for name in built.tables]}
    names = AccessChanges().deciding_tables([state], built.tables)
    return f"""select
    table_name,
    raw_id,
    reason,
    raw_row,
    cast({built.macros["utc_day"]("sf_date_created")} as string) as loaded_on
from {built.relation("rejected_rows")}
where table_name in ({in_list(map(sql_text, names))})
order by table_name, try_cast(raw_id as bigint) nulls first, raw_id, reason, raw_row, loaded_on"""
