"""How each raw table is loaded: `vars: feeds:` of dbt_project.yml, read and checked.

A feed is one entry for a raw table. `default` holds for each table without an entry of
its own. A table without any feed is loaded by the contract: changed rows are appended,
and nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, ValidationError, WithJsonSchema

from secure_datasets.config.readings import (
    EPOCHS,
    FRACTIONS,
    LIMITS,
    LOADED,
    LOCAL_TIMES,
    NUMBERS,
    TEXTS,
    TIMES,
)
from secure_datasets.config.schema import Entry, Flag, Text, key, wrong
from secure_datasets.sql import expressions, inference, spelling
from secure_datasets.sql import function_calls as calls
from secure_datasets.sql.expressions import Expression, ExpressionProblem, Scope

DEFAULT = "default"
KINDS = ("appended", "log", "snapshots", "current", "periods")
TIMESTAMP, POSITION = "timestamp", "position"
PERIOD_KEYS = ("valid_from", "valid_to", "open_holds")
EXPRESSIONS = ("deleted_when", "before_when", "complete_when")
# For each known loader, the keys of its feeds.
PRESETS: dict[str, dict[str, Any]] = {
    "fivetran": {
        "kind": "current",
        "deleted_when": "_fivetran_deleted",
        "columns": {LOADED: "_fivetran_synced"},
    },
    "fivetran_history": {
        "kind": "periods",
        "valid_from": "_fivetran_start",
        "valid_to": "_fivetran_end",
        # It is false on each version with an end; without an end, the row is deleted.
        "deleted_when": "not coalesce(try_cast(_fivetran_active as boolean), false)"
        " and coalesce(try_cast(_fivetran_end as timestamp)"
        " >= timestamp '9999-01-01 00:00:00', true)",
        # It follows from the end of the period.
        "ignores": ["_fivetran_deleted"],
    },
    "airbyte": {
        "kind": "log",
        "deleted_when": "_ab_cdc_deleted_at is not null",
        "moment": "_ab_cdc_updated_at",
    },
    "debezium": {
        "kind": "log",
        "deleted_when": "__deleted",
        "moment": "__source_ts_ms",
        "moment_in": "epoch_millis",
        # It has the same meaning as __deleted.
        "ignores": ["__op"],
    },
    "dms": {
        "kind": "log",
        # A full load may write no operation.
        "deleted_when": "coalesce(trim(`Op`), 'I') not in ('I', 'U')",
    },
    "dbt_snapshot": {
        "kind": "periods",
        "valid_from": "dbt_valid_from",
        "valid_to": "dbt_valid_to",
        # dbt_valid_from is the row's own `updated_at`, a deletion's end dbt's clock.
        "open_holds": True,
    },
    "snowflake_stream": {
        "kind": "log",
        "deleted_when": "`METADATA$ACTION` = 'DELETE'",
        # An update, or a row that is deleted and inserted again between two reads.
        "before_when": "`METADATA$ACTION` = 'DELETE'",
    },
}


class FeedProblem(Exception):
    """A mistake in the feeds, as a sentence without its full stop."""


def _column(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong("'{key}' must be the name of a column")
    if not value.isprintable():
        raise wrong(f"'{{key}}' has {value!r}, which is no name of a column")
    return value


def _moment(value: Any) -> list[str]:
    columns = value if isinstance(value, list) else [value]
    if not columns:
        raise wrong("'{key}' must be a column, or the list [commit_time, position]")
    return [_column(each) for each in columns]


def _columns(value: Any) -> dict[str, str | None]:
    if not isinstance(value, dict):
        raise wrong("'{key}' must map columns to what they are called in the raw table")
    for name, called in value.items():
        if not isinstance(name, str) or not (called is None or _column(called)):
            raise wrong(f"'{{key}}' has '{name}', which is no name of a column")
    return value


def _column_list(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise wrong("'{key}' must be a list of columns")
    return [_column(each) for each in value]


def _flags(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise wrong("'{key}' must be a list of texts, and not empty")
    for each in value:
        if not isinstance(each, str) or not each.strip():
            raise wrong(f"'{{key}}' has '{each}', which is no text: quote it")
    return [each.strip() for each in value]


def _choice(*known: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if value not in known:
            raise wrong(f"'{{key}}' is '{value}'{spelling.listed(value, known)}")
        return value

    return BeforeValidator(check)


Column = Annotated[str, BeforeValidator(_column)]
Columns = Annotated[list[str], BeforeValidator(_column_list)]
Flags = Annotated[list[str], BeforeValidator(_flags)]


class Reads(Entry):
    """What is read beside what the contract reads."""

    timestamps: Annotated[str | None, _choice("iso", *EPOCHS)] = key(
        "How timestamps are written: `iso`, with a `Z` or an offset, or as a number,"
        " `epoch_seconds`, `epoch_millis` or `epoch_micros`.",
        None,
    )
    true_texts: Flags = key("Texts that mean true.", (), alias="true")
    false_texts: Flags = key("Texts that mean false.", (), alias="false")


class Feed(Entry):
    """How one raw table is loaded."""

    kind: Annotated[str, _choice(*KINDS)] = key("What the table holds.", "appended")
    loader: Annotated[str | None, _choice(*PRESETS)] = key(
        "The loader, by which the other keys are known.", None
    )
    deleted_when: Text = key(
        "An SQL expression over the raw columns: true where a delivery says that its"
        " row is deleted. Null counts as true. The name of one column is read as a"
        " flag.",
        None,
    )
    before_when: Text = key(
        "An SQL expression over the raw columns: true on what a log writes of a row as"
        " it was before an update. It deletes the row if the update changed the id:"
        " then its moment has fewer other rows of the id.",
        None,
    )
    moment: Annotated[
        list[str],
        BeforeValidator(_moment),
        WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
    ] = key(
        "The column that says when a delivery became true: the commit time, the"
        " position in the log, or the load. `[commit_time, position]` names both.",
        (),
    )
    moment_in: Annotated[str, _choice(TIMESTAMP, *EPOCHS, POSITION)] = key(
        "How `moment` is written: as a timestamp, as a number of one of the epochs, or"
        " as a position, which is a whole number and no time.",
        TIMESTAMP,
    )
    complete_when: Text = key(
        "An SQL expression over the raw columns: true on a row of a load that is"
        " finished.",
        None,
    )
    valid_from: Column = key("Where a period begins.", None)
    valid_to: Column = key(
        "Where a period ends; null, or the year 9999 or later, while it has no end.",
        None,
    )
    open_holds: Flag = key(
        "Whether a period without an end holds now even if it began before the last"
        " end of its id, as dbt snapshots write a row that came back.",
        False,
    )
    columns: Annotated[dict[str, str | None], BeforeValidator(_columns)] = key(
        "What columns are called in the raw table; null where it has none.", {}
    )
    reads: Reads = key("What is read beside what the contract reads.", Reads())
    ignores: Columns = key("Columns of a loader that mean nothing here.", ())


@dataclass(frozen=True)
class LoaderColumn:
    """A known loader's column that marks a row as deleted."""

    column: str
    loader: str
    says: str
    declare: Mapping[str, Any]
    source: str


@cache
def loader_columns() -> tuple[LoaderColumn, ...]:
    """Return the columns of known loaders."""
    text = Path(__file__).with_name("loaders.yml").read_text(encoding="utf-8")
    return tuple(LoaderColumn(**entry) for entry in yaml.safe_load(text))


@cache
def limit_columns() -> dict[str, str]:
    """Return the names of columns that limit rights, each with its limit."""
    text = Path(__file__).with_name("limits.yml").read_text(encoding="utf-8")
    known = yaml.safe_load(text)
    return {column: limit for limit in LIMITS for column in known[limit]}


def limit_of(column: str) -> str | None:
    """Return the limit of a right that a column's name means, in any spelling."""
    return _folded_limits().get(_folded(column))


@cache
def _folded_limits() -> dict[str, str]:
    return {_folded(column): limit for column, limit in limit_columns().items()}


def _folded(column: str) -> str:
    return column.lower().replace("_", "")


def limits_of(value: Any, name: str) -> list[str]:
    """Return the time limits that the feed of a table with rights declares.

    value  the unchecked value of `vars: feeds:`
    """
    feeds = value if isinstance(value, Mapping) else {}
    own, default = feeds.get(name), feeds.get(DEFAULT)
    if not isinstance(own, Mapping):
        own = {}
    laid = [own] if {"loader", "kind"} & own.keys() else [default, own]
    columns: dict[Any, Any] = {}
    for entry in laid:
        said = entry.get("columns") if isinstance(entry, Mapping) else None
        columns |= said if isinstance(said, Mapping) else {}
    return [limit for limit in LIMITS if columns.get(limit) is not None]


def read_feeds(value: Any, tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the feed of each raw table that has one, in the form for macros.

    value   the value of `vars: feeds:`
    tables  the raw tables, with their columns

    Raises FeedProblem.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FeedProblem("feeds must map raw tables to what is said of their feeds")
    for name in value:
        if name != DEFAULT and name not in tables:
            raise FeedProblem(
                f"feeds: there is no raw table '{name}'{spelling.listed(name, tables)}"
            )
    default = value.get(DEFAULT)
    entries = {name: value[name] for name in value if name != DEFAULT}
    if default is not None:
        _check_columns(DEFAULT, _checked(DEFAULT, default), tables.values())
        entries = {
            name: _laid_on(default, entries.get(name, {}), table["columns"])
            for name, table in tables.items()
        }
    return {
        name: _as_macros_have_it(name, _checked(name, entry), tables[name])
        for name, entry in entries.items()
    }


def mistakes(value: Any, tables: Mapping[str, Any]) -> list[str]:
    """Return the mistakes in the feeds: the first one of each table's feed."""
    parts: list[Any] = [value]
    if isinstance(value, Mapping):
        default = {DEFAULT: value[DEFAULT]} if DEFAULT in value else {}
        parts = [default, *({**default, name: value[name]} for name in value)]
    found = []
    for part in parts:
        try:
            read_feeds(part or None, tables)
        except FeedProblem as problem:
            found.append(str(problem))
    return list(dict.fromkeys(found))


def _laid_on(default: Mapping[str, Any], own: Any, columns: Iterable[str]) -> Any:
    """Return a table's own entry, completed from the default.

    An entry with its own `loader` or `kind` takes nothing from the default.
    """
    if not isinstance(own, Mapping) or {"loader", "kind"} & own.keys():
        return own
    default = dict(default)
    if "columns" in default:
        known = {*columns}
        default["columns"] = {k: v for k, v in default["columns"].items() if k in known}
    laid = {**default, **own}
    for name in ("columns", "reads"):
        both = (default.get(name), own.get(name))
        if all(isinstance(each, Mapping) for each in both):
            laid[name] = {**both[0], **both[1]}
    return laid


def _checked(name: str, entry: Any) -> Feed:
    """Return a feed; raise FeedProblem for a mistake."""
    if not isinstance(entry, Mapping):
        raise FeedProblem(f"feeds: {name}: must be a mapping of keys to values")
    entry = dict(entry)
    if isinstance(entry.get("reads"), Mapping):
        # YAML reads the keys `true` and `false` as booleans.
        names = {True: "true", False: "false"}
        entry["reads"] = {
            names[k] if isinstance(k, bool) else k: v for k, v in entry["reads"].items()
        }
    preset = PRESETS.get(str(entry.get("loader")), {})
    if "kind" in entry and preset:
        raise FeedProblem(
            f"feeds: {name}: 'loader' is '{entry['loader']}', which says the kind:"
            " leave out 'kind'"
        )
    entry = {**preset, **entry}
    for both in ("columns", "ignores"):
        if preset.get(both) and entry[both] is not preset[both]:
            given = entry[both]
            if isinstance(given, Mapping):
                entry[both] = {**preset[both], **given}
            elif isinstance(given, list):
                entry[both] = [*preset[both], *given]
    try:
        feed = Feed.model_validate(entry)
    except ValidationError as error:
        raise FeedProblem(f"feeds: {name}: {_said(error)}") from error
    if name != DEFAULT:
        _check_kind(name, feed)
    return feed


def _said(error: ValidationError) -> str:
    """Return the first mistake from the schema."""
    found = error.errors()[0]
    path = [str(step) for step in found["loc"]]
    called = ".".join(path)
    if found["type"] == "extra_forbidden":
        model = Reads if path[0] == "reads" and len(path) > 1 else Feed
        known = [f.alias or name for name, f in model.model_fields.items()]
        return f"unknown key '{called}'{spelling.listed(path[-1], known)}"
    if found["type"] == "model_type":
        return f"'{called}' must be a mapping of keys to values"
    problem = found.get("ctx", {}).get("problem") or "'{key}' " + found["msg"]
    return problem.replace("{key}", called)


def _check_kind(name: str, feed: Feed) -> None:
    """Raise FeedProblem for a key that the feed's kind needs, or must not have."""

    def needs(keys: Iterable[str], why: str) -> None:
        for each in keys:
            if not getattr(feed, each):
                raise FeedProblem(f"feeds: {name}: the key '{each}' is missing: {why}")

    def has_no(keys: Iterable[str], why: str) -> None:
        for each in keys:
            if getattr(feed, each):
                raise FeedProblem(f"feeds: {name}: '{each}' is not for {why}")

    called = f"the loader '{feed.loader}'" if feed.loader else f"the kind '{feed.kind}'"
    if feed.kind == "log":
        needs(["moment"], f"{called} is a log, which is ordered by it")
        needs(["deleted_when"], "a log says what is deleted")
    else:
        has_no(["before_when"], f"{called}: only a log writes rows as they were before")
    if feed.kind == "snapshots":
        needs(["moment"], "it tells the loads of whole tables apart")
    else:
        has_no(["complete_when"], f"{called}: only the loads of snapshots are complete")
    if feed.kind == "periods":
        needs(["valid_from", "valid_to"], f"{called} has periods")
        has_no(["moment"], f"{called}: a period begins at 'valid_from'")
    else:
        has_no(PERIOD_KEYS, f"{called}, which has no periods")
    if feed.kind == "current":
        has_no(["moment"], f"{called}: it holds one moment, the present one")
    _check_moment(name, feed)
    means_true, means_false = (
        {text.lower() for text in [*texts, *always]}
        for texts, always in (
            (feed.reads.true_texts, ("true", "1")),
            (feed.reads.false_texts, ("false", "0")),
        )
    )
    for text in sorted(means_true & means_false):
        raise FeedProblem(f"feeds: {name}: 'reads' takes '{text}' for true and false")


def _check_moment(name: str, feed: Feed) -> None:
    """Raise FeedProblem if `moment_in` does not fit the feed."""
    is_period = feed.kind == "periods"
    said = None
    if is_period and feed.moment_in == POSITION:
        said = "is 'position', and a period begins and ends at times"
    elif feed.moment_in != TIMESTAMP and not (feed.moment or is_period):
        said = "has no 'moment' to be written so"
    elif feed.moment_in == POSITION and len(feed.moment) > 1:
        said = (
            "is 'position', and 'moment' names a commit time before its position: name"
            " the position alone"
        )
    if said:
        raise FeedProblem(f"feeds: {name}: 'moment_in' {said}")


def _check_columns(name: str, feed: Feed, tables: Iterable[Mapping[str, Any]]) -> None:
    """Raise FeedProblem for a column in `columns` that no table has."""
    known = list(
        dict.fromkeys(column for table in tables for column in table["columns"])
    )
    for column, called in feed.columns.items():
        # A null limit overrides the default: the table has no such limit.
        if column not in known and not (column in LIMITS and called is None):
            who = "no raw table has" if name == DEFAULT else f"{name} has not"
            raise FeedProblem(
                f"feeds: {name}: 'columns' has '{column}', which {who}"
                f"{spelling.listed(column, known)}"
            )


def _expression(name: str, called: str, text: str | None) -> Expression | None:
    """Read an expression over the raw columns; raise FeedProblem for a mistake."""
    from sqlglot import exp

    if text is None:
        return None
    try:
        found = expressions.read(text)
        if found.tree.find(exp.Query):
            raise ExpressionProblem(
                "'{key}' reads another table: it may name the raw table's columns only"
            )
        expressions.check(
            found,
            Scope("", frozenset(each.lower() for each in _names(found))),
            is_condition=True,
        )
        calls.check(found, is_condition=True)
        calls.check_types(found, None, {}, asks=True)
    except ExpressionProblem as problem:
        said = str(problem).replace("{key}", called)
        raise FeedProblem(f"feeds: {name}: {said}") from problem
    return found


def _names(found: Expression | None) -> set[str]:
    """Return the names of the columns in an expression."""
    from sqlglot import exp

    columns = found.tree.find_all(exp.Column) if found else ()
    return {column.parts[0].name for column in columns}


def _flag_of(found: Expression | None) -> tuple[str | None, bool]:
    """Return the column if it is the whole expression, and whether it is negated."""
    from sqlglot import exp

    tree = found.tree.unnest() if found else None
    is_negated = isinstance(tree, exp.Not)
    if is_negated:
        tree = tree.this.unnest()
    is_plain = isinstance(tree, exp.Column) and len(tree.parts) == 1
    return (tree.name if is_plain else None), is_negated


def _as_macros_have_it(name: str, feed: Feed, table: Mapping[str, Any]) -> dict:
    """Return a feed in the form for macros; raise FeedProblem for a missing column."""
    columns = table["columns"]
    _check_columns(name, feed, [table])
    for column in ("id", "is_active", *(table["required"] or ())):
        if feed.columns.get(column, column) is None:
            raise FeedProblem(
                f"feeds: {name}: 'columns' has no column for '{column}', without which"
                " no row counts"
            )
    read = {each: _expression(name, each, getattr(feed, each)) for each in EXPRESSIONS}
    has_clock = feed.kind == "periods" or (
        bool(feed.moment) and feed.moment_in != POSITION
    )
    moment = list(feed.moment)
    clock = (
        feed.valid_from if feed.kind == "periods" else moment[0] if has_clock else None
    )
    positions = moment[1:] if has_clock else moment
    flag, is_negated = _flag_of(read["deleted_when"])
    sources = {column: feed.columns.get(column, column) for column in columns}
    if has_clock:
        sources[LOADED] = clock
    named = {*filter(None, sources.values()), *positions, *feed.ignores}
    named |= {feed.valid_to} if feed.valid_to else set()
    for each in read.values():
        named |= _names(each)
    return {
        "table": name,
        "kind": feed.kind,
        "loader": feed.loader,
        "deleted_when": read["deleted_when"] and read["deleted_when"].text,
        "deleted_flag": flag,
        "deleted_flag_is_negated": is_negated,
        "before_when": read["before_when"] and read["before_when"].text,
        "complete_when": read["complete_when"] and read["complete_when"].text,
        "has_clock": has_clock,
        "has_moment": bool(moment) or has_clock,
        "moment_in": feed.moment_in,
        "positions": positions,
        "valid_to": feed.valid_to,
        "open_holds": feed.open_holds,
        "deletes": bool(feed.deleted_when) or feed.kind in ("snapshots", "periods"),
        # Without any time, what was there before can't be told from what came since.
        "has_history": feed.kind != "current" and sources[LOADED] is not None,
        # Kept by the format of a table without history; empty unless its past is read.
        "snapshots": None,
        "sources": sources,
        "reads": {
            "timestamps": feed.reads.timestamps,
            "true": list(feed.reads.true_texts),
            "false": list(feed.reads.false_texts),
        },
        "names": sorted({each.lower() for each in named}),
        "ignores": sorted({each.lower() for each in feed.ignores}),
    }


def problems_of(
    name: str,
    feed: Mapping[str, Any] | None,
    columns: Mapping[str, str],
    table: Mapping[str, Any],
) -> Iterator[str]:
    """Yield the contradictions between a raw table and its feed, as sentences.

    columns  the raw table's columns with their types, from the metastore
    table    the table's entry in the contract
    """
    there = {column.lower(): kind for column, kind in columns.items()}
    sources = (
        feed["sources"] if feed else {column: column for column in table["columns"]}
    )
    for column, called in sources.items():
        if called is not None and called.lower() not in there:
            as_named = f" as its {column}" if called != column else ""
            yield (
                f"{name} has no column '{called}', which is read{as_named}: write"
                f" `feeds: {{{name}: {{columns: {{{column}: <what it is called>}}}}}}`,"
                " or null where there is none; `default` for the table's name means all"
                " tables"
            )
        elif called is not None and (
            said := _wrong_type(
                *(name, column, called, there[called.lower()], feed),
                table["columns"][column],
            )
        ):
            yield said
    if feed:
        yield from _unreadable_marks(name, feed, there)
    mentioned = set(feed["names"]) if feed else set()
    for column in sorted(
        mentioned - there.keys() - set(feed["ignores"] if feed else ())
    ):
        if column not in {str(each).lower() for each in sources.values()}:
            by = [each for each in loader_columns() if each.column.lower() == column]
            yield f"{name} has no column '{column}', which its feed names" + (
                f": {by[0].loader} writes it; a table that is loaded in another way"
                " says so by its `kind`, see Loaders in the package's docs/feeds.md"
                if by
                else ""
            )
    own = {str(called).lower() for called in sources.values()}
    for known in loader_columns():
        column = known.column.lower()
        if column in there and column not in mentioned and column not in own:
            yield overlooked(name, known, table["gives_rights"])
    if table["gives_rights"]:
        marks = {known.column.lower() for known in loader_columns()}
        for column in columns:
            if limit_of(column) and column.lower() not in mentioned | own | marks:
                yield overlooked_limit(name, column)


def problems_of_replica(
    found: Mapping[str, Mapping[str, str] | None],
    schema: str,
    feeds: Mapping[str, Mapping[str, Any]],
    tables: Mapping[str, Any],
) -> list[str]:
    """Return the problems of the raw tables in a schema, as sentences.

    found  for each table its columns with their types; None if it does not exist
    """
    problems: list[str] = []
    if missing := [name for name, columns in found.items() if columns is None]:
        names = ", ".join(missing)
        elsewhere = "if they are elsewhere, write `vars: {raw_schema: <where>}`; "
        problems.append(
            f"{schema} has no table{'s' * (len(missing) > 1)} {names}:"
            f" {elsewhere if len(missing) == len(found) else ''}if the application has"
            f" none, write `vars: {{absent_tables: [{names}]}}`"
        )
    for name, columns in found.items():
        if columns is not None:
            problems += problems_of(name, feeds.get(name), columns, tables[name])
    return problems


def told(problems: list[str], schema: str) -> str:
    """Return one sentence with all problems of a replica."""
    several = "" if len(problems) == 1 else f" {len(problems)} things are wrong."
    lines = "".join(f"\n  - {problem}" for problem in problems)
    return f"The raw tables in {schema} can't be read as declared.{several}{lines}"


def overlooked(name: str, known: LoaderColumn, gives_rights: bool = False) -> str:
    """Return a sentence with the declaration for a loader's column that no feed reads.

    gives_rights  whether the table gives rights, which the column may also limit
    """
    declared = yaml.safe_dump(dict(known.declare), default_flow_style=True, width=1000)
    return (
        f"{name} has the column {known.column} of {known.loader}, which says"
        f" {known.says}, and no feed reads it. Write in dbt_project.yml\n"
        f"    vars:\n      feeds:\n        {name}: {declared.strip()}\n"
        + (
            f"    or, if a right ends by it, {{columns: {{{limit}: {known.column}}}}}\n"
            if (limit := limit_of(known.column)) and gives_rights
            else ""
        )
        + f"    or, if it means nothing here, {{ignores: [{known.column}]}}"
    )


def overlooked_limit(name: str, column: str) -> str:
    """Return a sentence with the declaration for an unread limit of rights."""
    limit = limit_of(column)
    says = "from" if limit == "valid_from" else "until"
    return (
        f"{name} has the column {column}, which says {says} when a right holds, and no"
        " feed reads it: the right would be in force outside its time. Write in"
        f" dbt_project.yml\n    vars:\n      feeds:\n        {name}:"
        f" {{columns: {{{limit}: {column}}}}}\n"
        f"    or, if it means nothing here, {{ignores: [{column}]}}"
    )


# For each type of the contract, the raw types that it can be read from.
READABLE = {
    # What a feed alone names.
    "position": (*TEXTS, *NUMBERS, "double"),
    "flag": (*TEXTS, *NUMBERS, *FRACTIONS, "boolean"),
    "bigint": (*TEXTS, *NUMBERS, *FRACTIONS),
    "boolean": (*TEXTS, *NUMBERS, "boolean"),
    "timestamp": (*TEXTS, *TIMES),
    "decimal": (*TEXTS, *NUMBERS, *FRACTIONS),
    "string": (*TEXTS, *NUMBERS, *FRACTIONS, *TIMES, "boolean"),
}


def _wrong_type(
    name: str,
    column: str,
    called: str,
    kind: str,
    feed: Mapping[str, Any] | None,
    wanted: str,
) -> str | None:
    """Return a sentence about a raw column's type if it is unreadable; else none."""
    plain = kind.lower().partition("(")[0].partition("<")[0]
    wanted = wanted.partition("(")[0]
    is_moment = bool(feed) and feed["has_clock"] and column in (LOADED, "valid_to")
    written = None
    if feed and wanted == "timestamp":
        written = feed["moment_in"] if is_moment else feed["reads"]["timestamps"]
    # A float holds no whole number beyond 16,777,216 exactly.
    readable = READABLE[wanted]
    if written in EPOCHS:
        readable += (*NUMBERS, "double")
        if is_moment:
            readable = tuple(each for each in readable if each not in LOCAL_TIMES)
    if plain in readable:
        return None
    said = (
        f"the column '{called}' of {name} is of the type {kind},"
        f" of which no {wanted} is read"
    )
    if plain in LOCAL_TIMES and wanted == "timestamp":
        said += f" by {written}: write `feeds: {{{name}: {{moment_in: timestamp}}}}`"
    elif wanted == "timestamp" and plain in NUMBERS:
        key = (
            "moment_in: epoch_millis"
            if is_moment
            else "reads: {timestamps: epoch_millis}"
        )
        said += f": write `feeds: {{{name}: {{{key}}}}}`, or another epoch"
    elif wanted == "position":
        said += ": name a column of whole numbers"
    elif wanted == "flag":
        said += (
            f": write what is true of a deleted row, such as `deleted_when: {called} is"
            " not null`"
        )
    return said


def _unreadable_marks(
    name: str, feed: Mapping[str, Any], there: Mapping[str, str]
) -> Iterator[str]:
    """Yield what no type is read from, of what a feed alone names.

    there  the raw table's columns, in lower case, with their types
    """
    wanted = [(each, "position") for each in feed["positions"]]
    wanted += [(each, "timestamp") for each in (feed["valid_to"],) if each]
    flag = feed["deleted_flag"]
    wanted += [(each, "flag") for each in (flag,) if each]
    for called, kind in wanted:
        column = "valid_to" if kind == "timestamp" else called
        found = there.get(called.lower())
        if found and (said := _wrong_type(name, column, called, found, feed, kind)):
            yield said
    for asked in EXPRESSIONS:
        if feed[asked] and not (flag and asked == "deleted_when"):
            problem = _wrong_expression(asked, feed[asked], there)
            if problem:
                yield f"{name}: {problem}"


def _wrong_expression(called: str, text: str, there: Mapping[str, str]) -> str | None:
    """Return a sentence about an expression that is not true or false; else none."""
    found = expressions.read(text)
    if not {each.lower() for each in _names(found)} <= there.keys():
        return None
    try:
        tree = calls.check_types(found, None, there, asks=True)
        inference.check_known_booleans(tree)
    except ExpressionProblem as problem:
        return str(problem).replace("{key}", called)
    return None


__all__ = ["Feed", "FeedProblem", "loader_columns", "problems_of", "read_feeds"]
