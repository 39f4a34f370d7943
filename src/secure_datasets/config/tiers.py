"""The tiers: the rights and links that they ask for, and the rules of datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from secure_datasets.config import plan
from secure_datasets.config.plan import Config, Dataset
from secure_datasets.sql.expressions import sql_text

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


# The rules of datasets


def tier_rules(dataset: Dataset) -> list[dict[str, Any]]:
    """Return the rules by which a row passes a dataset's tier.

    One, or one for each case of its switch: `rule`, whether it `applies` to a row, and
    whether the row then `is_for_everyone`.
    """
    if "visible_to" in dataset:
        return [{"applies": "true", "is_for_everyone": True}]
    if "switch" not in dataset:
        return [{"rule": dataset, "applies": "true", "is_for_everyone": False}]
    column, cases = dataset["switch"]["column"], dataset["switch"]["cases"]
    return [
        {
            "rule": rule,
            "applies": f"{column} = {sql_text(value)}",
            "is_for_everyone": "visible_to" in rule,
        }
        for value, rule in cases.items()
    ]


def case_applies(case: Mapping[str, Any], relation: str) -> str:
    """Return whether a case applies to a row of a relation."""
    applies = case["applies"]
    return applies if applies == "true" else f"{relation}.{applies}"


def deciding_columns(case: Mapping[str, Any]) -> list[str]:
    """Return the columns that decide a case: rows that agree have the same viewers."""
    if case["is_for_everyone"]:
        return []
    rule = case["rule"]
    second = rule.get("second_side", {"keys": {}})
    return list(dict.fromkeys([*rule["keys"].values(), *second["keys"].values()]))


def is_restricted(name: str, config: Config) -> bool:
    """Whether a dataset has rules beyond its tier; then all its rows have a user."""
    policies = plan.policies_on(name, config)
    ruling = config["datasets"][plan.ruling_dataset(name, config)]
    kinds = ("is_authorized", "conditions", "restrictive", "masks")
    has_rules = any(policies[kind] for kind in kinds)
    return has_rules or bool(plan.restrictions_on(ruling, config))


def has_public_rows(name: str, config: Config) -> bool:
    """Whether a secure dataset has rows for everyone, without a user."""
    if is_restricted(name, config):
        return False
    dataset = config["datasets"][name]
    if below := plan.parent_dataset(dataset):
        return has_public_rows(below, config)
    cases = dataset["switch"]["cases"].values() if "switch" in dataset else [dataset]
    return any("visible_to" in case for case in cases)


def datasets_with_tier(config: Config, and_no_more: bool = False) -> dict[str, Dataset]:
    """Return the datasets with a tier or a switch; perhaps without further rules."""
    return {
        name: dataset
        for name, dataset in config["datasets"].items()
        if ("tier" in dataset or "switch" in dataset)
        and not (and_no_more and is_restricted(name, config))
    }


def restricted_datasets(config: Config) -> dict[str, Dataset]:
    """Return the datasets with a base and more rules than their tier; a query has none.

    `base_columns` are those on which the rules at the end of its chain act, also where
    it shows fewer.
    """
    found = {}
    for name, dataset in config["datasets"].items():
        ruling = config["datasets"][plan.ruling_dataset(name, config)]
        if "base" in ruling and is_restricted(name, config):
            found[name] = {
                **ruling,
                "columns": dataset["columns"],
                "unique_key": dataset["unique_key"],
                "base_columns": ruling["columns"],
            }
    return found


def rows_from(dataset: Dataset, config: Config) -> list[str]:
    """Return the relations of a dataset's rows: its base, or those of its star."""
    if "base" in dataset:
        return [dataset["base"]]
    star = plan.star_query(dataset, config) or {}
    paths = plan.relationship_paths(star["root"], config)
    ends = (link["to"]["dataset"] for end, _ in star["columns"] for link in paths[end])
    return list(dict.fromkeys([star["root"], *ends]))
