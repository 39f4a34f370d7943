"""The page of questions shows what the operation prints, over the sample."""

from __future__ import annotations

import pytest
import yaml
from oracle.contract import read_world
from projects import ROOT
from why_page import PAGE, SHOWN
from why_sandbox import Asked, Database, load_world, products


@pytest.fixture(scope="module")
def sample() -> Asked:
    """The question over the sample's raw rows."""
    world, database = read_world(ROOT / "seeds/repository"), Database()
    return products(database).over(world, load_world(database, world))


def test_the_page_has_no_more_than_twelve_questions():
    assert 0 < len(SHOWN) == PAGE.count("\n## ") <= 12


@pytest.mark.parametrize(
    ("asked", "shown"), [s[1:] for s in SHOWN], ids=lambda t: t[:9]
)
def test_an_answer_of_the_page_is_the_real_one(sample, asked, shown):
    assert "\n".join(sample.lines(**yaml.safe_load(asked))).strip("\n") == shown
