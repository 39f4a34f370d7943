"""The parts of the product that a root project must not change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from dbt_secure_spark.in_time import holds_in_time
from dbt_secure_spark.lineage import UNSTORED
from secure_datasets.config.plan import PACKAGE, PREFIX
from secure_datasets.leaks import audience
from secure_datasets.render.granting import Granting, Place

BUILT = ("model", "seed", "snapshot")
# Nodes that store rows of all users, such as a test that stores its failures.
READ_OR_STORED = ("source", "test")
# The folders of the product's models and seeds, and the names of nodes in no folder:
# a clone of the product may have further nodes.
FOLDERS = audience.FOLDERS | {
    *("secure", "repository", "role_permissions", "expected_access"),
}
# The stored models in the folders of views.
STORED = {"uncounted_deliveries"}
Node = dict[str, Any]


def problems_of(
    nodes: list[Node],
    config: dict[str, Any],
    readers: Collection[str],
    is_clone: bool = False,
) -> Iterator[str]:
    """Yield a sentence about each forbidden setting of models in dbt_project.yml.

    nodes     dbt's nodes of all projects
    config    the config of the secure datasets
    readers   the roles that the variables name
    is_clone  whether the product is the root project, which may set its own models
    """
    built = [node for node in nodes if node["resource_type"] in BUILT]
    if not is_clone:
        yield from _kept_otherwise(built, config)
    yield from _granted_otherwise(built, config, readers, is_clone)


def names_taken(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a sentence about each relation of a project with a name of the product's.

    nodes  dbt's nodes and sources of all projects
    """
    known, others = {}, []
    for node in nodes:
        kind, name = node["resource_type"], node["name"]
        if kind == "source":
            name = f"{node['source_name']}.{name}"
        elif kind not in BUILT:
            continue
        # The metastore knows no capitals.
        if node["package_name"] == PACKAGE:
            known[name.lower()] = kind
        else:
            others.append((name, node))
    for name, node in others:
        if taken := known.get(name.lower()):
            yield (
                f"The {node['resource_type']} '{name}' of the project"
                f" '{node['package_name']}' has the name of a {taken} of"
                " secure_datasets, and dbt would read the one or the other: give it"
                " another name, or, in its place, switch that of secure_datasets off by"
                " '+enabled: false' in dbt_project.yml."
            )


def unbuilt(
    missing: Mapping[str, list[str]], nodes: Mapping[str, Node], kind: str
) -> str | None:
    """Return a sentence about the nodes to build before a run; none if none is missing.

    missing  the missing nodes by id, each with the names of its readers
    nodes    dbt's nodes of all projects
    kind     dbt's command, such as run
    """
    if not missing:
        return None
    kinds = {key: nodes[key]["resource_type"] for key in missing}
    # A seed before a model.
    first = min(missing, key=lambda key: (kinds[key] != "seed", key))
    others = len(missing) - 1
    more = f", and {others} more {'is' if others == 1 else 'are'} missing"
    are_seeds = kind == "run" and {*kinds.values()} == {"seed"}
    return (
        f"'{missing[first][0]}' reads the {kinds[first]} '{nodes[first]['name']}',"
        f" which is not built{more if others else ''}: run"
        f" `{'dbt seed' if are_seeds else 'dbt build'}` once, without a selection,"
        " before this."
    )


def rights_kept(nodes: Mapping[str, Node]) -> Iterator[str]:
    """Yield a sentence about each model that would keep rights beyond their time.

    The product's own models about a run, such as findings, may: they show its moment.

    nodes  dbt's nodes of all projects, by id
    """
    for key, node in nodes.items():
        is_own = node["package_name"] == PACKAGE and node["fqn"][1] in FOLDERS
        is_built = node["resource_type"] in ("model", "snapshot")
        if not is_built or is_own or _is_read_anew(node) or _hands_time_on(node):
            continue
        if source := _in_time_above(key, nodes):
            yield (
                f"'{node['name']}' is stored, and made of '{source}', whose rights"
                " begin and end by themselves: what it holds would outlive them. Let it"
                " be materialized: view."
            )


def _is_read_anew(node: Node) -> bool:
    """Whether a model's rows are computed when they are read."""
    return node["config"].get("materialized") in UNSTORED


def _hands_time_on(node: Node) -> bool:
    """Whether a stored model has each row with its time, and its view shows by it."""
    config = node["config"]
    is_published = config.get("materialized") == "published_view"
    is_python = node.get("language") == "python"
    return is_published and is_python and config.get("in_time") is True


def _in_time_above(key: str, nodes: Mapping[str, Node]) -> str | None:
    """Return the nodes with a time that a node reads through views only."""
    waiting, seen = [key], {key}
    while waiting:
        for above in nodes[waiting.pop()]["depends_on"].get("nodes", ()):
            parent = nodes.get(above)
            if parent is None or above in seen:
                continue
            seen.add(above)
            if parent["resource_type"] != "model":
                continue
            if holds_in_time(nodes, parent):
                return parent["name"]
            if _is_read_anew(parent):
                waiting.append(above)
    return None


def granting_of(
    nodes: list[Node],
    config: dict[str, Any],
    is_clone: bool = False,
    readers_schema: str | None = None,
    functions: Mapping[str, list[str]] | None = None,
) -> Granting:
    """Return the permitted grants of a run's statements; arguments as in `problems_of`.

    readers_schema  the schema of the readers' views, which a project may call sources
    functions       the readers' functions, each with its permitted callers
    """
    built = [node for node in nodes if node["resource_type"] in BUILT]
    of_all = {
        place: {role.lower() for role in _granted(node)}
        for node in _of_all(built, config, is_clone)
        if (place := _place(node))
    }
    # A source at the place of a built node is ignored.
    places = {_place(node) for node in built}
    for node in nodes:
        place = _place(node)
        is_read = node["resource_type"] in READ_OR_STORED and place not in places
        if is_read and place and place[0] != (readers_schema or "").lower():
            of_all[place] = set()
    secure = _secure(config) | _of_users(config)
    return Granting(
        of_all,
        {place for node in built if node["name"] in secure and (place := _place(node))},
        {
            _parts(name): {str(role).lower() for role in roles or ()}
            for name, roles in (functions or {}).items()
        },
        built={schema for schema, _ in filter(None, places)},
        stored={
            node["schema"].lower() for node in nodes if node["resource_type"] == "test"
        },
    )


def grant_anything(nodes: list[Node]) -> bool:
    """Whether a node has grants: without grants the datasets need not be read."""
    return any(map(_granted, nodes))


def _kept_otherwise(nodes: list[Node], config: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence about each model that is stored or read in a forbidden way."""
    for node in nodes:
        if node["package_name"] == PACKAGE and node["resource_type"] == "model":
            yield from _otherwise(node)
    made_of = _bases(config) | _of_users(config)
    for node in nodes:
        if node["name"] in made_of and node["config"].get("reads_latest"):
            yield (
                f"The model '{node['name']}' has reads_latest: true, and a secure"
                " dataset is made of it, which shows rows and rights of one state: take"
                " it away."
            )


def _granted_otherwise(
    nodes: list[Node],
    config: dict[str, Any],
    readers: Collection[str],
    is_clone: bool,
) -> Iterator[str]:
    """Yield a sentence about each grant on a relation with the rows of all users."""
    reading = {role.lower() for role in readers}
    for node in nodes:
        if node["name"] in _secure(config):
            reading |= {role.lower() for role in _granted(node)}
    for node in _of_all(nodes, config, is_clone):
        for role in _granted(node):
            if role.lower() in reading:
                yield (
                    f"'{role}' reads secure datasets and is granted"
                    f" '{node['name']}', which shows the rows of all users: let"
                    " dbt_project.yml grant secure datasets and the tiers' access"
                    " views alone."
                )


def _place(node: Node) -> Place | None:
    """Return the schema and the name of a node's relation."""
    name = node.get("relation_name") or ""
    return _parts(name) if "." in name else None


def _parts(name: str) -> Place:
    schema, relation = name.replace("`", "").lower().split(".")[-2:]
    return schema, relation


def _of_all(nodes: list[Node], config: dict[str, Any], is_clone: bool) -> list[Node]:
    """Return the relations that show the rows of all users."""
    own, names = _secure(config) | _of_users(config), _bases(config)
    names |= {*_of_the_star(config)}
    return [
        node
        for node in nodes
        if node["name"] not in own
        and (
            node["name"] in names
            or (
                node["package_name"] == PACKAGE
                and not (is_clone and node["fqn"][1] not in FOLDERS)
            )
        )
    ]


def _secure(config: dict[str, Any]) -> set[str]:
    """Return the secure datasets."""
    return {f"{PREFIX}{name}" for name in config["datasets"]}


def _of_users(config: dict[str, Any]) -> set[str]:
    """Return the tiers' access views."""
    return {tier["access_view"] for tier in config["tiers"].values()}


def _bases(config: dict[str, Any]) -> set[str]:
    """Return the inputs of secure datasets, without access views."""
    return {
        dataset["base"] for dataset in config["datasets"].values() if "base" in dataset
    }


def _of_the_star(config: dict[str, Any]) -> Iterator[str]:
    """Yield the relations of a star whose rows not every reader may see."""
    for name, relation in (config.get("relations") or {}).items():
        if relation["kind"] == "fact":
            yield name
    for relationship in config.get("relationships") or ():
        if "row_security" in relationship["to"]:
            yield relationship["from"]["dataset"]


def _otherwise(node: Node) -> Iterator[str]:
    """Yield a sentence about each difference from the product's own setting."""
    if "`" in (node.get("relation_name") or ""):
        yield (
            f"The model '{node['name']}' of {PACKAGE} would be called"
            f" {node['relation_name']}, and versions are found by names without"
            " backticks: take `quoting` out of dbt_project.yml."
        )
    folder, config = node["fqn"][1], node["config"]
    is_latest, is_inlined = folder == "view_authorization", folder == "secure"
    # SQL over rights with a time is computed when it is read.
    is_in_time = bool(config.get("in_time")) and folder == "access"
    is_view = is_latest or folder in ("secure", "leaks", "governance")
    is_view = is_view or (is_in_time and node.get("language") == "sql")
    is_view = is_view and node["name"] not in STORED
    kept = ("view" if is_view else "published_view", is_latest, is_inlined)
    is_kept = (
        config["materialized"],
        bool(config.get("reads_latest")),
        bool(config.get("inline_views")),
    )
    if is_kept != kept:
        yield (
            f"The model '{node['name']}' of {PACKAGE} is to be materialized: {kept[0]},"
            f" reads_latest: {str(is_latest).lower()}, inline_views:"
            f" {str(is_inlined).lower()}, and dbt_project.yml says otherwise of it: let"
            " what it says of models stand under the name of your project."
        )


def _granted(node: Node) -> list[str]:
    """Return the roles with any privilege on a model."""
    grants = node["config"].get("grants") or {}
    return [str(role) for roles in grants.values() for role in roles]
