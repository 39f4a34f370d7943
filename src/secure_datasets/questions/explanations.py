"""Every path behind each row of the access views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from secure_datasets.config.tiers import path_columns, tier_parts
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import named_keys, same, union

Ref = Callable[[str], Any]
KEYS = ("project_id", "meta_data_source_id")


def access_explanations(
    config: dict[str, Any], tables: dict[str, Any], ref: Ref
) -> str:
    """Return the query of the paths to each right, and of the rows that link objects.

    For each tier the paths to the rights that it requires, and the rows that link its
    objects. A tier that names no right has a row without a path.
    """
    queries: list[str] = []
    for name, tier in config["tiers"].items():
        parts = tier_parts(name, config, tables)
        queries += (_of_right(name, tier, r, ref) for r in parts["rights"] or [None])
        queries += (_of_link(name, tier, link, ref) for link in parts["links"])
    return union(queries, "\nunion all\n")


def _keys(name: str, tier: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns that identify the explained right, in every row."""
    yield f"{sql_text(name)} as tier"
    yield "seen.user_id"
    for key in KEYS:
        is_key = key in tier["object_keys"]
        yield f"{f'seen.{key}' if is_key else 'cast(null as bigint)'} as {key}"
    yield f"{named_keys(tier['object_keys'], 'seen')} as object_keys"


def _of_right(
    name: str, tier: Mapping[str, Any], right: Mapping[str, str] | None, ref: Ref
) -> str:
    """Return the paths to one right of a tier; without a right, no path."""
    said, on = "", "false"
    if right:
        said = f": {right['permission']} by {right['key']}"
        on = f"""seen.user_id = paths.user_id
        and seen.{right["key"]} = paths.object_id
        and paths.object_type = {sql_text(right["object_type"])}
        and paths.permission_name = {sql_text(right["permission"])}"""
    columns = ",\n    ".join([*_keys(name, tier), path_columns("paths")])
    return f"""-- The tier {name}{said}.
select
    {columns},
    paths.date_created,
    paths.created_by
from {ref(tier["access_view"])} as seen
left join {ref("explained_access_paths")} as paths
    on
        {on}"""


def _of_link(
    name: str, tier: Mapping[str, Any], link: Mapping[str, str], ref: Ref
) -> str:
    """Return the rows that link the objects of a tier."""
    path = {
        "path_kind": "'Link'",
        "grant_table": f"'{link['table']}'",
        "grant_id": f"links.{link['key']}",
    }
    columns = ",\n    ".join([*_keys(name, tier), path_columns(values=path)])
    return f"""-- The tier {name}: the rows that link its objects.
select
    {columns},
    links.date_created,
    links.created_by
from {ref(tier["access_view"])} as seen
inner join {ref(f"stg_{link['table']}")} as links
    on
        links.is_live
        and {same("seen", "links", tier["object_keys"])}"""
