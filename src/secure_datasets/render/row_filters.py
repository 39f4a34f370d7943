"""The rules of a dataset as the row filter and the masks of an engine's own table.

The statements follow the engines' documentation. Databricks: "CREATE FUNCTION (SQL and
Python)", "ROW FILTER clause", "Column mask clause". Snowflake: "CREATE ROW ACCESS
POLICY", "CREATE MASKING POLICY", "Understanding row access policies". PostgreSQL:
"CREATE POLICY", "Row Security Policies". The tests run the PostgreSQL statements; the
Databricks and Snowflake statements were never run.

The reader is the user of the account that signed in. An account without a user has no
rows, and gets masks for values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from secure_datasets.config.problems import EngineProblem, check_engine
from secure_datasets.render.printing import Printed, quoted

UNITY_CATALOG = "unity_catalog"
SNOWFLAKE = "snowflake"
POSTGRES = "postgres"
# Each engine, and its dialect.
ENGINES = {
    UNITY_CATALOG: "databricks",
    SNOWFLAKE: "snowflake",
    POSTGRES: "postgres",
}
# Engines that distinguish restrictive from permissive policies.
WITH_RESTRICTIVE = {POSTGRES}
# The account that signed in. In a function that runs with its owner's rights,
# PostgreSQL's `current_user` is the owner.
ACCOUNTS = {
    UNITY_CATALOG: "current_user()",
    SNOWFLAKE: "current_user()",
    POSTGRES: "cast(session_user as text)",
}
# Without a prefix, a column of a relation that a rule reads would shadow the argument
# of the same name.
PREFIX = "this_row_"
# Spark's types that are one type in Snowflake.
KINDS = dict.fromkeys(("bigint", "int", "smallint", "tinyint", "decimal"), "number")
KINDS |= dict.fromkeys(("text", "string", "char"), "varchar")
# A tag that needs no quotes in an engine.
PLAIN = re.compile(r"[a-z][a-z0-9_]*")
# PostgreSQL: the function reads tables that readers may not read. The reader's search
# path, time zone and date style have no effect on it.
OF_THE_OWNER = (
    "language sql stable security definer set search_path = pg_catalog, pg_temp\n"
    "set timezone = 'UTC' set datestyle = 'ISO, YMD'"
)


@dataclass(frozen=True)
class Filtered:
    """A table and the rules for it.

    `place`: the schema of the functions and policies.
    `user`: the query for the reader's id.
    `restrictive`: the restrictive conditions, if the engine distinguishes them and the
    dataset has some; else they are in `predicate`.
    `types`: the documented types of the table's columns.
    `shown`: the dataset's columns.
    `names`: all known column names, of any relation.
    `tags`: for each column that its tag alone masks, the tag.
    """

    dataset: str
    table: str
    place: str
    user: str
    predicate: Printed
    restrictive: Printed | None
    masks: Mapping[str, Printed]
    types: Mapping[str, str | None]
    shown: tuple[str, ...]
    names: frozenset[str]
    tags: Mapping[str, str]

    def called(self, name: str) -> str:
        """Return a function's or policy's name, with its schema."""
        return _in_place(self.place, name)


def reader_function(place: str) -> str:
    """Return the call of the function that returns the reader's id."""
    return f"{_in_place(place, 'current_reader')}()"


def statements(engine: str, filtered: Filtered) -> list[str]:
    """Return the statements for an engine, in the order to run them.

    Raises EngineProblem for an unknown engine, a column whose name has the prefix of
    arguments, or rules that the engine can't hold.
    """
    check_engine(engine, ENGINES)
    for name in sorted(filtered.names):
        if name.lower().startswith(PREFIX):
            raise EngineProblem(
                f"a column is called '{name}', and arguments begin with '{PREFIX}':"
                " rename it"
            )
    makers = {
        UNITY_CATALOG: _unity_catalog,
        SNOWFLAKE: _snowflake,
        POSTGRES: _postgres,
    }
    return [
        *_not_run(engine),
        *makers[engine](filtered),
        *_not_hidden(filtered),
    ]


def _unity_catalog(filtered: Filtered) -> Iterator[str]:
    dialect = ENGINES[UNITY_CATALOG]
    reader = reader_function(filtered.place)
    yield _function(reader, "bigint", f"return {filtered.user}")
    name = filtered.called(f"filter_{filtered.dataset}")
    columns = filtered.predicate.columns
    call = f"{name}({_signature(filtered, columns, dialect)})"
    yield _function(call, "boolean", f"return\n{filtered.predicate.text}")
    yield (
        f"alter table {filtered.table} set row filter {name}"
        f" on ({_columns(columns, dialect)});"
    )
    yield from _unity_catalog_by_tags(filtered)
    for column, mask in _masks_by_name(filtered, dialect).items():
        name = filtered.called(f"mask_{filtered.dataset}_{column}")
        columns = _masked_first(column, mask)
        call = f"{name}({_signature(filtered, columns, dialect)})"
        shown = _type(filtered, column, dialect)
        yield _function(call, shown, f"return\n{mask.text}")
        others = _columns(columns[1:], dialect)
        using = f" using columns ({others})" if others else ""
        yield (
            f"alter table {filtered.table} alter column {quoted(column, dialect)}"
            f" set mask {name}{using};"
        )


def _unity_catalog_by_tags(filtered: Filtered) -> Iterator[str]:
    dialect = ENGINES[UNITY_CATALOG]
    for (tag, kind), columns in _by_tags(filtered, dialect).items():
        name, first = f"mask_{tag}_{kind}", columns[0]
        call = f"{filtered.called(name)}({_signature(filtered, [first], dialect)})"
        shown = _type(filtered, first, dialect)
        yield _function(call, shown, f"return\n{filtered.masks[first].text}")
        for column in columns:
            yield (
                f"alter table {filtered.table} alter column {quoted(column, dialect)}"
                f" set tags ('{tag}' = '{kind}');"
            )
        yield (
            f"create or replace policy {name} on table {filtered.table}\n"
            f"column mask {filtered.called(name)}\nto `account users`\nfor tables\n"
            f"match columns has_tag_value('{tag}', '{kind}') as tagged\n"
            "on column tagged;"
        )


def _snowflake(filtered: Filtered) -> Iterator[str]:
    dialect = ENGINES[SNOWFLAKE]
    # A policy needs an argument, even if its rule reads no column.
    columns = filtered.predicate.columns or filtered.shown[:1]
    _check_once(filtered, columns)
    yield (
        f"create or replace secure function {reader_function(filtered.place)}\n"
        f"returns bigint\nas\n$$\n{filtered.user}\n$$;"
    )
    name = filtered.called(f"filter_{filtered.dataset}")
    yield (
        f"create row access policy {name}\n"
        f"as ({_signature(filtered, columns, dialect)})\n"
        f"returns boolean ->\n{filtered.predicate.text};"
    )
    yield (
        f"alter table {filtered.table} add row access policy {name}"
        f" on ({_columns(columns, dialect)});"
    )
    yield from _snowflake_by_tags(filtered)
    for column, mask in _masks_by_name(filtered, dialect).items():
        name = filtered.called(f"mask_{filtered.dataset}_{column}")
        columns = _masked_first(column, mask)
        yield (
            f"create masking policy {name}\n"
            f"as ({_signature(filtered, columns, dialect)})\n"
            f"returns {_type(filtered, column, dialect)} ->\n{mask.text};"
        )
        using = f" using ({_columns(columns, dialect)})" if columns[1:] else ""
        yield (
            f"alter table {filtered.table} modify column {quoted(column, dialect)}"
            f" set masking policy {name}{using};"
        )


def _snowflake_by_tags(filtered: Filtered) -> Iterator[str]:
    dialect = ENGINES[SNOWFLAKE]
    for (tag, kind), columns in _by_tags(filtered, dialect).items():
        name, first = filtered.called(f"mask_{tag}_{kind}"), columns[0]
        yield (
            f"create masking policy if not exists {name}\n"
            f"as ({_signature(filtered, [first], dialect)})\n"
            f"returns {_type(filtered, first, dialect)} ->\n"
            f"{filtered.masks[first].text};"
        )
        yield f"create tag if not exists {filtered.called(tag)};"
        yield f"alter tag {filtered.called(tag)} set masking policy {name} force;"
        for column in columns:
            yield (
                f"alter table {filtered.table} modify column {quoted(column, dialect)}"
                f" set tag {filtered.called(tag)} = '{kind}';"
            )


def _by_tags(filtered: Filtered, dialect: str) -> dict[tuple[str, str], list[str]]:
    """Return the columns that a tag masks, by the tag and the kind of type.

    An engine's policy on a tag is for one type. A mask that reads further columns, or
    a column whose type differs from the first of its kind, gets a separate policy.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for column, tag in filtered.tags.items():
        if column not in filtered.masks or not PLAIN.fullmatch(tag):
            continue
        shown = _type(filtered, column, dialect)
        kind = "_".join(re.findall(r"[a-z]+", shown.lower().split("(")[0]))
        kind = KINDS.get(kind, kind) if dialect == ENGINES[SNOWFLAKE] else kind
        columns = found.setdefault((tag, kind), [])
        if not set(filtered.masks[column].columns) - {column} and (
            not columns or _type(filtered, columns[0], dialect) == shown
        ):
            columns.append(column)
    return {key: columns for key, columns in found.items() if columns}


def _masks_by_name(filtered: Filtered, dialect: str) -> dict[str, Printed]:
    """Return the masks that no policy on a tag applies."""
    by_tags = _by_tags(filtered, dialect)
    tagged = {column for columns in by_tags.values() for column in columns}
    return {
        column: mask for column, mask in filtered.masks.items() if column not in tagged
    }


def _check_once(filtered: Filtered, columns: Iterable[str]) -> None:
    """Raise EngineProblem for a column in two policies, which Snowflake refuses."""
    twice = set(columns) & set(filtered.masks)
    for column, mask in filtered.masks.items():
        twice |= set(mask.columns) & set(columns)
        twice |= set(mask.columns) & set(filtered.masks) - {column}
    if twice:
        raise EngineProblem(
            "snowflake takes a column in one policy only, be it a row access policy or"
            f" a masking policy, and more than one needs {_list(sorted(twice))}: make a"
            " secure view of what print_predicate prints"
        )


def _postgres(filtered: Filtered) -> Iterator[str]:
    dialect = ENGINES[POSTGRES]
    reader = reader_function(filtered.place)
    rules = {f"restrict_{filtered.dataset}": filtered.restrictive}
    rules[f"filter_{filtered.dataset}"] = filtered.predicate
    columns = [name for rule in rules.values() if rule for name in rule.columns]
    yield _function(reader, "bigint", f"{OF_THE_OWNER}\nreturn {filtered.user}")
    yield from _with_time_zones(filtered, dict.fromkeys(columns))
    # Without a policy nobody sees a row until the last statement creates the filter.
    yield f"alter table {filtered.table} enable row level security;"
    for policy in reversed(rules):
        yield f"drop policy if exists {policy} on {filtered.table};"
    for policy, rule in rules.items():
        if rule is None:
            continue
        name = filtered.called(policy)
        call = f"{name}({_signature(filtered, rule.columns, dialect)})"
        yield _function(call, "boolean", f"{OF_THE_OWNER}\nreturn\n{rule.text}")
        kind = " as restrictive" if rule is filtered.restrictive else ""
        yield (
            f"create policy {policy} on {filtered.table}{kind}\n"
            f"for select using ({name}({_columns(rule.columns, dialect)}));"
        )
    if filtered.masks:
        free = [name for name in filtered.shown if name not in filtered.masks]
        granted = _columns(free, dialect)
        yield (
            f"-- PostgreSQL has no masks. Let nobody read {_list(filtered.masks)}:"
            " grant the other columns alone.\n"
            f"-- grant select ({granted}) on {filtered.table} to <role>;"
        )


def _with_time_zones(filtered: Filtered, columns: Iterable[str]) -> Iterator[str]:
    """Yield a check that fails for a timestamp without a time zone.

    Such a timestamp would get the reader's time zone.
    """
    moments = [
        column
        for column in columns
        if _type(filtered, column, ENGINES[POSTGRES]) == "TIMESTAMPTZ"
    ]
    if moments:
        names = _list(f"'{column}'" for column in moments)
        yield (
            "do $$\nbegin\n    if exists (\n        select 1\n"
            "        from pg_catalog.pg_attribute\n"
            f"        where attrelid = '{filtered.table}'::pg_catalog.regclass\n"
            f"            and attname in ({names})\n"
            "            and atttypid <> 'pg_catalog.timestamptz'::pg_catalog.regtype\n"
            "    ) then\n        raise exception 'each of these columns must be a"
            f" timestamp with time zone: {_list(moments)}';\n    end if;\nend\n$$;"
        )


def _function(call: str, returns: str, body: str) -> str:
    return f"create or replace function {call}\nreturns {returns}\n{body};"


def _not_run(engine: str) -> Iterator[str]:
    """Yield a comment for an engine whose statements no test runs."""
    if engine != POSTGRES:
        yield f"-- Rendered by the documentation of {engine}, and never run there."


def _not_hidden(filtered: Filtered) -> Iterator[str]:
    """Yield a comment with the table's columns that the dataset does not show."""
    others = [name for name in filtered.types if name not in filtered.shown]
    if others:
        yield (
            f"-- The table also has {_list(others)}, which the dataset does not show"
            " and this does not hide."
        )


def _masked_first(column: str, mask: Printed) -> list[str]:
    """Return the arguments of a mask: its column, then its further columns."""
    return [column, *(other for other in mask.columns if other != column)]


def _signature(filtered: Filtered, columns: Iterable[str], dialect: str) -> str:
    return ", ".join(
        f"{PREFIX}{column} {_type(filtered, column, dialect)}" for column in columns
    )


def _type(filtered: Filtered, column: str, dialect: str) -> str:
    """Return the documented type of a column in a dialect.

    Raises EngineProblem if the documentation has no type.
    """
    from sqlglot import exp

    documented = filtered.types.get(column)
    if not documented:
        raise EngineProblem(
            f"the documentation of its base says no data_type of '{column}', which an"
            " argument needs"
        )
    return exp.DataType.build(documented, dialect="spark").sql(dialect=dialect)


def _in_place(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _columns(names: Iterable[str], dialect: str) -> str:
    return _list(quoted(name, dialect) for name in names)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
