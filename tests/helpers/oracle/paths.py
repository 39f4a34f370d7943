"""Every path of every user to a right, with its chain of groups, by the contract."""

from __future__ import annotations

from typing import Any

from oracle.contract import (
    OBJECT_KEYS,
    OBJECT_TABLES,
    ROLE_PERMISSIONS,
    Groups,
    Rights,
    Staging,
    permission_names,
)

Row = dict[str, Any]

PATH_COLUMNS = (
    *("user_id", "object_type", "object_id", "permission_name", "path_kind"),
    *("grant_table", "grant_id", "role_name", "user_group_id"),
    *("user_group_member_id", "group_ids", "group_chain", "date_created"),
    *("created_by", "member_date_created", "member_created_by"),
)


def access_paths(staging: Staging) -> list[tuple]:
    """Return every path of every user with its chain of groups, by the contract."""
    rights, groups = Rights(staging), Groups(staging)
    found: list[Row] = []

    def add(user, object_type, object_id, names, kind, table, grant, role, **more):
        entry = staging.winners[table][grant]
        row = dict.fromkeys(PATH_COLUMNS) | {
            "user_id": user, "object_type": object_type, "object_id": object_id,
            "path_kind": kind, "grant_table": table, "grant_id": grant,
            "role_name": role,
        }  # fmt: skip
        if not kind.endswith("Owner"):
            row |= {key: entry[key] for key in ("date_created", "created_by")}
        found.extend(row | more | {"permission_name": name} for name in names)

    for object_type, (_, table) in OBJECT_TABLES.items():
        for grant, entry in staging.live(table).items():
            object_id = entry[OBJECT_KEYS[table]]
            if object_id not in rights.objects[object_type]:
                continue
            names = set(ROLE_PERMISSIONS[object_type][entry["role_name"]])
            names |= {"Project Member"} if object_type == "Project" else set()
            given = (object_type, object_id, names)
            if entry["user_id"] in rights.users:
                add(entry["user_id"], *given, "User", table, grant, entry["role_name"])
            for member, row in staging.live("user_group_members").items():
                chain = groups.chain(row["user_group_id"])
                if row["user_id"] in rights.users and entry["user_group_id"] in chain:
                    steps = chain[: chain.index(entry["user_group_id"]) + 1]
                    add(
                        row["user_id"], *given, "Group", table, grant,
                        entry["role_name"], user_group_id=entry["user_group_id"],
                        user_group_member_id=member, group_ids=steps,
                        group_chain=" > ".join(
                            f"{groups.live[g]['name'] or '(no name)'} ({g})"
                            for g in steps
                        ),
                        member_date_created=row["date_created"],
                        member_created_by=row["created_by"],
                    )  # fmt: skip
    for object_type, objects in rights.objects.items():
        further = permission_names(object_type) if object_type != "Project" else set()
        reach = {"Global Admin"}
        reach |= {"Global Data Source Admin"} if object_type == "Data Source" else set()
        for grant, entry in staging.live("user_global_roles").items():
            for name in reach & set(ROLE_PERMISSIONS["Global"][entry["role_name"]]):
                for object_id in objects if entry["user_id"] in rights.users else ():
                    add(
                        entry["user_id"], object_type, object_id, {name} | further,
                        name, "user_global_roles", grant, entry["role_name"],
                    )  # fmt: skip
        for user, object_id in rights.owners(object_type):
            name, table = f"{object_type} Owner", OBJECT_TABLES[object_type][0]
            add(
                user,
                object_type,
                object_id,
                {name} | further,
                name,
                table,
                object_id,
                None,
            )
    return [tuple(row[column] for column in PATH_COLUMNS) for row in found]
