"""The project's variables: each is checked before a run starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt.flags import get_flags
from dbt_common.exceptions import CompilationError

from dbt_secure_spark.moments import DAY, is_past, moment
from secure_datasets.sql import spelling

logger = AdapterLogger("Spark")
NAME = re.compile(r"[A-Za-z0-9_]+")
# The suffix of the schemas of a past state, which no other schema may have.
OF_THE_PAST = re.compile(r"_as_of_[0-9]{8}_[0-9]{6}(_[0-9]{6})?$", re.I)
# The prefix of the schema of changes between two states, which no other may have.
OF_CHANGES_PREFIX = "access_changes_"
OF_CHANGES = re.compile(rf"^{OF_CHANGES_PREFIX}\w+_to_\w", re.I)
# Of characters. Hive's metastore keeps 128, and that of versions is the longer one.
LONGEST_SCHEMA = 128 - len("_versions")


# The similarity from which a name counts as a wrong spelling of a known name.
ALIKE = 0.85

# Of numbers: Spark's bigint.
LARGEST = 2**63


def is_number(value: Any) -> bool:
    """Return whether a value is a number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # An integer may be too large for what SQL or Python calculates with.
    return abs(value) < LARGEST


def is_schema(value: Any) -> bool:
    """Return whether a value can name a schema."""
    return isinstance(value, str) and bool(NAME.fullmatch(value))


def is_raw_schema(value: Any) -> bool:
    """Return whether a value can name a schema, with or without a catalog."""
    if not isinstance(value, str) or value.lower().startswith("spark_catalog."):
        # The session's own catalog has one spelling, by which relations are compared.
        return False
    return all(map(is_schema, value.split(".", 1)))


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number from 0 on, without a fraction."""
    return is_number(value) and isinstance(value, int) and value >= 0


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def is_roles(value: Any) -> bool:
    """Return whether a value is a list of roles: names, or groups as `{group: 17}`."""
    return isinstance(value, list) and all(
        isinstance(each, str)
        or (
            isinstance(each, dict)
            and list(each) == ["group"]
            and is_whole(each["group"])
        )
        for each in value
    )


def is_deciders(value: Any) -> bool:
    """Return whether a value names people: ids, login names or e-mail addresses."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            is_whole(each) or (isinstance(each, str) and bool(each.strip()))
            for each in value
        )
    )


def is_day(value: Any) -> bool:
    """Return whether a value is a day, or empty."""
    is_written = bool(DAY.fullmatch(str(value))) and moment(value) is not None
    return value == "" or is_written


EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "raw_schema": (is_raw_schema, "the name of a schema, such as replica or lake.raw"),
    "sample_schema": (is_schema, "the name of a schema"),
    "sample_day": (is_day, "a day, such as '2026-10-01', or empty"),
    "loads_sample": (lambda value: isinstance(value, bool), "true or false"),
    "limits_are_of_base": (lambda value: isinstance(value, bool), "true or false"),
    "stayed": (lambda value: value in ("warn", "error"), "warn or error"),
    "publish_after_tests": (lambda value: isinstance(value, bool), "true or false"),
    "summary": (lambda value: isinstance(value, bool), "true or false"),
    "run_lock_seconds": (
        lambda value: is_number(value) and 1 <= value <= 3600,
        "a number of seconds from 1 to 3600",
    ),
    "rejected_rows_error_threshold": (is_whole, "a whole number from 0 on"),
    "dangling_references_error_threshold": (is_whole, "a whole number from 0 on"),
    "dormant_days": (
        lambda value: is_whole(value) and 1 <= value <= 36500,
        "a whole number of days from 1 to 36500",
    ),
    "kept_days": (
        lambda value: is_whole(value) and value <= 366,
        "a whole number of days from 0 to 366",
    ),
    "global_admins_limit": (is_whole, "a whole number from 0 on"),
    "review_days": (
        lambda value: is_whole(value) and 1 <= value <= 36500,
        "a whole number of days from 1 to 36500",
    ),
    "removal_grace_days": (
        lambda value: is_whole(value) and value <= 36500,
        "a whole number of days from 0 to 36500",
    ),
    "removal_error_days": (
        lambda value: is_whole(value) and value <= 36500,
        "a whole number of days from 0 to 36500",
    ),
    "review_deciders": (
        lambda value: value in ("anybody", "in charge") or is_deciders(value),
        "anybody, in charge, or a list of ids, login names and e-mail addresses",
    ),
    "access_stale_error_hours": (
        lambda value: is_number(value) and value >= 0,
        "a number of hours from 0 on",
    ),
    "compute": (lambda value: isinstance(value, str), "a text"),
    "pipeline_role": (lambda value: isinstance(value, str), "a text"),
    "readers": (is_texts, "a list of texts"),
    "rows_that_masks_may_leave": (is_whole, "a whole number from 0 on"),
    "tags_without_masks": (is_texts, "a list of texts"),
    "roles_may_be_missing": (
        is_roles,
        "a list of roles: names, or groups by their ids such as {group: 17}",
    ),
    "before": (is_schema, "the name of a schema"),
    "after": (is_schema, "the name of a schema"),
    "as_of": (
        is_past,
        "a moment in UTC that is not in the future, such as '2026-03-01 00:00:00', or a"
        " day, which is its beginning",
    ),
}


def names_of_vars(adapter: SparkAdapter) -> list[str]:
    """Return the variables that `check_vars` knows."""
    return list(EXPECTED)


def check_vars(adapter: SparkAdapter, values: dict[str, Any]) -> None:
    """Raise if a variable has an invalid value."""
    for name, value in values.items():
        is_right, kind = EXPECTED[name]
        if not is_right(value):
            # As it was written: YAML has read a time.
            value = str(value) if isinstance(value, date) else value
            raise CompilationError(
                f"The variable {name} is {value!r}; it must be {kind}."
            )


def check_spelling_of_vars(adapter: SparkAdapter, package: str) -> None:
    """Raise if `--vars` has a name that is almost one of a package's.

    dbt takes any name, and would silently ignore a misspelled one. Variables in a
    dbt_project.yml belong to that project, except those under the package's name, which
    only the package reads.
    """
    given = adapter.config.cli_vars or {}
    projects = {
        name: project.vars.to_dict()
        for name, project in adapter.config.load_dependencies().items()
    }
    known = _names_in(projects[package]) | set(EXPECTED)
    for project, declared in projects.items():
        of_package = declared.get(package)
        of_package = of_package if isinstance(of_package, Mapping) else {}
        for name in sorted(of_package.keys() - known):
            if meant := spelling.meant(name, known, ALIKE):
                raise CompilationError(
                    f"The dbt_project.yml of {project} has {name!r} under vars of"
                    f" {package}, which has the variable {meant}: spell it so."
                )
    _warn_of_vars_that_are_not_read(adapter.config.project_name, package, projects)
    own = set().union(*map(_names_in, projects.values())) - projects.keys()
    for name in sorted(given.keys() - known - own):
        if name in projects and isinstance(given[name], Mapping):
            raise CompilationError(
                f"--vars has {name!r}, which is a project: its variables stand there by"
                " themselves, without the project's name."
            )
        if meant := spelling.meant(name, known, ALIKE):
            raise CompilationError(
                f"--vars has {name!r}, and {package} has the variable {meant}: spell it"
                " so; or, if it is one of your own, name it under vars in"
                " dbt_project.yml."
            )


def _warn_of_vars_that_are_not_read(
    root: str, package: str, projects: Mapping[str, Mapping[str, Any]]
) -> None:
    """Warn of a package's variables under the root project's own name in its vars.

    dbt gives these to the root project only, which may have variables of these names.
    """
    declared = projects[root]
    of_root, of_package = (
        names if isinstance(names, Mapping) else {}
        for names in (declared.get(root), declared.get(package))
    )
    if root == package:
        return
    known = _names_in(projects[package])
    for name in sorted(of_root.keys() & known - of_package.keys() - declared.keys()):
        logger.warning(
            f"The dbt_project.yml of {root} has {name!r} under vars of {root}, where"
            f" {package} reads nothing: if its variable is meant, put it under vars of"
            f" {package}."
        )


def _names_in(declared: Mapping[str, Any]) -> set[str]:
    """Return the names under `vars`, including those under a project's name."""
    found = set(declared)
    for value in declared.values():
        found |= set(value) if isinstance(value, Mapping) else set()
    return found


def read_as_of(value: Any) -> datetime:
    """Return the moment that `as_of` names; raise if it is invalid or in the future."""
    check_vars(None, {"as_of": value})
    read = moment(value)
    assert read is not None
    return read


def as_of_text(adapter: SparkAdapter, value: Any) -> str:
    """Return the moment that `as_of` names as the text of a timestamp, without zone."""
    return str(read_as_of(value))


def schema_name(
    adapter: SparkAdapter,
    name: Any,
    as_of: Any = None,
    before: Any = None,
    after: Any = None,
) -> str:
    """Return a schema's name as the metastore spells it; raise if it can't be one.

    With `as_of` it is the schema of the state at that moment, named after the moment;
    with `before` and `after` it is the one schema of changes between two states. No
    other schema may have such a name.
    """
    if not is_schema(name):
        raise CompilationError(
            f"A schema is to be named {name!r}, by sample_schema, by +schema in"
            " dbt_project.yml or by schema in profiles.yml; it must be the name of a"
            " schema: letters, digits and _."
        )
    if OF_THE_PAST.search(name):
        raise CompilationError(
            f"A schema is to be named {name!r}, as those of past states are: only"
            " --vars '{as_of: ...}' names a schema so."
        )
    if OF_CHANGES.search(name):
        raise CompilationError(
            f"A schema is to be named {name!r}, as those of comparisons are: only"
            " --vars '{before: ..., after: ...}' names a schema so."
        )
    if before is not None or after is not None:
        return _schema_of_changes(as_of, before, after)
    return name.lower() + ("" if as_of is None else _suffix(read_as_of(as_of)))


def _schema_of_changes(as_of: Any, before: Any, after: Any) -> str:
    """Return the schema of changes; raise unless two states are named."""
    if before is None or after is None:
        raise CompilationError(
            "The variables before and after name the schemas of two states to compare:"
            " give both."
        )
    if as_of is not None:
        raise CompilationError(
            "The variables before and after name two states that are built, and as_of"
            " one to build: leave it out."
        )
    check_vars(None, {"before": before, "after": after})
    if before.lower() == after.lower():
        raise CompilationError(
            f"The variables before and after both name {before.lower()!r}: a state is"
            " compared with another one."
        )
    name = f"{OF_CHANGES_PREFIX}{before}_to_{after}".lower()
    if len(name) > LONGEST_SCHEMA:
        raise CompilationError(
            f"What changes between {before!r} and {after!r} would be in a schema with a"
            f" name of {len(name)} characters, and a metastore takes {LONGEST_SCHEMA}:"
            " build the states in schemas with shorter names."
        )
    return name


def _suffix(of: datetime) -> str:
    """Return the suffix of the schemas of a past state."""
    digits = re.sub("[-:]", "", of.isoformat("_", "seconds"))
    return f"_as_of_{digits}" + (f"_{of.microsecond:06}" if of.microsecond else "")


def dbt_flag(_: SparkAdapter, name: str) -> Any:
    """Return one of dbt's flags, such as DEFER: `flags` in macros has only some."""
    return getattr(get_flags(), name, None)


def check_as_of(
    adapter: SparkAdapter,
    as_of: Any,
    command: str,
    defers: bool,
    schemas: Mapping[str, str],
    raw_seeds: list[str],
) -> None:
    """Raise if a command would mix a past state with the published state.

    as_of      the variable, which is set
    command    dbt's command
    defers     whether it replaces this schema by the schemas of a deferred state
    schemas    the schema of each relation of the project
    raw_seeds  the sample's raw tables that it would load
    """
    suffix = _suffix(read_as_of(as_of))
    others = sorted(n for n, schema in schemas.items() if not schema.endswith(suffix))
    if others:
        raise CompilationError(
            f"With as_of, {others[0]} would be built in the schema"
            f" {schemas[others[0]]!r}, which is not of that moment:"
            " generate_schema_name must return adapter.schema_name(<name>,"
            " var('as_of', none), var('before', none), var('after', none))."
        )
    if defers or command == "clone":
        raise CompilationError(
            "With as_of, nothing is read that was published without it: leave out"
            f" {'--defer' if defers else 'dbt clone'}."
        )
    if raw_seeds:
        raise CompilationError(
            "With as_of, the raw tables are read as they are and none is loaded: leave"
            f" out the seeds of the sample ({', '.join(raw_seeds[:3])}"
            f"{' and others' if len(raw_seeds) > 3 else ''}), as the selectors access"
            " and production do."
        )
