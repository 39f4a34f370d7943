"""What a root project must leave as it is, of the product that it installs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from secure_config.hooks import THIS, UNKNOWN, Grant, Hooks

PRODUCT = "secure_datasets"
SECURE = "vw_secure_dataset_"
VERSIONS = "_versions"
BUILT = ("model", "seed", "snapshot")
# Where the product's models and seeds lie: a clone of it may have others beside them.
FOLDERS = {
    *("staging", "intermediate", "access", "datasets", "secure", "leaks", "privileges"),
    *("view_authorization", "governance", "review", "changes", "repository"),
}
# What holds more than one relation, and what holds all of these.
ALL_SCHEMAS = {"catalog", "metastore"}
MANY = ALL_SCHEMAS | {"database", "schema"}
KINDS = MANY | {"all", "tables", "views", "in", "table", "view"}
# The files of all relations.
ALL_FILES = ("any", "file")
Node = dict[str, Any]


def problems_of(
    nodes: list[Node],
    config: dict[str, Any],
    readers: Collection[str],
    hooks: Hooks | None = None,
    is_clone: bool = False,
    has_readers_views: bool = False,
) -> Iterator[str]:
    """Yield as sentences what dbt_project.yml says of models and must not.

    nodes              what dbt knows of all projects: what is built, sources, hooks
    config             the config of the secure datasets
    readers            the roles that the variables name
    hooks              who reads the hooks, with the macros of all projects
    is_clone           whether the product is the root project, which keeps models as it
                       will
    has_readers_views  whether views show readers their rows, of what holds all rows
    """
    built = [node for node in nodes if node["resource_type"] in BUILT]
    if not is_clone:
        yield from _kept_otherwise(built, config)
    hooks = hooks or Hooks()
    yield from _granted_otherwise(built, config, readers, hooks, is_clone)
    of_all = _of_all(built, config, is_clone)
    of_all += [node for node in nodes if node["resource_type"] == "source"]
    if has_readers_views:
        plain = _secure(config) | _of_users(config)
        of_all += [node for node in built if node["name"] in plain]
    yield from _granted_to_many(nodes, of_all, hooks)


def grant_anything(nodes: list[Node], hooks: Hooks) -> bool:
    """Whether anything is granted: else nobody need ask what the datasets are."""
    return any(_granted(node) or hooks.granted_by(node) for node in nodes)


def _kept_otherwise(nodes: list[Node], config: dict[str, Any]) -> Iterator[str]:
    """Yield which models are kept, or read, as they must not be."""
    for node in nodes:
        if node["package_name"] == PRODUCT and node["resource_type"] == "model":
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
    hooks: Hooks,
    is_clone: bool,
) -> Iterator[str]:
    """Yield what is granted by a model, of what shows the rows of all users."""
    reading, unknown = {role.lower() for role in readers}, None
    for node in nodes:
        if node["name"] in _secure(config):
            reading |= {role.lower() for role in _granted(node)}
            for grant in _granted_by_hooks(node, hooks):
                reading |= {role.lower() for role in grant.to}
                if UNKNOWN in grant.to:
                    unknown = node["name"]
    for node in _of_all(nodes, config, is_clone):
        granted = _granted(node)
        for role in granted:
            if role.lower() in reading:
                yield (
                    f"'{role}' reads secure datasets and is granted"
                    f" '{node['name']}', which shows the rows of all users: let"
                    " dbt_project.yml grant secure datasets and the tiers' access"
                    " views alone."
                )
        if granted and unknown:
            yield (
                f"A hook grants '{unknown}' to a role that only a run knows, and"
                f" '{node['name']}', which shows the rows of all users, is granted to"
                f" '{granted[0]}': write the role out in the hook, or let `grants` in"
                f" dbt_project.yml say who reads '{unknown}'."
            )
        if hooks.granted_by(node):
            yield (
                f"'{node['name']}' shows the rows of all users, and a hook of it"
                " grants: take the hook away, and let `grants` in dbt_project.yml"
                " say who reads it, which are held against who reads secure"
                " datasets."
            )


def _granted_to_many(
    nodes: list[Node], of_all: list[Node], hooks: Hooks
) -> Iterator[str]:
    """Yield the hooks that grant other relations than their node's own.

    A hook of a project has none: whatever it grants of what is built is one of these.
    """
    places = [place for node in nodes if (place := _place(node))]
    schemas = {schema for schema, _ in places}
    schemas |= {schema + VERSIONS for schema in schemas}
    for node in nodes:
        is_projects = node["resource_type"] == "operation"
        others = nodes if is_projects else [n for n in of_all if n is not node]
        called = {name for other in others for name in _names(other)}
        if not any(
            _is_granted(grant, others, schemas, is_projects)
            # What a macro is given, or a variable holds, is named elsewhere.
            or (_is_unknown(grant) and hooks.may_name(called, text, node))
            for text, grants in hooks.granted_by(node).items()
            for grant in grants
        ):
            continue
        if is_projects:
            hook = " and ".join(node["tags"])
            yield (
                f"A hook in {hook} of the project '{node['package_name']}' grants"
                " what is built, or may: take it away, and let `grants` in"
                " dbt_project.yml say who reads what, which are held against who"
                " reads secure datasets."
            )
        else:
            yield (
                f"A hook of '{node['name']}' grants more than '{node['name']}', and"
                " with it what shows the rows of all users: let `grants` in"
                " dbt_project.yml say who reads what."
            )


def _is_granted(
    grant: Grant, others: list[Node], schemas: set[str], is_projects: bool
) -> bool:
    """Whether a hook, that of a project or of a node, grants any of other nodes."""
    kinds, names = _kinds_and_names(grant.on)
    if ALL_SCHEMAS & kinds or grant.on == ALL_FILES:
        return True
    if MANY & kinds:
        return bool({UNKNOWN, THIS, *schemas} & {*names})
    if {UNKNOWN, THIS} & {*names}:
        # By ref() a relation is called as its node, whatever its alias or version.
        return is_projects or any(_names(other) & {*names} for other in others)
    return any(
        tuple(names[-2:]) in (place, place[1:])
        for place in map(_place, others)
        if place
    )


def _is_unknown(grant: Grant) -> bool:
    """Whether a grant may be of another relation than those that it names."""
    kinds, names = _kinds_and_names(grant.on)
    if MANY & kinds or names == [THIS]:
        return False
    # With a schema that only a run knows, a name is one all the same.
    is_named = grant.on[-2:-1] == (".",) and names[-1] not in (UNKNOWN, THIS)
    return not is_named and bool({UNKNOWN, THIS} & {*names})


def _kinds_and_names(on: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """Return of what kind a grant says that something is, and the parts of its name.

    What is a kind before the name may be a part of it too.
    """
    at = 0
    while on[at : at + 1] and on[at] in KINDS and on[at + 1 : at + 2] != (".",):
        at += 1
    if 1 < at == len(on):
        at -= 1
    return {*on[:at]}, [name for name in on[at:] if name != "."]


def _place(node: Node) -> tuple[str, str] | None:
    """Return the schema and the name of what is built, or of a source."""
    parts = (node.get("relation_name") or "").replace("`", "").lower().split(".")
    return (parts[-2], parts[-1]) if len(parts) > 1 else None


def _names(node: Node) -> set[str]:
    """Return how what is built, or a source, is called in Jinja or in SQL."""
    place = _place(node)
    return {node["name"].lower(), *(place or ())[1:]}


def _of_all(nodes: list[Node], config: dict[str, Any], is_clone: bool) -> list[Node]:
    """Return what shows the rows of all users."""
    own, names = _secure(config) | _of_users(config), _bases(config)
    names |= {*_of_the_star(config)}
    return [
        node
        for node in nodes
        if node["name"] not in own
        and (
            node["name"] in names
            or (
                node["package_name"] == PRODUCT
                and not (is_clone and node["fqn"][1] not in FOLDERS)
            )
        )
    ]


def _secure(config: dict[str, Any]) -> set[str]:
    """Return the secure datasets."""
    return {f"{SECURE}{name}" for name in config["datasets"]}


def _of_users(config: dict[str, Any]) -> set[str]:
    """Return the tiers' access views."""
    return {tier["access_view"] for tier in config["tiers"].values()}


def _bases(config: dict[str, Any]) -> set[str]:
    """Return what secure datasets are made of, beside access views."""
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
    """Yield how a model of the product is kept otherwise than the product says."""
    if "`" in (node.get("relation_name") or ""):
        yield (
            f"The model '{node['name']}' of {PRODUCT} would be called"
            f" {node['relation_name']}, and versions are found by names without"
            " backticks: take `quoting` out of dbt_project.yml."
        )
    folder, config = node["fqn"][1], node["config"]
    is_latest, is_inlined = folder == "view_authorization", folder == "secure"
    is_view = is_latest or folder in ("secure", "leaks", "governance")
    kept = ("view" if is_view else "published_view", is_latest, is_inlined)
    is_kept = (
        config["materialized"],
        bool(config.get("reads_latest")),
        bool(config.get("inline_views")),
    )
    if is_kept != kept:
        yield (
            f"The model '{node['name']}' of {PRODUCT} is to be materialized: {kept[0]},"
            f" reads_latest: {str(is_latest).lower()}, inline_views:"
            f" {str(is_inlined).lower()}, and dbt_project.yml says otherwise of it: let"
            " what it says of models stand under the name of your project."
        )


def _granted(node: Node) -> list[str]:
    """Return the roles that a model is granted to, by whichever privilege."""
    grants = node["config"].get("grants") or {}
    return [role for roles in grants.values() for role in roles]


def _granted_by_hooks(node: Node, hooks: Hooks) -> list[Grant]:
    """Return what the hooks of a node grant."""
    return [grant for grants in hooks.granted_by(node).values() for grant in grants]
