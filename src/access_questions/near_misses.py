"""What is there and does not count: rows that would open a gate but for a flaw.

A row of a raw table is judged by its id: by the newest delivery, as staging took it. A
delivery that would open the gate and is not that one is superseded; or it came after
staging was built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from access_questions.notes import Facts, Note, note
from access_questions.roles import roles_brought

# On which objects a global role brings every permission, as int_access_paths says: on
# projects it brings its own name alone.
GLOBAL_REACH = {
    "Global Admin": ("Data Source", "Report"),
    "Global Data Source Admin": ("Data Source",),
}
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def ascii_lower(text: str) -> str:
    """Fold ASCII letters only, as staging compares roles."""
    return text.translate(_LOWER)


@dataclass
class Candidate:
    """A raw row that would lead somewhere, and what is wrong with it."""

    table: str
    raw_id: Any
    delivery: Facts
    flaws: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """What people call the row."""
        return f"row {self.raw_id} of {self.table}"


def judged(
    table: str, deliveries: list[Facts], columns: list[str]
) -> Iterator[Candidate]:
    """Yield each row of which a delivery matches, with what is wrong with it.

    `columns` are those that make it match: a newest delivery that differs in one of
    them says something else.
    """
    by_id: dict[Any, list[Facts]] = {}
    for delivery in deliveries:
        key = delivery["id"]
        # Each delivery whose id can't be read is a row by itself.
        by_id.setdefault((key, len(by_id)) if key is None else key, []).append(delivery)
    for of_id in by_id.values():
        for delivery in of_id:
            if delivery["is_later"] and delivery["is_active"]:
                flaw = "delivered since staging last ran"
                yield Candidate(table, delivery["id"], delivery, [flaw])
        found = [delivery for delivery in of_id if not delivery["is_later"]]
        if not found:
            continue
        first = found[0]
        raw_id = first["id"] if first["id"] is not None else repr(first["raw_id"])
        if first["id"] is None:
            yield Candidate(table, raw_id, first, ["rejected: unreadable id"])
            continue
        if first["rejection_reason"]:
            # Of those that were in force once, the conflict or the flaw took it.
            reason = f"rejected: {first['rejection_reason']}"
            for delivery in found:
                yield Candidate(table, raw_id, delivery, [reason])
            continue
        same = [
            delivery
            for delivery in found
            if all(delivery[c] == delivery[f"staged_{c}"] for c in columns)
        ]
        if same:
            flaws = [] if first["staged_is_live"] else ["not active"]
            yield Candidate(table, raw_id, same[0], flaws)
            continue
        for delivery in found:
            if not delivery["is_active"]:
                continue
            newest = {column: first[f"staged_{column}"] for column in columns}
            says = ", ".join(
                f"{column} {'null' if value is None else value}"
                for column, value in newest.items()
                if delivery[column] != value
            )
            flaw = f"superseded by a newer delivery, which says {says}"
            yield Candidate(table, raw_id, delivery, [flaw])


class Groups:
    """The groups as delivered, with what keeps each from passing rights on."""

    def __init__(self, groups: list[Facts], in_force: list[Facts]) -> None:
        self.groups = {row["user_group_id"]: row for row in groups}
        self.in_force = {
            (row["user_group_id"], row["ancestor_user_group_id"]) for row in in_force
        }

    def name(self, group: int) -> str:
        """Return what people call a group."""
        row = self.groups.get(group)
        name = row["name"] if row else None
        return f"{name or '(no name)'} ({group})"

    def flaws(self, group: int) -> list[str]:
        """Return what is wrong with a group itself."""
        row = self.groups.get(group)
        if row is None:
            return [f"group {group} is not there"]
        if row["rejection_reason"]:
            return [
                f"row {group} of user_groups is rejected: {row['rejection_reason']}"
            ]
        return [] if row["is_live"] else [f"group {self.name(group)} is not active"]

    def is_live(self, group: int | None) -> bool:
        """Whether a group counts."""
        return group in self.groups and self.groups[group]["is_live"]

    def above(self, group: int) -> dict[int, list[str]]:
        """Return the groups from this one up, as delivered, with the flaws so far."""
        found: dict[int, list[str]] = {}
        flaws: list[str] = []
        while group is not None and group not in found:
            flaws = [*flaws, *self.flaws(group)]
            found[group] = flaws
            row = self.groups.get(group)
            parent = row["parent_user_group_id"] if row else None
            both_live = self.is_live(group) and self.is_live(parent)
            if both_live and (group, parent) not in self.in_force:
                name = self.name(group)
                flaws = [*flaws, f"the parent link of {name} is ignored in a ring"]
            group = parent
        return found


def role_may_bring(
    text: str | None, roles: list[Facts], object_type: str, permission: str
) -> bool:
    """Whether a role as delivered brings a permission, or can't be read."""
    brought = {
        role and ascii_lower(role): names
        for role, names in roles_brought(roles).get(object_type, {}).items()
    }
    role = text and ascii_lower(text)
    return role not in brought or permission in brought[role]


def missed_paths(right: Facts, found: Facts) -> list[Note]:
    """Return what would give a user a right on an object, but for its flaws.

    `found`: `table`, the permission table; `object_key`; its `grants`; of the user the
    `members` and the `global_roles`; all `groups`, the parent links `in_force`, and the
    `roles`, the role table. Each delivery comes with what staging took of its row.
    """
    object_type, permission = right["object_type"], right["permission"]
    groups = Groups(found["groups"], found["in_force"])
    reached: dict[int, list[list[str]]] = {}
    for member in judged(
        "user_group_members", found["members"], ["user_id", "user_group_id"]
    ):
        flaws = [f"{member.place} is {flaw}" for flaw in member.flaws]
        own = member.delivery["user_group_id"]
        for group, further in groups.above(own).items() if own is not None else ():
            reached.setdefault(group, []).append([*flaws, *further])
    notes = []
    columns = [found["object_key"], "user_id", "user_group_id", "role_name"]
    grants = [
        delivery
        for delivery in found["grants"]
        if role_may_bring(
            delivery["role_text"], found["roles"], object_type, permission
        )
        and (delivery["user_id"] == found["user_id"] or delivery["user_group_id"])
    ]
    for grant in judged(found["table"], grants, columns):
        holder, group = grant.delivery["user_id"], grant.delivery["user_group_id"]
        ways = [([], "the user")] if holder == found["user_id"] else []
        if group is not None:
            ways += [
                (way, f"group {groups.name(group)}") for way in reached.get(group, [])
            ]
        for flaws, called in ways:
            notes.append(_missed(grant, flaws, called))
    if object_type in {t for reach in GLOBAL_REACH.values() for t in reach}:
        held = [
            delivery
            for delivery in found["global_roles"]
            if _may_reach(delivery["role_text"], found["roles"], object_type)
        ]
        for row in judged("user_global_roles", held, ["user_id", "role_name"]):
            notes.append(_missed(row, [], "the user"))
    return _once([item for item in notes if item])


def _may_reach(text: str | None, roles: list[Facts], object_type: str) -> bool:
    """Whether a global role as delivered reaches a type of object, or can't be read."""
    known = {
        row["role_name"] and ascii_lower(row["role_name"]): row["permission_name"]
        for row in roles
        if row["object_type"] == "Global"
    }
    role = text and ascii_lower(text)
    if role not in known:
        return True
    return object_type in GLOBAL_REACH.get(known[role], ())


def _missed(row: Candidate, flaws: list[str], holder: str) -> Note | None:
    """Return a row with all that is wrong with it and with the way to it."""
    own = [f"{row.place} is {flaw}" for flaw in row.flaws]
    if not own and not flaws:
        return None
    text = row.delivery["role_text"]
    role = f"role {text}" if text else "no role"
    reasons = [*row.flaws, *flaws]
    return note(
        f"{row.place}, {role}, for {holder}, does not count: {'; '.join(reasons)}",
        table=row.table,
        id=row.raw_id,
        reasons=reasons,
    )


def missed_links(link: Facts, deliveries: list[Facts], keys: dict) -> list[Note]:
    """Return rows that would link objects, but for their flaws."""
    notes = []
    for row in judged(link["table"], deliveries, list(keys)):
        if row.flaws:
            notes.append(
                note(
                    f"{row.place} does not count: {'; '.join(row.flaws)}",
                    table=row.table,
                    id=row.raw_id,
                    reasons=row.flaws,
                )
            )
    return _once(notes)


def _once(notes: list[Note]) -> list[Note]:
    """Return notes without those that say the same, in an order of their own."""
    found = {item["says"]: item for item in notes}
    return [found[says] for says in sorted(found)]
