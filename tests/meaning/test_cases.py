"""Cases of access: the sample's own hold, and each kind of mistake is named.

E1, E3: what is expected by name and value, in the quick engine.
"""

from __future__ import annotations

import re
from textwrap import dedent, indent
from types import SimpleNamespace

import pytest
from compiled import FEEDS, kept_sample
from projects import ROOT, SAMPLE

from secure_datasets.cases.judging import Outcome, judged
from secure_datasets.cases.reading import CaseProblem, read_cases
from secure_datasets.cases.report import lines_of
from secure_datasets.engines.duckdb import Rows
from secure_datasets.engines.spark import SparkRelations

BANK = ROOT / SAMPLE
FILES = sorted((BANK / "tests/access").glob("*.yml"))
PAGE = ROOT / "docs/testing-policies.md"
SHOWN = re.compile(r"```yaml\n(.*?)```\n.*?```text\n(.*?)```", re.S)
GIVEN = """
given:
  users: [{id: 1, login_name: anna}, {id: 2, login_name: ben}]
  projects: [{id: 2, name: Card Settlement}]
  project_permissions: [{project_id: Card Settlement, user_id: anna, role_name: Export}]
  tests: [{id: 12, project_id: Card Settlement, name: Totals agree}]
"""
ANNA = "user: anna, dataset: tests, sees: [12]"
CASE = "cases:\n  - case: x\n    expect:\n      - "
TWICE = f"cases:\n  - &x {{case: x, expect: [{{{ANNA}}}]}}\n  - *x\n"


@pytest.fixture(scope="module")
def kept():
    """What dbt makes of the sample."""
    return kept_sample()


def cases_of(folder, text: str) -> list:
    """Return the cases of a text."""
    (folder / "cases.yml").write_text(text)
    return read_cases([folder / "cases.yml"], folder)


@pytest.fixture
def run(kept, tmp_path):
    """Run one case over GIVEN: `run(expected, given)` gives what comes of it."""

    def call(expected: str, given: str = "") -> Outcome:
        more = indent(dedent(given).strip(), "      ")
        case = f"  - case: it is so\n    expect: [{{{expected}}}]\n"
        case += f"    given:\n{more}\n" if more else ""
        return judged(cases_of(tmp_path, f"{GIVEN}cases:\n{case}"), kept)

    return call


def told(outcome: Outcome) -> list[tuple[str, str, str]]:
    """Return the row of each failure, with what was expected and what is."""
    assert not outcome.problems, outcome.problems
    return [(each.row, each.expected, each.found) for each in outcome.failures]


def test_E1_the_sample_has_cases_and_all_of_them_hold(kept):
    cases = read_cases(FILES, BANK)
    assert len(cases) >= 30
    outcome = judged(cases, kept)
    assert (told(outcome), outcome.problems) == ([], [])


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ("user: ben, dataset: tests, sees: [12]", ("test_id=12", "seen", "not seen")),
        (
            "user: anna, dataset: tests, does_not_see: [12]",
            ("test_id=12", "not seen", "seen"),
        ),
        (
            "user: 1, dataset: tests, sees: [], only: true",
            ("test_id=12", "not seen (only: true)", "seen"),
        ),
        (
            "user: 1, dataset: tests, sees: [], does_not_see: [12], only: true",
            ("test_id=12", "not seen", "seen"),
        ),
        (
            "user: anna, dataset: tests, sees: [{test_id: 12, test_name: Totals}]",
            ("test_id=12", "test_name = Totals", "test_name = Totals agree"),
        ),
        (
            "user: anna, dataset: tests, sees: [{test_id: 12, test_type: null}]",
            None,
        ),
        (ANNA, None),
    ],
)
def test_E1_what_is_not_so_fails_with_its_row_and_both_sides(run, expected, wrong):
    assert told(run(expected)) == ([wrong] if wrong else [])


def test_E1_a_failure_says_the_gate_and_the_line_of_the_rule(run):
    (failure,) = run("user: ben, dataset: tests, sees: [12]").failures
    assert failure.why[0].startswith("ben (user 2) does not see test_id=12 of 'tests'")
    assert "no Project Member on Project 2" in "\n".join(failure.why)
    (rule,) = failure.rules
    assert re.fullmatch(
        r"dataset 'tests': line \d+ of macros/config/secure_datasets_config.sql of the"
        r" package secure_datasets",
        rule,
    )


def test_E1_the_line_of_a_rule_is_that_of_its_entry(kept):
    places = kept.state["documents"]["secure_datasets"]["places"]
    lines = (BANK / "macros/secure_datasets_config.sql").read_text().splitlines()
    for number, place in places["policies"].items():
        line, file = re.fullmatch(r"line (\d+) of (.*)", place).groups()
        assert file == "macros/secure_datasets_config.sql", number
        assert re.match(r"    - (role|except): ", lines[int(line) - 1])


@pytest.mark.parametrize(
    ("expected", "given", "sentence"),
    [
        ("user: nobody, dataset: tests, sees: [12]", "", "no user 'nobody' is given"),
        ("user: anna, dataset: test, sees: [12]", "", "there is no dataset 'test'"),
        ("user: anna, dataset: tests, does_not_see: [13]", "", "no such row is given"),
        ("user: anna, dataset: tests, sees: [13]", "", "no such row is given"),
        (
            "user: anna, dataset: executions_by_unit, does_not_see: [Cards]", "",
            "no such row is given",
        ),
        (
            "user: anna, dataset: tests, sees: [{test_id: 12, nam: x}]", "",
            "'tests' has no column 'nam'",
        ),
        (
            "user: anna, dataset: tests, sees: [{test_name: x}]", "",
            "'test_id' is missing",
        ),
        (
            "user: anna, dataset: tests, does_not_see: [{test_id: 12, test_name: x}]",
            "", "names a row by its key",
        ),
        (ANNA, "tests: [{id: 13, project_id: Cards}]", "no such row of projects is"),
        (
            ANNA, "projects: [{id: 3, name: Card Settlement}]",
            "'project_id' is 'Card Settlement', and no such row of projects is given",
        ),
        (ANNA, "tests: [{id: 13}]", "a row of tests needs 'project_id'"),
        (ANNA, "tests: [{id: 13, project_id: 2, nam: x}]", "has no column 'nam'"),
        (ANNA, "testss: [{id: 13}]", "'testss' is no raw table, and no"),
        (
            ANNA,
            "project_permissions: [{project_id: 2, user_id: 2, role_name: Exprt}]",
            "project_permissions rejects the row: its role 'Exprt' is none that the"
            " seed role_permissions knows for projects",
        ),
        (
            ANNA, "project_permissions: [{project_id: 2, role_name: Export}]",
            "needs either 'user_id' or",
        ),
        (ANNA, "project_permissions: [{project_id: 2, user_id: 2}]", "'role_name'"),
    ],
)  # fmt: skip
def test_E3_what_is_not_there_is_an_error_of_its_own(run, expected, given, sentence):
    outcome = run(expected, given)
    assert not outcome.failures
    (problem,) = outcome.problems
    assert re.match(r"cases.yml:\d+: ", str(problem))
    assert sentence in str(problem)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("cases: []", 1, "'cases' must be a list, and not empty"),
        ("cases:\n  - expect: []", 2, "'case' is missing"),
        ("cases:\n  - case: x\n    expects: []", 3, "there is no key 'expects'"),
        (TWICE, 2, "'x' is a case of"),
        (f"{CASE}{{user: a, dataset: b}}", 4, "expects nothing"),
        (f"{CASE}{{user: a, dataset: b, only: true}}", 4, "'only' needs 'sees'"),
        ("given: {users: {id: 1}}\ncases: []", 1, "'users' must be a list of rows"),
        ("cases: [", 2, "does not parse"),
    ],
)  # fmt: skip
def test_E3_a_mistake_in_a_file_is_said_with_its_line(tmp_path, text, line, sentence):
    with pytest.raises(CaseProblem, match=re.escape(sentence)) as raised:
        cases_of(tmp_path, text)
    assert raised.value.where == f"cases.yml:{line}"


def test_E1_spark_says_which_relations_it_has_without_a_session():
    engine = SparkRelations(SimpleNamespace(method="session", settings={}))
    engine.put("lake.Runs", Rows({"run_id": "bigint"}, []))
    assert engine.has("lake.runs") and not engine.has("lake.tests")
    assert engine.session is None


def test_E1_the_feeds_of_a_project_play_no_part(kept, run):
    # The sample is compiled as one whose users are loaded with another column.
    assert "login_name: account" in FEEDS
    assert not any(kept.state["documents"]["secure_datasets"]["feeds"].values())
    assert told(run(ANNA)) == []


def test_E1_a_given_base_stands_in_the_place_of_the_model(run):
    given = """
    vw_dataset_tests: [{test_id: 99, project_id: 2, test_name: Given}]
    """
    seen = "user: anna, dataset: tests, sees: [{test_id: 99, test_name: Given}]"
    assert told(run(seen, given)) == []


def test_E1_rows_that_are_no_longer_in_force_are_seen_by_nobody(run):
    given = "tests: [{id: 13, project_id: Card Settlement, is_active: false}]"
    assert told(run("user: anna, dataset: tests, does_not_see: [13]", given)) == []
    ((_, _, found),) = told(run("user: anna, dataset: tests, sees: [13]", given))
    assert found == "not seen"


def test_E1_the_page_shows_what_a_failing_case_prints(kept, tmp_path):
    text, shown = SHOWN.search(PAGE.read_text(encoding="utf-8")).groups()
    folder = tmp_path / "tests/access"
    folder.mkdir(parents=True)
    (folder / "failed_tests.yml").write_text(text)
    cases = read_cases([folder / "failed_tests.yml"], tmp_path)
    outcome = judged(cases, kept)
    assert not outcome.problems
    printed = "\n".join(lines_of(outcome.failures)).strip("\n")
    assert printed == shown.strip("\n")
    assert len(printed.splitlines()) < 40
