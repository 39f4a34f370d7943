"""What changes between two configs, on random pairs of them, by the evaluator."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest
from change_sandbox import ComparedCases
from oracle.policies import Case, Row
from random_policies import ROLES, random_case, random_policies, with_exceptions

PAIRS = range(int(os.environ.get("CHANGE_WORLDS", 12)))
COUNTED = (
    *("rows_gained", "rows_lost", "rows_came", "rows_went"),
    *("values_newly_covered", "values_newly_shown", "values_masked_otherwise"),
)


def other_config(case: Case, seed: int) -> Case:
    """Return a case with other policies, and now and then without a dataset."""
    chance = random.Random(f"another config than {seed}")
    if chance.random() < 0.3:
        # One edit, as most changes of a config are.
        number = max(0, len(case.policies) - 1)
        return replace(case, policies=chance.sample(case.policies, number))
    datasets = list(case.datasets)
    if chance.random() < 0.3:
        datasets.pop()
    policies = with_exceptions(seed, random_policies(chance, datasets))
    security = case.security if chance.random() < 0.7 else None
    return replace(case, datasets=datasets, policies=policies, security=security)


def other_rows(case: Case, seed: int) -> Case:
    """Return a case in which rows have gone or changed, and users hold other roles."""
    chance = random.Random(f"other rows than those of {seed}")
    rows = [row | {"unit": chance.choice("XYZ")} for row in chance.sample(case.rows, 9)]
    users = {user: set(chance.sample(ROLES, 2)) for user in case.users}
    return replace(case, rows=rows, users=users)


def became_of(before: Row, after: Row, bases: list[dict[int, Row]]) -> Iterator[str]:
    """Say what has become of the values of a row that both states show.

    A value that is the base's is shown, and another one is a mask. A query has no base,
    and no masks.
    """
    if "run_id" not in before:
        return
    base = [rows[before["run_id"]] for rows in bases]
    for column in before.keys() - {"user_id"}:
        was, is_now = (row[column] for row in base)
        were_shown = before[column] == was, after[column] == is_now
        if were_shown == (True, False):
            yield "values_newly_covered"
        elif were_shown == (False, True):
            yield "values_newly_shown"
        elif not any(were_shown) and before[column] != after[column] and was == is_now:
            yield "values_masked_otherwise"


def counted_by_hand(
    cases: tuple[Case, Case], keys: dict[str, list[str]]
) -> dict[tuple, Counter]:
    """Return by dataset and user what is gained, lost, masked and shown anew."""
    found: dict[tuple, Counter] = {}
    expected = [case.expected() for case in cases]
    bases = [{row["run_id"]: row for row in case.rows} for case in cases]
    for name, names in keys.items():
        before, after = (
            {(r["user_id"], *(r[key] for key in names)): r for r in of.get(name, ())}
            for of in expected
        )
        is_in_both = all(name in of for of in expected)
        for key in before.keys() | after.keys():
            told = found.setdefault((name, key[0]), Counter())
            if key in before and key in after:
                told.update(became_of(before[key], after[key], bases))
                continue
            told["rows_gained" if key in after else "rows_lost"] += 1
            if is_in_both and names == ["run_id"]:
                told["rows_came"] += key in after and key[1] not in bases[0]
                told["rows_went"] += key in before and key[1] not in bases[1]
    return {key: +told for key, told in found.items() if +told}


@pytest.mark.parametrize("seed", PAIRS)
def test_D1_what_another_config_gives_and_takes_is_counted_as_by_hand(seed):
    before = random_case(2 * seed)
    after = other_config(before, seed)
    has_moved = seed % 3 == 2
    if has_moved:
        after = other_rows(after, seed)
    compared = ComparedCases(before, after).compare()
    keys = {
        name: entry["keys"]
        for state in compared.states()
        for name, entry in state["datasets"].items()
    }
    found = compared.rows("select * from row_changes")
    counted = {
        (row["dataset"], row["user_id"]): +Counter({n: row[n] for n in COUNTED})
        for row in found
    }
    assert counted == counted_by_hand((before, after), keys)
    if not has_moved:
        assert all(row["causes"] == ["definition"] for row in found)
        assert not any(row["cause_rows"] for row in found)


@pytest.mark.parametrize("seed", PAIRS)
def test_D5_nothing_changes_between_a_config_and_its_like(seed):
    case = random_case(2 * seed)
    compared = ComparedCases(case, deepcopy(case)).compare()
    assert compared.rows("select * from row_changes") == []
    assert compared.rows("select * from access_changes") == []


@pytest.mark.parametrize(
    ("key", "cause"),
    [("valid_from", "begun by time"), ("valid_until", "ended by time")],
)
def test_D2_what_a_rule_shows_or_hides_by_its_time_is_no_definition(key, cause):
    """R18: rules begin or end between the moments of two states of one config."""
    times = {"valid_from": None, "valid_until": None, key: "2026-05-01 18:00:00"}
    causes: set[str] = set()
    for case in map(random_case, range(6)):
        policies = [replace(policy, **times) for policy in case.policies]
        before = replace(case, policies=policies)
        after = replace(before, moment="2026-05-02 00:00:00")
        causes |= {c for row in changed_rows(before, after) for c in row["causes"]}
        if causes and policies:
            break
    assert causes == {cause}
    # Where the config is another one too, either may be the cause.
    after = replace(after, policies=policies[1:])
    for row in changed_rows(before, after):
        is_edited = row["dataset"] == policies[0].dataset
        assert ("definition" in row["causes"]) >= is_edited


def changed_rows(before: Case, after: Case) -> list[dict]:
    """Return what has become of the rows of two cases."""
    compared = ComparedCases(before, after).compare()
    return compared.rows("select * from row_changes")
