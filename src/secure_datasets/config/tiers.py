"""The requirements of a tier: rights on its objects, and rows that link them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

# The columns of a path to a right, with their types.
PATH = {
    **{"permission_name": "string", "path_kind": "string", "grant_table": "string"},
    **{"grant_id": "bigint", "role_name": "string", "user_group_id": "bigint"},
    **{"user_group_member_id": "bigint", "group_chain": "string"},
}


@dataclass(frozen=True)
class Right:
    """A permission on the object of one of a tier's keys."""

    key: str
    object_type: str
    permission: str


@dataclass(frozen=True)
class Link:
    """A raw table whose rows link the objects of a tier's keys."""

    table: str
    key: str


@dataclass(frozen=True)
class TierParts:
    """The requirements for a user to pass a tier, as far as the config has them."""

    keys: tuple[str, ...]
    rights: tuple[Right, ...]
    links: tuple[Link, ...]
    # Whether each key has a known right.
    is_whole: bool


def tier_parts(
    name: str, config: dict[str, Any], tables: dict[str, Any]
) -> dict[str, Any]:
    """Return the requirements of a tier: TierParts, as a dict for macros.

    - The tier's right, on the right's key or else the first key.
    - On each further key, the right of the first tier with only that key.
    - For several keys, a live row of each raw table that refers to exactly these
      objects and holds no permission.

    A tier without a right has no known requirements.
    """
    tier = config["tiers"][name]
    keys = tuple(tier["object_keys"])
    right = tier.get("right")
    if not right:
        return asdict(TierParts(keys, (), (), False))
    alone: dict[str, Any] = {}
    for other in config["tiers"].values():
        if len(other["object_keys"]) == 1 and other.get("right"):
            alone.setdefault(other["object_keys"][0], other["right"])
    own = right.get("key") or keys[0]
    rights = [Right(own, right["object_type"], right["permission"])]
    for key in keys:
        if key != own and key in alone:
            found = alone[key]
            rights.append(Right(key, found["object_type"], found["permission"]))
    links = [
        Link(table, entry["key"])
        for table, entry in tables.items()
        if len(keys) > 1 and set(entry["references"]) == set(keys)
    ]
    is_whole = len(rights) == len(keys)
    return asdict(TierParts(keys, tuple(rights), tuple(links), is_whole))


def path_columns(
    relation: str | None = None, values: Mapping[str, str] | None = None
) -> str:
    """Return the columns of a path: from a relation, or from values; else null."""
    columns = (
        f"{relation}.{column}"
        if relation
        else f"{(values or {}).get(column, f'cast(null as {kind})')} as {column}"
        for column, kind in PATH.items()
    )
    return ",\n    ".join(columns)


def linking_columns(
    config: dict[str, Any], tables: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return the raw tables whose rows give rights, or lead to rights.

    With each, its columns that do so, in the order for people: users before groups.
    """
    names = ["user_groups", "user_group_members", "user_global_roles"]
    for name, table in tables.items():
        if table.get("holder"):
            owned = tables[table["references"][table["required"][0]]]
            names += [name, *[owned["name"]] * ("owner_user_id" in owned["references"])]
    for tier in config["tiers"]:
        names += [link["table"] for link in tier_parts(tier, config, tables)["links"]]
    return {
        name: [
            *sorted(tables[name]["references"], key="user_group_id".__eq__),
            *["role_name"] * bool(tables[name].get("object_type")),
        ]
        for name in dict.fromkeys(names)
    }


def in_one_order(lists: Iterable[list[str]]) -> list[str]:
    """Return the items of some lists, each once, in an order that keeps each list's."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for names in lists:
        for name in names:
            order.add(name)
        for before, after in pairwise(names):
            order.add(after, before)
    return list(order.static_order())
