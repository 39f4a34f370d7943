"""Which known name a word is meant for that is none of them."""

from __future__ import annotations

import pytest

from secure_datasets.sql import spelling

KNOWN = ["jobs", "Data Office", "vw_dataset_jobs", "meta_tables", "tests"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("jbos", "jobs"),
        ("JOBS", "jobs"),
        ("data ofice", "Data Office"),
        ("meta-tables", "meta_tables"),
        ("dataset_jobs", "vw_dataset_jobs"),
        ("invoices", None),
        ("", None),
        (None, None),
        (17, None),
    ],
)
def test_the_nearest_name(name, near):
    assert spelling.meant(name, KNOWN) == near
    assert spelling.hint(name, KNOWN) == (f"; near it is '{near}'" if near else "")


def test_known_names_are_listed_in_their_order():
    assert spelling.listed("x", ["b", "a"]) == "; known are b, a"
    assert spelling.listed("x", []) == "; known are none"
    assert spelling.listed("bb", ["b", "a"]) == "; known are b, a; near it is 'b'"
