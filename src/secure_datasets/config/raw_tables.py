"""Read the macro `repository_tables`: the raw tables of the contract."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from secure_datasets.config.feeds import limits_of

# The columns that every raw table has after its own, with their types.
COMMON = {
    "is_active": "boolean",
    "date_created": "timestamp",
    "date_modified": "timestamp",
    "created_by": "string",
    "modified_by": "string",
    "sf_date_created": "timestamp",
}


def raw_tables(document: str, declared: Any) -> dict[str, dict[str, Any]]:
    """Return the raw tables by name, with their columns in the order of the contract.

    document  YAML, with the keys that the macro describes
    declared  the variable `feeds`: the columns that limit rights in time come from it
    """
    found = {}
    for name, table in _read(document).items():
        gives_rights = table.get("gives_rights", False)
        limits = limits_of(declared, name) if gives_rights else []
        found[name] = {
            "name": name,
            "key": f"{name[:-1]}_id",
            "columns": {
                "id": "bigint",
                **table["columns"],
                **dict.fromkeys(limits, "timestamp"),
                **COMMON,
            },
            "required": table.get("required", []),
            "references": table.get("references", {}),
            "holder": table.get("holder"),
            "object_type": table.get("object_type"),
            "context": table.get("context"),
            "gives_rights": gives_rights,
            "holds_for_a_time": bool(limits),
        }
    return found


@cache
def _read(document: str) -> dict[str, Any]:
    return yaml.safe_load(document)
