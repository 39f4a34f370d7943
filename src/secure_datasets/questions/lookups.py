"""Questions with one query each: the users with an object, a group's rights, and so on.

asked = Lookups(package)
asked.who_has("project Card Settlement")
asked.group("Data Quality Team")
asked.compare("hpark", "praman")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from secure_datasets.config.steering import without_steering
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.macros import Package, Row
from secure_datasets.questions.names import Named, NotKnown, find
from secure_datasets.sql.expressions import sql_text

USER, GROUP = "user", "group"
MEMBER = "in it"


@dataclass
class Table:
    """A table of an answer."""

    title: str
    columns: list[str]
    rows: list[list[Any]]


@dataclass
class Answer:
    """An answer: a sentence, its tables, whether it is no, and what it leaves out."""

    sentence: str
    tables: list[Table] = field(default_factory=list)
    is_no: bool = False
    left_out: str = ""


class Lookups:
    """Answers of one query each, over the relations of a package."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.config = package.state.document["config"]
        self._users: list[Named] = []
        self._objects: list[Row] = []

    def _relation(self, name: str) -> str:
        return self.package["relation_named"](name)

    def _rows(self, query: str) -> list[Row]:
        return self.package["rows_of"](query)

    # Users and objects by name

    def users(self) -> list[Named]:
        """Return all users."""
        self._users = self._users or [
            _user(row)
            for row in self._rows(
                "select user_id, login_name, first_name, last_name, email"
                f" from {self._relation('stg_users')} where user_id is not null"
            )
        ]
        return self._users

    def objects(self) -> list[Row]:
        """Return the live objects that can have rights."""
        self._objects = self._objects or self._rows(
            "select object_type, object_id, object_name"
            f" from {self._relation('int_securable_objects')}"
        )
        return self._objects

    def types_of_keys(self) -> dict[str, str]:
        """Return the type of objects for each key of the tiers."""
        return {
            tier["object_keys"][0]: tier["right"]["object_type"]
            for tier in self.config["tiers"].values()
            if tier.get("right") and len(tier["object_keys"]) == 1
        }

    def user(self, text: str) -> Named:
        """Return the user that a text names."""
        return find(text, USER, self.users())

    def group(self, text: str) -> Named:
        """Return the group that a text names."""
        rows = self._rows(
            f"select user_group_id, name from {self._relation('stg_user_groups')}"
            " where user_group_id is not null"
        )
        groups = (Named(GROUP, str(r["user_group_id"]), r["name"]) for r in rows)
        return find(text, GROUP, groups)

    def object(self, text: str) -> Named:
        """Return the live object that a text names, with or without its type."""
        rows = self.objects()
        words, kind = " ".join(text.split()), "object"
        types = sorted({row["object_type"] for row in rows}, key=len, reverse=True)
        for known in types:
            if words.casefold().startswith(f"{known.casefold()} "):
                words, kind = words[len(known) + 1 :], known.lower()
                rows = [row for row in rows if row["object_type"] == known]
        if kind == "object" and words.removeprefix("-").isdecimal():
            raise QuestionError(
                f"'{words}' is an id of no known type: write what it is of, such as"
                f" 'project {words}'."
            )
        objects = (
            Named(r["object_type"].lower(), str(r["object_id"]), r["object_name"])
            for r in rows
        )
        try:
            return find(words, kind, objects)
        except NotKnown as why:
            if kind != "object":
                raise
            raise NotKnown(
                f"{str(why).rstrip('.')}; an object is of one of these types:"
                f" {', '.join(sorted(map(str.lower, types)))}. Ask about a row of a"
                " dataset by why USER --dataset NAME --row KEYS."
            ) from None

    def permissions(self, object_type: str) -> list[str]:
        """Return the permissions that any user has on objects of a type."""
        rows = self._rows(
            "select distinct permission_name from"
            f" {self._relation('int_access_paths')}"
            f" where lower(object_type) = {sql_text(object_type)}"
        )
        return sorted(row["permission_name"] for row in rows)

    def permission(self, text: str, object_type: str) -> str:
        """Return the permission on objects of a type that a text names."""
        names = self.permissions(object_type)
        try:
            named = (Named("permission", name, name) for name in names)
            return find(text, "permission", named).key
        except NotKnown:
            listed = ", ".join(names) or "none"
            raise NotKnown(
                f"there is no permission '{without_steering(text)}' on a {object_type};"
                f" the permissions that somebody has on one are {listed}."
            ) from None

    def rights(self, object_type: str) -> list[str]:
        """Return the permissions that tiers require on objects of a type."""
        rights = (tier.get("right") for tier in self.config["tiers"].values())
        return sorted(
            {
                right["permission"]
                for right in rights
                if right and right["object_type"].lower() == object_type
            }
        )

    def tier_of(self, text: str) -> dict[str, Any]:
        """Return the tier and the keys of an object, from its keys or its name."""
        tiers = self.config["tiers"]
        if "=" in text:
            keys = {part.partition("=")[0].strip() for part in text.split(",")}
            named = [name for name in tiers if {*tiers[name]["object_keys"]} == keys]
            if len(named) == 1:
                return {"tier": named[0], "object": text}
            raise QuestionError(
                f"'{without_steering(text)}' has the keys of no one tier: name it,"
                " --tier."
            )
        found = self.object(text)
        for name, tier in tiers.items():
            right, keys = tier.get("right"), tier["object_keys"]
            if right and len(keys) == 1 and right["object_type"].lower() == found.kind:
                return {"tier": name, "object": {keys[0]: int(found.key)}}
        raise QuestionError(
            f"no tier asks about {found}; the tiers are {', '.join(tiers)}. Who has a"
            f" right on it: who --object '{found.kind} {found.key}' --permission NAME."
        )

    # Questions

    def who_has(self, text: str, permission: str | None = None) -> Answer:
        """Return all users with a right on an object, and their paths."""
        found = self.object(text)
        wanted = self.rights(found.kind)
        if permission:
            wanted = [self.permission(permission, found.kind)]
        if not wanted:
            names = ", ".join(self.permissions(found.kind)) or "none"
            raise QuestionError(
                f"no tier asks for a right on {found}: name one, --permission; somebody"
                f" has {names}."
            )
        rows = self._rows(
            "select paths.*, users.login_name, users.first_name, users.last_name,"
            " users.email"
            f" from {self._relation('explained_access_paths')} as paths"
            f" inner join {self._relation('stg_users')} as users"
            " on paths.user_id = users.user_id"
            f" where lower(paths.object_type) = {sql_text(found.kind)}"
            f" and paths.object_id = {int(found.key)}"
            f" and paths.permission_name in ({', '.join(map(sql_text, wanted))})"
        )
        rows.sort(key=_path_key)
        users = len({row["user_id"] for row in rows})
        has = f"{users} user{'s have' if users != 1 else ' has'}"
        table = Table(
            "who has it, and through what",
            ["user_id", "user", "permission", *PATH],
            [
                [r["user_id"], str(_user(r)), r["permission_name"], *_path(r)]
                for r in rows
            ],
        )
        sentence = f"{has} {' or '.join(wanted)} on {found}."
        return Answer(sentence, [table] if rows else [], not rows)

    def of_group(self, text: str) -> Answer:
        """Return the rights and the members of a group, including indirect members."""
        found = self.group(text)
        ancestors, users = map(
            self._relation, ("int_user_group_ancestors", "stg_users")
        )
        live = self._rows(
            f"select user_group_id from {self._relation('stg_user_groups')}"
            f" where is_live and user_group_id = {int(found.key)}"
        )
        if not live:
            return Answer(
                f"{found} is switched off, deleted or rejected: it gives nothing, and"
                " nobody is in it."
            )
        grants = []
        for name, table in self.package.state.document["raw_tables"].items():
            if not table.get("holder"):
                continue
            key = table["required"][0]
            grants += self._rows(
                f"select {sql_text(name)} as grant_table, granted.{table['key']} as"
                " grant_id, objects.object_type, objects.object_id,"
                " objects.object_name, granted.role_name, held.user_group_id,"
                " named.name as group_name"
                f" from {self._relation('stg_' + name)} as granted"
                f" inner join {ancestors} as held"
                " on granted.user_group_id = held.ancestor_user_group_id"
                f" inner join {self._relation('int_securable_objects')} as objects"
                f" on objects.object_type = {sql_text(table['object_type'])}"
                f" and objects.object_id = granted.{key}"
                f" inner join {self._relation('stg_user_groups')} as named"
                " on granted.user_group_id = named.user_group_id"
                f" where granted.is_live and held.user_group_id = {int(found.key)}"
            )
        grants.sort(key=lambda r: (r["object_type"], r["object_id"], r["grant_id"]))
        members = self._rows(
            "select users.user_id, users.login_name, users.first_name,"
            " users.last_name, users.email, members.user_group_member_id, chain.depth,"
            " named.user_group_id, named.name as group_name"
            f" from {self._relation('stg_user_group_members')} as members"
            f" inner join {ancestors} as chain"
            " on members.user_group_id = chain.user_group_id"
            f" inner join {users} as users on members.user_id = users.user_id"
            f" inner join {self._relation('stg_user_groups')} as named"
            " on members.user_group_id = named.user_group_id"
            " where members.is_live and users.is_live"
            f" and chain.ancestor_user_group_id = {int(found.key)}"
        )
        members.sort(
            key=lambda r: (r["depth"], r["user_id"], r["user_group_member_id"])
        )
        people = len({row["user_id"] for row in members})
        gives = Table(
            "what it gives",
            ["object", "role", "by"],
            [[_object(r), r["role_name"], _by(r)] for r in grants],
        )
        has = Table(
            "who is in it",
            ["user_id", "user", "by", "through"],
            [
                [
                    row["user_id"],
                    str(_user(row)),
                    f"row {row['user_group_member_id']} of user_group_members",
                    _group(row) if row["depth"] else MEMBER,
                ]
                for row in members
            ],
        )
        sentence = (
            f"{found} gives {len(grants)} role{'s' * (len(grants) != 1)} on objects to"
            f" {people} live user{'s' * (people != 1)}."
        )
        return Answer(sentence, [table for table in (gives, has) if table.rows])

    def compare(self, one: str, other: str) -> Answer:
        """Return the objects that only one of two users has, with the granting rows."""
        users = [self.user(one), self.user(other)]
        if users[0] == users[1]:
            return Answer(f"{users[0]} is compared with the same user.", is_no=True)
        held = [self._held(int(user.key)) for user in users]
        tables, sentences = [], []
        for place in (0, 1):
            own, its = held[place], held[1 - place]
            rows = [
                [tier, _objects(objects), *_path(path)]
                for (tier, _), (objects, paths) in sorted(own.items())
                if (tier, _) not in its
                for path in paths
            ]
            count = len(own.keys() - its.keys())
            sentences.append(f"{count} that {users[1 - place]} has not")
            if rows:
                title = f"what {users[place]} has, and {users[1 - place]} has not"
                tables.append(Table(title, ["tier", "object", *PATH], rows))
        sentence = (
            f"Of the objects of the tiers {users[0]} has {sentences[0]}, and"
            f" {users[1]} has {sentences[1]}."
        )
        return Answer(sentence, tables, not tables)

    def _held(self, user_id: int) -> dict[tuple, tuple[list[str], list[Row]]]:
        """Return the objects of each tier that a user has, with the paths to them."""
        paths: dict[tuple, list[Row]] = {}
        for path in self._rows(
            f"select * from {self._relation('explained_access_paths')}"
            f" where user_id = {user_id}"
        ):
            of_right = (path["object_type"], path["object_id"], path["permission_name"])
            paths.setdefault(of_right, []).append(path)
        names = {
            (row["object_type"], row["object_id"]): _object(row)
            for row in self.objects()
        }
        types = self.types_of_keys()
        found = {}
        for name, tier in self.config["tiers"].items():
            if not (right := tier.get("right")):
                continue
            keys = tier["object_keys"]
            own = right.get("key") or keys[0]
            for row in self._rows(
                f"select distinct {', '.join(keys)} from"
                f" {self._relation(tier['access_view'])} where user_id = {user_id}"
            ):
                called = [
                    names.get((types.get(key), row[key]), f"{key} {row[key]}")
                    for key in keys
                ]
                of_right = (right["object_type"], row[own], right["permission"])
                ways = paths.get(of_right, [])
                place = tuple(row[key] for key in keys)
                found[name, place] = (called, sorted(ways, key=_path_key))
        return found


PATH = ["through", "role", "by", "since", "granted by"]


def _user(row: Row) -> Named:
    names = (row["first_name"], row["last_name"])
    name = " ".join(part for part in names if part)
    login, email = row["login_name"], row["email"]
    called = name or login or email
    # If the login is the only name, it appears once.
    others = (login,) if login and login != called else ()
    return Named(USER, str(row["user_id"]), called, others, (email,) if email else ())


def _object(row: Row) -> str:
    kind = row["object_type"].lower()
    return str(Named(kind, str(row["object_id"]), row["object_name"]))


def _objects(names: Iterable[str]) -> str:
    return " with ".join(names)


def _group(row: Row) -> str:
    return str(Named(GROUP, str(row["user_group_id"]), row["group_name"]))


def _by(row: Row) -> str:
    return f"row {row['grant_id']} of {row['grant_table']}"


def _path(row: Row) -> list[Any]:
    """Return a path in words: the chain, the rows, the start and the author."""
    member = row["user_group_member_id"]
    by = _by(row)
    if member is not None:
        by += f", row {member} of user_group_members"
    through = row["path_kind"]
    if row["group_chain"]:
        through += f" {row['group_chain']}"
    return [through, row["role_name"], by, row["date_created"], row["created_by"]]


def _path_key(row: Row) -> tuple:
    member = row["user_group_member_id"]
    return (
        row["user_id"],
        row["permission_name"],
        row["path_kind"],
        row["grant_table"],
        row["grant_id"],
        -1 if member is None else member,
    )
