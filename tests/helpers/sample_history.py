"""Who could see what of the sample on some days, as a person worked it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from functools import cache
from typing import Any

import yaml
from oracle.contract import AccessKey, World, read_world
from projects import ROOT

PATH = ROOT / "tests/helpers/sample_history.yml"
BY_DAY: dict[date, dict[str, Any]] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
# A day is its beginning.
MOMENTS = [datetime.combine(day, time.min) for day in BY_DAY]
# Of each, the tier and the columns that say who has access to what.
ACCESS_VIEWS = {
    "vw_secure_user_data_source_access": (
        *("'data_source'", "user_id", "meta_data_source_id"),
        "cast(null as bigint)",
    ),
    "vw_secure_user_project_access": (
        *("'project'", "user_id", "cast(null as bigint)", "project_id"),
    ),
    "vw_secure_user_results_access": (
        *("'results'", "user_id", "meta_data_source_id", "project_id"),
    ),
}


@cache
def sample() -> World:
    """Return the sample's raw rows."""
    return read_world(ROOT / "seeds/repository")


@cache
def ids(table: str, column: str) -> dict[str, int]:
    """Return the ids of a raw table by what they were ever called."""
    return {
        (row[column] or "").strip(): int(row["id"] or "")
        for row in sample()[table]
        if (row["id"] or "").isdigit()
    }


def logins(listed: Iterable[str | list[str]]) -> Iterator[str]:
    """Give the login names of a list, or of lists in it."""
    for each in listed:
        yield from [each] if isinstance(each, str) else each


def expected_access(moment: datetime) -> set[AccessKey]:
    """Return who could see what as of a day: tier, user, data source, project."""
    told = BY_DAY[moment.date()]
    users = ids("users", "login_name")
    sources = ids("meta_data_sources", "name")
    projects = ids("projects", "name")
    found: list[AccessKey] = []
    for name, listed in told["data sources"].items():
        for login in logins([*told["all data sources"], *listed]):
            found.append(("data_source", users[login], sources[name], None))
    for name, listed in told["projects"].items():
        for login in logins(listed):
            found.append(("project", users[login], None, projects[name]))
    for project, linked in told["results"].items():
        for name, listed in linked.items():
            for login in logins(listed):
                key = (users[login], sources[name], projects[project])
                found.append(("results", *key))
    assert len(found) == len({*found}), "somebody is named twice"
    return {*found}
