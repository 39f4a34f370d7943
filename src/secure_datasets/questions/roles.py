"""What the role table says that each role brings."""

from __future__ import annotations

from collections import defaultdict

from secure_datasets.questions.notes import Facts

# On which objects a global role brings every permission, as int_access_paths says: on
# projects it brings its own name alone.
GLOBAL_REACH = {
    "Global Admin": ("Data Source", "Report"),
    "Global Data Source Admin": ("Data Source",),
}


def roles_brought(
    roles: list[Facts],
) -> dict[str, dict[str | None, frozenset[str]]]:
    """Return what each role of the role table brings, by type of object."""
    found: dict[str, dict[str | None, set[str]]] = defaultdict(dict)
    for row in roles:
        names = found[row["object_type"]].setdefault(row["role_name"], set())
        if row["permission_name"]:
            names.add(row["permission_name"])
    return {
        object_type: {
            # What stands without a role comes with each entry of its type.
            role: frozenset(names | by_role.get(None, set()))
            for role, names in by_role.items()
        }
        for object_type, by_role in found.items()
    }
