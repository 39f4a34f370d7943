"""Near misses: rows that do not count, and would open a gate without their flaw.

The relation `uncounted_deliveries` has the reason why a delivery does not count. This
module finds the consequences for a user and an object: the ways through groups, and the
row to mend.
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
    out_of_time,
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
    """A row that would be enough by itself, once it is mended at its source."""

    table: str
    id: Any
    # The problem to mend.
    says: str

    def note(self, permission: str | None = None) -> Note:
        """Return the row for people, with the permission that its role has to give."""
        says = f"row {self.id} of {self.table}: {self.says}"
        if permission:
            says += f"; its role has to be one that gives {permission}"
        return note(says, table=self.table, id=self.id)


@dataclass(frozen=True)
class Flaw:
    """The reason why a way does not count, and the row to mend if that is enough."""

    says: str
    mend: Mend | None = None


@dataclass
class Candidate:
    """A raw row that would lead somewhere, and its flaws."""

    table: str
    raw_id: Any
    delivery: Facts
    flaws: list[Flaw] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The row as people call it."""
        return f"row {self.raw_id} of {self.table}"

    @property
    def recorded(self) -> str:
        """The time since when the row exists, and its author."""
        return created(self.delivery)


def judged(table: str, rows: list[Facts], columns: list[str]) -> Iterator[Candidate]:
    """Yield each matching row with its flaws.

    rows     live rows, without a reason, and deliveries that do not count, with one
    columns  the columns that make a row match
    """
    by_id: dict[Any, list[Facts]] = {}
    for row in rows:
        by_id.setdefault(row["row_id"], []).append(row)
    for row_id, of_id in by_id.items():
        # If the row matches now, its earlier deliveries add nothing.
        is_told = row_id is not None and any(
            row["reason"] in (None, SWITCHED_OFF, OUT_OF_TIME) for row in of_id
        )
        for row in of_id:
            if row["reason"] is None:
                yield Candidate(table, row_id, row)
            elif not (row["reason"] == SUPERSEDED and is_told):
                raw_id = row_id
                if row_id is None:
                    raw_id = shown(row["raw_id"]) if row["raw_id"] else "without an id"
                yield Candidate(table, raw_id, row, [_flaw(table, row, columns)])


def _flaw(table: str, row: Facts, columns: list[str]) -> Flaw:
    """Return why a delivery does not count, and the row to mend if that is enough."""
    reason, place = row["reason"], f"row {row['row_id']} of {table}"
    if reason == "unreadable id":
        return Flaw(f"rejected: {flaw_of(reason, table, {'id': row['raw_id']})}")
    if reason == "undelivered":
        return Flaw(f"{undelivered(row['detail'])}, {place}")
    if reason == "deleted":
        return Flaw(f"{deleted(row)}, by {place}")
    if reason == SUPERSEDED:
        return Flaw(f"superseded by a newer delivery, which {row['detail']}")
    if reason == OUT_OF_TIME:
        return Flaw(out_of_time(row["detail"]))
    if reason == SWITCHED_OFF:
        mend = Mend(table, row["row_id"], "it is switched off")
        return Flaw(switched_off(row), mend if row["is_current"] else None)
    if reason.startswith(NOT_STAGED):
        return Flaw(NOT_STAGED_YET[reason].format(row["detail"]))
    return Flaw(rejected(row, table), _mend_of_rejected(table, row, columns))


OUT_OF_TIME = "out of time"
SUPERSEDED, SWITCHED_OFF, NOT_STAGED = "superseded", "switched off", "not staged"
SINCE = "delivered since staging last ran"
NOT_STAGED_YET = {
    NOT_STAGED: SINCE,
    f"{NOT_STAGED}, conflict": f"{SINCE}, and {flaw_of('conflict', '', {})}",
    f"{NOT_STAGED}, superseded": f"{SINCE}, and superseded by a newer delivery, which"
    " {}",
}


# Reasons that leave no doubt about the meaning of the row.
MENDABLE = (
    *("unreadable date_created", "unreadable date_modified"),
    *("unreadable sf_date_created", "role"),
)


def _mend_of_rejected(table: str, row: Facts, columns: list[str]) -> Mend | None:
    """Return a rejected row if mending it would make this delivery count.

    The judged delivery has to be active and to have the same values as this delivery.
    """
    # The source has changed since this row was judged.
    if not row["is_current"]:
        return None
    reason, raw = row["reason"], delivered(row)
    is_active = ascii_lower(trimmed(raw.get("is_active") or "")) in ("true", "1")
    if reason not in MENDABLE or not is_active:
        return None
    for column in columns:
        text = trimmed(raw.get(column) or "")
        if text != ("" if row[column] is None else str(row[column])):
            return None
    is_permission = {"user_id", "user_group_id", "role_name"} <= set(columns)
    # A permission with two holders is invalid.
    if is_permission and row["user_id"] and row["user_group_id"]:
        return None
    return Mend(table, row["row_id"], flaw_of(reason, table, raw))


class Groups:
    """The groups as delivered, each with the reasons why it passes no rights on."""

    def __init__(
        self, groups: list[Facts], in_force: list[Facts], parents: list[Facts]
    ) -> None:
        self.groups = {row["user_group_id"]: row for row in groups}
        self.former = self._former(parents)
        self.in_force = {
            (row["user_group_id"], row["ancestor_user_group_id"]) for row in in_force
        }

    def name(self, group: int) -> str:
        """Return a group as people call it."""
        row = self.groups.get(group)
        name = row["name"] if row else None
        return f"{name or '(no name)'} ({group})"

    def flaws(self, group: int) -> list[Flaw]:
        """Return the flaws of a group itself."""
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
            # A row that is gone can't be switched on.
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
        """Return the past and future parents of groups, each with the flaw of the link.

        The flaws of a group's own row come from flaws().
        """
        found: dict[int, list[tuple[int, Flaw]]] = {}
        for link in judged("user_groups", parents, ["parent_user_group_id"]):
            group, parent = (
                link.delivery["row_id"],
                link.delivery["parent_user_group_id"],
            )
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

        If several ways lead to a group, the way with the fewest flaws counts.
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
    """Return the permissions of each role on a type of object; roles in lower case."""
    return {
        role and ascii_lower(role): names
        for role, names in roles_brought(roles).get(object_type, {}).items()
    }


def missed_paths(right: Facts, found: Facts) -> list[Note]:
    """Return the rows that would give a user a right on an object without their flaws.

    `found` has:

    - `table`, the permission table; `object_key`; its `grants`
    - `members` and `global_roles` of the user
    - all `groups`, the `parents` that any delivery named, the parent links `in_force`
    - `roles`, the role table
    - `owned`, the rows of `owned_table` that the user owns or owned
    - `person` and `object`, the staged rows

    Each delivery comes with the values that staging took from its row.
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
            delivery["role_name"], found["roles"], object_type, permission
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
                role = grant.delivery["role_name"]
                is_known = (role and ascii_lower(role)) in brought
                item["mend"] = mend and mend.note(None if is_known else permission)
            notes.append(item)
    if object_type in {t for reach in GLOBAL_REACH.values() for t in reach}:
        held = [
            delivery
            for delivery in found["global_roles"]
            if _may_reach(delivery["role_name"], found["roles"], object_type)
        ]
        for row in judged("user_global_roles", held, ["user_id", "role_name"]):
            notes.append(_missed(row, ends, "the user"))
    for row in judged(found["owned_table"], found["owned"], ["owner_user_id"]):
        # The row has the object's own flaws.
        notes.append(_missed(row, _user_flaws(found["person"]), "the user", "owner"))
    return _once([item for item in notes if item])


def _user_flaws(person: Facts) -> list[Flaw]:
    """Return the flaws of the user's own row."""
    flaw = flaw_of_staged(person, "users")
    return [Flaw(f"row {person['user_id']} of users is {flaw}")] if flaw else []


def _object_flaws(traced: Facts) -> list[Flaw]:
    """Return the flaws of the object's row."""
    row, called = traced["row"], f"row {traced['id']} of {traced['table']}"
    if row is None:
        return [Flaw(f"{called} is not there")]
    flaw = flaw_of_staged(row, traced["table"])
    return [Flaw(f"{called} is {flaw}")] if flaw else []


def _only_mend(flaws: list[Flaw]) -> Mend | None:
    """Return the row to mend, if there is one flaw only."""
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
    """Return a row with its own flaws and the flaws of the way to it."""
    reasons = [flaw.says for flaw in (*row.flaws, *flaws)]
    if not reasons:
        return None
    # No row records since when somebody is an owner.
    recorded = "" if role else f", {row.recorded}"
    if role is None:
        text = row.delivery["role_name"]
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
    """Return rows that would link objects without their flaws."""
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
    """Return sorted notes, one for each row with the same reasons.

    Contradicting deliveries may also differ in their author.
    """
    found: dict[tuple, Note] = {}
    for item in sorted(notes, key=lambda item: item["says"]):
        names = ("table", "id", "role", "holder")
        key = (*(item.get(name) for name in names), *item["reasons"])
        found.setdefault(key, item)
    return list(found.values())
