"""What make hands over to dbt and to the command."""

import shutil

import pytest
import yaml
from make_calls import called_by_make

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


@pytest.mark.parametrize(
    ("target", "given", "handed_over"),
    [
        ("as-of", ["DAY=2026-05-01"], {"as_of": "2026-05-01"}),
        ("diff", ["BEFORE=main", "AFTER=pr_12"], {"before": "main", "after": "pr_12"}),
        ("timeline", ["USER=hpark"], {"user": "hpark", "object": "", "format": "text"}),
        # The shell's own user is not meant.
        ("timeline", ["OBJECT=Project 7", "FORMAT=json"],
         {"object": "Project 7", "format": "json"}),
        ("review", [], {"owner": "", "months": "12"}),
        ("review", ["OWNER=praman", "MONTHS=0"], {"owner": "praman", "months": "0"}),
        ("review", ["USER=hpark"], {"owner": "", "user": "hpark"}),
        # Which is refused in a sentence.
        ("review", ["USER=hpark", "MONTHS=2"],
         {"owner": "", "user": "hpark", "months": "2"}),
    ],
)  # fmt: skip
def test_make_hands_over_what_it_is_given(target, given, handed_over):
    assert options(called_by_make(target, *given)) == handed_over


@pytest.mark.parametrize("text", ['test_id="12"', "it's: {a}", "a # b", "a\\n", "-x"])
def test_W9_make_asks_the_command_whatever_quotes_are_in_it(text):
    assert asked(called_by_make("who", f"USER={text}")) == ["who", "--", text]
    told = called_by_make("why", f"USER={text}", "DATASET=tests", f"ROW={text}")
    assert asked(told) == [
        *("why", "--dataset=tests", f"--row={text}", "--tier=", "--object="),
        *("--format=text", "--", text),
    ]


def asked(told) -> list[str]:
    """Return what the command of the product was given."""
    assert told.returncode == 0, told.stderr
    return told.stdout.splitlines()


def options(told) -> dict[str, str]:
    """Return what dbt was given as YAML."""
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    (place,) = (i for i, line in enumerate(lines) if line in ("--args", "--vars"))
    return yaml.safe_load(lines[place + 1])
