"""The raw rows that the timeline of a user or an object needs.

Every id that a delivery ever named counts, so that no moment lacks a row. Surplus rows
do no harm: they give access only to users or objects outside the question. Ids are
looked up in few queries, each over several tables, since a query costs more than its
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

USERS, GROUPS = "users", "user_groups"
MEMBERS, ROLES = "user_group_members", "user_global_roles"
PARENT = "parent_user_group_id"
GROUP, USER = "user_group_id", "user_id"
# The columns with the names of rows, unless it is `name`.
NAME = {USERS: "login_name"}

Facts = dict[str, Any]
# A change of only these columns, or of times, is no new version of a row.
SAYS_NOTHING = {"id", "is_active", "created_by", "modified_by"}
Ids = set[int]
Rows = dict[str, Ids]


@dataclass(frozen=True)
class Table:
    """A raw table: its key, and the columns that name rows of other tables.

    columns    the columns beside ids, without times
    has_roles  whether the rows give a role
    """

    name: str
    key: str
    references: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    has_roles: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that hold ids."""
        return (self.key, *self.references)


def tables_of(
    raw_tables: Mapping[str, Facts], staged: Collection[str]
) -> dict[str, Table]:
    """Return the raw tables that are staged."""
    return {
        name: Table(
            name,
            entry["key"],
            entry["references"],
            tuple(
                column
                for column, kind in entry["columns"].items()
                if column not in (*entry["references"], *SAYS_NOTHING)
                and kind != "timestamp"
            ),
            bool(entry.get("object_type")),
        )
        for name, entry in raw_tables.items()
        if name in staged
    }


def object_tables(raw_tables: Mapping[str, Facts]) -> dict[str, str]:
    """Return the raw table of each type of object with permissions."""
    return {
        table["object_type"]: table["references"][table["required"][0]]
        for table in raw_tables.values()
        if table.get("holder")
    }


@dataclass(frozen=True)
class Delivery:
    """A delivery of a raw row: its id, and the ids that it names by column."""

    table: str
    id: int
    named: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """Wanted deliveries: deliveries of these tables that name one of these ids.

    The column may be the row's own id. Without ids any value in the column is enough.
    """

    tables: tuple[str, ...]
    column: str = "id"
    ids: frozenset[int] | None = None


Lookup = Callable[[list[Wanted]], Iterable[Delivery]]


class Selection:
    """Finds rows by what their deliveries named.

    lookup   returns the wanted deliveries
    objects  the raw tables of objects
    """

    def __init__(
        self, lookup: Lookup, tables: Mapping[str, Table], objects: list[str]
    ) -> None:
        self._lookup = lookup
        self.tables = tables
        self.objects = objects
        # Rows that give a holder a right on an object, with the column of the object.
        self.grants = {
            name: column
            for name, table in tables.items()
            for column, parent in table.references.items()
            if GROUP in table.references and parent in self.objects
        }
        # Rows that link objects.
        self.links = tuple(
            name
            for name, table in tables.items()
            if name not in self.grants
            and sum(parent in self.objects for parent in table.references.values()) > 1
        )

    def of_users(self, users: Ids) -> Rows:
        """Return the rows that give these users access, by table."""
        by_user = (MEMBERS, ROLES, *self.grants)
        found = self._found(
            Wanted(by_user, USER, frozenset(users)),
            *(
                Wanted((name,), column, frozenset(users))
                for name in self.objects
                for column in self._owner_columns(name)
            ),
            Wanted((GROUPS,), PARENT),
        )
        parents = [each for each in found if each.table == GROUPS]
        found = [each for each in found if each.table != GROUPS]
        groups = reached(_named(found, MEMBERS, GROUP), parents, is_up=True)
        found += self._found(Wanted(tuple(self.grants), GROUP, frozenset(groups)))
        objects = self._objects_of(found)
        is_powerful = any(each.table == ROLES for each in found)
        # A global role may reach all objects.
        everything = [Wanted((*self.objects, *self.links))]
        linked = everything if is_powerful else self._links_of(objects)
        rows = _rows(found + self._found(*linked))
        for name, ids in objects.items():
            rows.setdefault(name, set()).update(ids)
        return rows | {USERS: set(users), GROUPS: groups}

    def of_objects(self, asked: Rows) -> Rows:
        """Return the rows that give access to these objects, by table."""
        found = self._found(
            *self._links_of(asked),
            *(Wanted((name,), "id", frozenset(ids)) for name, ids in asked.items()),
            Wanted((GROUPS,), PARENT),
            # A global role may reach these objects.
            Wanted((ROLES,)),
        )
        parents = [each for each in found if each.table == GROUPS]
        links = [each for each in found if each.table in self.links]
        objects = self._objects_of(links)
        for name, ids in asked.items():
            objects.setdefault(name, set()).update(ids)
        grants = self._found(
            *(
                Wanted((table,), column, frozenset(objects[of]))
                for table, column in self.grants.items()
                if (of := self.tables[table].references[column]) in objects
            )
        )
        # Users without access to the subject are left out.
        telling = [
            each
            for each in grants
            if (column := self.grants[each.table])
            and each.named[column]
            in asked.get(self.tables[each.table].references[column], ())
        ]
        below = reached(_named(telling, None, GROUP), parents, is_up=False)
        members = self._found(Wanted((MEMBERS,), GROUP, frozenset(below)))
        owners = {
            each.named[column]
            for each in found
            if each.table in asked
            for column in self._owner_columns(each.table)
            if column in each.named
        }
        users = _named(telling, None, USER) | _named(members, MEMBERS, USER) | owners
        users |= _named(found, ROLES, USER)
        rows = _rows(grants + links)
        rows |= _rows(self._found(Wanted((MEMBERS, ROLES), USER, frozenset(users))))
        groups = reached(_named(grants, None, GROUP), parents, is_up=False)
        return rows | objects | {USERS: users, GROUPS: groups}

    def _found(self, *wanted: Wanted) -> list[Delivery]:
        """Return the wanted deliveries."""
        asked = [each for each in wanted if each.tables and each.ids != frozenset()]
        return list(self._lookup(asked)) if asked else []

    def _owner_columns(self, name: str) -> list[str]:
        """Return the columns that name the owner of an object."""
        references = self.tables[name].references
        return [column for column, parent in references.items() if parent == USERS]

    def _objects_of(self, found: Iterable[Delivery]) -> Rows:
        """Return the objects that deliveries describe or name, by table."""
        objects: Rows = {}
        for each in found:
            if each.table in self.objects:
                objects.setdefault(each.table, set()).add(each.id)
            for column, parent in self.tables[each.table].references.items():
                if parent in self.objects and column in each.named:
                    objects.setdefault(parent, set()).add(each.named[column])
        return objects

    def _links_of(self, objects: Rows) -> list[Wanted]:
        """Return the requests for the rows that link one of these objects."""
        return [
            Wanted((table,), column, frozenset(objects[parent]))
            for table in self.links
            for column, parent in self.tables[table].references.items()
            if parent in objects
        ]


def meant(replica: Any, question: Facts, objects: Mapping[str, str]) -> Rows:
    """Return the rows that a question means, by table.

    A question names an object by type and id, by type and name, or by name alone.
    `called` of the replica finds rows by name.
    """
    asked = question["asked"]
    if question["kind"] == "user":
        return replica.called([USERS], asked, by_id=True)
    found = replica.called(list(objects.values()), asked, by_id=False)
    for object_type, table in objects.items():
        kind, rest = asked[: len(object_type)], asked[len(object_type) :]
        if kind.lower() == object_type.lower() and rest != rest.lstrip():
            of_type = replica.called([table], rest.strip(), by_id=True)
            found.setdefault(table, set()).update(of_type.get(table, ()))
    return {table: ids for table, ids in found.items() if ids}


def reached(start: Ids, parents: Iterable[Delivery], is_up: bool) -> Ids:
    """Return groups and all above them, or all below them.

    parents  the deliveries of groups that name a parent
    """
    further: dict[int, Ids] = {}
    for each in parents:
        near, far = each.id, each.named[PARENT]
        further.setdefault(near if is_up else far, set()).add(far if is_up else near)
    found, waiting = set(start), list(start)
    while waiting:
        new = further.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _named(found: Iterable[Delivery], table: str | None, column: str) -> Ids:
    """Return the ids that deliveries of one table, or of all, name in a column."""
    return {
        each.named[column]
        for each in found
        if table in (None, each.table) and column in each.named
    }


def _rows(found: Iterable[Delivery]) -> Rows:
    """Return the ids of deliveries by table."""
    rows: Rows = {}
    for each in found:
        rows.setdefault(each.table, set()).add(each.id)
    return rows
