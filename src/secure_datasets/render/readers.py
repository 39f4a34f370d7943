"""The queries of the readers' own views and functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from secure_datasets.sql.expressions import is_account, schema_and_name
from secure_datasets.sql.writing import indented

# Non-deterministic, so that Spark evaluates a reader's own expressions after the
# conditions before it: it moves no filter past it. Some such conditions, such as
# rand() >= 0, it simplifies away. The rules are deterministic and reach the scans.
BARRIER = """
    -- The barrier: what a reader writes is evaluated after the conditions above.
    and monotonically_increasing_id() >= 0"""

ANOTHER_NUMBER = (
    "Another number in each query: what one account caches is taken for no other's."
)


def user_of_the_account(
    accounts: Any, live_users: Any = None, account: str | None = None
) -> str:
    """Return the user of an account; null if it is mapped to none, or to several.

    accounts    the relation that maps accounts to user ids
    live_users  the users, if the result for a user who is not live must be null
    account     SQL for the account; without it, the account of Spark's session
    """
    whose = "users" if live_users else "accounts"
    join = f"""
    left join {indented(str(live_users))} as users
        on accounts.user_id = users.user_id and users.is_live"""
    of_session = f"""
        accounts.account = current_user()
        -- {ANOTHER_NUMBER}
        and rand() >= 0"""
    is_it = f" accounts.account = {account}" if account else of_session
    return f"""(
    select max({whose}.user_id)
    from {accounts} as accounts{join if live_users else ""}
    where{is_it}
    having min(accounts.user_id) = max(accounts.user_id)
)"""


def users_of_readers(users: str, rights: Iterable[str]) -> str:
    """Return the users for views and functions: a relation of user_id and is_live.

    They come from the published staging, so that switching a user off takes effect at
    once. The application switches ids off and never deletes them, so a bad load lost an
    id that staging no longer has. The build that fails for this keeps the former
    rights, and a user with rights stays live.

    rights  the relations of the product's access views, which have only live users
    """
    found = "\n        union\n        ".join(
        f"select user_id from {relation}" for relation in sorted(rights)
    )
    if not found:
        return users
    return f"""(
    select
        user_id,
        is_live
    from {users}
    union all
    select
        resolved.user_id,
        true as is_live
    from (
        {found}
    ) as resolved
    left anti join {users} as users
        on resolved.user_id = users.user_id
)"""


def view_query(source: Mapping[str, Any], accounts: str, users: str) -> str:
    """Return the query of a readers' view: the rows of the reader, and for everyone.

    An account that is mapped to no user, to several, or to a user who is not live, gets
    no row, not even the rows for everyone.

    source  the relation, its columns, and whether it has public rows
    users   SQL for the relation of the users
    """
    is_public = source["has_public_rows"]
    reader = user_of_the_account(accounts, users if is_public else None)
    condition = f"dataset.user_id = {indented(reader)}"
    if is_public:
        condition = f"""(
        dataset.user_id = {indented(reader, 8)}
        or (
            dataset.user_id is null
            and {indented(reader, 12)} is not null
        )
    )"""
    return f"{_rows(source)}\nwhere\n    {condition}{BARRIER}"


def function_body(source: Mapping[str, Any], users: str) -> str:
    """Return the query of a readers' function: the same, for the id that is passed.

    The id is a text: Spark would cast a number like 8.9 to a bigint, the id of a
    different user.
    """
    reader = f"try_cast({source['name']}_of.reader as bigint)"
    if not source["has_public_rows"]:
        return f"{_rows(source)}\nwhere\n    dataset.user_id = {reader}{BARRIER}"
    return f"""{_rows(source)}
-- One row for a live user, none for anybody else.
inner join {users} as users
    on users.user_id = {reader} and users.is_live
where
    (dataset.user_id = {reader} or dataset.user_id is null){BARRIER}"""


def _rows(source: Mapping[str, Any]) -> str:
    columns = ",\n    ".join(f"dataset.{column}" for column in source["columns"])
    return f"select\n    {columns}\nfrom {source['relation']} as dataset"


def problems_of_vars(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the variables about readers, each by its name."""
    for name in ("readers_views", "readers_functions"):
        if not isinstance(given[name], bool):
            yield name, f"is '{given[name]}'; it must be true or false"
    accounts, applications = given["reader_accounts"], given["reader_applications"]
    if not isinstance(accounts, str) or (accounts and not schema_and_name(accounts)):
        yield (
            "reader_accounts",
            f"is '{accounts}'; it must be a relation, <schema>.<name>, of the project's"
            " own catalog",
        )
    if given["readers_views"] and not accounts:
        yield (
            "reader_accounts",
            "is missing: `readers_views: true` needs the relation that maps each"
            " account to a user_id",
        )
    if not isinstance(applications, Sequence) or isinstance(applications, str):
        yield "reader_applications", "must be a list of roles"
        return
    for role in applications:
        if not is_account(role):
            problem = f"has '{role}', which is no role: letters, digits, and _ . @ -"
            yield "reader_applications", problem
    if applications and not given["readers_functions"]:
        yield (
            "reader_applications",
            "says who may execute the functions, which `readers_functions: true` makes",
        )
