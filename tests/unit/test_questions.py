"""What people mean by words of names, and what is told where something is missing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from secure_datasets.questions.asked import AccessQuestions, QuestionError
from secure_datasets.questions.kept import Kept
from secure_datasets.questions.names import Named, NotKnown, find

SOURCES = [
    Named("data source", "1", "core_banking"),
    Named("data source", "2", "card_payments"),
    Named("data source", "3", "open_banking_api"),
]


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


def test_Q5_a_review_that_is_not_built_says_how_it_is_built():
    with pytest.raises(QuestionError, match="run dbt build --select tag:review there"):
        AccessQuestions().not_built("review", ["access_findings"], "s")
    with pytest.raises(QuestionError, match="run dbt there first"):
        AccessQuestions().not_built("who", ["stg_users"], "s")
