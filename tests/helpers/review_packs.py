"""Packs of a review to try: one of evil names, and that of the sample."""

from __future__ import annotations

import csv
from pathlib import Path

import yaml
from oracle.contract import read_world
from own_config import together
from projects import ROOT, SAMPLE
from review_sandbox import SEEDS, Reviewed

from access_review import pack

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


def hostile_pack(folder: Path, number: int = 1) -> Path:
    """Write a pack in which everything that has a name is called something evil."""
    objects = [
        {"object_type": "Data Source", "object_id": i, "object_name": name,
         "in_charge": name if i else pack.GLOBAL}
        for i, name in enumerate(HOSTILE)
    ]  # fmt: skip
    people = (
        {"object_type": "Data Source", "object_id": i, "user_id": i, "person": name,
         "login_name": name, "ways": [{"way": name, "since": None}],
         "elsewhere": name,
         "decides": None, "since": None,
         "last_login": None, "findings": "", "seen": name, "status": "overdue",
         "certified_until": name, "asked_first": "",
         "last_decided_on": None, "last_decision": name}
        for i, name in enumerate(HOSTILE) for _ in range(number)
    )  # fmt: skip
    findings = (
        {"object_type": "Data Source", "object_id": i, "severity": "high",
         "rule": "toxic-pair", "subject": name, "named": name, "detail": name,
         "who_acts": name, "is_excused": True, "excused_by": name,
         "excused_because": name, "excused_until": name}
        for i, name in enumerate(HOSTILE) for _ in range(number)
    )  # fmt: skip
    users = (
        {"user_id": i, "person": name, "login_name": name, "last_login": None,
         "objects": 1, "to_decide": 1}
        for i, name in enumerate(HOSTILE)
    )  # fmt: skip
    administrators = (
        {"user_id": i, "person": name, "login_name": name}
        for i, name in enumerate(HOSTILE)
    )
    roles = (
        {"object_type": name, "role_name": name, "permissions": name}
        for name in HOSTILE
    )
    whole = pack.Pack(folder, HOSTILE[0])
    whole.write(objects, people, findings, users, administrators, roles)
    return folder


def own_seed(name: str) -> list[tuple]:
    """Return the rows of a seed of the sample's customer."""
    path = ROOT / SAMPLE / f"seeds/review/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(line) for line in csv.reader(file)][1:]


def reviewed_sample(**seeds: list[tuple]) -> Reviewed:
    """Return what is found in the sample, as its customer looks at it.

    Seeds that are given stand in the place of the customer's.
    """
    project = yaml.safe_load((ROOT / SAMPLE / "dbt_project.yml").read_text())
    return Reviewed(
        read_world(ROOT / "seeds/repository"),
        document=yaml.safe_dump(together(), sort_keys=False),
        day=project["vars"]["sample_day"],
        settings={"global_admins_limit": project["vars"]["global_admins_limit"]},
        **{name: own_seed(name) for name in SEEDS} | seeds,
    )
