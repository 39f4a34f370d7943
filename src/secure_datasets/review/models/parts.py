"""Parts of several queries of a review: names, people in charge, toxic pairs."""

from __future__ import annotations

from functools import partial

from secure_datasets.questions.facts.built import Built, written
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented

# The name of a person in a row of stg_users: the full name, else the login, else the
# e-mail address.
PERSON = (
    "coalesce(nullif(concat_ws(' ', first_name, last_name), ''), login_name, email)"
)
# The type of the objects in each raw table of objects and groups.
TYPES = {
    "user_groups": "User Group",
    "meta_data_sources": "Data Source",
    "projects": "Project",
    "reports": "Report",
}
# The stand-ins of a row, which give the same rights: ten by name, and the number of
# further ones.
STAND_INS = "stands_in, case when stands_in_number > 10 then concat(' and ', stands_in_number - 10, ' more') else '' end"
# The subject of a toxic-pair.
TOXIC_SUBJECT = "concat('user ', user_id, ' on ', coalesce(concat(object_type, ' ', object_id), concat('every ', object_type)), ': ', pair)"
# Since when a row that the version before still had is missing.
UNDELIVERED = "concat('is no longer delivered since ', left(undelivered_since, 10))"
# Restricts the paths of `toxic_sides.sql` to users with a stored finding.
ONLY_FOUND = """
    -- Only users with a finding are shown.
    left semi join (
        select user_id
        from {findings}
        where rule = 'toxic-pair'
    ) as found
        on paths.user_id = found.user_id"""


# The text of a file here, as `written` returns it.
template = partial(written, package=__package__)


def has_logins(built: Built) -> str:
    """Return whether a user has a login; if not, the feed does not deliver any."""
    return f"exists (select 1 from {built.ref('stg_users')} as brought where brought.date_last_login is not null)"


def numbered(kind: str, id_: str, name: str) -> str:
    """Return an object by its number, followed by its name if it has one."""
    return (
        f"concat('{kind} ', {id_}, coalesce(concat(' (', nullif({name}, ''), ')'), ''))"
    )


def not_live(kind: str, id_: str, named: str, name: str = "name") -> str:
    """Return why something is not live.

    Its newest row is rejected, or marks it as not live, or does not exist. A rejected
    row is mended in its source.

    named  the relation with its name and its rejection
    """
    called = numbered(kind, id_, f"{named}.{name}")
    return f"""case
    when {named}.rejection_reason is not null then concat('the newest row of ', {called}, {sql_text(" can't be used (")}, {named}.rejection_reason, ')')
    else concat({called}, ' ', coalesce({named}.gone, 'is not live'))
end"""


def who_else(
    is_in_charge: str, number: str, is_administrator: str, is_theirs: str, others: str
) -> str:
    """Return who decides about a person's access and acts on its findings.

    It is never the person.

    is_in_charge      whether the person is in charge of the object
    number            the number of people in charge of the object
    is_administrator  whether the person is a global administrator
    is_theirs         whether the global administrators decide
    others            the people who decide if the global administrators do not
    """
    return f"""case
    when {is_in_charge}
        then concat(
            case when {number} > 1 then 'somebody else in charge, or ' else '' end,
            case when {is_administrator} then 'another' else 'a' end, ' global administrator'
        )
    when not ({is_theirs}) then {others}
    when {is_administrator} then 'another global administrator'
    else 'the global administrators'
end"""


def users_by_name(built: Built) -> str:
    """Return the CTE with the name of each user, live or not.

    It has why the newest row is rejected.
    """
    before = _undelivered(built, "users", f"user_id, {PERSON} as person")
    return f"""named_users as (

    -- A rejected row may have the id of a valid row.
    select
        user_id,
        max({PERSON}) as person,
        {_state(built)}
    from {built.ref("stg_users")}
    where user_id is not null
    group by user_id{before}

)"""


def things_by_name(built: Built) -> str:
    """Return the CTE with the name of each group and object, live or not.

    It has why the newest row is rejected.
    """
    keys = {
        table: f"'{kind}' as object_type, {built.tables[table]['key']} as object_id, name"
        for table, kind in TYPES.items()
    }
    things = "\n        union all\n".join(
        f"        select {names}, is_live, rejection_reason, is_deleted, deleted_on\n"
        f"        from {built.ref(f'stg_{table}')}"
        for table, names in keys.items()
    )
    before = "".join(_undelivered(built, *each) for each in keys.items())
    return f"""named_things as (

    -- A rejected row may have the id of a valid row.
    select
        object_type,
        object_id,
        coalesce(max(case when is_live then name end), max(name)) as name,
        {_state(built)}
    from (
{things}
    ) as things
    where object_id is not null
    group by object_type, object_id{before}

)"""


def _state(built: Built) -> str:
    """Return columns of the rows with one id: why they are rejected, or not live."""
    day = built.macros["utc_day"]("max(deleted_on)")
    return f"""count(case when is_live then 1 end) > 0 as is_live,
        case when count_if(rejection_reason is null) = 0 then min(rejection_reason) end as rejection_reason,
        case when bool_or(is_deleted) and not bool_or(is_live) then coalesce(concat('was deleted on ', cast({day} as string)), 'is deleted') end as gone"""


def _undelivered(built: Built, table: str, names: str) -> str:
    """Return a further part of a union: the rows that are no longer delivered."""
    before = built.undelivered_rows(table)
    if not before:
        return ""
    return f"""
    union all
    select {names}, false as is_live, rejection_reason, {UNDELIVERED} as gone
    from (
        {indented(before, 8)}
    ) as undelivered"""


def admins(built: Built) -> str:
    """Return the CTE of the users who hold global roles."""
    return f"""admins as (

    -- Several rows may give a user one global role. A group is no global role.
    select
        user_id,
        array_join(array_sort(collect_set(role_name)), ' and ') as role_names,
        max(role_name = 'Global Admin') as is_global_admin
    from {built.ref("vw_secure_user_roles")}
    where user_group_id is null
    group by user_id

)"""


def charges(built: Built) -> str:
    """Return the CTEs of the people who should act, `charges` and `in_charge`.

    They are the live owner of an object, or the administrators of a project, five of
    them by id. If neither exists, the global administrators act.
    """
    return template(built, "charges")


def toxic_sides(built: Built, is_found: bool = False) -> str:
    """Return the CTEs of the users who hold both rights of a pair on one object.

    The last, `toxic_sides`, has the rows that give each side, three of them by name.
    Two global roles give both rights on all objects: one pair, without an object.

    is_found  restricts the CTEs to users with a stored finding of toxic-pair
    """
    only = ""
    if is_found:
        only = ONLY_FOUND.format(findings=built.ref("access_findings"))
    return template(built, "toxic_sides", only_found=only)
