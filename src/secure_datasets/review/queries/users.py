"""The users of a pack: those with access, and the global administrators."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.render.staging.reading import ascii_lower
from secure_datasets.review.models.ways import SEEN_NOW, shown_ways
from secure_datasets.review.queries.objects import Ids
from secure_datasets.sql.expressions import sql_text


def users_called(built: Built, asked: str) -> str:
    """Return a query of the live users with an id, login name or e-mail address."""
    text = sql_text(asked)
    return f"""select user_id
from {built.relation("stg_users")}
where
    is_live
    and (
        cast(user_id as string) = {text}
        or {ascii_lower("login_name")} = {ascii_lower(text)}
        or {ascii_lower("email")} = {ascii_lower(text)}
    )
order by user_id"""


def users(built: Built, people: Ids = None) -> list[str]:
    """Return the steps of the users with access, the most undecided accesses first.

    people  only these users, with or without access, in the order of their ids
    """
    join, only, order = "inner", "", "to_decide desc, live_users.person, "
    if people is not None:
        join, order = "left", ""
        only = f"\nwhere live_users.user_id in ({in_list(people)})"
    return [
        *_counted_access(built),
        f"""select
    live_users.user_id,
    live_users.person,
    live_users.login_name,
    live_users.last_login,
    coalesce(counted.number_of_objects, 0) as objects,
    coalesce(counted.number_of_objects - counted.certified, 0) as to_decide
from live_users
{join} join counted
    on live_users.user_id = counted.user_id{only}
order by {order}live_users.user_id""",
    ]


def _counted_access(built: Built) -> list[str]:
    """Return CTEs: how many objects users see, and how many as they were certified."""
    keys = ["user_id", "object_type", "object_id"]
    return [
        f"""statuses as (

    select
        statuses.user_id,
        statuses.object_type,
        statuses.object_id,
        case when {lasts(built)} and statuses.status = 'certified' then statuses.seen end as certified
    from {built.relation("review_status")} as statuses
    left semi join objects
        on
            statuses.object_type = objects.object_type
            and statuses.object_id = objects.object_id

)""",
        """certified as (

    select user_id, object_type, object_id
    from statuses
    where certified is not null

)""",
        shown_ways(built, "certified", keys),
        SEEN_NOW,
        """counted as (

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

)""",
    ]


def lasts(built: Built) -> str:
    """Return whether a certificate still lasts on the day of judgement.

    The run that stored it may be days old.
    """
    day = built.macros["judged_on"]()
    return f"statuses.certified_until >= cast({day} as date)"


def administrators_by_id(built: Built) -> str:
    """Return the CTE of the users who hold the role Global Admin."""
    return f"""administrators as (

    -- Several rows may give the role.
    select distinct user_id
    from {built.relation("vw_secure_user_roles")}
    where user_group_id is null and role_name = 'Global Admin'

)"""


def global_administrators(built: Built) -> list[str]:
    """Return the steps of the live global administrators.

    They are responsible for every object without people in charge.
    """
    return [
        administrators_by_id(built),
        f"""dormant as (

    select distinct user_id
    from {built.relation("access_findings")}
    where rule = 'dormant-admin'

)""",
        """select
    live_users.user_id,
    live_users.person,
    live_users.login_name,
    dormant.user_id is not null as is_dormant
from live_users
left semi join administrators
    on live_users.user_id = administrators.user_id
left join dormant
    on live_users.user_id = dormant.user_id
order by live_users.person, live_users.user_id""",
    ]


def roles_with_permissions(built: Built) -> str:
    """Return the query of each role's permissions, as one text."""
    return f"""select
    object_type,
    role_name,
    -- A known role that grants nothing here has no permissions.
    array_join(array_sort(collect_set(permission_name)), ', ') as permissions
from {built.relation("role_permissions")}
group by object_type, role_name
order by object_type, role_name nulls first"""
