"""The nearest missing grants of a closed tier, and what comes with them."""

from __future__ import annotations

from typing import Any

from secure_datasets.config.plan import parent_dataset
from secure_datasets.config.tiers import datasets_with_tier, is_restricted
from secure_datasets.questions import missing
from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.facts.grants import Sides, grants_state
from secure_datasets.questions.notes import Facts
from secure_datasets.render.gates import gate_cases


def add_nearest(
    built: Built, facts: Facts, sides: Sides, person: Facts, dataset: str | None = None
) -> None:
    """Add the smallest sets of new rows that would open a tier to a live user.

    Nothing if the config does not name all rights of the tier.

    sides    pairs of tier and keys: all must be open
    dataset  the dataset of the row in question, if any
    """
    state = grants_state(built, sides, person)
    if state is None:
        return
    sets, chains = missing.nearest(state, sides), _chains_to_tiers(built)
    restricted = [
        name
        for name, chain in chains.items()
        if any(is_restricted(link, built.config) for link in chain)
    ]
    counts, uncounted = _rows_gained(built, state, sets) if sets else ([], [])
    # A layered dataset gains the rows of the dataset at the end of its chain.
    for known in counts:
        for name, chain in chains.items():
            if chain[-1] in known:
                known[name] = known[chain[-1]]
    facts |= {
        "nearest": missing.set_notes(state, sides, sets, counts, restricted, dataset),
        "given": missing.given_by(sets),
        "in_charge": missing.in_charge(state, sides) if sets else [],
        "uncounted": uncounted,
    }


def _chains_to_tiers(built: Built) -> dict[str, list[str]]:
    """Return the datasets whose chain ends at one with a tier, each with its chain."""
    with_tier = datasets_with_tier(built.config)
    chains = {name: _chain(built, name) for name in built.config["datasets"]}
    return {name: chain for name, chain in chains.items() if chain[-1] in with_tier}


def _chain(built: Built, name: str) -> list[str]:
    """Return a dataset and its parents, down to the one without a parent."""
    parent = parent_dataset(built.config["datasets"][name])
    return [name, *(_chain(built, parent) if parent else ())]


def _rows_gained(
    built: Built, state: missing.State, sets: list[missing.GrantSet]
) -> tuple[list[dict[str, int]], list[str]]:
    """Return the further rows of each dataset by each set, and the missing bases."""
    counts: list[dict[str, int]] = [{} for _ in sets]
    uncounted: dict[str, None] = {}
    for name, entry in datasets_with_tier(built.config).items():
        # The rows of a tier with an incomplete entry can't be counted.
        cases = [
            case
            for case in gate_cases(built.rules, name)
            if case["tier"] in state.tiers
        ]
        # A past state may contain access alone, without the bases.
        if cases and built.macros["not_built"]([entry["base"]]):
            uncounted[entry["base"]] = None
            continue
        for case in cases:
            gained = missing.gained_keys(state, sets, case["tier"])
            lines = _rows_by_keys(built, name, entry, case, gained)
            for known, found in zip(counts, sets, strict=True):
                count = missing.rows_gained(state, found, case, lines)
                known[name] = known.get(name, 0) + count
    return counts, [*uncounted]


def _rows_by_keys(
    built: Built, name: str, entry: Facts, case: Facts, gained: dict[str, list[Any]]
) -> list[Facts]:
    """Return the number of a case's rows by its deciding columns.

    Of the rows that new rights could open.
    """
    sides = []
    for keys in filter(None, (case["keys"], case["second_keys"])):
        terms = (
            f"{name}.{column} in ({', '.join(map(str, gained[key]))})"
            if gained[key]
            else "false"
            for key, column in keys.items()
        )
        sides.append(f"({' and '.join(terms)})")
    columns = ", ".join(case["columns"])
    return built.rows(
        f"select {columns}, {case['no_second'] or 'true'} as has_no_second, count(*) as"
        f" row_count from {built.ref(entry['base'])} as {name} where {case['applies']}"
        f" and ({' or '.join(sides)}) group by {columns}"
    )
