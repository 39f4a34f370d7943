"""The rules beyond the tier, and the rows that open them to a user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from secure_datasets.config.plan import PREFIX, ruling_dataset
from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.keys import (
    key_lines,
    key_lines_of_facts,
    keys_of_row,
    mapped_keys,
    way_in_words,
)
from secure_datasets.questions.gates import numbered
from secure_datasets.questions.notes import Facts
from secure_datasets.sql.expressions import sql_text


def add_rules(built: Built, facts: Facts, row: Facts, person: Facts) -> None:
    """Add the facts for the rules: the user's roles, the view's outcome, the keys."""
    if by_role := [*numbered(facts, "conditions"), *numbered(facts, "masks")]:
        named = [role for _, rule in by_role for role in rule["rule"]["named"]]
        facts["roles"] = roles_of_user(built, person, named)
    if numbered(facts, "view authorization"):
        facts["outcome"] = _outcome(built, facts["dataset"], person)
    for number, rule in numbered(facts, "row security"):
        facts["security"][number] = _keys(built, facts, rule, row, person)


def roles_of_user(built: Built, person: Facts, named: Iterable[Any]) -> list[Any]:
    """Return the roles of a user: the names, then the ids of groups in `named`."""
    rows = built.rows(
        "select distinct user_group_id, role_name"
        f" from {built.relation('vw_secure_user_roles')}"
        f" where user_id = {person['user_id']}"
    )
    names = {row["role_name"] for row in rows} - {None}
    return [*sorted(names), *sorted({row["user_group_id"] for row in rows} & {*named})]


def _outcome(built: Built, name: str, person: Facts) -> Facts | None:
    """Return the outcome of a dataset's view for a user; None if there is none."""
    found = built.rows(
        "select outcomes.outcome, outcomes.decided_by, owners.user_id as owner_id,"
        f" owners.is_live as owner_is_live from {built.relation('view_outcomes')} as"
        f" outcomes left join {built.relation('stg_users')} as owners on"
        " startswith(outcomes.decided_by, concat('owner ', cast(owners.user_id as"
        f" string), ' on ')) where outcomes.user_id = {person['user_id']} and"
        f" outcomes.view_name = {sql_text(PREFIX + name)}"
    )
    return found[0] if found else None


def _keys(built: Built, facts: Facts, rule: Facts, row: Facts, person: Facts) -> Facts:
    """Return the keys of a security object: the user's, the row's, and the way."""
    restriction = rule["restriction"]
    security = restriction["object"]
    ruling = ruling_dataset(facts["dataset"], built.config)
    is_of_groups = security["holder"] == "group"
    mapped = built.rows(mapped_keys(built, security, person["user_id"]))
    keys = keys_of_row(built, restriction, ruling, row)
    of_row = built.rows(keys)
    groups = _groups_with_keys(built, security, keys) if is_of_groups else ""
    return {
        "user_keys": [*dict.fromkeys(line["filter_key"] for line in mapped)],
        "row_keys": [line["filter_key"] for line in of_row],
        "way": way_in_words(restriction, facts["base"]),
        "mapped": mapped,
        "mapping": security["dataset"],
        "ids_column": security["ids_column"],
        "key_column": security["filter_key_column"],
        "is_of_groups": is_of_groups,
        "groups": built.rows(groups) if groups else [],
    }


def _groups_with_keys(built: Built, security: Facts, keys: str) -> str:
    """Return a query of the groups whose members hold one of some keys.

    These have the key, or are below one that has it.
    """
    return f"""select distinct chain.user_group_id, named.name
from {built.ref(security["dataset"])} as mapping
left semi join ({keys}) as asked
    on mapping.{security["filter_key_column"]} = asked.filter_key
inner join {built.relation("int_user_group_ancestors")} as chain
    on mapping.{security["ids_column"]} = chain.ancestor_user_group_id
inner join {built.staged("user_groups")} as named
    on chain.user_group_id = named.user_group_id
order by chain.user_group_id"""


# The rows that open the gates


def add_ways(built: Built, facts: Facts, row: Facts, person: Facts) -> None:
    """Add the rows that open the gates: groups, roles, keys and decisions."""
    secured = numbered(facts, "row security")
    if secured or numbered(facts, "conditions"):
        facts |= _groups_and_roles(built, person)
    if secured:
        ruling = ruling_dataset(facts["dataset"], built.config)
        lines = key_lines(built, facts["rules"], ruling, row)
        facts["key_lines"] = built.rows(lines)
    for number, rule in secured:
        restriction = rule["restriction"]
        facts["security"][number] |= {
            "through": [*_through(built, restriction)],
            "steps": _steps(built, restriction["path"]),
        }
    if numbered(facts, "view authorization"):
        facts["decisions"] = _decisions(built, facts["dataset"], person)


def _groups_and_roles(built: Built, person: Facts) -> Facts:
    """Return a user's groups at any depth, and the rows that give roles."""
    user = person["user_id"]
    members, chain = "user_group_members", built.relation("int_user_group_ancestors")
    return {
        "memberships": built.rows(
            "select members.user_group_member_id, chain.ancestor_user_group_id as"
            f" user_group_id, chain.depth from {built.staged(members)} as members"
            f" inner join {chain} as chain on members.user_group_id ="
            " chain.user_group_id where members.is_live and members.user_id ="
            f" {user}"
        ),
        "held_roles": built.rows(
            "select user_group_id, role_name from"
            f" {built.relation('vw_secure_user_roles')} where user_id = {user}"
        ),
        "global_roles": built.rows(
            "select held.user_global_role_id, roles.permission_name as role_name from"
            f" {built.staged('user_global_roles')} as held inner join"
            f" {built.ref('role_permissions')} as roles on held.role_name ="
            " roles.role_name and roles.object_type = 'Global' where held.is_live and"
            f" held.user_id = {user}"
        ),
    }


def _through(built: Built, restriction: Facts) -> Iterator[Facts]:
    """Yield the facts that tie a dimension to a security object: lines and steps."""
    for way in restriction["ways"] or ():
        lines = key_lines_of_facts(built, restriction, way)
        steps = [_steps(built, path) for path in way["paths"]]
        yield {"steps": steps, "lines": built.rows(lines)}


def _steps(built: Built, path: list[Facts]) -> list[Facts]:
    """Return the relations on a way to a security object.

    Each has its join columns, and the raw table of its one key.
    """
    steps = []
    for link in path:
        if "dataset" in link["to"]:
            name, columns = link["to"]["dataset"], link["from"]["join_columns"]
            raw_table = None
            if len(columns) == 1:
                raw_table = built.referenced_table(name, columns[0], {})
            steps.append({"relation": name, "columns": columns, "raw_table": raw_table})
    return steps


def _decisions(built: Built, name: str, person: Facts) -> Facts:
    """Return the decisions that leave the view of a dataset open to a user."""
    view = (PREFIX + name).lower()
    gates = [
        [int(owner or 0), read]
        for gated, owner, read in built.macros["view_references"]()["gates"]
        if gated == view
    ]
    users = in_list([person["user_id"], *(owner for owner, _ in gates)])
    names = in_list(map(sql_text, [view, *(read for _, read in gates)]))
    rows = built.rows(
        "select user_id, lower(trim(object_name)) as object_name, decision, count(*) as"
        f" row_count from {built.ref('view_decisions')} where user_id in ({users}) and"
        f" lower(trim(object_name)) in ({names}) group by user_id,"
        " lower(trim(object_name)), decision"
    )
    return {"view": view, "user_id": person["user_id"], "gates": gates, "rows": rows}
