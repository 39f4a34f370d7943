"""Checks of the two states that a comparison is given, before it reads their rows."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from dbt.adapters.spark import SparkAdapter

from dbt_secure_spark.hooks import load_readings
from dbt_secure_spark.lineage import relation_of_version
from dbt_secure_spark.lock import PREFIX
from dbt_secure_spark.settings import check_vars
from dbt_secure_spark.versions import (
    SUFFIX,
    Published,
    RawRead,
    definitions,
    rows_of,
    versions_read,
)
from secure_datasets.config.errors import SentenceError
from secure_datasets.config.plan import trimmed
from secure_datasets.config.steering import without_steering
from secure_datasets.questions.changes.macro_methods import (
    APPROVALS,
    LIMITS,
    AccessChanges,
    State,
)
from secure_datasets.questions.changes.report_queries import ReportFacts
from secure_datasets.sql import spelling

# The relations with the ways to access, with the resolved access, and with the roles.
PATHS, RESOLVED = "explained_access_paths", "int_access_paths"
ROLES = "vw_secure_user_roles"
NEEDED = ("state_definitions", PATHS, ROLES)
COLUMNS = {
    LIMITS: (
        *("limit_name", "tier", "object", "dataset", "role"),
        *("most_users_gain", "most_users_lose", "most_rows_gain", "most_rows_lose"),
    ),
    APPROVALS: ("limit_name", "changes", "approver", "reason", "expires_on"),
}
MOST = ("most_users_gain", "most_users_lose", "most_rows_gain", "most_rows_lose")
# A group by its id, in the config's form.
GROUP = re.compile(r"\A[{] *group *: *([0-9]+) *[}]\Z")
# Roles that are no group's name and no `{group: <id>}`.
GLOBAL_ROLES = {"Global Admin", "Global Data Source Admin"}
WHOLE = re.compile(r"[0-9]{1,18}")
# A column in the metastore's text of a relation, and the columns about access.
SHOWN_COLUMN = re.compile(r"^ \|-- ([^:\n]+): ", re.M)
OF_ACCESS = {"user_id", "access_type"}
# The pieces of a number in an object's name; a number with leading zeros is in none.
NUMBER = ("-?", "[0-9]*", "[0-9]")
PADDED = re.compile(r"=-?0[0-9]")
# Keys of a dataset's definition that earlier commits of the same version lack.
SAID = {"ways", "masked_by"}
# A limit's line in the seed, and its row.
Limit = tuple[int, Mapping[str, str]]


class ComparisonError(SentenceError):
    """The two states can't be compared like this."""


def stop(sentence: str) -> NoReturn:
    """Raise ComparisonError with a sentence, without terminal control characters."""
    raise ComparisonError(without_steering(sentence))


def check_comparison(
    adapter: SparkAdapter,
    before: Any,
    after: Any,
    schemas: Mapping[str, str],
    others: Iterable[str],
    seeds: Iterable[tuple[str, str]],
    limits_are_of_base: bool = False,
    unloaded: Iterable[str] = (),
) -> None:
    """Raise if a command with two states would do anything but compare them.

    schemas   the schema of each relation of the project
    others    the nodes that the command would build besides the comparison
    seeds     the names and files of the seeds that hold limits and approvals
    limits_are_of_base  whether the limits are the base's
    unloaded  the names of the seeds that a comparison does not load

    A limit of the base may name something that neither state has. The judged change is
    not at fault, so such a limit does not fail here; the report lists it.
    """
    schema = adapter.schema_name("any", None, before, after)
    wrong = sorted(name for name, where in schemas.items() if where != schema)
    if wrong:
        stop(
            f"With before and after, {wrong[0]} would be built in the schema"
            f" {schemas[wrong[0]]!r}, which is not that of the comparison:"
            " generate_schema_name must return adapter.schema_name(<name>,"
            " var('as_of', none), var('before', none), var('after', none))."
        )
    if found := sorted(others):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        stop(
            "With before and after, nothing is built but the comparison: add --select"
            f" tag:access_changes, which leaves out {found[0]}{more}."
        )
    for name in unloaded:
        stop(
            f"The seed {name} has no tag access_changes, so that a comparison would"
            " not load it: write +tags: access_changes for it under seeds of"
            " dbt_project.yml."
        )
    # A mistake in a seed fails before any query runs.
    limits = _limits_in(seeds)
    check_states(adapter, before, after)
    for sentence in _about_half(adapter, before, after, limits):
        stop(sentence)
    if not limits_are_of_base:
        for sentence in _about_nothing(adapter, before, after, limits):
            stop(sentence)


def check_states(adapter: SparkAdapter, before: Any, after: Any) -> None:
    """Raise unless both states are finished and comparable."""
    check_vars(adapter, {"before": before, "after": after})
    known = {str(row[0]).lower() for row in rows_of(adapter, "show schemas")}
    for name in (before.lower(), after.lower()):
        if name not in known:
            stop(f"There is no schema {name!r} to compare: before and after name two.")
        relations = definitions(adapter, name)
        missing = [each for each in NEEDED if each not in relations]
        if missing == list(NEEDED):
            stop(
                f"The schema {name!r} was not built by this project, or by a version of"
                " it that says nothing of itself: it has no state_definitions."
            )
        if missing:
            stop(
                f"The schema {name!r} has no {missing[0]}: build it with"
                " dbt build --selector access."
            )
        told = rows_of(
            adapter, f"select distinct product_version from {name}.state_definitions"
        )
        versions = sorted(str(row[0]) for row in told)
        if versions != [adapter.product_version()]:
            stop(
                f"The schema {name!r} was built by version {' and '.join(versions)} of"
                f" secure_datasets, and this is {adapter.product_version()}: build it"
                " again with this one."
            )
        # A killed run leaves its view, and relations that it had only half built.
        if definitions(adapter, f"{name}{SUFFIX}", f"{PREFIX}*"):
            stop(
                f"The schema {name!r} is being built, or the run that built it was"
                " killed: wait for its end, or build it again, and compare then."
            )
        query = f"select kind, definition from {name}.state_definitions"
        defined = [(k, json.loads(told)) for k, told in rows_of(adapter, query)]
        datasets = [told for kind, told in defined if kind == "dataset"]
        if not all(told.keys() >= SAID for told in datasets):
            stop(
                f"The schema {name!r} was built by an earlier commit of version"
                f" {adapter.product_version()} of secure_datasets, whose datasets say"
                " less of themselves: build it again with this one."
            )
        built = {
            kind: [
                relation
                for each, definition in defined
                if each == kind
                and (relation := definition["relation"].lower()) in relations
            ]
            for kind in ("tier", "dataset")
        }
        _refuse_views_of_before(name, relations, [*built["dataset"], PATHS])
        _refuse_other_columns(name, relations, datasets)
        several = _several_readings(adapter, relations, [*built["tier"], ROLES])
        if several:
            # A run of access alone would leave the secure datasets outdated.
            selector = "rights" if built["dataset"] else "access"
            stop(
                f"In the schema {name!r}, {several}, so that causes would be wrong: run"
                f" dbt run --selector {selector}, and compare then."
            )


def states_compared(
    adapter: SparkAdapter,
    before: Any,
    after: Any,
    rows: Callable[[str], list[dict[str, Any]]],
) -> list[State]:
    """Return the two states, before and after.

    A concurrent run may change a state, so every read checks them again.

    rows  returns the rows of a query
    """
    check_states(adapter, before, after)
    found = []
    for side, name in (("before", before), ("after", after)):
        schema = name.lower()
        query = f"select kind, name, definition from {schema}.state_definitions"
        known = definitions(adapter, schema)
        found.append(AccessChanges().state(side, schema, rows(query), known))
    return found


def report_facts(
    adapter: SparkAdapter,
    macros: Mapping[str, Callable[..., Any]],
    nodes: Mapping[str, Any],
    before: Any,
    after: Any,
) -> dict[str, Any]:
    """Return the facts of the report, with only as many rows as it shows.

    macros  the product's macros, by their names
    nodes   dbt's nodes, by id
    """
    changes, states = AccessChanges(), macros["states_compared"]()
    rows, ref = macros["rows_of"], macros["relation_named"]
    schemas = [before.lower(), after.lower()]
    limits = changes.limits(ref, states, schemas, macros["judged_on"]())
    seeds = changes.asked_of(nodes, [])["seeds"]
    found = ReportFacts(rows, ref, schemas).facts(macros["repository_tables"]())
    return found | {
        "are_rows_compared": all(map(changes.has_datasets, states)),
        "not_there": changes.datasets_not_there(states),
        "not_built": changes.not_built(states),
        "columns": changes.other_columns(states),
        "limits": rows(f"{limits}\norder by limit_name"),
        "limits_about_nothing": adapter.limits_about_nothing(before, after, seeds),
    }


def _refuse_views_of_before(
    name: str, relations: Mapping[str, str], views: Iterable[str]
) -> None:
    """Raise if a view reads an older version of a relation than the state's own.

    This happens after a run that skipped a secure dataset, or that skipped the paths
    but built their inputs. The comparison would mix values of two runs.

    relations  the metastore's text of each relation of a state, by name
    """
    behind: dict[str, str] = {}
    for view in views:
        for version in versions_read(relations[view]):
            schema, _, below = relation_of_version(version).rpartition(".")
            now = versions_read(relations.get(below)) if schema == name else []
            if now and version not in now:
                behind.setdefault(view, below)
    if behind:
        view, below = next(iter(behind.items()))
        stop(
            f"In the schema {name!r}, {view} shows {below} as it was before a later"
            " run, and would be compared as it is of neither: run dbt run --select"
            f" {' '.join(f'+{each}' for each in behind)}, and compare then."
        )


def _refuse_other_columns(
    name: str,
    relations: Mapping[str, str],
    datasets: Iterable[Mapping[str, Any]],
) -> None:
    """Raise if a secure dataset's columns differ from its definition in the state.

    This happens if only the dataset or only `state_definitions` ran since the config
    changed. The comparison would then compare a new column with nothing. A dataset that
    is not built has no columns and passes.
    """
    for definition in datasets:
        relation = definition["relation"].lower()
        shown = {c.lower() for c in SHOWN_COLUMN.findall(relations.get(relation, ""))}
        said = {column.lower() for column in definition["columns"]}
        if shown and (shown ^ said) - OF_ACCESS:
            stop(
                f"In the schema {name!r}, {relation} shows other columns than"
                " state_definitions says: run dbt run --select state_definitions"
                f" +{relation}, and compare then."
            )


def _several_readings(
    adapter: SparkAdapter, relations: Mapping[str, str], access: Iterable[str]
) -> str | None:
    """Describe two relations of access that read different rows of one raw table.

    This happens after a run of staging or of the paths alone. The causes would then
    belong to a later access than the compared one. Returns None if all agree.

    access  the relations of access, besides the paths and the staged tables
    """
    shown = {
        relation: versions_read(relations.get(relation))
        for relation in (RESOLVED, *access)
    }
    published = Published()
    load_readings(adapter, published, {v for of in shown.values() for v in of})
    found: dict[str, dict[RawRead, str]] = {}

    def add(relation: str, versions: Iterable[str]) -> None:
        for version in versions:
            for read in published.reads.get(version) or ():
                found.setdefault(read.table, {}).setdefault(read, relation)

    for relation, versions in shown.items():
        add(relation, versions)
    staged = {
        relation: versions_read(relations.get(relation))
        for table in found
        if (relation := f"stg_{table.rpartition('.')[-1]}") in relations
    }
    load_readings(adapter, published, {v for of in staged.values() for v in of})
    for relation, versions in staged.items():
        add(relation, versions)
    for table, reads in found.items():
        oldest, *newer = sorted(reads, key=lambda read: read.run)
        for read in newer:
            if read.run != oldest.run and not read.found_the_same(oldest):
                return (
                    f"{reads[oldest]} was not built again since {reads[read]} read"
                    f" other rows of {table.rpartition('.')[-1]}"
                )
    return None


def limits_about_nothing(
    adapter: SparkAdapter, before: str, after: str, seeds: Iterable[tuple[str, str]]
) -> list[str]:
    """Return a sentence for each limit on something that neither state knows.

    Nothing would ever exceed such a limit.
    """
    return list(_about_nothing(adapter, before, after, _limits_in(seeds)))


def _limits_in(seeds: Iterable[tuple[str, str]]) -> list[Limit]:
    return [limit for name, path in seeds for limit in check_seed(name, Path(path))]


def _about_nothing(
    adapter: SparkAdapter, before: str, after: str, limits: list[Limit]
) -> Iterator[str]:
    schemas = (before.lower(), after.lower())
    known: dict[str, set[str]] = {"tier": set(), "dataset": set(), "role": set()}
    keys: dict[str, list[list[str]]] = {}
    for schema in schemas if limits else ():
        query = f"select kind, name, definition from {schema}.state_definitions"
        for kind, name, definition in rows_of(adapter, query):
            known[kind].add(name)
            if kind == "tier":
                keys.setdefault(name, []).append(json.loads(definition)["keys"])
    if any(row["role"] for _, row in limits):
        known["role"] |= GLOBAL_ROLES
        for schema in schemas:
            query = (
                f"select user_group_id, name from {schema}.stg_user_groups"
                " where is_live"
            )
            for group, name in rows_of(adapter, query):
                known["role"] |= {name or "", f"{{group: {group}}}"}
    for number, row in limits:
        for column, names in known.items():
            text = row[column]
            if column == "role":
                is_known = not text or GROUP.sub(r"{group: \1}", text) in names
            else:
                is_known = bool(_named(text, names))
            if not is_known:
                yield (
                    f"The seed {LIMITS}, line {number}: neither state has a"
                    f" {column} {text!r}{spelling.hint(text, names)}, so that the limit"
                    " would be about nothing."
                )
        asked = [each for tier in _named(row["tier"], keys) for each in keys[tier]]
        if (
            asked
            and row["object"]
            and not any(_can_be(row["object"], each) for each in asked)
        ):
            form = ", ".join(f"{key}=1" for key in asked[0])
            yield (
                f"The seed {LIMITS}, line {number}: no object of the tier"
                f" {row['tier']!r} is called {row['object']!r}; one is {form!r}, so"
                " spelled and in this order, and a pattern has a part of it and *."
            )


def _about_half(
    adapter: SparkAdapter, before: str, after: str, limits: list[Limit]
) -> Iterator[str]:
    """Yield a sentence for each limit of a dataset that one state alone has built.

    Its rows are not compared, so that nothing would ever exceed it.
    """
    limits = [(number, row) for number, row in limits if row["dataset"]]
    if not limits:
        return
    changes, sides = AccessChanges(), []
    for schema in (before.lower(), after.lower()):
        query = f"select kind, name, definition from {schema}.state_definitions"
        columns = ("kind", "name", "definition")
        rows = [dict(zip(columns, r, strict=True)) for r in rows_of(adapter, query)]
        relations = definitions(adapter, schema)
        sides.append(changes.state("", schema, rows, relations))
    for name, schema in changes.not_built(sides).items():
        for number, row in limits:
            if _named(row["dataset"], [name.lower()]):
                yield (
                    f"The seed {LIMITS}, line {number}: it limits the dataset"
                    f" {name!r}, which {schema!r} has and has not built, so that its"
                    f" rows would not be compared: run dbt run --select"
                    f" +vw_secure_dataset_{name} there, and compare then."
                )


def _named(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that match a pattern; an empty pattern matches all."""
    pattern = re.escape(text.lower()).replace(r"\*", ".*") if text else ".*"
    return [name for name in names if re.fullmatch(pattern, name)]


def _can_be(text: str, keys: Iterable[str]) -> bool:
    """Return whether a pattern can match an object such as 'project_id=1'."""
    pieces: list[str] = []
    for key in keys:
        said = f"{', ' if pieces else ''}{key.lower()}="
        pieces += [*map(re.escape, said), *NUMBER]
    # The text that * replaces may begin and end anywhere, also within a number.
    places = range(len(pieces) + 1)
    starts = places if text.startswith("*") else places[:1]
    ends = places if text.endswith("*") else places[-1:]
    named = text.lower().replace("*", "")
    return not PADDED.search(named) and any(
        re.fullmatch("".join(pieces[start:end]), named)
        for start in starts
        for end in ends
    )


def check_seed(name: str, path: Path) -> list[Limit]:
    """Return the limits of a seed, each with its line; none for the approvals.

    Raises ComparisonError if a column is missing or a row is invalid.
    """
    limits = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [c for c in COLUMNS[name] if c not in (reader.fieldnames or ())]
        if missing:
            stop(
                f"The seed {name} has no column {missing[0]}; its columns are"
                f" {', '.join(COLUMNS[name])}."
            )
        for number, row in enumerate(reader, start=2):
            text = {column: trimmed(row[column] or "") for column in COLUMNS[name]}
            problem = _of_limit(text) if name == LIMITS else _of_approval(text)
            if problem:
                stop(f"The seed {name}, line {number}: {problem}.")
            if name == LIMITS:
                limits.append((number, text))
    return limits


def _of_limit(row: Mapping[str, str]) -> str | None:
    if not row["limit_name"]:
        return "limit_name is empty"
    if bool(row["tier"]) == bool(row["dataset"]):
        return "a limit is about a tier or about a dataset: give one of them"
    if row["object"] and not row["tier"]:
        return "an object is one of a tier: give the tier, and no dataset"
    if row["tier"] and (row["most_rows_gain"] or row["most_rows_lose"]):
        return "rows are those of a dataset: give the dataset, and no tier"
    if not any(row[column] for column in MOST):
        return f"it limits nothing: give one of {', '.join(MOST)}"
    for column in ("tier", "object", "dataset"):
        if "*" in row[column][1:-1]:
            return (
                f"{column} is {row[column]!r}; a pattern may begin or end with *, and"
                " has none within"
            )
    for column in MOST:
        if row[column] and not WHOLE.fullmatch(row[column]):
            return f"{column} is {row[column]!r}; it must be a whole number from 0 on"
    return None


def _of_approval(row: Mapping[str, str]) -> str | None:
    for column in ("limit_name", "changes", "approver", "reason"):
        if not row[column]:
            return f"{column} is empty"
    try:
        if date.fromisoformat(row["expires_on"]).isoformat() == row["expires_on"]:
            return None
    except ValueError:
        pass
    return (
        f"expires_on is {row['expires_on']!r}; it must be a day, such as '2027-12-31'"
    )
