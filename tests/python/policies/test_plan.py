"""What policies say is planned in Python: macros take no text of the config apart."""

from __future__ import annotations

import re

import pytest
from projects import ROOT

from secure_config import expressions, plan


def test_the_config_s_roles_are_trimmed_of_what_staging_trims():
    macros = (ROOT / "macros/staging/_reading.sql").read_text(encoding="utf-8")
    written = re.search(r"unicode_white_space\(\) -%}\n'(.*)'", macros)[1]
    assert expressions.unescaped(written, "'") == plan.WHITE_SPACE


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", ["a", "b"]),
        ("c.a.b", ["a", "b"]),
        ("b", None),
        ("a.b.c.d", None),
        ("a.", None),
        ("a.b; drop table c", None),
        ("a.b\n", None),
    ],
)
def test_a_relation_s_name_is_taken_apart_where_it_is_one(text, parts):
    assert expressions.schema_and_name(text) == parts


def test_what_policies_say_of_a_dataset_has_the_defaults_filled_in():
    config = {
        "datasets": {"jobs": {}, "jobs_too": {}},
        "policies": [
            {"role": " A\u00a0", "resource": "jobs"},
            {"role": "a", "resource": "jobs.name", "mask": False, "mask_order": 1},
            {
                "except": ["B"],
                "resource": "jobs.name",
                "mask": " 'x' ",
                "mask_order": 2,
            },
            {"role": "C", "resource": "jobs_too", "condition": "x"},
        ],
    }
    found = plan.policies_on("jobs", config)
    rule = {
        "mask_on_null": "mask", "check": True, "condition": "true", "is_except": False,
    }  # fmt: skip
    assert found == {
        "conditions": [rule | {"roles": ["A"], "mask": "", "mask_order": 0}],
        "masks": {
            "name": [
                rule
                | {"roles": ["B"], "mask": "'x'", "mask_order": 2, "is_except": True},
                rule | {"roles": ["a"], "mask": "false", "mask_order": 1},
            ]
        },
        # Spark finds a field whatever the case of its letters.
        "roles": {"A": "1 A", "a": "2 a", "B": "3 B"},
        "is_authorized": False,
    }


@pytest.mark.parametrize("name", ["null", "true", "order", "left", "a b", "A", "1a"])
def test_S3_a_security_object_may_be_called_as_a_word_of_sql(name):
    assert plan.keys_name({"unique_name": name}) == f"`{name}`"
    assert plan.keys_name({"unique_name": "units"}) == "units"
    assert plan.keys_name({"unique_name": name}, "_2") in (f"`{name}_2`", f"{name}_2")
