"""The rights of a person as notes: rows in staging, parts of a tier, paths to them."""

from __future__ import annotations

from typing import Any

from secure_datasets.questions.notes import Facts, Note, named, note
from secure_datasets.questions.rejections import flaw_of_staged


def trace_notes(traced: list[Facts]) -> list[Note]:
    """Return why rows do not count: rejected, not active, or hidden with a parent."""
    return [item for one in traced for item in _trace_notes(one, "it")]


def _trace_notes(traced: Facts, whose: str) -> list[Note]:
    place = f"row {traced['id']} of {traced['table']}"
    parts = {"table": traced["table"], "id": traced["id"]}
    row = traced["row"]
    until = f"nobody sees it until {place} is"
    if row is None:
        says = f"{whose} is {place}, which is not there"
        return [note(says, what_helps=f"{until} there", **parts)]
    if flaw := flaw_of_staged(row, traced["table"]):
        reason = row["rejection_reason"]
        parts |= {"reason": reason} if reason else {}
        until += " there" if row.get("undelivered_since") else " switched on again"
        parts["what_helps"] = until
        if reason:
            parts["what_helps"] = (
                f"mend {place} at its source: nobody sees it until then"
            )
        return [note(f"{whose} is {place}, which is {flaw}", **parts)]
    found = []
    for column, parent in traced["parents"]:
        whose_parent = f"{place} is hidden with its parent: its {column}"
        found += _trace_notes(parent, whose_parent)
    return found


def since(date: str | None, author: str | None) -> str:
    """Return the start date and the author of a grant, in words."""
    when = f"since {date}" if date else "since when is not recorded"
    return f"{when}, by {author}" if author else f"{when}, by whom is not recorded"


def until(path: Facts) -> str:
    """Return the end of a path: the first end of any of its rows."""
    return f", until {path['ends']} UTC" if path.get("ends") else ""


def path_note(path: Facts) -> Note:
    """Return a path: the granting row, its role, the chain of groups, since when."""
    row = f"row {path['grant_id']} of {path['grant_table']}"
    role = f"role {path['role_name']}" if path["role_name"] else "no role"
    parts = dict(path)
    if path["path_kind"] in ("User", "Group"):
        holder = "the user"
        further = []
        if path["path_kind"] == "Group":
            group_ids, chain = path["group_ids"] or [], path["group_chain"] or ""
            holder = f"the group {chain.rpartition(' > ')[2] or path['user_group_id']}"
            further.append(
                note(
                    f"the user is a member by row {path['user_group_member_id']} of"
                    " user_group_members, "
                    + since(path["member_date_created"], path["member_created_by"])
                )
            )
            if len(group_ids) > 1:
                further.append(
                    note(f"the chain of groups, each within the next: {chain}")
                )
        says = f"{path['path_kind']}: {row} names {holder}, {role}"
        recorded = since(path["date_created"], path["created_by"]) + until(path)
        return note(f"{says}, {recorded}", further, **parts)
    if path["path_kind"].endswith("Owner"):
        return note(
            f"{path['path_kind']}: {row} names the user as owner, since when is not"
            " recorded",
            **parts,
        )
    recorded = since(path["date_created"], path["created_by"]) + until(path)
    return note(f"{path['path_kind']}: {row}, {role}, {recorded}", **parts)


def _name_of(facts: Facts, object_type: str, object_id: Any) -> str:
    found = [
        item["object_name"]
        for item in facts["objects"]
        if item["object_type"] == object_type and item["object_id"] == object_id
    ]
    if not found:
        return f"{object_type} {object_id}, which is not live"
    return f'{object_type} {object_id} "{found[0]}"'


def paths_to(facts: Facts, right: Facts, keys: dict[str, Any]) -> list[Facts]:
    """Return the user's paths to a right, in an order of their own."""
    found = [
        path
        for path in facts["paths"]
        if path["object_type"] == right["object_type"]
        and path["object_id"] == keys[right["key"]]
        and path["permission_name"] == right["permission"]
    ]
    return sorted(
        found,
        key=lambda path: (
            path["path_kind"],
            path["grant_table"],
            path["grant_id"],
            path["user_group_member_id"] or 0,
            path["group_chain"] or "",
        ),
    )


def links_of(facts: Facts, link: Facts, keys: dict[str, Any]) -> list[Facts]:
    """Return the rows that link the objects."""
    return [
        row
        for row in facts["links"]
        if row["link_table"] == link["table"]
        and all(row[key] == value for key, value in keys.items())
    ]


def is_held(facts: Facts, right: Facts, keys: dict[str, Any]) -> bool:
    """Whether the user has a path to a right."""
    return bool(paths_to(facts, right, keys))


def is_linked(facts: Facts, link: Facts, keys: dict[str, Any]) -> bool:
    """Whether a row links the objects."""
    return bool(links_of(facts, link, keys))


def missed_key(part: Facts, object_id: Any) -> str:
    """Return the key in `facts["missed"]` of flawed rows that could open a part."""
    return f"{part.get('permission') or part.get('table')} on {object_id}"


def missed(facts: Facts, part: Facts, object_id: Any, is_held: bool) -> list[Note]:
    """Return the rows that exist but do not count, if the part is not held."""
    found = facts["missed"].get(missed_key(part, object_id), [])
    if is_held or not found:
        return []
    return [note("what is there and does not count:", found)]


def right_notes(facts: Facts, tier: str, keys: dict[str, Any]) -> list[Note]:
    """Return the parts of a tier on these objects: each right with all its paths."""
    parts = facts["parts"][tier]
    notes = []
    for right in parts["rights"]:
        object_id = keys[right["key"]]
        what = f"{right['permission']} on"
        if object_id is None:
            says = f"{what} nothing: {right['key']} is null"
            notes.append(note(says, is_held=False))
            continue
        paths = paths_to(facts, right, keys)
        whose = _name_of(facts, right["object_type"], object_id)
        held = "held" if paths else "not held"
        notes.append(
            note(
                f"{what} {whose}: {held}",
                [path_note(path) for path in paths]
                + missed(facts, right, object_id, bool(paths)),
                is_held=bool(paths),
                whose=whose,
                permission_name=right["permission"],
                object_type=right["object_type"],
                object_id=object_id,
            )
        )
    for link in parts["links"]:
        rows = links_of(facts, link, keys)
        linked = "linked" if rows else "not linked"
        notes.append(
            note(
                f"{named(keys)}: {linked}",
                [
                    note(
                        f"row {row['link_id']} of {link['table']},"
                        f" {since(row['date_created'], row['created_by'])}",
                        link_table=link["table"],
                        link_id=row["link_id"],
                    )
                    for row in rows
                ]
                + missed(facts, link, named(keys), bool(rows)),
                is_held=bool(rows),
                link_table=link["table"],
            )
        )
    return notes


def missing_of(rights: list[Note]) -> list[str]:
    """Return the missing rights and links of a side of a tier, in words."""
    found = []
    for item in rights:
        if item.get("is_held") is not False:
            continue
        if "object_type" in item:
            found.append(f"no {item['permission_name']} on {item['whose']}")
        else:
            found.append(item["says"])
    return found


def mends_of(facts: Facts, sides: list[tuple[str, dict[str, Any]]]) -> list[Note]:
    """Return the flawed rows that would each, once mended, open a tier alone.

    One such row must close every gap of the sides.
    """
    lacking: list[dict[tuple, Note]] = []
    for tier, keys in sides:
        parts = facts["parts"][tier]
        if not parts["is_whole"] or None in keys.values():
            return []
        gaps = [
            missed_key(right, keys[right["key"]])
            for right in parts["rights"]
            if not is_held(facts, right, keys)
        ]
        gaps += [
            missed_key(link, named(keys))
            for link in parts["links"]
            if not is_linked(facts, link, keys)
        ]
        for gap in gaps:
            mends = [item.get("mend") for item in facts["missed"].get(gap, [])]
            lacking.append({(m["table"], m["id"]): m for m in mends if m})
    if not lacking:
        return []
    everywhere = set(lacking[0]).intersection(*lacking)
    return [lacking[0][row] for row in sorted(everywhere)]


def side_note(
    facts: Facts, tier: str, keys: dict[str, Any], is_held: bool, title: str
) -> Note:
    """Return one side of a tier: whether its access view has it, and why."""
    rights = right_notes(facts, tier, keys)
    held = "held" if is_held else "not held"
    if not rights:
        rights = [note("the tier's entry names no right whose paths could be listed")]
    elif not is_held and all(item.get("is_held") for item in rights):
        rights.append(note("the tier's access view asks for more than its entry says"))
    says = f"{title}access by {tier} on {named(keys)}: {held}"
    lacks = (
        " and ".join(missing_of(rights)) or f"{title}{tier} on {named(keys)}: {held}"
    )
    return note(says, rights, is_held=is_held, lacks=None if is_held else lacks)


def keys_of(row: Facts, keys: dict[str, str]) -> dict[str, Any]:
    """Return the values of a tier's keys in a row."""
    return {key: row[f"key_{column}"] for key, column in keys.items()}
