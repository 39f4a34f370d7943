"""The parts of a tier on some objects: paths, links, and rows that do not count."""

from __future__ import annotations

from typing import Any

from secure_datasets.questions import near_misses
from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.staged import (
    deliveries,
    deliveries_of_user,
    traced,
)
from secure_datasets.questions.notes import Facts, named
from secure_datasets.questions.rights import is_held, is_linked, missed_key
from secure_datasets.sql.expressions import sql_text

Keys = dict[str, Any]


def add_rights(
    built: Built, facts: Facts, tier: str, keys: Keys, person: Facts
) -> None:
    """Add the facts about a tier on objects: names, the user's paths, the links."""
    parts = built.tier_parts(tier)
    facts["parts"][tier] = parts
    asked = [right for right in parts["rights"] if keys[right["key"]] is not None]
    if asked:
        paths = [
            f"({is_object(right, keys)}"
            f" and permission_name = {sql_text(right['permission'])})"
            for right in asked
        ]
        found = built.rows(
            f"select * from {built.relation('explained_access_paths')}"
            f" where user_id = {person['user_id']} and ({' or '.join(paths)})"
        )
        _add_ends(built, found)
        _add_new(facts["paths"], found)
        objects = [f"({is_object(right, keys)})" for right in asked]
        _add_new(facts["objects"], objects_named(built, objects))
    for link in parts["links"] if None not in keys.values() else ():
        same = " and ".join(f"{key} = {value}" for key, value in keys.items())
        query = (
            f"select '{link['table']}' as link_table, {link['key']} as link_id,"
            f" {', '.join(parts['keys'])}, date_created, created_by"
            f" from {built.staged(link['table'])} where is_live and {same}"
        )
        _add_new(facts["links"], built.rows(query))
    _add_missed(built, facts, parts, keys, person)


def is_object(right: Facts, keys: Keys) -> str:
    """Return the condition that finds the object of a right."""
    is_type = f"object_type = {sql_text(right['object_type'])}"
    return f"{is_type} and object_id = {keys[right['key']]}"


def objects_named(built: Built, objects: list[str]) -> list[Facts]:
    """Return the live objects that one of some conditions finds, with their names."""
    return built.rows(
        "select object_type, object_id, object_name"
        f" from {built.relation('int_securable_objects')} where {' or '.join(objects)}"
    )


def _add_new(rows: list[Facts], found: list[Facts]) -> None:
    """Add the rows that a list does not contain yet."""
    for row in found:
        if row not in rows:
            rows.append(row)


def _add_ends(built: Built, paths: list[Facts]) -> None:
    """Add to each path the earliest end of its rows, if any has an end."""
    for name in built.macros["rights_in_time"]():
        table = built.tables[name]
        if "valid_until" not in table["columns"]:
            continue
        ids = [_id_in(path, name) for path in paths]
        asked = [each for each in ids if each is not None]
        if not asked:
            continue
        rows = built.rows(
            f"select {table['key']} as id, valid_until from {built.staged(name)}"
            f" where valid_until is not null and {table['key']} in ({in_list(asked)})"
        )
        ends = {row["id"]: row["valid_until"] for row in rows}
        for path, each in zip(paths, ids, strict=True):
            if end := ends.get(each):
                path["ends"] = min(end, path.get("ends") or end)


def _id_in(path: Facts, table: str) -> int | None:
    """Return the id of a path's row of a raw table; None if it has no such row."""
    if table == "user_group_members":
        return path["user_group_member_id"]
    return path["grant_id"] if path["grant_table"] == table else None


def _add_missed(
    built: Built, facts: Facts, parts: Facts, keys: Keys, person: Facts
) -> None:
    """Add the deliveries that would open a closed part of a tier, but do not count."""
    for right in parts["rights"]:
        value = keys[right["key"]]
        if value is None or is_held(facts, right, keys):
            continue
        if "of_user" not in facts:
            facts["of_user"] = deliveries_of_user(built, person["user_id"])
        for name, table in built.tables.items():
            if table.get("holder") and table["object_type"] == right["object_type"]:
                found = _grants_on(built, name, value, person)
                notes = near_misses.missed_paths(right, facts["of_user"] | found)
                facts["missed"][missed_key(right, value)] = notes
    for link in parts["links"] if None not in keys.values() else ():
        if not is_linked(facts, link, keys):
            found = deliveries(built, link["table"], keys)
            notes = near_misses.missed_links(link, found, keys)
            facts["missed"][missed_key(link, named(keys))] = notes


def _grants_on(built: Built, name: str, value: int, person: Facts) -> Facts:
    """Return the deliveries of a raw table of permissions that name an object."""
    key = built.tables[name]["required"][0]
    of_object = built.tables[name]["references"][key]
    owned = []
    if "owner_user_id" in built.tables[of_object]["references"]:
        owner = {"id": value, "owner_user_id": person["user_id"]}
        owned = deliveries(built, of_object, owner)
    return {
        "table": name,
        "object_key": key,
        "grants": deliveries(built, name, {key: value}),
        "person": person,
        "owned_table": of_object,
        "owned": owned,
        "object": traced(built, of_object, str(value)),
    }
