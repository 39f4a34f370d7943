"""What the command makes of dbt's answers: what macros print, and one line of error."""

from __future__ import annotations

from types import SimpleNamespace

import dbt.cli.main
import pytest

from secure_datasets import by_dbt
from secure_datasets.by_dbt import call

PROJECT = SimpleNamespace(folder="p", profiles="p", asked_target=None)
WRAPPED = (
    "Encountered an error while running operation: Runtime Error\n"
    "  Compilation Error in macro print_predicate (macros/print_predicate.sql)\n"
    "    secure_datasets_config: dataset 'x': has no entry.\n"
    "    > in macro config_error"
)


def event(name: str, message: str, level: str = "info") -> SimpleNamespace:
    """Return an event as dbt hands it over."""
    return SimpleNamespace(info=SimpleNamespace(name=name, msg=message, level=level))


@pytest.fixture
def dbt_says(monkeypatch):
    """Let dbt tell these events, and end so."""

    def say(events, success=False, exception=None, results=()):
        def invoke(self, arguments):
            for each in events:
                self.callbacks[0](each)
            found = SimpleNamespace(results=results)
            return SimpleNamespace(success=success, exception=exception, result=found)

        monkeypatch.setattr(dbt.cli.main.dbtRunner, "invoke", invoke)

    return say


def test_Q1_what_macros_print_is_the_answer_and_nothing_else(dbt_says, capsys):
    dbt_says([event("PrintEvent", "an answer"), event("Other", "noise")], success=True)
    assert call(PROJECT, ["run-operation", "timeline"]) == 0
    assert capsys.readouterr() == ("an answer\n", "")


@pytest.mark.parametrize(("asked", "handed_on"), [(None, []), ("ci", ["ci"])])
def test_dbt_is_given_the_target_that_somebody_names(monkeypatch, asked, handed_on):
    """With the profile's own, the next command of dbt would read all files anew."""
    given = []

    def invoke(self, arguments):
        given.extend(arguments)
        return SimpleNamespace(success=True, exception=None, result=None)

    monkeypatch.setattr(dbt.cli.main.dbtRunner, "invoke", invoke)
    project = SimpleNamespace(folder="p", profiles="p", asked_target=asked)
    assert call(project, ["run-operation", "timeline"]) == 0
    places = [place for place, each in enumerate(given) if each == "--target"]
    assert [given[place + 1] for place in places] == handed_on


def test_Q5_a_dataset_without_a_model_is_named_and_not_what_reads_it(dbt_says, capsys):
    reader = "Analysis 'analysis.secure_datasets.rows_per_dataset' (analyses/a.sql)"
    missing = f"{reader} depends on a node named 'vw_secure_dataset_runs' which was not"
    dbt_says([], exception=RuntimeError(f"{missing} found"))
    assert call(PROJECT, ["run-operation", "check_project"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("There is no model vw_secure_dataset_runs: `secure-datas")
    assert "rows_per_dataset" not in told


@pytest.mark.parametrize(
    "ended",
    [
        {"events": [event("RunningOperationCaughtError", WRAPPED, "error")],
         "results": [SimpleNamespace(status="error", message=None)]},
        {"events": [], "results": [SimpleNamespace(status="error", message=WRAPPED)]},
        {"events": [], "exception": RuntimeError(WRAPPED)},
    ],
)  # fmt: skip
def test_Q5_an_error_of_dbt_is_one_line_without_its_wrapping(dbt_says, capsys, ended):
    dbt_says(**ended)
    assert call(PROJECT, ["run-operation", "print_predicate"]) == 2
    told = capsys.readouterr()
    assert told == ("", "secure_datasets_config: dataset 'x': has no entry.\n")


def test_each_of_several_mistakes_is_a_line(dbt_says, capsys):
    listed = "secure_datasets_config: 2 things are wrong.\n  - a: b (line 1).\n  - c."
    dbt_says([], exception=RuntimeError(f"Compilation Error in model m\n  {listed}"))
    assert call(PROJECT, ["run-operation", "check_project"]) == 2
    assert capsys.readouterr().err == listed.replace("  - ", "- ") + "\n"


def test_V6_steps_are_shown_on_a_terminal_alone(monkeypatch, capsys):
    heard = by_dbt.Heard()
    heard(event("LogStartLine", "1 of 9 START"))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(heard, "shows_steps", True)
    heard(event("LogStartLine", "1 of 9 START"))
    assert capsys.readouterr().err.startswith("\r1 of 9 START")
