"""Nearest missing grants: the smallest sets of new rows that open a closed tier gate.

No proper subset of a set opens the gate. Sets with the fewest rows come first.

A new row is

- a permission for the user; among the roles that bring the right, only roles that bring
  the least,
- a membership of the user in a group that holds a right already, or
- a row that links a project and a data source.

It is never a global role, an ownership, or an edit of an existing row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from secure_datasets.config.plan import Role, role_called
from secure_datasets.questions.notes import Facts, Note, listed, note
from secure_datasets.questions.roles import GLOBAL_REACH, roles_brought
from secure_datasets.questions.text import called, known_as

Right = tuple[str, int, str]
Keys = tuple[int, ...]
LIMIT = 10
ROLE = "role_name"
# The most persons in charge that a sentence names.
MOST_IN_CHARGE = 5


@dataclass(frozen=True)
class NewRow:
    """A row that does not exist yet, its rights for the user, and its links."""

    table: str
    values: tuple[tuple[str, Any], ...]
    rights: frozenset[Right] = frozenset()
    links: frozenset[tuple[str, Keys]] = frozenset()
    # The group of a membership with its name and id, and the roles that it gives.
    called: str = ""
    roles: frozenset[Role] = frozenset()
    # The keys of row security that it gives: security object's name, and key.
    keys: frozenset[tuple[str, Any]] = frozenset()


@dataclass
class State:
    """A user's holdings and the possible grants, as far as a question needs them."""

    person: Facts
    # The parts of each tier, from tier_parts().
    tiers: dict[str, Facts]
    held: set[Right]
    # The live links by raw table: the ids of the objects, in the order of link_keys.
    links: dict[str, set[Keys]]
    link_keys: dict[str, tuple[str, ...]]
    # The rights of each group without the user, including rights of groups above it.
    groups: dict[int, frozenset[Right]]
    names: dict[int, str]
    # The permission table of each type of object, and the key of the type.
    tables: dict[str, tuple[str, str]]
    # The role table: what each role brings, by type.
    brought: dict[str, dict[str | None, frozenset[str]]]
    # The names of the question's live objects, by type and id, and the users in charge
    # of each.
    live: dict[tuple[str, int], str | None]
    charges: dict[tuple[str, int], list[Facts]]
    # The roles that each group gives: names and ids of the group and the groups above.
    group_roles: dict[int, frozenset[Role]]
    # The roles that the user holds, and the policies that name each role, by dataset.
    held_roles: set[Role]
    policies: dict[Role, dict[str, list[str]]]
    # The keys of row security that groups give, and the user's own keys; the label and
    # the restricted datasets of each security object.
    group_keys: dict[int, frozenset[tuple[str, Any]]]
    held_keys: set[tuple[str, Any]]
    secured: dict[str, Facts]
    touching: dict[tuple[str, int], set[tuple[str, Keys]]] = field(init=False)

    def __post_init__(self) -> None:
        """Index the links by the objects that they link."""
        self.touching = defaultdict(set)
        for table, rows in self.links.items():
            for keys in rows:
                for key, value in zip(self.link_keys[table], keys, strict=True):
                    self.touching[key, value].add((table, keys))

    def sides_are_open(
        self, sides: Iterable[tuple[str, Facts]], rows: Iterable[NewRow] = ()
    ) -> bool:
        """Whether the user, with these new rows, passes the tiers on their objects."""
        rows = list(rows)
        gaps, links = self.gaps(sides)
        return gaps <= {right for row in rows for right in row.rights} and links <= {
            link for row in rows for link in row.links
        }

    def gaps(
        self, sides: Iterable[tuple[str, Facts]]
    ) -> tuple[set[Right], set[tuple[str, Keys]]]:
        """Return the rights and the links that are missing."""
        rights: set[Right] = set()
        links: set[tuple[str, Keys]] = set()
        for tier, keys in sides:
            parts = self.tiers[tier]
            for right in parts["rights"]:
                place = (right["object_type"], keys[right["key"]], right["permission"])
                if place not in self.held:
                    rights.add(place)
            for link in parts["links"]:
                table = link["table"]
                values = tuple(keys[key] for key in self.link_keys[table])
                if values not in self.links[table]:
                    links.add((table, values))
        return rights, links

    def gained(self, rows: Iterable[NewRow]) -> dict[str, set[Keys]]:
        """Return the objects that the user would gain by new rows, by tier."""
        rows = list(rows)
        new = {right for row in rows for right in row.rights} - self.held
        new_links = {link for row in rows for link in row.links}
        found: dict[str, set[Keys]] = {}
        for tier, parts in self.tiers.items():
            rights = parts["rights"]
            if len(parts["keys"]) == 1:
                found[tier] = {
                    (object_id,)
                    for object_type, object_id, permission in new
                    for right in rights
                    if (object_type, permission)
                    == (right["object_type"], right["permission"])
                }
            else:
                found[tier] = self._gained_by_links(parts, new, new_links)
        return found

    def _gained_by_links(
        self, parts: Facts, new: set[Right], new_links: set[tuple[str, Keys]]
    ) -> set[Keys]:
        """Return the linked objects that the user would newly reach."""
        tables = {link["table"] for link in parts["links"]}
        looked_at = {link for link in new_links if link[0] in tables}
        for right in parts["rights"]:
            for object_type, object_id, permission in new:
                if (object_type, permission) == (
                    right["object_type"],
                    right["permission"],
                ):
                    for link in self.touching.get((right["key"], object_id), ()):
                        if link[0] in tables:
                            looked_at.add(link)
        found = set()
        for table, values in looked_at:
            keys = dict(zip(self.link_keys[table], values, strict=True))
            places = {
                (right["object_type"], keys[right["key"]], right["permission"])
                for right in parts["rights"]
            }
            # A new link, or a link with a new right, was not open before.
            if places <= self.held | new:
                found.add(tuple(keys[key] for key in parts["keys"]))
        return found

    def permission_rows(self, right: Right) -> list[NewRow]:
        """Return permissions that give the user a right, and minimal further rights."""
        object_type, object_id, permission = right
        if object_type not in self.tables or (object_type, object_id) not in self.live:
            return []
        table, key = self.tables[object_type]
        roles = {
            role: names
            for role, names in self.brought[object_type].items()
            if permission in names
        }
        return [
            NewRow(
                table,
                ((key, object_id), ("user_id", self.person["user_id"]), (ROLE, role)),
                frozenset((object_type, object_id, name) for name in names),
            )
            for role, names in roles.items()
            if not any(other < names for other in roles.values())
        ]

    def member_row(self, group: int) -> NewRow:
        """Return the membership of the user in a group."""
        return NewRow(
            "user_group_members",
            (("user_group_id", group), ("user_id", self.person["user_id"])),
            self.groups[group],
            called=f"{self.names.get(group) or '(no name)'} (group {group})",
            roles=self.group_roles[group],
            keys=self.group_keys[group] - self.held_keys,
        )

    def linked_objects(self, table: str, values: Keys) -> list[tuple[str, int]]:
        """Return the types and ids of the objects that a row links."""
        types = {key: kind for kind, (_, key) in self.tables.items()}
        keys = zip(self.link_keys[table], values, strict=True)
        return [(types.get(key, key), value) for key, value in keys]

    def object_called(self, object_type: str, object_id: int) -> str:
        """Return the name of an object, with its type and id."""
        name = self.live.get((object_type, object_id)) or "(no name)"
        return f"{name} ({object_type.lower()} {object_id})"

    def kind_of_key(self, key: str) -> str:
        """Return the type of the objects that a key names, in words."""
        types = (kind for kind, (_, known) in self.tables.items() if known == key)
        return next(types, key).lower()

    def link_row(self, table: str, values: Keys) -> NewRow:
        """Return the row that links objects."""
        keys = zip(self.link_keys[table], values, strict=True)
        return NewRow(table, tuple(keys), links=frozenset({(table, values)}))


@dataclass(frozen=True)
class GrantSet:
    """Some new rows that open the gate, and the user's further gains."""

    rows: tuple[NewRow, ...]
    gained: dict[str, frozenset[Keys]]
    rights: int

    @property
    def weight(self) -> tuple:
        """Return the sort key of sets: the number of further gains, then the rows."""
        total = sum(map(len, self.gained.values()))
        return (
            total,
            self.rights,
            [(row.table, repr(row.values)) for row in self.rows],
        )


class _Search:
    """Branch and bound search for sets of a given size, the least gain first; exact.

    The gain grows with each row. Therefore, if a partial set already gains more than
    the last kept set, no completion of it is kept.
    """

    def __init__(
        self,
        state: State,
        sides: list[tuple[str, Facts]],
        gaps: set[Right],
        link_rows: tuple[NewRow, ...],
    ) -> None:
        self.state = state
        self.asked = {
            (tier, tuple(keys[key] for key in state.tiers[tier]["keys"]))
            for tier, keys in sides
        }
        self.gaps, self.link_rows = frozenset(gaps), link_rows
        self.weights: dict[NewRow, tuple] = {}
        self.options: dict[Right, list[NewRow]] = {}

    def offer(self, options: dict[Right, list[NewRow]]) -> None:
        """Set the rows that could close each gap, the lightest first."""
        every_row = {row for rows in options.values() for row in rows}
        # The order makes the bound low early.
        self.weights = {row: self.made((row,)).weight for row in every_row}
        self.options = {
            gap: sorted(rows, key=self.weights.__getitem__)
            for gap, rows in options.items()
        }

    def made(self, rows: Iterable[NewRow]) -> GrantSet:
        """Return a set with its further gains."""
        rows = tuple(sorted(rows, key=lambda row: (row.table, repr(row.values))))
        gained = {
            tier: frozenset(keys for keys in objects if (tier, keys) not in self.asked)
            for tier, objects in self.state.gained(rows).items()
        }
        rights = {right for row in rows for right in row.rights} - self.state.held
        return GrantSet(rows, gained, len(rights))

    def of_size(self, size: int, limit: int) -> list[GrantSet]:
        """Return the lightest sets with `size` rows besides the links."""
        self.found: dict[frozenset[NewRow], GrantSet] = {}
        self.limit, self.worst = limit, None
        self._run(self.gaps, (), size)
        return sorted(self.found.values(), key=lambda item: item.weight)

    def _run(self, gaps: frozenset[Right], rows: tuple[NewRow, ...], size: int) -> None:
        """Close the remaining gaps with `size` further rows."""
        candidate = self.made((*self.link_rows, *rows))
        if self.worst is not None and candidate.weight[:2] > self.worst:
            return
        if size == 0:
            if not gaps and self._is_minimal(rows):
                self._keep(candidate)
            return
        if not gaps:
            # A smaller set already closes all gaps.
            return
        for row in self.options[min(gaps)]:
            # The next rows are no lighter.
            if self.worst is not None and self.weights[row][:2] > self.worst:
                return
            self._run(gaps - row.rights, (*rows, row), size - 1)

    def _is_minimal(self, rows: tuple[NewRow, ...]) -> bool:
        """Whether each row closes a gap that no other row closes."""
        return all(
            self.gaps - {r for other in rows if other != row for r in other.rights}
            for row in rows
        )

    def _keep(self, candidate: GrantSet) -> None:
        self.found[frozenset(candidate.rows)] = candidate
        kept = sorted(self.found.values(), key=lambda item: item.weight)[: self.limit]
        if len(kept) == self.limit:
            self.found = {frozenset(item.rows): item for item in kept}
            self.worst = kept[-1].weight[:2]


def nearest(state: State, sides: list[tuple[str, Facts]]) -> list[GrantSet]:
    """Return the smallest sets of new rows that open a tier's sides, at most ten.

    No proper subset of a set opens them. The order is the number of rows, then the
    further gains. If a side's key is null, no set opens it.
    """
    if any(None in keys.values() for _, keys in sides):
        return []
    gaps, links = state.gaps(sides)
    if not gaps and not links:
        return []
    link_rows = tuple(state.link_row(*link) for link in sorted(links))
    members = [
        state.member_row(group)
        for group, rights in state.groups.items()
        if rights & gaps
    ]
    options = {
        gap: [
            *state.permission_rows(gap),
            *(row for row in members if gap in row.rights),
        ]
        for gap in gaps
    }
    if not all(options.values()):
        return []
    search = _Search(state, sides, gaps, link_rows)
    search.offer(options)
    found: list[GrantSet] = []
    for size in range(len(gaps) + 1):
        if len(found) < LIMIT:
            found += search.of_size(size, LIMIT - len(found))
    return found


def set_notes(
    state: State,
    sides: list[tuple[str, Facts]],
    sets: list[GrantSet],
    rows_gained: list[dict[str, int]],
    restricted: list[str],
    dataset: str | None = None,
) -> list[Note]:
    """Return the sets with their side effects, as text and as data.

    The row of the question, in `dataset`, does not count as a side effect. In the
    `restricted` datasets, further rules decide whether rows that pass the tier show.
    """
    gaps, _ = state.gaps(sides)
    notes = []
    for number, (found, datasets) in enumerate(zip(sets, rows_gained, strict=True), 1):
        others = {name: count - (name == dataset) for name, count in datasets.items()}
        others = {name: count for name, count in others.items() if count > 0}
        seen = {name: n for name, n in others.items() if name not in restricted}
        past_tier = {name: n for name, n in others.items() if name in restricted}
        tiers = {tier: len(keys) for tier, keys in found.gained.items() if keys}
        rows = [row_note(row, state, gaps) for row in found.rows]
        gain = [objects_gained(state, tier, count) for tier, count in tiers.items()]
        gain += [f"{more_rows(count)} of {name}" for name, count in seen.items()]
        comes = [", ".join(gain)] if gain else []
        if past_tier:
            whose = "its" if len(past_tier) == 1 else "their"
            passing = ", ".join(map(passing_rows, past_tier, past_tier.values()))
            comes += [passing, f"{whose} policies decide which are seen"]
        comes += [given["says"] for row in rows for given in row["evidence"]]
        notes.append(
            note(
                f"{number}. {sentence([row['says'] for row in rows])}",
                rows,
                comes_with=f"What comes with it: {'; '.join(comes) or 'nothing else'}.",
                tiers_gained=tiers,
                rows_gained=seen,
                rows_past_tier=past_tier,
                # A question about a row fills in the row's closed gates.
                closed_beside=[],
            )
        )
    return notes


def sentence(parts: list[str]) -> str:
    """Return the steps as one sentence."""
    *others, last = parts
    says = f"{', '.join(others)} and {last}" if others else last
    return f"{says[0].upper()}{says[1:]}."


def in_charge(state: State, sides: list[tuple[str, Facts]]) -> list[Facts]:
    """Return the objects with missing rights or links, and the users in charge."""
    gaps, links = state.gaps(sides)
    asked = {right[:2] for right in gaps}
    for table, values in links:
        asked |= set(state.linked_objects(table, values))
    told = []
    for place in sorted(asked & {*state.live}):
        users = [called(user) for user in state.charges[place]]
        whom = listed(users, MOST_IN_CHARGE) if users else "the global administrators"
        verb = "is" if len(users) == 1 else "are"
        says = f"In charge of {state.object_called(*place)} {verb} {whom}."
        told.append(note(says, object_type=place[0], object_id=place[1], users=users))
    return told


def given_by(sets: list[GrantSet]) -> list[Facts]:
    """Return the roles of each set, and its keys by security object."""
    given = []
    for found in sets:
        keys: dict[str, list[Any]] = {}
        for name, key in {pair for row in found.rows for pair in row.keys}:
            keys.setdefault(name, []).append(key)
        roles = {role for row in found.rows for role in row.roles}
        given.append({"roles": sorted(roles, key=role_called), "keys": keys})
    return given


def more_rows(count: int) -> str:
    """Return a number of further rows, in words."""
    return f"{count} more row{'s' if count > 1 else ''}"


def passing_rows(name: str, count: int) -> str:
    """Return how many more rows pass the tier of a dataset, in words."""
    return f"{more_rows(count)} pass{'' if count > 1 else 'es'} the tier of {name}"


def objects_gained(state: State, tier: str, count: int) -> str:
    """Return how many more objects of a tier, which may be pairs, in words."""
    keys = state.tiers[tier]["keys"]
    plural = "s" if count > 1 else ""
    what = f"object{plural}"
    if len(keys) > 1:
        what = f"pair{plural} of {' and '.join(map(state.kind_of_key, keys))}"
    return f"{count} more {what} of the tier {tier}"


def row_note(row: NewRow, state: State, gaps: Iterable[Right]) -> Note:
    """Return a new row as an instruction, with the roles and keys that it brings.

    gaps  the missing rights; the row brings some of them
    """
    values, person = dict(row.values), known_as(state.person)
    if row.links:
        linked = state.linked_objects(row.table, tuple(values.values()))
        says = f"link {' to '.join(state.object_called(*each) for each in linked)}"
    elif row.called:
        says = f"add {person} to the group {row.called}"
    else:
        rights = sorted(row.rights & {*gaps})
        names = " and ".join(permission for _, _, permission in rights)
        says = f"give {person} {names} on {state.object_called(*rights[0][:2])}"
        says += f", by the role {values[ROLE]}" if values[ROLE] else ""
    roles = [
        role_note(role, dataset, named_by)
        for role in sorted(row.roles - state.held_roles, key=role_called)
        for dataset, named_by in state.policies.get(role, {}).items()
    ]
    for name in sorted({name for name, _ in row.keys}):
        keys = [key for of, key in row.keys if of == name]
        roles.append(keys_note(keys, state.secured[name]))
    return note(says, roles, table=row.table, values=values)


def role_note(role: Role, dataset: str, named_by: list[str]) -> Note:
    """Return a note: a membership gives a role that policies of a dataset name."""
    says = f"the role {role_called(role)}, which policies of {dataset} name"
    says += f" ({'; '.join(named_by)})"
    return note(says, role=role, dataset=dataset, named_by=named_by)


def keys_note(keys: list[Any], secured: Facts) -> Note:
    """Return a note: a membership gives keys of row security."""
    label, datasets = secured["object"]["label"], secured["datasets"]
    says = f"the key{'s' if len(keys) > 1 else ''} {listed(keys)} of row security"
    says += f' "{label}", which restricts {", ".join(datasets)}'
    return note(says, keys=sorted(keys, key=str), datasets=datasets)


def policies_by_role(policies: list[Facts]) -> dict[Role, dict[str, list[str]]]:
    """Return the conditions and masks that name each role, by role and dataset."""
    found: dict[Role, dict[str, dict[str | None, None]]] = {}
    for row in policies:
        of_dataset = found.setdefault(row["role"], {}).setdefault(row["dataset"], {})
        of_dataset[row["column"]] = None
    return {
        role: {
            name: [
                *(
                    [f"masks: {', '.join(c for c in columns if c)}"]
                    if any(columns)
                    else []
                ),
                *(["conditions"] if None in columns else []),
            ]
            for name, columns in by_dataset.items()
        }
        for role, by_dataset in found.items()
    }


def state_of(found: Facts) -> State:
    """Return a state from the results of the queries.

    chains       each group with every group whose rights it passes on
    grants       the live permissions of these groups on live objects
    held, links, objects, roles  rows
    charges      the users in charge of the objects
    held_roles   the roles of the user
    policies     each role that a policy names, with dataset and column of a mask
    group_keys   the keys of row security that groups give
    held_keys    the keys of row security that the user holds
    secured      the security objects
    """
    brought = roles_brought(found["roles"])
    policies = policies_by_role(found["policies"])
    by_holder: dict[int, set[Right]] = defaultdict(set)
    for row in found["grants"]:
        names = brought[row["object_type"]].get(row["role_name"], ())
        by_holder[row["user_group_id"]] |= {
            (row["object_type"], row["object_id"], name) for name in names
        }
    groups: dict[int, set[Right]] = defaultdict(set)
    names = {row["user_group_id"]: row["name"] for row in found["names"]}
    group_roles: dict[int, set[Role]] = defaultdict(set)
    group_keys: dict[int, set[tuple[str, Any]]] = defaultdict(set)
    keys_of: dict[int, set[tuple[str, Any]]] = defaultdict(set)
    for row in found["group_keys"]:
        keys_of[row["holder"]].add((row["object"], row["key"]))
    for row in found["chains"]:
        group_keys[row["user_group_id"]] |= keys_of[row["ancestor_user_group_id"]]
        name = names.get(row["ancestor_user_group_id"])
        # A group with the name of a global role does not give the global role.
        if name and name not in GLOBAL_REACH:
            group_roles[row["user_group_id"]].add(name)
        # An id counts only if policies name it: a user's roles are known by name.
        if row["ancestor_user_group_id"] in policies:
            group_roles[row["user_group_id"]].add(row["ancestor_user_group_id"])
        groups[row["user_group_id"]] |= by_holder[row["ancestor_user_group_id"]]
    link_keys = {
        link["table"]: tuple(parts["keys"])
        for parts in found["tiers"].values()
        for link in parts["links"]
    }
    charges = defaultdict(list)
    for row in sorted(found["charges"], key=lambda row: row["user_id"]):
        charges[row["object_type"], row["object_id"]].append(row)
    return State(
        person=found["person"],
        tiers=found["tiers"],
        held={
            (row["object_type"], row["object_id"], row["permission_name"])
            for row in found["held"]
        },
        links={
            table: {tuple(row[key] for key in keys) for row in found["links"][table]}
            for table, keys in link_keys.items()
        },
        link_keys=link_keys,
        groups={group: frozenset(rights) for group, rights in groups.items()},
        names=names,
        tables=found["tables"],
        brought=brought,
        live={
            (row["object_type"], row["object_id"]): row["object_name"]
            for row in found["objects"]
        },
        charges=charges,
        group_roles={group: frozenset(group_roles[group]) for group in groups},
        held_roles=set(found["held_roles"]),
        policies=policies,
        group_keys={group: frozenset(group_keys[group]) for group in groups},
        held_keys={(row["object"], row["key"]) for row in found["held_keys"]},
        secured=found["secured"],
    )


def gained_keys(state: State, sets: list[GrantSet], tier: str) -> dict[str, list[int]]:
    """Return the objects that any of the sets gives, by key of the tier."""
    keys = state.tiers[tier]["keys"]
    found = {values for item in sets for values in state.gained(item.rows)[tier]}
    return {
        key: sorted({values[place] for values in found})
        for place, key in enumerate(keys)
    }


def rows_gained(state: State, item: GrantSet, case: Facts, lines: list[Facts]) -> int:
    """Return how many rows of a case pass its tier only with a set.

    `lines` are the base's rows, counted by the deciding columns.
    """
    count = 0
    for line in lines:
        sides = [
            (case["tier"], {key: line[column] for key, column in keys.items()})
            for keys in (case["keys"], case["second_keys"])
            if keys and not (keys is case["second_keys"] and line["has_no_second"])
        ]
        if any(None in keys.values() for _, keys in sides):
            continue
        is_open = state.sides_are_open(sides, item.rows)
        if is_open and not state.sides_are_open(sides):
            count += line["row_count"]
    return count
