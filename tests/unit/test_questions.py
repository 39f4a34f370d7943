"""What people mean by words of names, and what is told where something is missing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from secure_datasets.questions import differences
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.edits import Edits
from secure_datasets.questions.kept import Kept
from secure_datasets.questions.names import Named, NotKnown, find
from secure_datasets.questions.text import not_built

SOURCES = [
    Named("data source", "1", "core_banking"),
    Named("data source", "2", "card_payments"),
    Named("data source", "3", "open_banking_api"),
]


def test_Q6_a_row_may_have_a_negative_id():
    asked = []
    package = {
        "relation_named": str,
        "rows_of": lambda query: asked.append(query) or [{"is_there": 1}],
    }
    edits = Edits.__new__(Edits)
    edits.package, edits.gone = package, {}
    edits.tables = {"users": {"key": "user_id"}}
    edits.remove_row("row -5 of users")
    assert edits.gone == {"users": {-5}}
    assert asked == [
        "select 1 as is_there from stg_users where user_id = -5 and is_live"
    ]
    assert differences._cause("users -5 went", None) == "row -5 of users went"


def test_Q6_an_object_with_a_negative_id_has_no_other_s_name():
    names = differences._Names.__new__(differences._Names)
    names.types = {"project_id": "Project"}
    names.called = {("Project", -1): "Core", ("Project", -5): "Cards"}
    assert names.objects("project_id=-5") == "Cards"
    assert names.objects("project_id=-7") == "project_id -7"
    assert names.objects("project_id=null") == "project_id null"


@pytest.mark.parametrize(
    ("words", "key"),
    [
        *(("core_banking", "1"), ("core banking", "1"), ("Core Bank", "1")),
        *(("payments", "2"), ("open api", "3"), ("2", "2")),
    ],
)
def test_Q4_a_name_with_underscores_has_several_words(words, key):
    assert find(words, "data source", SOURCES).key == key


def test_Q4_a_part_of_a_word_is_near_and_no_match():
    with pytest.raises(NotKnown, match="near it are card_payments"):
        find("ments", "data source", SOURCES)


PEOPLE = [
    Named("user", "1", "Sin\u00e9ad Gallagher", ("sgallagher",)),
    Named("user", "2", "Zo\u00eb O'Connor", ("zoconnor",)),
    Named("user", "3", "Zoe Lind", ("zlind",)),
]


def test_Q4_a_name_is_found_without_its_accents():
    assert find("sinead gallagher", "user", PEOPLE).key == "1"
    assert find("Sin\u00e9ad", "user", PEOPLE).key == "1"
    # Two may be meant.
    with pytest.raises(QuestionError, match=r"may be .*Lind.*O'Connor"):
        find("zoe", "user", PEOPLE)
    assert find("zo\u00eb", "user", PEOPLE).key == "2"


def test_Q7_days_that_can_t_be_read_are_as_days_that_are_not_kept(
    tmp_path, monkeypatch
):
    kept = Kept(tmp_path, SimpleNamespace(text=b"", seen={}), 0)
    kept.names = {"stg_users"}
    day = datetime(2026, 5, 1)
    (kept.own / "2026-05-01").mkdir(parents=True)
    (kept.own / "2026-05-01/stg_users.parquet").touch()
    assert {*kept.files(day)} == {"stg_users"}

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    for name in ("is_dir", "iterdir"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, refuse)
            assert kept.files(day) == {}


def test_Q5_what_is_not_built_says_how_it_is_built():
    findings = {"name": "access_findings", "schema": "s"}
    assert "run dbt there first" in not_built([findings])
    said = not_built([findings, findings], "dbt build --select tag:review")
    assert said.startswith("there is no access_findings in the schema 's', and 1 more")
    assert "run dbt build --select tag:review there first" in said
