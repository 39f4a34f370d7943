"""The operation `timeline` on the sample, as Spark answers it."""

from __future__ import annotations

import contextlib
import io
import json
import re

import pytest
from oracle.contract import read_world, timeline
from projects import ROOT
from timelines import as_known

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ask(built, dbt, parsed):
    """Call the command on the built sample; gives what it printed."""
    assert built.success

    def call(**arguments) -> str:
        printed = io.StringIO()
        asked = json.dumps(arguments)
        with contextlib.redirect_stdout(printed):
            call = ("--quiet", "run-operation", "timeline", "--args", asked)
            result = dbt(*call, manifest=parsed)
        said = printed.getvalue()
        assert result.success == ("Error" not in said and "timeline:" not in said)
        return said

    return call


def test_T4_the_command_prints_a_document(ask, spark):
    world = read_world(ROOT / "seeds/repository")
    expected = {change for change in timeline(world) if change.key[1] == 8}
    assert len(expected) > 5
    found = json.loads(ask(user="HPARK", format="json"))
    assert found["asked"] == [{"type": "User", "id": 8, "name": "hpark"}]
    assert (found["left_out"], found["tiers_not_told"]) == (0, [])
    assert {*as_known(found["changes"])} == expected
    assert "reports" in {change["tier"] for change in found["changes"]}
    assert all(change["rows"] for change in found["changes"])
    # Nothing is left in the session.
    views = [row.tableName for row in spark.sql("show tables").collect()]
    assert not [name for name in views if "timeline" in name]


@pytest.mark.nightly
def test_T4_the_command_prints_the_first_changes_for_people_and_counts_the_others(ask):
    world = read_world(ROOT / "seeds/repository")
    expected = [change for change in timeline(world) if change.key[3] == 1]
    assert len(expected) > 3
    said = ask(object="project 1", limit=2)
    name = world["projects"][0]["name"]
    assert f"Project 1, {name}\nBy load times in UTC and the definitions of" in said
    table, below = said.split("---\n")[1].strip().split("\n\n")
    logins = {row["id"]: row["login_name"] for row in world["users"]}
    for line, change in zip(table.splitlines(), expected, strict=False):
        assert line.startswith(str(change.at or "from the beginning"))
        assert re.search(rf"  {logins[str(change.key[1])]} +{change.key[0]} ", line)
        assert re.search(r"  gained .* [a-z_]+ [0-9]+ gives", line)
    assert len(table.splitlines()) == 2
    assert below == f"And {len(expected) - 2} more changes: raise the limit."


@pytest.mark.nightly
def test_T4_the_command_stops_with_one_sentence(ask):
    assert "timeline: there has never been a user with the id" in ask(user="nobody")
