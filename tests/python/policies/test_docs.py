"""The pages about policies are true, and each behaviour that they number is tested."""

from __future__ import annotations

import re

import pytest
import yaml
from policy_sandbox import Sandbox
from projects import ROOT

TESTS = [
    ROOT / "tests/meaning/test_policies.py",
    *sorted((ROOT / "tests/python/policies").glob("test_*.py")),
    ROOT / "tests/python/config/test_sml.py",
]
NUMBER = re.compile(r"\b([RMS]\d+)\b")
ANN, ADA, AL, NED = 1, 2, 3, 4
PEOPLE = {"Ann": ANN, "Ada": ADA, "Al": AL, "Ned": NED}
ANALYSTS, ADMINS = 7, 8
GROUPS = {
    ANN: [ANALYSTS, "Analysts"],
    ADA: [ADMINS, "Admins"],
    AL: [ANALYSTS, "Analysts", ADMINS, "Admins"],
    NED: [],
}
STAR = """
relations:
    runs: {kind: dimension, columns: {run_id: bigint, region: string, email: string}}
    group_regions: {kind: mapping, columns: {user_group_id: bigint, region: string}}
    user_regions: {kind: mapping, columns: {user_id: bigint, region: string}}
relationships:
    - {from: {dataset: runs, join_columns: [region]}, to: {row_security: regions}}
"""


def page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def lines(text: str) -> list[list[str]]:
    """Return the cells of the lines about other platforms."""
    table = text[text.index("| from |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


LINES = [
    pytest.param(here, seen, id=f"{number}: {product}: {there}")
    for number, (product, there, here, seen) in enumerate(
        lines(page("coming-from.md")), start=1
    )
]


def test_the_page_says_at_least_forty_rules_that_differ():
    assert len({line.values for line in LINES}) >= 40


@pytest.fixture(scope="module")
def sandbox():
    """The table of the page, and what its lines read besides."""
    sandbox = Sandbox()
    rows = re.findall(r"^\| (\d) \| (\w+) \| (\S+) \|$", page("coming-from.md"), re.M)
    sandbox.table(
        "runs",
        "run_id bigint, region string, email string",
        [(int(i), None if r == "null" else r, email) for i, r, email in rows],
    )
    sandbox.table("allowed", "region string", [("US",), (None,)])
    sandbox.table(
        "group_regions",
        "user_group_id bigint, region string",
        [(ANALYSTS, "US"), (ADMINS, "EU"), (ADMINS, None)],
    )
    sandbox.table("user_regions", "user_id bigint, region string", [(NED, "US")])
    staff = [(ANN, "EU"), (AL, "EU"), (AL, "US"), (NED, "US")]
    sandbox.table("staff", "user_id bigint, region string", staff)
    sandbox.table("everybody", "region string, user_id bigint", [])
    sandbox.roles(GROUPS)
    return sandbox


@pytest.mark.parametrize(("here", "seen"), LINES)
def test_a_rule_of_another_platform_is_said_as_the_page_says(sandbox, here, seen):
    entries = [yaml.safe_load(entry) for entry in re.findall(r"`(.*?)`", here)]
    dataset = {
        "base": "runs",
        "columns": ["run_id", "region", "email"],
        "unique_key": ["run_id"],
        "visible_to": "everyone",
    }
    tier = {"access_view": "everybody", "object_keys": ["region"], "carries": []}
    document = {"tiers": {"region": tier}, "datasets": {"runs": dataset}}
    document["reader"] = {"relation": "staff", "key": "user_id"}
    if "unique_name" in entries[0]:
        document |= yaml.safe_load(STAR) | {"row_security": entries}
    else:
        document["policies"] = entries
        if all("." in str(e["resource"]) or "tag" in e["resource"] for e in entries):
            # A mask alone stands on a dataset that the others may see as it is.
            document["policies"] = [{"role": "*", "resource": "runs"}, *entries]
    tags = {"runs": {"email": ["pii"]}}
    view = sandbox.secure(yaml.safe_dump(document), "runs", tags=tags)
    found: dict[str, dict[int, str | None]] = {}
    names = {user: name for name, user in PEOPLE.items()}
    for user, run, email in sandbox.rows(f"select user_id, run_id, email from {view}"):
        found.setdefault(names[user], {})[run] = email
    assert found == yaml.safe_load(seen.strip("`"))


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        (
            "policies.md",
            [f"R{n}" for n in range(1, 23)] + [f"M{n}" for n in range(1, 17)],
        ),
        ("row-security.md", [f"S{n}" for n in range(1, 24)]),
    ],
)
def test_a_page_numbers_every_behaviour_and_each_has_its_test(name, numbers):
    assert sorted(set(NUMBER.findall(page(name)))) == sorted(numbers)
    text = "".join(path.read_text(encoding="utf-8") for path in TESTS)
    text += (ROOT / "tests/helpers/config_mistakes.py").read_text(encoding="utf-8")
    named = set(re.findall(r"def test_\w*", text))
    tested = {n for test in named for n in re.findall(r"(?<=_)[RMS]\d+(?=_)", test)}
    # The matrix and the mistakes in the config have theirs in the ids.
    tested |= set(re.findall(r'\("(S\d+)", "\w+", "', text))
    tested |= set(re.findall(r"\((S\d+)\)\": \(", text))
    assert set(numbers) <= tested
