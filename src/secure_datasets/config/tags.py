"""Tags of columns: one mask for every column that has a tag in its documentation.

The tags are dbt's own: `tags` or `meta: {tags: ...}`, in a column's `config` or beside
it. A tag counts on a column of a dataset's base and of the dataset's own model. A
dimension of a query has the tags of its relation's column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from secure_datasets.config import plan
from secure_datasets.rules import times
from secure_datasets.sql import expressions

if TYPE_CHECKING:
    from secure_datasets.config.models import Models

DEFAULT = "default"
# Spark has these besides `string`, and reads them as `string`.
TEXTS = ("varchar", "char")


def of_column(column: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags in the documentation of a column."""
    found: set[str] = set()
    for holder in (column, column.get("config")):
        for said in (holder, holder.get("meta")) if isinstance(holder, Mapping) else ():
            tags = said.get("tags") if isinstance(said, Mapping) else None
            listed = tags if isinstance(tags, list) else [tags]
            found |= {str(tag) for tag in listed if tag is not None}
    return frozenset(found)


def of_policy(policy: Mapping[str, Any]) -> str | None:
    """Return the tag of a policy's resource; none if the resource is no tag."""
    resource = policy.get("resource")
    return resource["tag"] if isinstance(resource, Mapping) else None


def of_dataset(
    name: str, config: Mapping[str, Any], models: Models
) -> dict[str, frozenset[str]]:
    """Return the columns of a dataset that have tags, with their tags.

    The tags of a query's column come from its dimension and from its own model.
    """
    dataset = config["datasets"][name]
    dimensions = dataset.get("query", {}).get("dimensions", {})
    found = {}
    for column in dataset["columns"]:
        relation, _, read = dimensions.get(column, "").partition(".")
        places = [(plan.PREFIX + name, column)]
        places.append(
            (dataset["base"], column) if "base" in dataset else (relation, read)
        )
        tags = frozenset[str]().union(*(models.tags_of(*place) for place in places))
        if tags:
            found[column] = tags
    return found


def known(config: Mapping[str, Any], models: Models) -> list[str]:
    """Return the tags that a policy may be on: all tags in what datasets read."""
    datasets = config["datasets"]
    read = {dataset["base"] for dataset in datasets.values() if "base" in dataset}
    read |= {plan.PREFIX + name for name in datasets} | {*config.get("relations", {})}
    return sorted(
        {
            tag
            for name in read
            for said in models.tags.get(name, {}).values()
            for tag in said
        }
    )


def in_measure(
    measure: str, fact: str, models: Models
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the columns that a measure may show, with their tags.

    A count shows no column.
    """
    from sqlglot import exp

    tree = expressions.read(measure).tree
    for column in tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        relation, name = parts if len(parts) > 1 else (fact, *parts)
        tags = models.tags_of(relation, name)
        if tags and not column.find_ancestor(exp.Count):
            yield f"{relation}.{name}", tags


def bare(
    config: Mapping[str, Any], models: Models, but: Iterable[str], clock: str
) -> list[dict[str, str]]:
    """Return the columns with tags that have no mask.

    `but`: the tags to ignore.
    `is_bare`: SQL that is true while no mask covers the column; it compares the clock
    with the masks' times.
    """
    found = []
    for name, dataset in config["datasets"].items():
        shown = of_dataset(name, config, models)
        star = plan.star_query(dataset, config) if "query" in dataset else None
        for column, measure in dataset.get("query", {}).get("measures", {}).items():
            for _, tags in in_measure(measure, star["root"], models):
                shown[column] = shown.get(column, frozenset()) | tags
        for column, tags in shown.items():
            told = sorted(tags - set(but))
            masks = _masks_of(name, column, config) if told else []
            times_of_masks = [times.is_in_time(mask, clock) for mask in masks]
            if told and all(times_of_masks):
                held = " or ".join(f"({time})" for time in times_of_masks)
                found.append(
                    {
                        "resource": f"{name}.{column}",
                        "tags": ", ".join(told),
                        "is_bare": f"not ({held})" if held else "true",
                    }
                )
    return found


def of_masks(name: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of a dataset whose only mask is a tag's, for every row.

    With each column, its tag.
    """
    if config["datasets"][name].get("view_authorization"):
        return {}
    masks: dict[str, list[dict[str, Any]]] = {}
    for policy in plan.policies_of(name, config):
        if column := plan.parts_of(policy["resource"])[1]:
            masks.setdefault(column, []).append(policy)
    return {
        column: policies[0]["tag"]
        for column, policies in masks.items()
        if len(policies) == 1
        and "tag" in policies[0]
        and "condition" not in policies[0]
        and not any("where" in line for line in policies[0].get("shown_to", []))
    }


def _masks_of(
    name: str | None, column: str, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the times of the masks on a column, including lower datasets."""
    found = []
    while name:
        name = plan.ruling_dataset(name, config)
        for policy in plan.policies_of(name, config):
            if policy["resource"] == f"{name}.{column}":
                found.append(times.bounds(policy))
        name = plan.parent_dataset(config["datasets"][name])
    return found


def type_name(written: str) -> str | None:
    """Return a type's normal spelling with its parameters; none if it is no type."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return exp.DataType.build(written, dialect="spark").sql("spark").lower()
    except (SqlglotError, ValueError):
        return None


def mask_for(masks: Mapping[str, Any], documented: str) -> str | None:
    """Return the key of the mask for a type.

    The key is the first that exists: the type with parameters, the type without them,
    `string` for a text, the default. None if none exists.
    """
    whole = type_name(documented) or documented.lower()
    kind = whole.split("(")[0].split("<")[0]
    by_name = {type_name(key): key for key in masks if key != DEFAULT}
    for name in (whole, kind, "string" if kind in TEXTS else kind):
        if name in by_name:
            return by_name[name]
    return DEFAULT if DEFAULT in masks else None
