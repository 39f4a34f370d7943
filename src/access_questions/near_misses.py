"""What is there and does not count: rows that would open a gate but for a flaw.

A row of a raw table is judged by its id: by the newest delivery, as staging took it. A
delivery that would open the gate and is not that one is superseded; or it came after
staging was built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
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

    def __init__(
        self, groups: list[Facts], in_force: list[Facts], parents: list[Facts]
    ) -> None:
        self.groups = {row["user_group_id"]: row for row in groups}
        self.former = self._former(parents)
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

    def _former(self, parents: list[Facts]) -> dict[int, list[tuple[int, str]]]:
        """Return the parents that groups had, or will have, and what takes them away.

        What is wrong with the row of a group itself, flaws() says.
        """
        found: dict[int, list[tuple[int, str]]] = {}
        for link in judged("user_groups", parents, ["parent_user_group_id"]):
            group, parent = link.delivery["id"], link.delivery["parent_user_group_id"]
            row = self.groups.get(group)
            is_now = row is not None and row["parent_user_group_id"] == parent
            if group is None or is_now or not link.flaws:
                continue
            says = f"the parent link of {self.name(group)} to {self.name(parent)} is"
            found.setdefault(group, []).append((parent, f"{says} {link.flaws[0]}"))
        return found

    def above(self, group: int) -> dict[int, list[str]]:
        """Return the groups from this one up, as delivered, each with its flaws.

        Of several ways to a group the one with the fewest flaws.
        """
        found: dict[int, list[str]] = {}
        ways: list[tuple[int, int, int, list[str]]] = [(0, 0, group, [])]
        number = 0
        while ways:
            *_, group, flaws = heappop(ways)
            if group in found:
                continue
            found[group] = flaws = [*flaws, *self.flaws(group)]
            row = self.groups.get(group)
            parent = row["parent_user_group_id"] if row else None
            links = [] if parent is None else [(parent, self._ring(group, parent))]
            links += [(up, [flaw]) for up, flaw in self.former.get(group, [])]
            for up, further in links:
                number += 1
                all_flaws = [*flaws, *further]
                heappush(ways, (len(all_flaws), number, up, all_flaws))
        return found

    def _ring(self, group: int, parent: int) -> list[str]:
        """Return that the parent link of a group is ignored, if it is."""
        both_live = self.is_live(group) and self.is_live(parent)
        if both_live and (group, parent) not in self.in_force:
            return [f"the parent link of {self.name(group)} is ignored in a ring"]
        return []


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
    `members` and the `global_roles`; all `groups`, the `parents` that any delivery
    named, the parent links `in_force`, and the `roles`, the role table; where the user
    is or was owner, `owned`, of the `owned_table`. Each delivery comes with what
    staging took of its row. The `person` and the `object` are what staging has of them.
    """
    object_type, permission = right["object_type"], right["permission"]
    groups = Groups(found["groups"], found["in_force"], found["parents"])
    ends = [*_user_flaws(found["person"]), *_object_flaws(found["object"])]
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
            notes.append(_missed(grant, [*flaws, *ends], called))
    if object_type in {t for reach in GLOBAL_REACH.values() for t in reach}:
        held = [
            delivery
            for delivery in found["global_roles"]
            if _may_reach(delivery["role_text"], found["roles"], object_type)
        ]
        for row in judged("user_global_roles", held, ["user_id", "role_name"]):
            notes.append(_missed(row, ends, "the user"))
    for row in judged(found["owned_table"], found["owned"], ["owner_user_id"]):
        # The object's own flaws are the row's.
        notes.append(_missed(row, _user_flaws(found["person"]), "the user", "owner"))
    return _once([item for item in notes if item])


def _user_flaws(person: Facts) -> list[str]:
    """Return what is wrong with the user's own row."""
    if person["is_live"]:
        return []
    reason = person["rejection_reason"]
    called = f"row {person['user_id']} of users"
    return [f"{called} is rejected: {reason}" if reason else f"{called} is not active"]


def _object_flaws(traced: Facts) -> list[str]:
    """Return what is wrong with the row of the object."""
    row, called = traced["row"], f"row {traced['id']} of {traced['table']}"
    if row is None:
        return [f"{called} is not there"]
    if row["rejection_reason"]:
        return [f"{called} is rejected: {row['rejection_reason']}"]
    return [] if row["is_live"] else [f"{called} is not active"]


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


def _missed(
    row: Candidate, flaws: list[str], holder: str, role: str | None = None
) -> Note | None:
    """Return a row with all that is wrong with it and with the way to it."""
    reasons = [*row.flaws, *flaws]
    if not reasons:
        return None
    if role is None:
        text = row.delivery["role_text"]
        role = f"role {text}" if text else "no role"
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
