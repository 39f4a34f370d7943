"""Gains and losses of each user between two states in one quick engine.

The queries are the same as `diff` uses to compare two built states.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from secure_datasets.config.plan import PREFIX, rules_in_time
from secure_datasets.engines.duckdb import Made
from secure_datasets.questions.changes.macro_methods import AccessChanges
from secure_datasets.questions.configs import Edited
from secure_datasets.questions.lookups import Answer, Lookups, Table
from secure_datasets.questions.macros import Package, Row
from secure_datasets.questions.names import Named
from secure_datasets.questions.shown import without_past

QUERIES = ("changed_access", "changed_raw_rows", "changed_paths", "access_changes")
SCHEMA = "compared_states"
# Relations that secure datasets filter by the reader's id, besides the tiers' access
# views.
BY_READER = {"user_role_names", "view_outcomes", "vw_secure_user_roles"}
# How values of masked columns differ, with the head of each count.
MASKED = {"shown": "shown only now", "hidden": "only before", "changed": "changed"}
# The users of datasets whose rows may differ; None: all users.
UsersOf = dict[str, set[int] | None]
# Above this number of users, the comparison covers all rows.
MOST_USERS = 10_000


def access_changes(
    before: Package, after: Package, schemas: list[str], is_supposed: bool = False
) -> list[Row]:
    """Return the gains and losses of each user, with paths and causes.

    schemas      the schemas of the two states
    is_supposed  whether the later state only supposes that rows go and come
    """
    sides = zip(("before", "after"), schemas, (before, after), strict=True)
    states = [_state(side, schema, package) for side, schema, package in sides]
    states[1]["is_supposed"] = is_supposed
    known = {
        "ref": after["ref_of_model"],
        "tables": after["repository_tables"](),
        "rows_of": after["rows_of"],
    }
    for name in QUERIES:
        after.relations[name] = f"{SCHEMA}.{name}"
        query = partial(AccessChanges().query_of, name, states, known)
        after.engine.put(f"{SCHEMA}.{name}", Made(query))
    return after["rows_of"](
        f"select * from {SCHEMA}.access_changes"
        " order by tier, user_id, object_keys, change"
    )


def _state(side: str, schema: str, package: Package) -> dict[str, Any]:
    query = package["state_definitions_query"]()
    definitions = package["rows_of"](query)
    models = package.state.values["graph"]["nodes"].values()
    relations = {node["alias"].lower() for node in models if node.get("alias")}
    return AccessChanges().state(side, schema, definitions, relations)


def touched_users(before: Package, after: Package, dataset: str) -> set[int] | None:
    """Return the users whose rows of a secure dataset may differ; None: all users.

    These are the users with a difference in a relation that the dataset filters by the
    reader's id. The result is None if

    - a relation differs that the dataset does not filter by the reader's id,
    - a model that both states know has a relation in only one of them,
    - a rule may begin or end between the two states: no relation holds that,
    - more than MOST_USERS users differ.
    """
    config, found = after.state.document["config"], set()
    times = rules_in_time(dataset, config)
    if times["begins"] or times["ends"]:
        return None
    rules = json.dumps(config.get("policies") or [])
    by_reader = {tier["access_view"] for tier in config["tiers"].values()} | BY_READER
    (one, other) = (
        package.state.values["graph"]["nodes"] for package in (before, after)
    )
    (read,) = (
        node["depends_on"]["nodes"]
        for node in other.values()
        if node["name"] == f"{PREFIX}{dataset}" and node["resource_type"] == "model"
    )
    for key in read:
        sides = [nodes[key]["relation_name"] for nodes in (one, other) if key in nodes]
        if len({*sides}) < 2:
            continue
        if None in sides:
            return None
        name = other[key]["name"]
        # A rule may look up the rights of all users.
        is_by_reader = name in by_reader and name not in rules
        column = "user_id" if is_by_reader else "1"
        for has, lacks in (sides, sides[::-1]):
            rows = after["rows_of"](
                f"select distinct {column} as found from"
                f" (select * from {has} except select * from {lacks}) as changed"
                f" limit {MOST_USERS + 1}"
            )
            if rows and not is_by_reader:
                return None
            found |= {row["found"] for row in rows}
        if len(found) > MOST_USERS:
            return None
    return found - {None}


def row_changes(
    package: Package, schemas: list[str], users_of: UsersOf, config: Row
) -> list[Row]:
    """Return how many rows of each secure dataset each user gains and loses.

    package   the macros over the later state
    users_of  the datasets to compare, each with its users; None: all users
    config    the config of the datasets

    The unique key of a dataset identifies its rows. The user null stands for everybody.
    """
    found: list[Row] = []
    for name, users in users_of.items():
        of_users = _of_users(users, "user_id")
        keys = ", ".join(["user_id", *config["datasets"][name]["unique_key"]])
        one, other = (f"{schema}.{PREFIX}{name}" for schema in schemas)
        for side, (has, lacks) in {
            "lost": (one, other),
            "gained": (other, one),
        }.items():
            rows = package["rows_of"](
                "select user_id, count(*) as number from"
                f" (select {keys} from {has}{of_users}"
                f" except select {keys} from {lacks}{of_users})"
                " as found group by user_id order by user_id"
            )
            found += [{"dataset": name, "side": side, **row} for row in rows]
    return found


def mask_changes(
    before: Package, after: Package, schemas: list[str], users_of: UsersOf
) -> list[Row]:
    """Count each user's values of masked columns that two states show otherwise.

    It compares the rows that both states have. `shown` counts the values that only the
    later state shows, and `hidden` the values that only the earlier one shows: a value
    is shown if it is the base dataset's in its state. Without a base, `changed` counts
    the values that differ.

    users_of  the datasets to compare, each with its users; None: all users
    """
    found: list[Row] = []
    config = after.state.document["config"]
    edited = Edited(config, config)
    for name, users in users_of.items():
        dataset, base = config["datasets"][name], edited.base_of(name)
        on = [f"{{}}.{key} <=> {{}}.{key}" for key in dataset["unique_key"]]
        joined = [(f"{schemas[0]}.{PREFIX}{name}", "a", "b")]
        if base:
            joined += [
                (after["ref_of_model"](base), "a", "base_of_a"),
                (before["ref_of_model"](base), "b", "base_of_b"),
            ]
        sides = f"{schemas[1]}.{PREFIX}{name} as a"
        for relation, one, other in joined:
            by_user = [f"{one}.user_id <=> {other}.user_id"] * (other == "b")
            same = " and ".join(by_user + [each.format(one, other) for each in on])
            sides += f" inner join {relation} as {other} on {same}"
        of_users = _of_users(users, "a.user_id") or " where true"
        for column in edited.maskable(name):
            now, then = (f"{s}.{column} <=> base_of_{s}.{column}" for s in "ab")
            counts = f"count_if({now}) as shown, count_if({then}) as hidden"
            counts += ", cast(null as bigint) as changed"
            differs = f"({now}) != ({then})"
            if not base:
                counts = "null as shown, null as hidden, count(*) as changed"
                differs = f"not a.{column} <=> b.{column}"
            rows = after["rows_of"](
                f"select a.user_id, {counts} from {sides}{of_users} and {differs}"
                " group by a.user_id order by a.user_id"
            )
            found += [{"dataset": name, "column": column, **row} for row in rows]
    return found


def _of_users(users: set[int] | None, column: str) -> str:
    """Return a condition on the rows of some users, and of everybody."""
    if users is None:
        return ""
    listed = ", ".join(map(str, sorted(users))) or "null"
    return f" where ({column} in ({listed}) or {column} is null)"


def value_changes(package: Package, schemas: list[str], edited: Edited) -> list[Row]:
    """Count each user's values that differ in rows that both states show.

    `shown` counts how many of them now equal the value in the base dataset; None if
    there is no base.
    """
    found: list[Row] = []
    for name, columns in edited.masked_columns().items():
        dataset = edited.config["datasets"][name]
        on = " and ".join(f"a.{key} <=> b.{key}" for key in dataset["unique_key"])
        base = edited.base_of(name)
        sides = (
            f"{schemas[1]}.vw_secure_dataset_{name} as a inner join"
            f" {schemas[0]}.vw_secure_dataset_{name} as b on a.user_id <=> b.user_id"
            f" and {on}"
        )
        if base:
            on = " and ".join(f"a.{key} <=> c.{key}" for key in dataset["unique_key"])
            sides += f" inner join {package['ref_of_model'](base)} as c on {on}"
        for column in columns:
            shown = f"count_if(a.{column} <=> c.{column})" if base else "null"
            rows = package["rows_of"](
                f"select a.user_id, count(*) as changed, {shown} as shown from {sides}"
                f" where not a.{column} <=> b.{column}"
                " group by a.user_id order by a.user_id"
            )
            found += [{"dataset": name, "column": column, **row} for row in rows]
    return found


def changes_of_config(
    before: Package, after: Package, schemas: list[str], edited: Edited
) -> Answer:
    """Return the gains and losses of rows and values under a changed config."""
    names = _Names(before, after)
    users_of: UsersOf = dict.fromkeys(edited.touched)
    rows = row_changes(after, schemas, users_of, edited.config)
    values = value_changes(after, schemas, edited)
    masked = Table(
        "values of the secure datasets",
        ["user_id", "user", "dataset", "column", "changed", "of these shown"],
        [
            [
                row["user_id"],
                names.user(row["user_id"]),
                row["dataset"],
                row["column"],
                row["changed"],
                row["shown"],
            ]
            for row in values
        ],
    )
    tables = [t for t in (_counted(rows, names), masked) if t.rows]
    if not tables:
        return Answer("By this config no one's rows or values change.", is_no=True)
    people = {row["user_id"] for row in (*rows, *values)}
    users = f"{len(people)} user{'s' * (len(people) != 1)}"
    said = {
        side: sum(row["number"] for row in rows if row["side"] == side)
        for side in ("gained", "lost")
    }
    changed = sum(row["changed"] for row in values)
    sentence = (
        f"By this config the rows or values of {users} change: {said['gained']} rows"
        f" gained, {said['lost']} lost, {changed} values changed in the others."
    )
    return Answer(sentence, tables)


def changes(
    before: Package, after: Package, schemas: list[str], user: str | None, since: str
) -> Answer:
    """Return each user's gains and losses of objects and rows, with the causing rows.

    user   the one user to compare; all if None
    since  the moment of the earlier state; empty if the later state is only supposed
    """
    when = f"Since {since}" if since else "Then"
    names = _Names(before, after)
    # An unknown user fails before the comparison starts.
    chosen = None if user is None else int(names.find(user))
    found = access_changes(before, after, schemas, is_supposed=not since)
    nodes, as_of = before.context["graph"].nodes, before.vars.get("as_of")
    unknown = without_past(before, nodes, as_of)
    config = after.state.document["config"]
    users_of = {
        name: touched_users(before, after, name) if chosen is None else {chosen}
        for name in config["datasets"]
        if name not in unknown
    }
    rows = row_changes(after, schemas, users_of, config)
    masked = mask_changes(before, after, schemas, users_of)
    if chosen is not None:
        found = [row for row in found if row["user_id"] == chosen]
    access = Table(
        "objects",
        ["user_id", "user", "tier", "object", "change", "access type", "by"],
        [
            [
                row["user_id"],
                names.user(row["user_id"]),
                row["tier"],
                names.objects(row["object_keys"]),
                row["change"],
                _access_type(row),
                ", ".join(map(_cause, row["causes"], row["how"])),
            ]
            for row in found
        ],
    )
    values = Table(
        "values of the secure datasets",
        ["user_id", "user", "dataset", "column", *MASKED.values()],
        [
            [
                row["user_id"],
                names.user(row["user_id"]),
                *(row[key] for key in ("dataset", "column", *MASKED)),
            ]
            for row in masked
        ],
    )
    tables = [t for t in (access, _counted(rows, names), values) if t.rows]
    people = {row["user_id"] for row in (*found, *rows, *masked)} - {None}
    gained = sum(row["change"] == "gained" for row in found)
    lost = sum(row["change"] == "lost" for row in found)
    left_out = _left_out(unknown)
    if not tables:
        sentence = f"{when} no one's access changes."
        return Answer(sentence, is_no=not left_out, left_out=left_out)
    users = f"{len(people)} user{'s' * (len(people) != 1)}"
    sentence = (
        f"{when} the access of {users} changes: {gained} object"
        f"{'s' * (gained != 1)} of the tiers gained, {lost} lost"
    )
    if masked:
        number = sum(row[key] or 0 for row in masked for key in MASKED)
        sentence += f", {number} value{'s' * (number != 1)} of masked columns differ"
    return Answer(f"{sentence}.", tables, left_out=left_out)


def _left_out(unknown: dict[str, list[str]]) -> str:
    """Return a sentence about datasets without a past; empty if there are none."""
    if not unknown:
        return ""
    datasets = ", ".join(f"{PREFIX}{name}" for name in unknown)
    tables = ", ".join(sorted({each for of in unknown.values() for each in of}))
    return (
        f"Not compared, because the feed of {tables} holds the present alone:"
        f" {datasets}."
    )


def _counted(rows: list[Row], names: _Names) -> Table:
    """Return how many rows of each dataset each user gains and loses."""
    numbers: dict[tuple[Any, str], dict[str, int]] = {}
    for row in rows:
        of_user = numbers.setdefault((row["user_id"], row["dataset"]), {})
        of_user[row["side"]] = row["number"]
    return Table(
        "rows of the secure datasets",
        ["user_id", "user", "dataset", "gained", "lost"],
        [
            [
                key[0],
                names.user(key[0]),
                key[1],
                of_user.get("gained", 0),
                of_user.get("lost", 0),
            ]
            for key, of_user in sorted(
                numbers.items(), key=lambda each: (each[0][0] or -1, each[0][1])
            )
        ],
    )


def _access_type(row: Row) -> str | None:
    """Return a change's access type: before, after, or both as `before > after`."""
    told = [row["access_type_before"], row["access_type_after"]]
    return " > ".join(each for each in told if each) or None


def _cause(cause: str, how: str | None) -> str:
    """Return a cause in the words of answers: `row 5 of user_group_members went`."""
    table, _, rest = cause.partition(" ")
    number, _, change = rest.partition(" ")
    if not number.removeprefix("-").isdecimal():
        return cause
    return f"row {number} of {table} {change}{f', {how}' if how else ''}"


class _Names:
    """The names of users and objects in two states; the later state's name wins."""

    def __init__(self, before: Package, after: Package) -> None:
        self.lookups = [Lookups(after), Lookups(before)]
        self.users: dict[int, str] = {}
        self.called: dict[tuple[str, int], str] = {}
        for lookups in self.lookups:
            for named in lookups.users():
                self.users.setdefault(int(named.key), str(named))
            for row in lookups.objects():
                place = (row["object_type"], row["object_id"])
                named = Named(
                    row["object_type"].lower(), str(place[1]), row["object_name"]
                )
                self.called.setdefault(place, str(named))
        self.types = self.lookups[0].types_of_keys()

    def find(self, text: str) -> str:
        """Return the id of a user of either state."""
        from secure_datasets.questions.asked import QuestionError

        try:
            return self.lookups[0].user(text).key
        except QuestionError:
            return self.lookups[1].user(text).key

    def user(self, user_id: int | None) -> str:
        """Return the name of a user."""
        if user_id is None:
            return "everybody"
        return self.users.get(user_id, f"user {user_id}")

    def objects(self, keys: str) -> str:
        """Return the names of the objects with the keys `project_id=1, ...`."""
        parts = [part.partition("=") for part in keys.split(", ")]
        return " with ".join(
            self.called.get((self.types.get(key, ""), int(value)), f"{key} {value}")
            if value.removeprefix("-").isdecimal()
            else f"{key} {value}"
            for key, _, value in parts
        )
