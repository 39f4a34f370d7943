"""The page of questions shows what the operation prints, over the sample."""

from __future__ import annotations

from functools import cache

import pytest
import yaml
from why_page import PAGE, SHOWN, sample_asked

asked_in = cache(sample_asked)


def test_the_page_has_twelve_questions():
    # The first heading says how to read them.
    assert len(SHOWN) == PAGE.count("\n## ") - 1 == 12


@pytest.mark.parametrize(
    ("project", "asked", "shown"), [s[1:] for s in SHOWN], ids=lambda t: t[:9]
)
def test_an_answer_of_the_page_is_the_real_one(project, asked, shown):
    lines = asked_in(project).lines(**yaml.safe_load(asked))
    assert "\n".join(lines).strip("\n") == shown
