"""A metastore in memory, for publishing without Spark.

It stands for dbt's adapter in tests of runs over many worlds. It knows the statements
that `dbt_secure_spark` sends, and fails at any unknown statement.
"""

from __future__ import annotations

import contextlib
import fnmatch
import re
from types import SimpleNamespace
from typing import NamedTuple

from dbt_common.exceptions import DbtRuntimeError

STATEMENTS = {
    "show_schemas": r"show schemas(?: in (\w+))?",
    "describe_schema": r"describe schema extended (\S+)",
    "alter_schema": r"alter schema (\S+) set dbproperties \('(\w+)' = '(.*)'\)",
    "create_schema": r"create schema if not exists (\S+)",
    "show_extended": r"show table extended in (\S+) like '(.*)'",
    "show_tables": r"show tables in (\S+)",
    "show_views": r"show views in (\S+)",
    "create_view": r"create view (\S+)\.(\S+) tblproperties \((.*?)\) as (.*)",
    "alter": r"alter (?:view|table) (\S+)\.(\S+) set tblproperties \((.*)\)",
    "drop": r"drop (?:view|table) if exists (\S+)\.(\S+)",
    "describe_raw": r"describe table extended (\S+)",
    "current_catalog": r"select current_catalog\(\)",
    "refresh": r"refresh table (\S+)",
    "describe_function": r"describe function extended (.+)",
    "engine": r"select version\(\), current_timezone\(\)",
    "day_of_clock": r"select \(unix_micros\(current_timestamp\(\)\).*",
    "all_settings": r"set",
    "read_contents": r"select '\S+' as version, count\(\*\) as row_count, .*",
    "describe_query": r"describe query\n.*",
    "describe_view": r"describe extended (\S+)\.(\S+)",
    "show_files": r"select distinct \* from \((.*)\) as files",
    "count_all": r"select place, count\(\*\) .* from \((.*)\) as counted .*",
    "count": r"select count\(\*\) from (\S+)",
    "reads_escapes": r"select '\\u0041' = 'A' as escapes_are_read",
    "set_to": r"set (\S+) = (\S+)",
    "ask_for": r"set (\S+)",
    "alter_query": r"alter view (\S+)\.(\S+) as\s+(.*)",
    "replace_view": r"create or replace view (\S+)\.(\S+) as\s+(.*)",
    "show_snapshots": r"(select '\S+' as version, \(select case.*)",
    "read_raw": r"select count\(\*\), xxhash64.* from (\S+)\)",
}
PROPERTY = re.compile(r"'(\w+)' = '([^']*)'")
# Spark does not tell a property in which it finds one of these.
HIDDEN = re.compile(r"(?i)secret|password|token|access[.]?key|credential|url")


class Relation(NamedTuple):
    """A relation, as dbt hands it over."""

    schema: str
    identifier: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.identifier}"


class RememberedMetastore:
    """Schemas with their properties, relations with theirs, raw tables as numbers."""

    def __init__(self, *schemas: str) -> None:
        self.schemas: dict[str, dict[str, str]] = {name: {} for name in schemas}
        self.relations: dict[tuple[str, str], dict[str, str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.raw: dict[str, int] = {}
        # The file of each raw table, and the time of its writing.
        self.files: dict[str, tuple[int, int]] = {}
        self.functions: dict[str, str] = {}
        # A number for the rows of each version.
        self.contents: dict[str, int] = {}
        # The result of every query.
        self.columns: list[tuple[str, str]] = []
        # Of the connection.
        self.settings: dict[str, str] = {}
        # The version of Spark, and the zone.
        self.spark = ("4.0.0", "UTC")
        self.version = "1.0.0"
        # The day of the clock, in days since 1970.
        self.day = 20_000
        # Views whose new query the catalog accepts and ignores.
        self.unmoved: set[tuple[str, str]] = set()
        # The snapshot that each version was written as; None of a version without it.
        self.snapshots: dict[str, int | None] = {}
        # All statements, in their order.
        self.sent: list[str] = []
        self.config = SimpleNamespace(
            credentials=SimpleNamespace(method="thrift", server_side_parameters={})
        )

    def execute(self, statement: str, fetch: bool = False):
        """Execute a statement; return rows as dbt's adapter does."""
        self.sent.append(statement)
        if self.config.credentials.method == "session":
            # As dbt-spark's cursor does, if they can be set.
            parameters = self.config.credentials.server_side_parameters
            for parameter, value in parameters.items():
                with contextlib.suppress(DbtRuntimeError):
                    self.set_to(parameter, value)
        for name, pattern in STATEMENTS.items():
            if found := re.fullmatch(pattern, statement, re.S):
                rows = getattr(self, name)(*found.groups())
                return None, SimpleNamespace(rows=rows or [])
        raise AssertionError(f"not known here: {statement}")

    def connection_named(self, _: str):
        """A connection of a thread's own."""
        return contextlib.nullcontext()

    def show_schemas(self, catalog=None):
        # A schema of a further catalog has the catalog's name in front.
        names = [name.rpartition(".") for name in self.schemas]
        found = [(name,) for of, _, name in names if of == (catalog or "")]
        if catalog and not found:
            raise DbtRuntimeError(f"[SCHEMA_NOT_FOUND] The schema `{catalog}`")
        return found

    def describe_schema(self, schema):
        if schema not in self.schemas:
            raise DbtRuntimeError(f"[SCHEMA_NOT_FOUND] The schema `{schema}`")
        told = ", ".join(
            f"({k},{'*********' if HIDDEN.search(k + v) else v})"
            for k, v in self.schemas[schema].items()
        )
        # Without a place there is no folder to claim or to clear.
        return [("Properties", f"({told})"), ("Location", "")]

    def alter_schema(self, schema, name, value):
        self.schemas[schema][name] = value

    def create_schema(self, schema):
        self.schemas.setdefault(schema, {})

    def show_extended(self, schema, pattern):
        return [
            (schema, name, False, self.told(schema, name))
            for place, name in self.relations
            if place == schema
            and any(fnmatch.fnmatch(name, part) for part in pattern.split("|"))
        ]

    def told(self, schema, name):
        properties = self.relations[schema, name].items()
        text = self.texts.get((schema, name), "")
        listed = ", ".join(f"{key}={value}" for key, value in properties)
        told = (
            f"Type: VIEW\nView Text: {text}\nView Original Text: {text}\n"
            if text
            else ""
        )
        return f"{told}Table Properties: [{listed}]"

    def show_views(self, schema):
        return [
            (schema, name, False) for place, name in self.relations if place == schema
        ]

    def show_tables(self, schema):
        return [(schema, name) for place, name in self.relations if place == schema]

    def create_view(self, schema, name, properties, query):
        self.relations[schema, name] = dict(PROPERTY.findall(properties))
        self.texts[schema, name] = query

    def alter(self, schema, name, properties):
        if (schema, name) not in self.relations:
            raise DbtRuntimeError(f"TABLE_OR_VIEW_NOT_FOUND {schema}.{name}")
        self.relations[schema, name].update(PROPERTY.findall(properties))

    def drop(self, schema, name):
        self.relations.pop((schema, name), None)
        self.texts.pop((schema, name), None)

    def describe_raw(self, relation):
        return [("id", "bigint")]

    def current_catalog(self):
        return [("spark_catalog",)]

    def refresh(self, relation):
        """Nothing is remembered of a raw table."""

    def set_to(self, name, value):
        self.settings[name] = value

    def reads_escapes(self):
        setting = "spark.sql.parser.escapedStringLiterals"
        return [(self.settings.get(setting) != "true",)]

    def ask_for(self, name):
        return [(name, self.settings.get(name, "<undefined>"))]

    def all_settings(self):
        return list(self.settings.items())

    def engine(self):
        return [self.spark]

    def day_of_clock(self):
        return [(self.day,)]

    def product_version(self):
        return self.version

    def alter_query(self, schema, name, query):
        if (schema, name) not in self.unmoved:
            self.texts[schema, name] = query

    def replace_view(self, schema, name, query):
        self.relations.setdefault((schema, name), {})
        self.alter_query(schema, name, query)

    def describe_function(self, name):
        if name not in self.functions:
            raise DbtRuntimeError(f"[UNRESOLVED_ROUTINE] Cannot resolve {name}")
        return [(self.functions[name],)]

    def describe_view(self, schema, name):
        if f"{schema}.{name}" in self.raw:
            return [("Provider", "parquet", "")]
        text = self.texts.get((schema, name))
        return [] if text is None else [("View Text", text, "")]

    def show_files(self, parts):
        relations = re.findall(r" from (\S+)", parts)
        files = [self.files.get(relation, (0, 0)) for relation in relations]
        return [(place, *file, 1, "") for place, file in enumerate(files)]

    def count_all(self, parts):
        return [(place, 1) for place in range(parts.count("select "))]

    def count(self, relation):
        return [(1,)]

    def show_snapshots(self, query):
        versions = re.findall(r"'(\S+)' as version", query)
        if not self.snapshots.keys() >= {*versions}:
            raise DbtRuntimeError("[TABLE_OR_VIEW_NOT_FOUND] a version")
        return [(version, self.snapshots[version]) for version in versions]

    def read_contents(self):
        return [(version, 1, content) for version, content in self.contents.items()]

    def describe_query(self):
        return self.columns

    def read_raw(self, relation):
        return [(self.raw[relation], self.raw[relation], None)]
