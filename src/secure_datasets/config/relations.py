"""The relations that dbt builds or reads, as its graph knows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

Node = Mapping[str, Any]
TABLE, VIEW, STORED = "TABLE", "VIEW", "STORED TABLE"


@dataclass(frozen=True)
class GraphObject:
    """A relation: dbt's node, its name, its type, and its direct inputs by unique id.

    An ephemeral model has neither a name nor a type.
    """

    node: Node
    name: str | None
    object_type: str | None
    reads: list[str]


def graph_objects(
    nodes: Mapping[str, Node], sources: Mapping[str, Node]
) -> dict[str, GraphObject]:
    """Return the relations by the unique ids of their nodes."""
    objects = {
        key: GraphObject(node, f"{node['schema']}.{node['identifier']}", TABLE, [])
        for key, node in sources.items()
    }
    for key, node in nodes.items():
        if node["resource_type"] in ("model", "seed", "snapshot"):
            kind = _object_type(node)
            name = f"{node['schema']}.{node['alias']}" if kind else None
            objects[key] = GraphObject(node, name, kind, nodes_read(key, nodes))
    return objects


def _object_type(node: Node) -> str | None:
    """Return the type for privileges and view authorization."""
    if node["resource_type"] == "seed":
        return TABLE
    kinds = {"ephemeral": None, "view": VIEW}
    return kinds.get(node["config"].get("materialized"), STORED)


def nodes_read(key: str, nodes: Mapping[str, Node]) -> list[str]:
    """Return the direct inputs of a node; for an ephemeral model, its inputs."""
    found: dict[str, None] = {}
    for parent in (nodes[key].get("depends_on") or {}).get("nodes", []):
        node = nodes.get(parent)
        is_ephemeral = node is not None and _object_type(node) is None
        found |= dict.fromkeys(nodes_read(parent, nodes) if is_ephemeral else [parent])
    return list(found)


def authorized_name(node: Node) -> str:
    """Return the name of a relation in decisions; a source has two parts."""
    name = node["name"]
    if node["resource_type"] == "source":
        name = f"{node['source_name']}.{name}"
    return name.lower()


def known_names(
    nodes: Mapping[str, Node], sources: Mapping[str, Node]
) -> list[list[str]]:
    """Return rows of the names that a decision may have."""
    objects = graph_objects(nodes, sources).values()
    return [[authorized_name(o.node)] for o in objects if o.object_type]


def view_references(
    nodes: Mapping[str, Node], sources: Mapping[str, Node]
) -> dict[str, list[list[str | None]]]:
    """Return the views under view authorization and their inputs.

    Such a view has an owner in its config, `meta: {owner_user_id: 12}`; some secure
    datasets are among them.

    - `views`: rows of view
    - `gates`: rows of view, owner, object: each view of the chain to the rows, itself
      included, with its direct inputs; the owner is none if that view has none. For a
      secure dataset under view authorization, the inputs are the sources of its rows,
      without the relations that decide who sees them
    - `tables`: rows of view, table: the ends of its chains, where rows are stored
    """
    objects = graph_objects(nodes, sources)
    found: dict[str, list[list[str | None]]] = {"views": [], "gates": [], "tables": []}
    for key, view in objects.items():
        if view.object_type != VIEW or not _is_authorized(view.node):
            continue
        name = authorized_name(view.node)
        found["views"].append([name])
        for link in _chain_of_views(key, objects):
            for parent in _rows_read(objects[link], objects):
                read = authorized_name(objects[parent].node)
                found["gates"].append([name, _owner_of(objects[link].node), read])
                end = [name, read]
                if objects[parent].object_type != VIEW and end not in found["tables"]:
                    found["tables"].append(end)
    return found


def _rows_read(link: GraphObject, objects: Mapping[str, GraphObject]) -> list[str]:
    """Return a view's inputs; for a secure dataset, only the sources of its rows."""
    names = _meta(link.node).get("rows_from")
    if names is None:
        return [key for key in link.reads if key in objects]
    found: list[str] = []
    for key in link.node["depends_on"]["nodes"]:
        if key in objects and objects[key].node["name"] in names:
            known = [parent for parent in objects[key].reads if parent in objects]
            # The inputs of an ephemeral model are its readers'.
            found += [key] if objects[key].object_type else known
    return found


def _chain_of_views(key: str, objects: Mapping[str, GraphObject]) -> list[str]:
    """Return a view and the views behind it, at any distance."""
    found = [key]

    def add(link: str) -> None:
        for parent in _rows_read(objects[link], objects):
            if objects[parent].object_type == VIEW and parent not in found:
                found.append(parent)
                add(parent)

    add(key)
    return found


def _is_authorized(node: Node) -> bool:
    """Whether a view is under view authorization, as those with an owner are."""
    owner = _owner_of(node)
    if owner is None and _meta(node).get("rows_from"):
        _stop(
            f"'{node['name']}' is under view authorization and has no owner, so that"
            " nobody could read it: its model needs meta: {owner_user_id: ...}."
        )
    return owner is not None


def _owner_of(node: Node) -> str | None:
    """Return the user id of a model's owner."""
    owner = _meta(node).get("owner_user_id")
    if owner is not None and (isinstance(owner, bool) or not isinstance(owner, int)):
        _stop(f"owner_user_id of '{node['name']}' is {owner}; it must be a user id.")
    return None if owner is None else str(owner)


def _stop(sentence: str) -> NoReturn:
    # Imported here: the command has no dbt.
    from secure_datasets.config.errors import ConfigError

    raise ConfigError(sentence)


def _meta(node: Node) -> Mapping[str, Any]:
    return node["config"].get("meta", {})


# Privileges


def stored_tables(
    objects: Mapping[str, GraphObject],
) -> Iterator[tuple[str, GraphObject]]:
    """Yield the relations with stored rows that dbt fills, by their unique ids."""
    for key, found in objects.items():
        if found.object_type == STORED:
            yield key, found


def upstream(key: str, objects: Mapping[str, GraphObject]) -> list[GraphObject]:
    """Return the stored tables upstream, at any distance, each once."""
    found: list[str] = []

    def add(child: str) -> None:
        for parent in objects[child].reads:
            if parent in objects and parent not in found:
                found.append(parent)
                add(parent)

    add(key)
    return [objects[each] for each in found if objects[each].object_type == STORED]
