"""The state from which the search for the nearest missing grants starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from secure_datasets.config.plan import restrictions_on, ruling_dataset
from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.keys import mapped_keys
from secure_datasets.questions.facts.rights import is_object, objects_named
from secure_datasets.questions.facts.rules import roles_of_user
from secure_datasets.questions.facts.staged import role_table
from secure_datasets.questions.missing import State, state_of
from secure_datasets.questions.notes import Facts
from secure_datasets.sql.expressions import sql_text

Sides = list[tuple[str, dict[str, Any]]]
# By type of objects: the raw table of permissions, and its column of the object.
Places = dict[str, tuple[str, str]]


def grants_state(built: Built, sides: Sides, person: Facts) -> State | None:
    """Return the state in which new rows are searched.

    None if the tier's entry is incomplete or the user is not live.

    sides  pairs of tier and keys
    """
    tiers = {name: built.tier_parts(name) for name in built.config["tiers"]}
    tiers = {name: each for name, each in tiers.items() if each["is_whole"]}
    if sides[0][0] not in tiers or not person["is_live"]:
        return None
    tables: Places = {
        table["object_type"]: (name, table["required"][0])
        for name, table in built.tables.items()
        if table.get("holder")
    }
    asked = [
        (right, keys)
        for tier, keys in sides
        for right in tiers[tier]["rights"]
        if right["object_type"] in tables and keys[right["key"]] is not None
    ]
    objects = [f"({is_object(right, keys)})" for right, keys in asked]
    links = {
        link["table"]: built.rows(
            f"select {', '.join(each['keys'])} from {built.staged(link['table'])}"
            " where is_live"
        )
        for each in tiers.values()
        for link in each["links"]
    }
    chains = _chains_to_holders(built, asked, tables) if asked else []
    return state_of(
        {
            "person": person,
            "tiers": tiers,
            "tables": tables,
            "links": links,
            "chains": chains,
            **_of_groups(built, chains, tables, person),
            "held": built.rows(
                "select distinct object_type, object_id, permission_name"
                f" from {built.relation('int_access_paths')}"
                f" where user_id = {person['user_id']}"
            ),
            "roles": role_table(built),
            "objects": objects_named(built, objects) if objects else [],
            "charges": _charges_on(built, objects) if objects else [],
        }
    )


def _of_groups(
    built: Built, chains: list[Facts], tables: Places, person: Facts
) -> Facts:
    """Return what the groups of some chains give: grants, roles, keys and names."""
    ids = in_list(chain["ancestor_user_group_id"] for chain in chains)
    policies = [*_roles_of_policies(built)]
    named, secured = [each["role"] for each in policies], _secured_by_groups(built)
    names = (
        f"select user_group_id, name from {built.staged('user_groups')}"
        f" where user_group_id in ({ids})"
    )

    def keys_of_groups(security: Facts) -> str:
        holder, key = security["ids_column"], security["filter_key_column"]
        return f"""select distinct {holder} as holder, {key} as filter_key
from {built.ref(security["dataset"])}
where {holder} in ({ids}) and {key} is not null"""

    def keys_of_user(security: Facts) -> str:
        return mapped_keys(built, security, person["user_id"])

    return {
        "grants": [*_grants(built, ids, tables)] if ids else [],
        "policies": policies,
        "held_roles": roles_of_user(built, person, named) if policies else [],
        "secured": secured,
        "group_keys": [*_keys(built, secured, keys_of_groups)] if ids else [],
        "held_keys": [*_keys(built, secured, keys_of_user)] if ids else [],
        "names": built.rows(names) if ids else [],
    }


def _chains_to_holders(
    built: Built, asked: list[tuple[Facts, Facts]], tables: Places
) -> list[Facts]:
    """Return the links up to the groups with a grant on one of some objects.

    Each group below one of them, with all its ancestors.
    """
    ancestors = built.relation("int_user_group_ancestors")
    holders = []
    for right, keys in asked:
        table, key = tables[right["object_type"]]
        holders.append(
            f"select user_group_id from {built.staged(table)}"
            f" where is_live and {key} = {keys[right['key']]}"
        )
    return built.rows(
        f"select chain.user_group_id, chain.ancestor_user_group_id from {ancestors} as"
        " chain left semi join (select holding.user_group_id from"
        f" {ancestors} as holding left semi join ({' union all '.join(holders)}) as"
        " holders on holding.ancestor_user_group_id = holders.user_group_id) as"
        " candidates on chain.user_group_id = candidates.user_group_id"
    )


def _grants(built: Built, ids: str, tables: Places) -> Iterator[Facts]:
    """Yield the live grants of some groups on objects that are there."""
    for object_type, (table, key) in tables.items():
        kind = sql_text(object_type)
        yield from built.rows(
            f"select {kind} as object_type, granted.{key} as object_id,"
            f" granted.user_group_id, granted.role_name from {built.staged(table)} as"
            f" granted left semi join {built.relation('int_securable_objects')} as"
            f" objects on objects.object_id = granted.{key} and objects.object_type ="
            f" {kind} where granted.is_live and granted.user_group_id in ({ids})"
        )


def people_in_charge(built: Built) -> str:
    """Return the query of the people in charge of objects.

    Live owners of data sources and reports, and administrators of projects.
    """
    return f"""select
    objects.object_type,
    objects.object_id,
    objects.owner_user_id as user_id
from {built.relation("int_securable_objects")} as objects
left semi join {built.staged("users")} as owners
    on objects.owner_user_id = owners.user_id and owners.is_live
where objects.object_type != 'Project'
-- By several grants, perhaps.
union
select object_type, object_id, user_id
from {built.relation("int_access_paths")}
where object_type = 'Project' and permission_name = 'Project Admin'"""


def _charges_on(built: Built, objects: list[str]) -> list[Facts]:
    """Return the people in charge of the objects that some conditions find."""
    return built.rows(
        "select charges.object_type, charges.object_id, users.user_id,"
        " users.login_name, users.first_name, users.last_name, users.email from"
        f" ({people_in_charge(built)}) as charges inner join"
        f" {built.staged('users')} as users on charges.user_id = users.user_id where"
        f" {' or '.join(objects)}"
    )


def _roles_of_policies(built: Built) -> Iterator[Facts]:
    """Yield each role that a policy names: the dataset, and the column of a mask."""
    for name, entry in built.config["datasets"].items():
        policies = built.rules.policies(name)
        rules = [
            (None, rule) for rule in policies["conditions"] + policies["restrictive"]
        ]
        for column, masks in policies["masks"].items():
            rules += [(column, mask) for mask in masks if column in entry["columns"]]
        for column, rule in rules:
            for role in rule["named"]:
                yield {"role": role, "dataset": name, "column": column}


def _secured_by_groups(built: Built) -> dict[str, Facts]:
    """Return the security objects whose keys groups have, and their datasets."""
    found: dict[str, Facts] = {}
    for name in built.config["datasets"]:
        ruling = built.config["datasets"][ruling_dataset(name, built.config)]
        for restriction in restrictions_on(ruling, built.config):
            security = restriction["object"]
            if security["holder"] == "group":
                entry = {"object": security, "datasets": []}
                known = found.setdefault(security["unique_name"], entry)
                known["datasets"].append(name)
    return found


def _keys(
    built: Built, secured: dict[str, Facts], query_of: Callable[[Facts], str]
) -> Iterator[Facts]:
    """Yield the keys of security objects, each with the object's name."""
    for name, entry in secured.items():
        for line in built.rows(query_of(entry["object"])):
            yield {"object": name, "holder": line["holder"], "key": line["filter_key"]}
