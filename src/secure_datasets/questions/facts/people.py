"""The users that a question means."""

from __future__ import annotations

from typing import Any

from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.staged import undelivered
from secure_datasets.questions.notes import Facts
from secure_datasets.render.staging.reading import ascii_lower, delivered_value
from secure_datasets.sql.expressions import sql_text

COLUMNS = (
    "user_id, login_name, first_name, last_name, email, is_live, rejection_reason,"
    " raw_row, is_deleted, deleted_on, date_modified, modified_by"
)


def people(built: Built, user: Any) -> list[Facts]:
    """Return the users with an id, login name or e-mail address, by their ids."""
    text = sql_text(str(user).strip())
    is_called = f"cast(user_id as string) = {text}"
    for column in ("login_name", "email"):
        # Staging keeps only the id and the delivered text of a rejected row.
        delivered = (
            f"case when rejection_reason is null then {column}"
            f" else {delivered_value(column)} end"
        )
        is_called += f" or {_is_same(delivered, text)}"
    ids = in_list(_ids_in_conflict(built, text)) or "null"
    found = built.rows(
        f"select {COLUMNS} from {built.relation('stg_users')} where user_id is not null"
        f" and ({is_called} or user_id in ({ids}))"
    )
    found += undelivered(built, "users", f"{COLUMNS}, undelivered_since", is_called)
    return sorted(found, key=lambda person: person["user_id"])


def _is_same(one: str, other: str) -> str:
    return f"{ascii_lower(one)} = {ascii_lower(other)}"


def _ids_in_conflict(built: Built, text: str) -> list[int]:
    """Return the ids of users rejected for a conflict, if one delivery is called so.

    Staging keeps only one of the conflicting deliveries.
    """
    has_conflict = (
        f"select 1 as is_there from {built.relation('stg_users')}"
        " where rejection_reason = 'conflict' limit 1"
    )
    if not built.rows(has_conflict):
        return []
    names = ("ranked.login_name", "ranked.email")
    is_asked = " or ".join(_is_same(name, text) for name in names)
    query = built.macros["_users_in_conflict"](is_asked)
    return [row["user_id"] for row in built.rows(query)]
