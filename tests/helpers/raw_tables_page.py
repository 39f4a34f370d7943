"""The page of the raw tables, from the documentation of the sources.

python tests/helpers/raw_tables_page.py

writes docs/raw-tables.md anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from own_config import document_of
from projects import ROOT

PAGE = ROOT / "docs/raw-tables.md"
SOURCES = ROOT / "models/staging/_repository__sources.yml"
TABLES = ROOT / "macros/config/repository_tables.sql"
BLOCK = re.compile(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", re.S)
REFERENCE = re.compile(r"{{ doc\('(\w+)'\) }}")
HEAD = """\
# The raw tables

The application's own repository, replicated into one schema, `vars: {raw_schema: ...}`.
dbt only reads it. `secure-datasets check --replica` compares the schema with this page
and lists all that is missing; a table that the application lacks stands in `vars:
{absent_tables: [...]}`, and a column that is named otherwise, or is missing, in [its
feed](feeds.md). A value that can't be read in the type below is null, and where it is
needed the row is [rejected](bad-input.md).

Made from the documentation of the sources by `python tests/helpers/raw_tables_page.py`.

Each table also has these columns:

"""
NEEDED = "**needed**"


def page() -> str:
    """Return the text of the page."""
    sources = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    blocks: dict[str, str] = {}
    for file in sorted((ROOT / "models/_docs").glob("*.md")):
        blocks |= dict(BLOCK.findall(file.read_text(encoding="utf-8")))
    common = [column["name"] for column in sources["anchors"]]
    contract = yaml.safe_load(document_of(TABLES))
    lines = [*_rows(sources["anchors"], ["id"], (), blocks)]
    for table in sources["sources"][0]["tables"]:
        rules = contract[table["name"]]
        own = [each for each in table["columns"] if each["name"] not in common]
        holder = rules.get("holder") or ()
        lines += ["", f"## {table['name']}", "", _told(table["description"], blocks)]
        lines += ["", *_rows(own, rules.get("required") or (), holder, blocks)]
    return HEAD + "\n".join(lines) + "\n"


def _rows(
    columns: list[dict[str, Any]], required: Any, holder: Any, blocks: dict[str, str]
) -> Iterator[str]:
    yield from ("| column | type | what for |", "|---|---|---|")
    for column in columns:
        name, said = column["name"], _told(column["description"], blocks)
        if name in required:
            said = f"{NEEDED}. {said}"
        elif name in holder:
            said = f"{NEEDED}: exactly one of {' and '.join(holder)}. {said}"
        yield f"| `{name}` | {column['data_type']} | {said} |"


def _told(description: str, blocks: dict[str, str]) -> str:
    """Return a description in one line, with its blocks."""
    text = REFERENCE.sub(lambda found: blocks[found[1]], description)
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
