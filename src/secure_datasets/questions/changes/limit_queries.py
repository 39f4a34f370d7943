"""The query of the limits: the changes between two states that exceed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from secure_datasets.render.staging.reading import trimmed_text
from secure_datasets.sql.writing import union, values_query, with_steps

if TYPE_CHECKING:
    from secure_datasets.questions.changes.macro_methods import AccessChanges

# The numbers of a limit, each with its singular and plural.
COUNTED = {
    "users_gain": ("user gains", "users gain"),
    "users_lose": ("user loses", "users lose"),
    "rows_gain": ("row is gained", "rows are gained"),
    "rows_lose": ("row is lost", "rows are lost"),
}
GROUP = "'^[{] *group *: *[0-9]+ *[}]$'"
GAINED = (
    "changes.rows_gained + changes.values_newly_shown + changes.values_masked_otherwise"
)
LOST = "changes.rows_lost + changes.values_newly_covered"


def limits(
    self: AccessChanges,
    ref: Callable[[str], Any],
    states: list[dict[str, Any]] | None,
    schemas: list[str],
    today: str,
) -> str:
    """Return each limit with the changes that it finds, and their approvers.

    ref      returns the relation of a model or seed
    schemas   the schemas of the states, before and after
    """
    steps = {
        "names (kind, name, is_before, is_after)": values_query(
            self.names(states) if states else [], 4
        ),
        "limits": _limits(ref("access_change_limits")),
        "about": f"""select
    limits.*,
    names.kind,
    names.name,
    names.is_before,
    names.is_after
from limits
inner join names
    on
        names.kind = case when limits.dataset is null then 'tier' else 'dataset' end
        and {_is_like("names.name", "coalesce(limits.tier, limits.dataset)")}""",
        "asked": ASKED,
        "roles": _roles(schemas),
        "changes": _changes(ref),
        "by_user": BY_USER,
        "found": FOUND,
        "approved": f"""select
    limit_name,
    changes,
    min(approver) as approver
from (
    select
        {trimmed_text("limit_name")} as limit_name,
        {trimmed_text("changes")} as changes,
        approver,
        expires_on
    from {ref("access_change_approvals")}
) as approvals
where expires_on >= cast({today} as date)
group by limit_name, changes""",
    }
    exceeds = {name: f"found.{name} > limits.most_{name}" for name in COUNTED}
    found = ", ".join(
        f"""case when {exceeds[name]}
        then concat(found.{name}, if(found.{name} = 1, ' {of_one}', ' {of_more}')) end"""
        for name, (of_one, of_more) in COUNTED.items()
    )
    allowed = ", ".join(
        f"case when {exceeds[name]} then cast(limits.most_{name} as string) end"
        for name in COUNTED
    )
    return with_steps(
        steps,
        f"""select
    limits.limit_name,
    concat_ws(', ', {found}) as found,
    concat_ws(', ', {allowed}) as allowed,
    found.changes,
    {" or ".join(f"coalesce({each}, false)" for each in exceeds.values())} as is_exceeded,
    approved.approver
from limits
inner join found
    on limits.limit_name = found.limit_name
left join approved
    on
        found.limit_name = approved.limit_name
        and found.changes = approved.changes""",
    )


def _limits(relation: Any) -> str:
    """Return the limits in a normal form."""
    lower = ", ".join(
        f"lower({trimmed_text(name)}) as {name}"
        for name in ("tier", "object", "dataset")
    )
    return f"""-- As they are read before the run. But for roles, names are lower case, and so are patterns.
select
    {trimmed_text("limit_name")} as limit_name,
    {lower},
    -- A group by its id, `{{group: 17}}`, however it is spaced.
    case
        when {trimmed_text("role")} rlike {GROUP}
            then concat('{{group: ', regexp_extract(role, '[0-9]+', 0), '}}')
        else {trimmed_text("role")}
    end as role,
    {", ".join(f"most_{number}" for number in COUNTED)}
from {relation}"""


# If an object of a limit no longer exists, a new object may be the same, renamed.
ASKED = """select
    limit_name,
    role,
    kind,
    name,
    object
from about
union
select
    gone.limit_name,
    gone.role,
    gone.kind,
    names.name,
    cast(null as string) as object
from (
    select limit_name, role, kind
    from about
    group by limit_name, tier, dataset, object, role, kind
    having max(is_before = 'yes' and is_after = 'no')
) as gone
inner join names
    on gone.kind = names.kind
where names.is_before = 'no'"""


def _roles(schemas: list[str]) -> str:
    """Return the names of each user's roles in either state."""
    held = (
        f"select user_id, {role} role_name from {schema}.vw_secure_user_roles"
        for schema in schemas
        for role in ("", "concat('{group: ', user_group_id, '}') as")
    )
    return f"""select
    user_id,
    collect_set(role_name) as role_names
from (
    {union(held)}
) as held
group by user_id"""


def _changes(ref: Callable[[str], Any]) -> str:
    """Return the changes that limits count."""
    is_like = _is_like("changes.object_keys", "asked.object")
    return f"""select
    asked.limit_name,
    asked.role,
    changes.user_id,
    changes.change = 'gained' as is_gain,
    changes.change = 'lost' as is_loss,
    cast(0 as bigint) as rows_gained,
    cast(0 as bigint) as rows_lost,
    concat_ws('|', changes.tier, changes.object_keys, changes.change) as told
from asked
inner join {ref("access_changes")} as changes
    on
        asked.kind = 'tier'
        and changes.tier = asked.name
        and changes.change != 'other access_type'
        and {is_like}
union all
select
    asked.limit_name,
    asked.role,
    changes.user_id,
    {GAINED} > 0 as is_gain,
    {LOST} > 0 as is_loss,
    {GAINED} as rows_gained,
    {LOST} as rows_lost,
    concat_ws('|', changes.dataset, changes.rows_digest) as told
from asked
inner join {ref("row_changes")} as changes
    on
        asked.kind = 'dataset'
        and changes.dataset = asked.name"""


# Grouped by user first, so that no text holds the changes of all users.
BY_USER = """select
    changes.limit_name,
    changes.user_id,
    max(changes.is_gain) as is_gain,
    max(changes.is_loss) as is_loss,
    sum(changes.rows_gained) as rows_gained,
    sum(changes.rows_lost) as rows_lost,
    md5(array_join(array_sort(collect_list(changes.told)), '|')) as told
from changes
left join roles
    on changes.user_id = roles.user_id
where
    changes.role is null
    or array_contains(roles.role_names, changes.role)
    -- Who holds a role reads the rows for everyone too.
    or changes.user_id is null
group by changes.limit_name, changes.user_id"""


FOUND = """select
    limit_name,
    -- A row for everyone bears no user, and counts as one.
    count_if(is_gain) as users_gain,
    count_if(is_loss) as users_lose,
    sum(rows_gained) as rows_gain,
    sum(rows_lost) as rows_lose,
    sha2(array_join(array_sort(collect_list(concat_ws('|', coalesce(cast(user_id as string), 'everyone'), told))), '|'), 256) as changes
from by_user
group by limit_name"""


def _is_like(value: str, pattern: str) -> str:
    """Return whether a value is what a pattern says.

    A pattern may begin or end with *, or both; a null pattern matches everything.
    """
    named = f"replace({pattern}, '*', '')"
    begins, ends = f"{pattern} like '%*'", f"{pattern} like '*%'"
    return f"""(
            {pattern} is null
            or {value} = {pattern}
            or ({begins} and startswith({value}, {named}))
            or ({ends} and endswith({value}, {named}))
            or ({ends} and {begins} and contains({value}, {named}))
        )"""
