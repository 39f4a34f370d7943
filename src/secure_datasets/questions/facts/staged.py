"""Staged rows, the deliveries behind them, and their names."""

from __future__ import annotations

from typing import Any

from secure_datasets.config.tiers import linking_columns
from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.questions.facts.uncounted import selected
from secure_datasets.questions.notes import Facts, Note
from secure_datasets.questions.support import add_names
from secure_datasets.render.staging.reading import delivered_value, read_value
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented

GROUPS = (
    "user_group_id, name, is_live, rejection_reason, raw_row, is_deleted, deleted_on,"
    " date_modified, modified_by"
)


def undelivered(
    built: Built, name: str, columns: str, is_asked: str = "true"
) -> list[Facts]:
    """Return rows that counted in the version before and are no longer delivered.

    None of them is live. Without a version to compare there are none.
    """
    query = built.undelivered_rows(name, built.relation)
    if not query:
        return []
    asked = f"select {columns} from ({query}) as undelivered where {is_asked}"
    return [row | {"is_live": False} for row in built.rows(asked)]


def traced(built: Built, name: str, value: str) -> Facts:
    """Return one staged row, None if it does not exist, and its required parents."""
    table = built.tables[name]
    is_it = f"cast({table['key']} as string) = {sql_text(value)}"
    found = built.rows(f"select * from {built.staged(name)} where {is_it}")
    found = found or undelivered(built, name, "*", is_it)
    row = found[0] if found else None
    parents = [
        [column, traced(built, table["references"][column], str(row[column]))]
        for column in (table["required"] if row else ())
        if column in table["references"] and row[column] is not None
    ]
    return {"table": name, "id": value, "row": row, "parents": parents}


def traced_rows(built: Built, base: str, row: Facts) -> list[Facts]:
    """Return the staged rows that the keys of a base refer to, and their parents."""
    return [
        traced(built, table, value)
        for column, value in row.items()
        if (table := built.referenced_table(base, column, row)) and value is not None
    ]


def deliveries(built: Built, name: str, keys: dict[str, Any]) -> list[Facts]:
    """Return the live rows with these keys, and the deliveries that do not count.

    The latter have a reason. Without keys: all rows with a parent group.
    """
    linking = linking_columns(built.config, built.tables)
    live = selected(built.tables[name], linking, "cast(null as string)")
    same = [
        f"{'row_id' if column == 'id' else column} = {value}"
        for column, value in keys.items()
    ]
    return built.rows(f"""select *
from (
    {indented(built.macros["uncounted_deliveries_query"](name))}
    union all
    {indented(live)}
    from {built.staged(name)}
    where is_live
) as found
where {" and ".join(same) or "parent_user_group_id is not null"}
order by row_id, raw_id, reason, detail, date_created, created_by""")


def deliveries_of_user(built: Built, user_id: int) -> Facts:
    """Return the deliveries of a user's memberships and global roles.

    With all groups and the role table.
    """
    text = delivered_value("parent_user_group_id")
    parent = f"""case when rejection_reason is null then parent_user_group_id
            else {read_value(text, "bigint")} end"""
    groups = (
        f"select {GROUPS}, {parent} as parent_user_group_id"
        f" from {built.staged('user_groups')} where user_group_id is not null"
    )
    gone = f"{GROUPS}, parent_user_group_id, undelivered_since"
    return {
        "user_id": user_id,
        "members": deliveries(built, "user_group_members", {"user_id": user_id}),
        "global_roles": deliveries(built, "user_global_roles", {"user_id": user_id}),
        "groups": built.rows(groups) + undelivered(built, "user_groups", gone),
        "parents": deliveries(built, "user_groups", {}),
        "in_force": built.rows(
            "select user_group_id, ancestor_user_group_id from"
            f" {built.relation('int_user_group_ancestors')} where depth = 1"
        ),
        "roles": role_table(built),
    }


def role_table(built: Built) -> list[Facts]:
    """Return the rows of the role table."""
    return built.rows(
        "select object_type, role_name, permission_name from"
        f" {built.ref('role_permissions')}"
    )


def name_rows(built: Built, notes: list[Note]) -> None:
    """Add to notes about raw rows their names, or the names of their references."""
    for name in built.tables:
        ids = [note["id"] for note in notes if note["table"] == name]
        ids += [note["raw_id"] for note in notes if note.get("raw_table") == name]
        for found in built.rows(_names_of_rows(built, name, ids)) if ids else ():
            add_names(notes, name, found)


def _names_of_rows(built: Built, name: str, ids: list[Any]) -> str:
    """Return a query of raw rows: the id, and the row's or its references' names."""
    table, columns, joins = built.tables[name], [], []
    own = [c for c in ("name", "login_name") if c in table["columns"]][:1]
    references = {} if "name" in table["columns"] else table["references"]
    for number, (column, other) in enumerate(references.items(), 1):
        key, known = built.tables[other]["key"], built.tables[other]["columns"]
        called = "name" if "name" in known else "login_name"
        columns.append(f"of_{column}.{called} as name_{number}")
        joins.append(
            f"left join {built.staged(other)} as of_{column}"
            f" on told.{column} = of_{column}.{key}"
        )
    columns += [f"told.{column} as name_1" for column in own]
    lines = "\n".join(joins)
    asked = in_list(sql_text(str(each)) for each in ids)
    return f"""select told.{table["key"]} as row_id, {", ".join(columns)}
from {built.staged(name)} as told
{lines}
where cast(told.{table["key"]} as string) in ({asked})"""
