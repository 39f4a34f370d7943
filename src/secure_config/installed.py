"""What a root project must leave as it is, of the product that it installs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from secure_config.hooks import granted_by_hooks

PRODUCT = "secure_datasets"
SECURE = "vw_secure_dataset_"
Node = dict[str, Any]


def problems_of(
    nodes: list[Node], config: dict[str, Any], readers: Collection[str]
) -> Iterator[str]:
    """Yield as sentences what dbt_project.yml says of models and must not.

    nodes    dbt's models, seeds and snapshots, those of all projects
    config   the config of the secure datasets
    readers  the roles that the variables name
    """
    for node in nodes:
        if node["package_name"] == PRODUCT and node["resource_type"] == "model":
            yield from _otherwise(node)
    secure = {f"{SECURE}{name}" for name in config["datasets"]}
    of_users = {tier["access_view"] for tier in config["tiers"].values()}
    bases = {
        dataset["base"] for dataset in config["datasets"].values() if "base" in dataset
    }
    for node in nodes:
        if node["name"] in bases | of_users and node["config"].get("reads_latest"):
            yield (
                f"The model '{node['name']}' has reads_latest: true, and a secure"
                " dataset is made of it, which shows rows and rights of one state: take"
                " it away."
            )
    reading = {role.lower() for role in readers}
    for node in nodes:
        if node["name"] in secure:
            granted = _granted(node) + _granted_by_hooks(node)
            reading |= {role.lower() for role in granted}
    of_all = bases | set(_of_the_star(config))
    for node in nodes:
        is_of_all = node["package_name"] == PRODUCT or node["name"] in of_all
        if is_of_all and node["name"] not in secure | of_users:
            for role in _granted(node):
                if role.lower() in reading:
                    yield (
                        f"'{role}' reads secure datasets and is granted"
                        f" '{node['name']}', which shows the rows of all users: let"
                        " dbt_project.yml grant secure datasets and the tiers' access"
                        " views alone."
                    )
            if granted_by_hooks(node):
                yield (
                    f"'{node['name']}' shows the rows of all users, and a hook of it"
                    " grants: take the hook away, and let `grants` in dbt_project.yml"
                    " say who reads it, which are held against who reads secure"
                    " datasets."
                )


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


def _granted_by_hooks(node: Node) -> list[str]:
    """Return the roles to which hooks of a model grant, as far as they name them."""
    return [role for roles in granted_by_hooks(node).values() for role in roles]
