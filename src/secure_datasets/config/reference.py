"""The page of reference and the JSON schema for editors, from the config's schema.

python -m secure_datasets.config.reference            the page
python -m secure_datasets.config.reference --schema   the JSON schema
python -m secure_datasets.config.reference --added    a root project's schema
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pydantic import BaseModel

from secure_datasets.config import schema

# The entries in the order of the page, each with its place in the config.
ENTRIES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("the config", schema.Config),
    ("tiers, by name", schema.Tier),
    ("datasets, by name", schema.Dataset),
    ("datasets, by name: a query", schema.QueryDataset),
    ("second_side", schema.SecondSide),
    ("switch", schema.Switch),
    ("switch.cases, by value", schema.Case),
    ("query", schema.Query),
    ("policies, a list", schema.Policy),
    ("shown_to, a list", schema.ShownTo),
    ("relations, by name", schema.Relation),
    ("reader", schema.Reader),
    ("row_security, a list", schema.RowSecurity),
    ("relationships, a list", schema.Relationship),
    ("from", schema.Near),
    ("to", schema.Far),
)


def json_schema() -> dict[str, Any]:
    """Return the config's JSON schema, for editors and further tools."""
    made = schema.Config.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def added_schema() -> dict[str, Any]:
    """Return the schema of a root project's additions, without required keys."""
    made = json_schema()
    named = ("tiers", "datasets", "relations")
    entries = {
        made["properties"][part]["additionalProperties"].get("$ref") for part in named
    }
    shapes = made["properties"]["datasets"]["additionalProperties"].pop("oneOf")
    datasets = [*shapes, {"const": False, "description": "Switches it off."}]
    made["properties"]["datasets"]["additionalProperties"] = {"anyOf": datasets}
    del made["required"]
    entries |= {shape["$ref"] for shape in shapes}
    for name, entry in made["$defs"].items():
        if f"#/$defs/{name}" in entries:
            entry.pop("required", None)
            # Null removes a key of the product's entry.
            entry["properties"] = {
                key: {"anyOf": [value, {"type": "null"}]}
                for key, value in entry["properties"].items()
            }
    return made


def page() -> str:
    """Return the page: a table of keys for each entry."""
    definitions = json_schema()
    lines = [
        "{% docs secure_datasets_config %}",
        "The config of the secure datasets: one YAML document in a macro of this name,"
        " on which a",
        "root project lays another one, `default__secure_datasets_config`.",
        "Made by `python -m secure_datasets.config.reference`; `--schema` prints the",
        "JSON schema for editors, `--added` the one of a root project's additions.",
    ]
    for place, model in ENTRIES:
        entry = definitions
        if model is not schema.Config:
            entry = definitions["$defs"][model.__name__]
        description = " ".join((model.__doc__ or "").split())
        lines += ["", f"**{place}**: {description}", "", "| key | | what it means |"]
        lines.append("|---|---|---|")
        for name, key in entry["properties"].items():
            is_required = name in entry.get("required", [])
            default = key.get("default")
            if is_required:
                kind = f"{_kind(key)}, required"
            elif default in (None, [], {}):
                kind = _kind(key)
            else:
                kind = f"{_kind(key)}, default `{json.dumps(default)}`"
            lines.append(f"| `{name}` | {kind} | {key.get('description', '')} |")
    return "\n".join([*lines, "{% enddocs %}", ""])


def _kind(key: dict[str, Any]) -> str:
    """Return the kind of values that a key takes, in words."""
    if "enum" in key:
        return " or ".join(f"`{value}`" for value in key["enum"])
    if "const" in key:
        return f"`{key['const']}`"
    if {"array", "object"} <= {one.get("type") for one in key.get("anyOf", ())}:
        return "list or mapping"
    if {"type": "string"} in key.get("anyOf", ()):
        return "text or mapping"
    if "$ref" in key or "oneOf" in key or "anyOf" in key:
        return "entry"
    if isinstance(key.get("type"), list):
        return "SQL"
    kind = {
        "string": "name" if "pattern" in key else "text",
        "array": "list",
        "object": "mapping",
        "boolean": "flag",
        "integer": "number",
    }
    return kind[key["type"]]


def main() -> None:
    """Print the page, or the JSON schema."""
    if sys.argv[1:] == ["--schema"]:
        print(json.dumps(json_schema(), indent=2))
    elif sys.argv[1:] == ["--added"]:
        print(json.dumps(added_schema(), indent=2))
    else:
        print(re.sub(r"\n$", "", page()))


if __name__ == "__main__":
    main()
