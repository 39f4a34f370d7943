"""What is there and does not count: rows that would open a gate but for a flaw.

A row of a raw table is judged by its id: by the newest delivery, as staging took it. A
delivery that would open the gate and is not that one is superseded; or it came after
staging was built, and then the newest of all is the one that the next run takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from secure_datasets.config.plan import trimmed
from secure_datasets.questions.notes import Facts, Note, note
from secure_datasets.questions.rejections import (
    created,
    deleted,
    delivered,
    flaw_of,
    flaw_of_staged,
    rejected,
    shown,
    switched_off,
    undelivered,
)
from secure_datasets.questions.roles import GLOBAL_REACH, roles_brought

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def ascii_lower(text: str) -> str:
    """Fold ASCII letters only, as staging compares roles."""
    return text.translate(_LOWER)


@dataclass(frozen=True)
class Mend:
    """A row that would do by itself, if it were put right at its source."""

    table: str
    id: Any
    # What has to be put right.
    says: str

    def note(self, permission: str | None = None) -> Note:
        """Return the row for people; with the permission that its role has to give."""
        says = f"row {self.id} of {self.table}: {self.says}"
        if permission:
            says += f"; its role has to be one that gives {permission}"
        return note(says, table=self.table, id=self.id)


@dataclass(frozen=True)
class Flaw:
    """What keeps a way from counting; and the row to mend, where that is enough."""

    says: str
    mend: Mend | None = None


@dataclass
class Candidate:
    """A raw row that would lead somewhere, and what is wrong with it."""

    table: str
    raw_id: Any
    delivery: Facts
    flaws: list[Flaw] = field(default_factory=list)

    @property
    def place(self) -> str:
        """What people call the row."""
        return f"row {self.raw_id} of {self.table}"

    @property
    def recorded(self) -> str:
        """Since when it is there and by whom."""
        return created(self.delivery)


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
            if flaw := _flaw_of_later(delivery, columns):
                yield Candidate(table, delivery["id"], delivery, [flaw])
        found = [delivery for delivery in of_id if not delivery["is_later"]]
        if not found:
            continue
        first = found[0]
        if first["id"] is None:
            raw_id = shown(first["raw_id"]) if first["raw_id"] else "without an id"
            why = flaw_of("unreadable id", table, {"id": first["raw_id"]})
            yield Candidate(table, raw_id, first, [Flaw(f"rejected: {why}")])
            continue
        raw_id = first["id"]
        if since := first.get("undelivered_since"):
            why = f"{undelivered(since)}, row {raw_id} of {table}"
            yield Candidate(table, raw_id, first, [Flaw(why)])
            continue
        if first["rejection_reason"]:
            # Of those that were in force once, the conflict or the flaw took it.
            why = rejected(first, table)
            for delivery in found:
                mend = _mend_of_rejected(table, first, delivery, columns)
                yield Candidate(table, raw_id, delivery, [Flaw(why, mend)])
            continue
        if first.get("staged_is_deleted"):
            # What it named, its older deliveries tell.
            why = f"{deleted(first, 'staged_')}, by row {raw_id} of {table}"
            for delivery in found:
                if delivery["is_active"]:
                    yield Candidate(table, raw_id, delivery, [Flaw(why)])
            continue
        same = [
            delivery
            for delivery in found
            if all(delivery[c] == delivery[f"staged_{c}"] for c in columns)
        ]
        if same:
            mend = Mend(table, raw_id, "it is switched off")
            is_off = _is_off_by_now(same[0], columns)
            off = Flaw(switched_off(first, "staged_"), mend if is_off else None)
            flaws = [] if first["staged_is_live"] else [off]
            yield Candidate(table, raw_id, same[0], flaws)
            continue
        for delivery in found:
            if not delivery["is_active"]:
                continue
            says = _said_otherwise(delivery, columns, "staged_")
            flaw = Flaw(f"superseded by a newer delivery, which says {says}")
            yield Candidate(table, raw_id, delivery, [flaw])


def _said_otherwise(delivery: Facts, columns: list[str], prefix: str) -> str:
    """Return what a newer delivery says in the columns in which it differs."""
    newest = {column: delivery[f"{prefix}{column}"] for column in columns}
    return ", ".join(
        f"{column} {'null' if value is None else value}"
        for column, value in newest.items()
        if delivery[column] != value
    )


def _flaw_of_later(delivery: Facts, columns: list[str]) -> Flaw | None:
    """Return that a delivery came after staging, and whether another came after it.

    Nothing of one that the newest of all repeats: that one is told.
    """
    if not (delivery["is_later"] and delivery["is_active"]):
        return None
    since = "delivered since staging last ran"
    if delivery["is_newest"]:
        # It may be one of several.
        if delivery["newest_is_conflict"]:
            since += f", and {flaw_of('conflict', '', {})}"
        return Flaw(since)
    newer = []
    if says := _said_otherwise(delivery, columns, "newest_"):
        newer.append(f"says {says}")
    if not delivery["newest_is_active"]:
        newer.append("is switched off")
    if not newer:
        return None
    newer = " and ".join(newer)
    return Flaw(f"{since}, and superseded by a newer delivery, which {newer}")


def _is_off_by_now(delivery: Facts, columns: list[str]) -> bool:
    """Whether a row that staging has as switched off still is, and says the same."""
    if not delivery["newest_is_later"]:
        return True
    is_clear = not (delivery["newest_is_active"] or delivery["newest_is_conflict"])
    return is_clear and not _said_otherwise(delivery, columns, "newest_")


# What can be put right without a doubt about what the row was meant to say.
MENDABLE = (
    *("unreadable date_created", "unreadable date_modified"),
    *("unreadable sf_date_created", "role"),
)


def _mend_of_rejected(
    table: str, staged: Facts, delivery: Facts, columns: list[str]
) -> Mend | None:
    """Return the rejected row, where putting it right would make this delivery count.

    The delivery that was judged has to be active and to say what this one says.
    """
    # What was judged is no longer what the source says.
    if staged["newest_is_later"]:
        return None
    reason, raw = staged["rejection_reason"], delivered(staged)
    is_active = ascii_lower(trimmed(raw.get("is_active") or "")) in ("true", "1")
    if reason not in MENDABLE or not is_active:
        return None
    for column in columns:
        text = trimmed(raw.get(column) or "")
        said = delivery["role_text" if column == "role_name" else column]
        if text != ("" if said is None else str(said)):
            return None
    is_permission = {"user_id", "user_group_id", "role_name"} <= set(columns)
    # A permission that names two holders names none.
    if is_permission and delivery["user_id"] and delivery["user_group_id"]:
        return None
    return Mend(table, staged["id"], flaw_of(reason, table, raw))


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

    def flaws(self, group: int) -> list[Flaw]:
        """Return what is wrong with a group itself."""
        row = self.groups.get(group)
        if row is None:
            return [Flaw(f"group {group} is not there")]
        if row["rejection_reason"]:
            return [
                Flaw(f"row {group} of user_groups is {rejected(row, 'user_groups')}")
            ]
        if row["is_live"]:
            return []
        called = self.name(group)
        mend = Mend("user_groups", group, f"the group {called} is switched off")
        if row.get("is_deleted") or row.get("undelivered_since"):
            # It is no longer there to be switched on.
            mend = None
        return [
            Flaw(
                f"group {called} is {switched_off(row)}",
                None if self._closes_a_ring(group) else mend,
            )
        ]

    def _closes_a_ring(self, group: int) -> bool:
        """Whether the parent links, as delivered, lead from a group to itself."""
        above, looked_at = group, set()
        while above in self.groups and above not in looked_at:
            looked_at.add(above)
            above = self.groups[above]["parent_user_group_id"]
            if above == group:
                return True
        return False

    def is_live(self, group: int | None) -> bool:
        """Whether a group counts."""
        return group in self.groups and self.groups[group]["is_live"]

    def _former(self, parents: list[Facts]) -> dict[int, list[tuple[int, Flaw]]]:
        """Return the parents that groups had, or will have, and what takes them away.

        What is wrong with the row of a group itself, flaws() says.
        """
        found: dict[int, list[tuple[int, Flaw]]] = {}
        for link in judged("user_groups", parents, ["parent_user_group_id"]):
            group, parent = link.delivery["id"], link.delivery["parent_user_group_id"]
            row = self.groups.get(group)
            is_now = row is not None and row["parent_user_group_id"] == parent
            if group is None or is_now or not link.flaws:
                continue
            says = f"the parent link of {self.name(group)} to {self.name(parent)} is"
            flaw = Flaw(f"{says} {link.flaws[0].says}")
            found.setdefault(group, []).append((parent, flaw))
        return found

    def above(self, group: int) -> dict[int, list[Flaw]]:
        """Return the groups from this one up, as delivered, each with its flaws.

        Of several ways to a group the one with the fewest flaws.
        """
        found: dict[int, list[Flaw]] = {}
        ways: list[tuple[int, int, int, list[Flaw]]] = [(0, 0, group, [])]
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

    def _ring(self, group: int, parent: int) -> list[Flaw]:
        """Return that the parent link of a group is ignored, if it is."""
        both_live = self.is_live(group) and self.is_live(parent)
        if both_live and (group, parent) not in self.in_force:
            says = f"the parent link of {self.name(group)} is ignored in a ring"
            return [Flaw(says)]
        return []


def role_may_bring(
    text: str | None, roles: list[Facts], object_type: str, permission: str
) -> bool:
    """Whether a role as delivered brings a permission, or can't be read."""
    brought = _brought(roles, object_type)
    role = text and ascii_lower(text)
    return role not in brought or permission in brought[role]


def _brought(roles: list[Facts], object_type: str) -> dict[str | None, frozenset[str]]:
    """Return what each role brings on a type of object, by how staging compares it."""
    return {
        role and ascii_lower(role): names
        for role, names in roles_brought(roles).get(object_type, {}).items()
    }


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
    brought = _brought(found["roles"], object_type)
    ends = [*_user_flaws(found["person"]), *_object_flaws(found["object"])]
    reached: dict[int, list[list[Flaw]]] = {}
    for member in judged(
        "user_group_members", found["members"], ["user_id", "user_group_id"]
    ):
        flaws = [
            Flaw(f"{member.place}, {member.recorded}, is {flaw.says}", flaw.mend)
            for flaw in member.flaws
        ]
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
            item = _missed(grant, [*flaws, *ends], called)
            if item:
                mend = _only_mend([*grant.flaws, *flaws, *ends])
                role = grant.delivery["role_text"]
                is_known = (role and ascii_lower(role)) in brought
                item["mend"] = mend and mend.note(None if is_known else permission)
            notes.append(item)
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


def _user_flaws(person: Facts) -> list[Flaw]:
    """Return what is wrong with the user's own row."""
    flaw = flaw_of_staged(person, "users")
    return [Flaw(f"row {person['user_id']} of users is {flaw}")] if flaw else []


def _object_flaws(traced: Facts) -> list[Flaw]:
    """Return what is wrong with the row of the object."""
    row, called = traced["row"], f"row {traced['id']} of {traced['table']}"
    if row is None:
        return [Flaw(f"{called} is not there")]
    flaw = flaw_of_staged(row, traced["table"])
    return [Flaw(f"{called} is {flaw}")] if flaw else []


def _only_mend(flaws: list[Flaw]) -> Mend | None:
    """Return the row that takes all flaws away: that of the only one."""
    return flaws[0].mend if len(flaws) == 1 else None


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
    row: Candidate, flaws: list[Flaw], holder: str, role: str | None = None
) -> Note | None:
    """Return a row with all that is wrong with it and with the way to it."""
    reasons = [flaw.says for flaw in (*row.flaws, *flaws)]
    if not reasons:
        return None
    # Since when somebody is an owner, no row records.
    recorded = "" if role else f", {row.recorded}"
    if role is None:
        text = row.delivery["role_text"]
        role = f"role {text}" if text else "no role"
    return note(
        f"{row.place}, {role}, for {holder}{recorded}, does not count:"
        f" {'; '.join(reasons)}",
        table=row.table,
        id=row.raw_id,
        role=role,
        holder=holder,
        reasons=reasons,
    )


def missed_links(link: Facts, deliveries: list[Facts], keys: dict) -> list[Note]:
    """Return rows that would link objects, but for their flaws."""
    notes = []
    for row in judged(link["table"], deliveries, list(keys)):
        if row.flaws:
            reasons = [flaw.says for flaw in row.flaws]
            mend = row.flaws[0].mend
            notes.append(
                note(
                    f"{row.place}, {row.recorded}, does not count:"
                    f" {'; '.join(reasons)}",
                    table=row.table,
                    id=row.raw_id,
                    reasons=reasons,
                    mend=mend and mend.note(),
                )
            )
    return _once(notes)


def _once(notes: list[Note]) -> list[Note]:
    """Return notes in an order of their own, one for each row with the same reasons.

    Deliveries that contradict each other may also differ in who wrote them.
    """
    found: dict[tuple, Note] = {}
    for item in sorted(notes, key=lambda item: item["says"]):
        names = ("table", "id", "role", "holder")
        key = (*(item.get(name) for name in names), *item["reasons"])
        found.setdefault(key, item)
    return list(found.values())
