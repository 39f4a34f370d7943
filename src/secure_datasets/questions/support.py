"""Last support: the single rows without which a user would no longer see a row.

The support of a gate is a set of rows: the rows that every way through the gate needs.

- AND, several parts that are all required: the union of their supports.
- OR, several ways if one is enough: the intersection of their supports.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

from secure_datasets.config.plan import Role
from secure_datasets.questions.gates import (
    closed_gate,
    gates_of_row,
    is_in_time,
    masks_below,
    numbered,
    restricts,
    sides_of,
    view_gate,
)
from secure_datasets.questions.notes import Facts, Note, note
from secure_datasets.questions.rights import links_of, paths_to


class Row(NamedTuple):
    """A row by its table and its id or, without an id, by its content."""

    table: str
    id: Any
    # The raw row behind it, if the documentation names one.
    raw_table: str | None = None
    raw_id: Any = None


Rows = frozenset[Row]
NOTHING: Rows = frozenset()


class Untold(Exception):
    """The support can't be determined."""


def of_all(parts: Iterable[Rows]) -> Rows:
    """Return the union of the parts' supports: every part is required."""
    return NOTHING.union(*parts)


def of_any(ways: Iterable[Rows]) -> Rows:
    """Return the intersection of the ways' supports: one way is enough."""
    found = list(ways)
    if not found:
        # The gate is open, but by no known way.
        raise Untold
    return reduce(frozenset.intersection, found)


# ---------------------------------------------------------------------------
# The tier
# ---------------------------------------------------------------------------


def rows_of_groups(member_id: int, groups: Iterable[int]) -> Rows:
    """Return the rows of a membership and of the groups above it."""
    rows = {Row("user_group_members", member_id)}
    return frozenset(rows | {Row("user_groups", group) for group in groups})


def rows_of_path(path: Facts) -> Rows:
    """Return the rows of a path: the grant, the membership, the groups."""
    rows = frozenset({Row(path["grant_table"], path["grant_id"])})
    if path["user_group_member_id"] is not None:
        rows |= rows_of_groups(path["user_group_member_id"], path["group_ids"])
    return rows


def of_tier(facts: Facts, sides: Iterable[tuple[str, dict[str, Any]]]) -> Rows:
    """Return the support of a tier: the rows that every way to some part needs.

    It leaves out the rows that are always needed: the user's row, the objects' rows and
    the row itself. It includes an object's row if only ownership gives the right.
    """
    found = NOTHING
    for tier, keys in sides:
        parts = facts["parts"][tier]
        if not parts["is_whole"]:
            raise Untold
        for right in parts["rights"]:
            found |= of_any(map(rows_of_path, paths_to(facts, right, keys)))
        for link in parts["links"]:
            rows = links_of(facts, link, keys)
            found |= of_any(frozenset({Row(link["table"], r["link_id"])}) for r in rows)
    return found


def _of_rows_tier(facts: Facts, row: Facts) -> Rows:
    """Return the support of a row's tier, or the last support in the dataset below."""
    if facts["below"]:
        below = facts["below"]["answer"].get("last_support", [])
        if below is None:
            raise Untold
        return frozenset(_as_row(item) for item in below)
    for number, case in enumerate(facts["cases"], 1):
        if row[f"case_{number}"] and case["tier"]:
            return of_tier(facts, sides_of(row, number, case))
    return NOTHING


# ---------------------------------------------------------------------------
# View authorization
# ---------------------------------------------------------------------------


def _decision(found: Facts) -> Row:
    says = ", ".join(f"{k}={found[k]}" for k in ("user_id", "object_name", "decision"))
    return Row("view_decisions", says)


def _of_decisions(facts: Facts) -> Rows:
    """Return the decisions without which the view is closed, and the owners' rows.

    It includes no decision on a table: rules follow from decisions that exist, not from
    missing ones.
    """
    asked = facts["decisions"]
    if asked is None:
        return NOTHING

    def of(user: int, name: str) -> list[Facts]:
        return [
            item
            for item in asked["rows"]
            if (item["user_id"], item["object_name"]) == (user, name)
        ]

    user = asked["user_id"]
    found: set[Row] = set()
    for owner, name in [*asked["gates"], (user, asked["view"])]:
        if owner != user:
            found.add(Row("users", owner))
        items = of(owner, name)
        if sum(item["row_count"] for item in items) == 1:
            found.add(_decision(items[0]))
    return frozenset(found)


# ---------------------------------------------------------------------------
# Groups and roles, for row security and conditions
# ---------------------------------------------------------------------------


def ways_to_group(facts: Facts, group: int) -> list[Rows]:
    """Return the ways that lead the user into a group, at any depth."""
    members = facts["memberships"]
    return [
        rows_of_groups(
            end["user_group_member_id"],
            (
                step["user_group_id"]
                for step in members
                if step["user_group_member_id"] == end["user_group_member_id"]
                and step["depth"] <= end["depth"]
            ),
        )
        for end in members
        if end["user_group_id"] == group
    ]


def ways_to_role(facts: Facts, role: Role) -> list[Rows]:
    """Return the ways that give the user a role."""
    if isinstance(role, int):
        return ways_to_group(facts, role)
    ways = []
    for held in facts["held_roles"]:
        if held["role_name"] == role and held["user_group_id"] is not None:
            ways += ways_to_group(facts, held["user_group_id"])
        elif held["role_name"] == role:
            ways += [
                frozenset({Row("user_global_roles", item["user_global_role_id"])})
                for item in facts["global_roles"]
                if item["role_name"] == role
            ]
    return ways


def _of_role(facts: Facts, rule: Facts) -> Rows:
    """Return the support of holding any of the roles that a rule names."""
    roles = rule["rule"]["roles"]
    return of_any(way for role in roles for way in ways_to_role(facts, role))


def _of_conditions(facts: Facts, row: Facts) -> Rows:
    """Return the support of the conditions: of showing the row, and of not hiding it.

    A restrictive condition that is not true of the row does not hide it from holders of
    one of its roles.
    """
    rules = numbered(facts, "conditions")
    if not rules or view_gate(facts, row)[1]:
        return NOTHING
    if masks_below(facts):
        # The conditions read the dataset below; losing a role may change its masks.
        raise Untold
    if facts["is_query"] and numbered(facts, "row security"):
        # The counted lines decide, and so does each row that opens one of them.
        raise Untold
    found, shows, are_permissive = NOTHING, [], False
    for number, rule in rules:
        if rule["rule"]["condition"] != rule["rule"]["said"]:
            # It reads attributes of the reader, whose rows are no part of the answer.
            raise Untold
        applies, is_true = row[f"rule_{number}"], row[f"rule_{number}_says"]
        if not restricts(rule):
            are_permissive = True
            if applies:
                shows.append(
                    _of_role(facts, rule) if rule["rule"]["roles"] else NOTHING
                )
        elif not is_in_time(row, number):
            continue
        elif rule["rule"]["is_except"] and is_true is not True:
            found |= _of_role(facts, rule)
    return found | of_any(shows) if are_permissive else found


def _of_key(facts: Facts, number: int, key: Any) -> Rows:
    """Return the support of a user's key of a security object, mapping's row first."""
    security = facts["security"][number]
    ways = []
    for mapped in security["mapped"]:
        if mapped["filter_key"] != key or key is None:
            continue
        own = NOTHING
        if mapped["row_count"] == 1:
            says = (
                f"{security['ids_column']}={mapped['holder']},"
                f" {security['key_column']}={key}"
            )
            own = frozenset({Row(security["mapping"], says)})
        if security["is_of_groups"]:
            own |= of_any(ways_to_group(facts, mapped["holder"]))
        ways.append(own)
    return of_any(ways)


def _of_security(facts: Facts) -> Rows:
    """Return the support of row security: of the lines that lead to the user's keys.

    A row of a dataset is one such line. A query's answer needs only one of the lines
    that it counts.
    """
    rules = [number for number, _ in numbered(facts, "row security")]
    if not rules:
        return NOTHING
    ways = []
    for line in facts["key_lines"]:
        try:
            ways.append(of_all(_of_line(facts, line, number) for number in rules))
        except Untold:
            continue
    return of_any(ways)


def _of_line(facts: Facts, line: Facts, number: int) -> Rows:
    """Return the support of one line for one security object: a key, and the way to it.

    If only facts tie the line to the object, one such fact is enough.
    """
    security = facts["security"][number]
    if not security["through"]:
        return _of_way(facts, line, number, security["steps"], number)
    ways = []
    for through in security["through"]:
        for fact in through["lines"]:
            by = [column for column in fact if column.startswith("by_")]
            if any(fact[column] != line[f"{column}_{number}"] for column in by):
                continue
            try:
                ways.append(
                    of_all(
                        _of_way(facts, fact, number, steps, place)
                        for place, steps in enumerate(through["steps"], 1)
                    )
                )
            except Untold:
                continue
    return of_any(ways)


def _of_way(
    facts: Facts, line: Facts, number: int, steps: list[Facts], name: int
) -> Rows:
    """Return the rows along the relationships, and the support of the last key."""
    found = _of_key(facts, number, line[f"key_{name}"])
    for place, step in enumerate(steps, 1):
        values = [line[f"step_{name}_{place}_{column}"] for column in step["columns"]]
        pairs = zip(step["columns"], values, strict=True)
        says = ", ".join(f"{column}={value}" for column, value in pairs)
        raw = (step["raw_table"], values[0]) if step["raw_table"] else (None, None)
        found |= {Row(step["relation"], says, *raw)}
    return found


# ---------------------------------------------------------------------------
# The answers
# ---------------------------------------------------------------------------


# The gates that depend on rows, in order.
SUPPORTED = ("tier", "view authorization", "row security", "conditions")


def row_support(facts: Facts, person: Facts) -> list[Note] | None:
    """Return the last support of a visible row; None if it can't be determined.

    If the base has several rows with the key, one visible row is enough.
    """
    ways = []
    by_gate: dict[str, Rows] = dict.fromkeys(SUPPORTED, NOTHING)
    try:
        for row in facts["found"]:
            if closed_gate(gates_of_row(facts, person, row)):
                continue
            if row["is_public"]:
                return []
            found = (
                _of_rows_tier(facts, row),
                _of_decisions(facts),
                _of_security(facts),
                _of_conditions(facts, row),
            )
            ways.append(of_all(found))
            for gate, rows in zip(SUPPORTED, found, strict=True):
                by_gate[gate] |= rows
        return support_notes(of_any(ways), by_gate)
    except Untold:
        return None


def object_support(facts: Facts) -> list[Note] | None:
    """Return the last support of a reached object; None if it can't be determined."""
    try:
        rows = of_tier(facts, [(facts["tier"], facts["keys"])])
        return support_notes(rows, {"tier": rows})
    except Untold:
        return None


def support_notes(rows: Rows, by_gate: dict[str, Rows]) -> list[Note]:
    """Return the rows as notes, with the gates that each supports."""
    notes = []
    for row in sorted(
        rows, key=lambda row: (row.table, isinstance(row.id, str), row.id)
    ):
        says, parts = f"row {row.id} of {row.table}", {"table": row.table, "id": row.id}
        if row.raw_table:
            says += f", which tells of row {row.raw_id} of {row.raw_table}"
            parts |= {"raw_table": row.raw_table, "raw_id": row.raw_id}
        gates = [gate for gate, needed in by_gate.items() if row in needed]
        notes.append(note(says, gates=gates, names=[], **parts))
    return notes


def add_names(notes: list[Note], table: str, found: Facts) -> None:
    """Add to the notes about a raw row its name, or the names of the referenced rows.

    `found` has the `row_id` first, and then the names.
    """
    row_id, *names = found.values()
    for item in notes:
        if (table, row_id) in (
            (item["table"], item["id"]),
            (item.get("raw_table"), item.get("raw_id")),
        ):
            item["names"] += [name for name in names if name]


def _as_row(item: Note) -> Row:
    return Row(item["table"], item["id"], item.get("raw_table"), item.get("raw_id"))
