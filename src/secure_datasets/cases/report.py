"""Prints failing cases, one screen each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from secure_datasets.cases.judging import Failure

# The number of failures of one case that are printed; further ones are counted.
SHOWN = 3


def lines_of(failures: Iterable[Failure]) -> Iterator[str]:
    """Yield the lines about each failure and its reason, case by case."""
    by_case: dict[str, list[Failure]] = {}
    for failure in failures:
        by_case.setdefault(failure.case.name, []).append(failure)
    for name, found in by_case.items():
        yield f"FAILS  {name}  ({found[0].case.where})"
        for failure in found[:SHOWN]:
            yield from _lines(failure)
        if len(found) > SHOWN:
            yield f"\n  and {len(found) - SHOWN} more of this case"
        yield ""


def _lines(failure: Failure) -> Iterator[str]:
    yield ""
    parts = {
        "user": failure.user,
        "dataset": failure.dataset,
        "row": f"{failure.row}  ({failure.where})",
        "expected": failure.expected,
        "found": failure.found,
    }
    yield from (f"  {name:10}{value}" for name, value in parts.items())
    for name, texts in (("why", failure.why), ("rule", failure.rules)):
        for number, text in enumerate(texts):
            yield f"  {'' if number else name:10}{text}".rstrip()
