"""The packages' old names lead to the modules, with a warning."""

from __future__ import annotations

from importlib import import_module

import pytest

MOVED = {
    "access_changes": ("report", "secure_datasets.questions.changes.report"),
    "access_questions": ("adapter", "secure_datasets.questions.macro_methods"),
    "access_review": ("decisions", "secure_datasets.review.decisions"),
    "access_timeline": ("days", "secure_datasets.questions.timeline.days"),
    "dbt_spark_session": ("session", "dbt_secure_spark.session"),
    "secure_config": ("clock", "secure_datasets.sql.clock_texts"),
}


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_leads_to_the_module_and_warns(old):
    name, place = MOVED[old]
    with pytest.warns(DeprecationWarning, match=f"{old}.{name} is now {place}"):
        module = getattr(import_module(old), name)
    assert module is import_module(place)


def test_a_module_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'plugins'"):
        _ = import_module("dbt_spark_session").plugins
