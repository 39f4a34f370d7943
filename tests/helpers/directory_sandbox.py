"""The example's mapping views over a directory's rows, and what is staged of them."""

from __future__ import annotations

import re
from typing import Any

import jinja2
import yaml
from compiled import kept_models
from feed_sandbox import RAW, FeedSandbox
from oracle.contract import TABLES as RAW_TABLES
from projects import ROOT
from quick import LAYER, QuickProject
from staging_sandbox import in_duckdb

from secure_datasets.engines.duckdb import DuckDB, Rows

EXAMPLE = ROOT / "examples/directories"
TABLES = ("users", "user_groups", "user_group_members")
# Each view after those that it reads.
VIEWS = {
    "scim": ("resources", *TABLES),
    "ldif": ("entries", "objects", *TABLES),
}
SOURCES = {
    "scim": {
        "loaded_at": "timestamptz",
        "resource_type": "varchar",
        "total_results": "bigint",
        "resource": "varchar",
    },
    "ldif": {"loaded_at": "timestamptz", "content": "varchar"},
}
# What the resolution of memberships reads of staged tables.
STAGED = {
    "users": {"user_id": "bigint", "login_name": "string"},
    "user_groups": {
        "user_group_id": "bigint",
        "name": "string",
        "parent_user_group_id": "bigint",
    },
    "user_group_members": {"user_id": "bigint", "user_group_id": "bigint"},
}
SOURCE = {"scim": "scim_resources", "ldif": "ldif_exports"}
TYPES = {
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIMESTAMP": "timestamp_ntz",
    "VARCHAR": "string",
}
FUNCTIONS = (
    "conv(a, b, c) as cast('0x' || a as bigint)",
    "field_of_json(a, b) as case when json_valid(a) then a ->> b end",
    # One object is a list of one.
    "members_of_json(a) as case when json_valid(a) and json_type(a)"
    " in ('ARRAY', 'OBJECT') then list_transform(cast(case json_type(a)"
    " when 'ARRAY' then a else '[' || a || ']' end as json[]),"
    " lambda x: {'value': x ->> 'value', 'type': x ->> 'type'}) end",
    "substring_index(a, b, c) as split_part(a, b, c)",
    "text_of_base64(a) as try(decode(from_base64(a)))",
)
BASE64 = re.compile(
    r"try_validate_utf8\(\s*cast\(\s*try_to_binary\((.*?),\s*'base64'\s*\)"
    r"\s*as string\s*\)\s*\)",
    re.S,
)
MEMBERS = re.compile(
    r"from_json\((.*?),\s*'array<struct<value:string,type:string>>'\s*\)", re.S
)


def rendered(kind: str, view: str, digits: int = 15, named: str = f"{RAW}.{{}}") -> str:
    """Return the SQL of a view, with this many digits of the hash in an id."""
    macros = "".join(path.read_text() for path in EXAMPLE.glob("macros/*.sql"))
    assert "256), 15)" in macros
    macros = macros.replace("256), 15)", f"256), {digits})")
    text = macros + (EXAMPLE / kind / f"{view}.sql").read_text()
    names = {"ref": named.format, "source": lambda _, name: named.format(name)}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    return environment.from_string(text).render(names)


def for_duckdb(sql: str) -> str:
    """Return a view's SQL as DuckDB's, where the two call something otherwise."""
    sql = sql.replace("get_json_object(", "field_of_json(")
    sql = BASE64.sub(r"text_of_base64(\1)", sql)
    # What a group of a pattern is called in the text that replaces it.
    sql = re.sub(r"\$(\d)", r"\\\\\1", sql)
    sql = MEMBERS.sub(r"members_of_json(\1)", sql)
    return in_duckdb(sql)


def feeds(kind: str) -> dict[str, Any]:
    """Return the feeds that the example's page declares for a kind of directory."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (found,) = (block for block in blocks if f"# {kind}" in block)
    return yaml.safe_load(found)["vars"]["feeds"]


class Directory:
    """Rows of a directory, the raw tables that the views make of them, and staging."""

    def __init__(
        self, kind: str, rows: list[dict[str, Any]], digits: int = 15, **variables: Any
    ) -> None:
        self.sandbox = FeedSandbox(feeds(kind), **variables)
        connection = self.sandbox.connection
        for function in FUNCTIONS:
            connection.execute(f"create macro {function}")
        self.sandbox.deliver(SOURCE[kind], SOURCES[kind], rows)
        for view in VIEWS[kind]:
            sql = for_duckdb(rendered(kind, view, digits))
            connection.execute(f"create table {RAW}.{view} as {sql}")
            columns = connection.execute(f"describe {RAW}.{view}").fetchall()
            self.sandbox.types[view] = {
                name: TYPES.get(kind, kind.lower()) for name, kind, *_ in columns
            }

    def staged(self, table: str) -> list[dict[str, Any]]:
        """Return the staged rows of a raw table."""
        return self.sandbox.staged(table)

    def reasons(self) -> list[tuple[str, str]]:
        """Return what is rejected: the tables with the reasons."""
        return sorted(
            (table, row["rejection_reason"])
            for table in TABLES
            for row in self.staged(table)
            if row["rejection_reason"]
        )

    def members(self) -> dict[str, set[str]]:
        """Return who holds the rights of each live group, as the product says."""
        engine = DuckDB(fingerprints=True)
        nothing = {table: [] for table in RAW_TABLES}
        QuickProject(kept_models(), seeds={}).run(nothing, engine)
        for table, columns in STAGED.items():
            columns = columns | {"is_live": "boolean"}
            rows = [[row[name] for name in columns] for row in self.staged(table)]
            engine.put(f"{LAYER}.stg_{table}", Rows(columns, rows))
        found = engine.ask(
            "select g.name, u.login_name"
            f" from {LAYER}.int_user_group_memberships as m"
            f" inner join {LAYER}.stg_users as u on m.user_id = u.user_id"
            f" inner join {LAYER}.stg_user_groups as g"
            " on m.user_group_id = g.user_group_id"
        )
        groups: dict[str, set[str]] = {}
        for row in found:
            groups.setdefault(row["name"], set()).add(row["login_name"])
        return groups
