"""What people mean by words of names."""

from __future__ import annotations

import pytest

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
