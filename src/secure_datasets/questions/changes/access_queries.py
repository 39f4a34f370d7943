"""The changes of access between two states, as queries.

Each path to a part of a tier stands on raw rows. If every path to a part, in the state
that has the part, stands on a raw row that came, went or changed, then raw rows caused
the change. If not, the same rows give a different result: the definition changed.

`self` is the `AccessChanges` of the comparison. Each query is the model of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from secure_datasets.config.tiers import path_columns
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import (
    indented,
    listed,
    named_keys,
    same,
    union,
    values_query,
    with_steps,
)

if TYPE_CHECKING:
    from secure_datasets.questions.changes.macro_methods import AccessChanges

State = dict[str, Any]
Tables = Mapping[str, Mapping[str, Any]]
Ref = Callable[[str], Any]
ASKED = ("tier", "user_id", "object_keys")
KEYS = ("project_id", "meta_data_source_id")
RIGHT = ("user_id", "object_type", "object_id", "permission_name")
# The fields of a path that `access_changes` lists.
TOLD = ("permission_name", "path_kind", "grant_table", "grant_id", "role_name")
SIDES = ("before", "after")


# The rows of the access views


def changed_access(self: AccessChanges, states: list[State]) -> str:
    """Return the rows of one state alone, and the rows with a changed access_type.

    There is a column for each key that any tier has.
    """
    all_keys = self.all_keys(states)
    return union(_changed_tier(pair, all_keys) for pair in self.pairs(states, "tiers"))


def _changed_tier(pair: dict[str, Any], all_keys: list[str]) -> str:
    one, other = pair["before"], pair["after"]
    keys = (other or one)["keys"]
    by_key = (
        f"compared.{key}" if key in keys else "cast(null as bigint)" for key in all_keys
    )
    columns = [f"{value} as {key}" for value, key in zip(by_key, all_keys, strict=True)]
    return f"""select
    {sql_text(pair["name"])} as tier,
    compared.user_id,
    {",".join([*columns, named_keys(keys, "compared")])} as object_keys,
    compared.is_before,
    compared.is_after,
    compared.access_type_before,
    compared.access_type_after
from (
    {indented(_in_both(one, other) if one and other else _in_one(one, other))}
) as compared"""


def _in_both(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the changed rows of a tier that both states have."""
    keys, types = other["keys"], ["cast(null as string)"] * 2
    has_type = all("access_type" in side["carries"] for side in (one, other))
    if has_type:
        types = [f"{side}_rows.access_type" for side in SIDES]
    both = [f"coalesce(before_rows.{k}, after_rows.{k}) as {k}" for k in keys]
    # A join of all rows costs far more than a read, so the join covers only users whose
    # rows differ. Equal rows of both states cancel out in the xor of a user's digests.
    told = ", ".join([*keys, *["access_type"][: int(has_type)]])
    digests = union(
        f"select user_id, xxhash64({told}) as digest"
        f" from {side['schema']}.{side['relation']}"
        for side in (one, other)
    )
    before_rows, after_rows = (
        f"""(
    select seen.*
    from {side["schema"]}.{side["relation"]} as seen
    left semi join (
        select user_id
        from (
            {indented(digests, 12)}
        ) as told_rows
        group by user_id
        having bit_xor(digest) != 0
    ) as differing
        on seen.user_id = differing.user_id
)"""
        for side in (one, other)
    )
    differs = "or not (before_rows.access_type <=> after_rows.access_type)"
    return f"""select
    coalesce(before_rows.user_id, after_rows.user_id) as user_id,
    {", ".join(both)},
    before_rows.user_id is not null as is_before,
    after_rows.user_id is not null as is_after,
    {types[0]} as access_type_before,
    {types[1]} as access_type_after
from {before_rows} as before_rows
full outer join {after_rows} as after_rows
    on {same("before_rows", "after_rows", ["user_id", *keys])}
where
    before_rows.user_id is null
    or after_rows.user_id is null
    {differs if has_type else ""}"""


def _in_one(one: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    """Return the rows of a tier that only one state has."""
    side = one or other or {}
    return f"""select
{listed(["user_id", *side["keys"]], "seen")},
    {str(bool(one)).lower()} as is_before,
    {str(bool(other)).lower()} as is_after,
    cast(null as string) as access_type_before,
    cast(null as string) as access_type_after
from {side["schema"]}.{side["relation"]} as seen"""


# The raw rows that decide


def changed_raw_rows(self: AccessChanges, states: list[State], tables: Tables) -> str:
    """Return the live rows that came, went or changed in a deciding column."""
    return union(
        _changed_rows(name, tables[name], *states)
        for name in self.deciding_tables(states, tables)
    )


def _changed_rows(
    name: str, table: Mapping[str, Any], before: State, after: State
) -> str:
    key = table["key"]
    deciding = [
        *table["references"],
        *["role_name"][: int(bool(table.get("object_type")))],
    ]
    changed = "".join(
        f"\n    or not (before_rows.{column} <=> after_rows.{column})"
        for column in deciding
    )
    # If rows are only supposed to go, no delivery shows how they went.
    how, in_time = "cast(null as string)", ""
    if not after.get("is_supposed"):
        limits = [
            column
            for column in ("valid_from", "valid_until")
            if table.get("holds_for_a_time") and column in table["columns"]
        ]
        how = how_it_went(after["written_on"].get(f"stg_{name}"), limits)
        if limits:
            in_time = "\n        bool_or(is_live_in_its_time) as is_live_in_its_time,"
            in_time += "".join(
                f"\n        max(case when is_live_in_its_time then {column} end)"
                f" as {column},"
                for column in limits
            )
    return f"""select
    '{name}' as raw_table,
    coalesce(before_rows.{key}, after_rows.{key}) as row_id,
    case
        when before_rows.{key} is null then 'came'
        when after_rows.{key} is null then 'went'
        else 'changed'
    end as change,
    {how} as how
from (select * from {before["schema"]}.stg_{name} where is_live) as before_rows
full outer join (select * from {after["schema"]}.stg_{name} where is_live) as after_rows
    on before_rows.{key} = after_rows.{key}
left join (
    select
        {key},
        bool_and(is_live) as is_live,
        bool_or(is_deleted) as is_deleted,{in_time}
        max(deleted_on) as deleted_on
    from {after["schema"]}.stg_{name}
    group by {key}
) as delivered
    on before_rows.{key} = delivered.{key}
where
    before_rows.{key} is null
    or after_rows.{key} is null{changed}"""


def how_it_went(since: str | None, limits: Collection[str] = ()) -> str:
    """Return how a row went: deleted, outside its time, or no longer delivered.

    The SQL gives null if the row is still there but does not count, for example because
    it is switched off.

    since   when the newer state first read a delivery without the row; None if unknown
    limits  the columns that limit the time of a row
    """
    absent = "no longer delivered" + (f" since {since}" if since else "")
    deleted_on = "left(cast(delivered.deleted_on as string), 19)"
    time = "".join(
        f", '{limit.removeprefix('valid_')} ' || left(cast(delivered.{limit} as string), 19)"
        for limit in limits
    )
    ended = (
        "\n        when delivered.is_live_in_its_time and not delivered.is_live"
        f"\n            then concat_ws(' ', 'outside its time,'{time})"
        if limits
        else ""
    )
    return f"""case
        when before_rows.is_live is null then null
        when delivered.is_live is null then '{absent}'
        when delivered.is_deleted
            then coalesce(concat('deleted on ', {deleted_on}), 'deleted'){ended}
    end"""


# The paths


def changed_paths(self: AccessChanges, states: list[State], ref: Ref) -> str:
    """Return every path to each part of the changed access, in the states that have it.

    The parts of a tier are rights on its objects, and rows that link the objects.
    """
    all_keys = self.all_keys(states)
    about = listed([*ASKED, *all_keys], "changed").strip()
    steps = {"changed": f"select * from {ref('changed_access')}"}
    for state in states:
        side = state["side"]
        # One step for all rights, so that the many paths of a state are read only once.
        steps[f"asked_{side}"] = _asked_rights(state, about)
        # Filter the paths before the lookup of the chains of groups.
        steps[f"rights_{side}"] = f"""select paths.*
from {state["schema"]}.explained_access_paths as paths
left semi join asked_{side} as asked
    on {same("paths", "asked", RIGHT)}"""
        key = "paths.path_kind, paths.grant_table, paths.grant_id"
        by_rights = f"""select
{listed([*ASKED, *all_keys, "part"], "asked")},
    concat_ws(' ', {key}, paths.user_group_member_id) as path_key,
    {path_columns("paths")},
    paths.group_ids
from asked_{side} as asked
inner join rights_{side} as paths
    on {same("asked", "paths", RIGHT)}"""
        steps[f"paths_{side}"] = union([by_rights, *_paths_of_no_right(state, about)])
    last = (
        f"select '{side}' as side, paths.* from paths_{side} as paths" for side in SIDES
    )
    return with_steps(steps, union(last))


def _where(state: State, tier: str) -> str:
    return f"where changed.is_{state['side']} and changed.tier = {sql_text(tier)}"


def _asked_rights(state: State, about: str) -> str:
    """Return the rights that the changed access requires, each a part of its tier."""
    queries = [
        f"""select
    {about},
    {sql_text(f"{right['permission']} by {right['key']}")} as part,
    {sql_text(right["object_type"])} as object_type,
    changed.{right["key"]} as object_id,
    {sql_text(right["permission"])} as permission_name
from changed
{_where(state, name)}"""
        for name, tier in state["tiers"].items()
        for right in tier["rights"]
        if right["key"] in tier["keys"]
    ]
    none = f"""select
    {about},
    cast(null as string) as part,
    cast(null as string) as object_type,
    cast(null as bigint) as object_id,
    cast(null as string) as permission_name
from changed
where false"""
    return union(queries or [none])


def _paths_of_no_right(state: State, about: str) -> Iterator[str]:
    """Yield the rows that link a tier's objects; and one path of a tier without parts."""
    for name, tier in state["tiers"].items():
        for link in tier["links"]:
            table, grant_id = link["table"], f"links.{link['key']}"
            path = {"path_kind": "'Link'", "grant_table": f"'{table}'"}
            yield f"""select
    {about},
    {sql_text(f"link by {table}")} as part,
    cast({grant_id} as string) as path_key,
    {path_columns(values={**path, "grant_id": grant_id})},
    cast(null as array<bigint>) as group_ids
from changed
inner join {state["schema"]}.stg_{table} as links
    on links.is_live and {same("changed", "links", tier["keys"])}
{_where(state, name)}"""
        if not tier["rights"] and not tier["links"]:
            yield f"""select
    {about},
    'the access view' as part,
    'none' as path_key,
    {path_columns()},
    cast(null as array<bigint>) as group_ids
from changed
{_where(state, name)}"""


# The changes, and the raw rows that caused them


def access_changes(
    self: AccessChanges,
    states: list[State],
    ref: Ref,
    tables: Tables,
    rows_of: Callable[[str], Iterable[Mapping[str, int]]],
) -> str:
    """Return the access that users gained, lost or have differently, and the causes."""
    all_keys = self.all_keys(states)
    steps = {
        "changed": f"select * from {ref('changed_access')}",
        "changed_rows": f"select * from {ref('changed_raw_rows')}",
    }
    for state, other in zip(states, states[::-1], strict=True):
        # The groups in rings in the other state, which ignores their links to parents.
        rings = self.rings(rows_of(_links_in_rings(other["schema"])))
        steps |= _found_of(state["side"], ref, rings, tables, all_keys)
    steps["causes"] = _causes()
    keys = [
        f"{f'changed.{key}' if key in all_keys else 'cast(null as bigint)'} as {key}"
        for key in KEYS
    ]
    joins = "\n".join(
        f"left join {relation}\n    on {same('changed', relation, ASKED)}"
        for relation in ("listed_before", "listed_after", "causes")
    )
    return with_steps(
        steps,
        f"""select
    changed.tier,
    changed.user_id,
    {", ".join(keys)},
    changed.object_keys,
    case
        when not changed.is_before then 'gained'
        when not changed.is_after then 'lost'
        else 'other access_type'
    end as change,
    changed.access_type_before,
    changed.access_type_after,
    listed_before.paths as paths_before,
    listed_after.paths as paths_after,
    coalesce(transform(causes.causes, each -> each.cause), array('definition')) as causes,
    coalesce(transform(causes.causes, each -> each.how), array(cast(null as string))) as how
from changed
{joins}""",
    )


def _found_of(
    side: str, ref: Ref, rings: list[list[str]], tables: Tables, all_keys: list[str]
) -> dict[str, str]:
    """Return the steps that find the changed raw rows on which a state's paths stand."""
    part = [*ASKED, "part"]
    told = ", ".join(f"'{column}', {column}" for column in (*TOLD, "group_chain"))
    return {
        f"paths_{side}": f"select * from {ref('changed_paths')} where side = '{side}'",
        f"groups_{side}": f"""select
    paths.*,
    explode(paths.group_ids) as group_id
from paths_{side} as paths
where paths.group_ids is not null""",
        f"rings_{side} (group_id, member_id)": values_query(rings, 2),
        f"evidence_{side}": _evidence(side, tables, all_keys),
        f"found_{side}": f"""select
{listed([*part, "path_key"], "evidence")},
    concat(evidence.raw_table, ' ', evidence.row_id, ' ', changed_rows.change) as cause,
    changed_rows.how
from evidence_{side} as evidence
inner join changed_rows
    on
        {same("evidence", "changed_rows", ["raw_table", "row_id"])}
        and (evidence.is_whole or changed_rows.change != 'changed')""",
        f"parts_{side}": f"""select
{listed(part, "paths")},
    count(distinct paths.path_key) = count(distinct found.path_key) as is_explained
from paths_{side} as paths
left join found_{side} as found
    on {same("paths", "found", [*part, "path_key"])}
group by {listed(part, "paths")}""",
        f"listed_{side}": f"""select
{listed(ASKED)},
    array_sort(collect_set(named_struct({told}))) as paths
from paths_{side}
where path_kind is not null
group by {", ".join(ASKED)}""",
    }


def _evidence(side: str, tables: Tables, all_keys: list[str]) -> str:
    """Return the raw rows that each path stands on.

    The user, the objects and the group that holds the grant count only if they came or
    went; all further rows count also if a deciding column changed.
    """
    objects = [table for table in tables.values() if table["key"] in all_keys]
    paths = f"paths_{side}"
    rows = [
        ("'users'", "user_id", "false", paths),
        *((f"'{table['name']}'", table["key"], "false", paths) for table in objects),
        ("grant_table", "grant_id", "true", paths),
        ("'user_group_members'", "user_group_member_id", "true", paths),
        ("'user_groups'", "group_id", "group_id != user_group_id", f"groups_{side}"),
    ]
    columns = [*ASKED, "part", "path_key"]
    queries = [
        f"""select
{listed(columns)},
    {table} as raw_table,
    {key} as row_id,
    {is_whole} as is_whole
from {relation}
where {key} is not null"""
        for table, key, is_whole, relation in rows
    ]
    in_rings = f"""select
{listed(columns, "chains")},
    'user_groups' as raw_table,
    cast(rings.member_id as bigint) as row_id,
    true as is_whole
from groups_{side} as chains
inner join rings_{side} as rings
    on chains.group_id = cast(rings.group_id as bigint)"""
    return union([*queries, in_rings])


def _causes() -> str:
    """Return the raw rows that made each change of access."""
    queries = (
        f"""select
{listed([*ASKED, "cause", "how"], "found")}
from found_{side} as found
inner join parts_{side} as parts
    on {same("found", "parts", [*ASKED, "part"])}
inner join changed
    on {same("found", "changed", ASKED)}
where parts.is_explained or (changed.is_before and changed.is_after)"""
        for side in SIDES
    )
    return f"""select
{listed(ASKED)},
    array_sort(collect_set(named_struct('cause', cause, 'how', how))) as causes
from (
    {indented(union(queries))}
) as found
group by {", ".join(ASKED)}"""


def _links_in_rings(schema: str) -> str:
    """Return the groups whose link to their parent is ignored, since it is in a ring."""
    return (
        "select user_groups.user_group_id, user_groups.parent_user_group_id from"
        f" {schema}.stg_user_groups as user_groups inner join {schema}.stg_user_groups as"
        " parents on user_groups.parent_user_group_id = parents.user_group_id and"
        f" parents.is_live left anti join (select user_group_id from {schema}."
        "int_user_group_ancestors where depth = 1) as in_force on"
        " user_groups.user_group_id = in_force.user_group_id where user_groups.is_live"
    )
