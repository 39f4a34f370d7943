"""Packs of a review to try: one of evil names, and that of the sample."""

from __future__ import annotations

import csv
import json
from copy import copy
from datetime import date
from functools import cache
from pathlib import Path

import yaml
from oracle.contract import read_world
from own_config import together
from projects import ROOT, SAMPLE
from review_sandbox import SEEDS, Reviewed

from secure_datasets.review import pack

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }}{% raw %}",
    "'><a href=javascript:alert(1)>",
    "=HYPERLINK(\"http://evil.example\")",
    "+1", "-1+1", "@SUM(1)", " \t=1", "\uff1d1",
    "\u202egnp.exe", "\u2066a\u2069", "a\u200bb", "two\nlines", "\u0000nul",
)  # fmt: skip


def a_way(way: str, since: str | None = None, **values: str) -> dict:
    """Return a way as the queries tell it."""
    row = {"way": way, "since": since, "granted_by": None, "member_by": None}
    return row | {"by_row": None} | values


def an_access(**values: object) -> dict:
    """Return a person's access to an object as the queries tell it."""
    row = {
        "object_type": "Project", "object_id": 1, "object_name": "Core",
        "in_charge": "Ines", "user_id": 1, "person": "Ann Ash", "login_name": "ann",
        "ways": [a_way("Project Member: User")], "elsewhere": None,
        "elsewhere_in_full": None, "decides": None, "since": None, "last_login": None,
        "found_everywhere": None, "found_here": None, "found_of_grants": None,
        "found_of_members": None, "asked_here": None, "asked_of_grants": None,
        "asked_of_members": None, "put_off_until": None, "put_off_by": None,
        "seen": "v1-", "status": "never reviewed", "certified_until": None,
        "last_decided_on": None, "last_decision": None,
    }  # fmt: skip
    return row | values


def evil_access(number: int, name: str) -> dict:
    """Return an access in which everything that has a name is called something evil."""
    found = [{"severity": "high", "told": name, "rule": "toxic-pair", "subject": name,
              "is_excused": False}]  # fmt: skip
    asked = [{"rule": "second-way", "subject": name, "stands_in": name,
              "is_of_group": False, "who_acts": name}]  # fmt: skip
    return an_access(
        object_type="Data Source", object_id=number, object_name=name, in_charge=name,
        user_id=number, person=name, login_name=name,
        ways=[a_way(name, granted_by=name, member_by=name)],
        elsewhere=[{"row": name, "told": name}],
        elsewhere_in_full=name, found_everywhere=found, found_here=found,
        found_of_grants=found, found_of_members=found, asked_of_grants=asked,
        seen=name, status="overdue", certified_until=name, last_decision=name,
    )  # fmt: skip


def hostile_pack(folder: Path, number: int = 1) -> Path:
    """Write a pack in which everything that has a name is called something evil."""
    objects = [
        {"object_type": "Data Source", "object_id": i, "object_name": name,
         "in_charge": name if i else pack.GLOBAL, "not_listed": i}
        for i, name in enumerate(HOSTILE)
    ]  # fmt: skip
    people = (
        evil_access(i, name) for i, name in enumerate(HOSTILE) for _ in range(number)
    )
    findings = [
        {"object_type": "Data Source", "object_id": i, "severity": "high",
         "rule": "toxic-pair", "subject": f"{name} {j}", "named": name, "detail": name,
         "who_acts": name, "is_excused": True, "excused_by": name,
         "excused_because": name, "excused_until": name, "raw_table": None,
         "user_id": None}
        for i, name in enumerate(HOSTILE) for j in range(number)
    ]  # fmt: skip
    of_ways = [row | {"subject": f"of a way: {row['subject']}"} for row in findings]
    rejected = (
        {"table_name": name, "raw_id": name, "reason": "unreadable " + name,
         "raw_row": json.dumps({name: name}), "loaded_on": None}
        for name in HOSTILE
    )  # fmt: skip
    users = (
        {"user_id": i, "person": name, "login_name": name, "last_login": None,
         "objects": 1, "to_decide": 1}
        for i, name in enumerate(HOSTILE)
    )  # fmt: skip
    administrators = (
        {"user_id": i, "person": name, "login_name": name, "is_dormant": i % 2 == 0}
        for i, name in enumerate(HOSTILE)
    )
    roles = (
        {"object_type": name, "role_name": name, "permissions": name}
        for name in HOSTILE
    )
    months = [
        {"day": date(2026, month, 1), "accesses": accesses, "people": 1}
        for month, accesses in enumerate((0, 25, 8), 1)
    ]
    whole = pack.Pack(folder, HOSTILE[0])
    whole.write(
        objects, people, findings, users, administrators, roles,
        gravest=findings, of_ways=of_ways, rejected=rejected, months=months,
    )  # fmt: skip
    return folder


def own_seed(name: str) -> list[tuple]:
    """Return the rows of a seed of the sample's customer."""
    path = ROOT / SAMPLE / f"seeds/review/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(line) for line in csv.reader(file)][1:]


def reviewed_sample(**seeds: list[tuple]) -> Reviewed:
    """Return what is found in the sample, as its customer looks at it.

    Seeds that are given stand in the place of the customer's. Without any it is made
    once, and no test may change its rows.
    """
    return _reviewed(**seeds) if seeds else copy(_as_it_is())


@cache
def _as_it_is() -> Reviewed:
    return _reviewed()


def _reviewed(**seeds: list[tuple]) -> Reviewed:
    project = yaml.safe_load((ROOT / SAMPLE / "dbt_project.yml").read_text())
    return Reviewed(
        read_world(ROOT / "seeds/repository"),
        document=yaml.safe_dump(together(), sort_keys=False),
        day=project["vars"]["sample_day"],
        settings={"global_admins_limit": project["vars"]["global_admins_limit"]},
        **{name: own_seed(name) for name in SEEDS} | seeds,
    )
