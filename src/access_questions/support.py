"""Last support: the single rows without which a user would no longer pass a tier."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from access_questions.answers import links_of, paths_to
from access_questions.notes import Facts, Note, note

Row = tuple[str, int]


def rows_of_path(path: Facts) -> frozenset[Row]:
    """Return the rows that a path is made of: the grant, the membership, the groups."""
    rows = {(path["grant_table"], path["grant_id"])}
    if path["user_group_member_id"] is not None:
        rows.add(("user_group_members", path["user_group_member_id"]))
        rows |= {("user_groups", group) for group in path["group_ids"]}
    return frozenset(rows)


def last_support(
    facts: Facts, sides: Iterable[tuple[str, dict[str, Any]]]
) -> list[Row]:
    """Return the rows that every way to some part of a tier needs.

    The user's own row, the objects' and the row itself are needed in any case, and are
    not among them; an object's row is where ownership alone gives the right.
    """
    found: set[Row] = set()
    for tier, keys in sides:
        parts = facts["parts"][tier]
        for right in parts["rights"]:
            ways = [rows_of_path(path) for path in paths_to(facts, right, keys)]
            found |= _in_all(ways)
        for link in parts["links"]:
            rows = links_of(facts, link, keys)
            found |= _in_all([frozenset({(link["table"], r["link_id"])}) for r in rows])
    return sorted(found)


def _in_all(ways: list[frozenset[Row]]) -> frozenset[Row]:
    return reduce(frozenset.intersection, ways) if ways else frozenset()


def support_notes(rows: list[Row]) -> list[Note]:
    """Return the rows as notes."""
    return [
        note(f"row {row_id} of {table}", table=table, id=row_id)
        for table, row_id in rows
    ]
