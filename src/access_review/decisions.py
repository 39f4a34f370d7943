"""Turns the filled tables of a review into rows of the seed `review_decisions`.

    python -m access_review.decisions --seed seeds/review/review_decisions.csv \\
        --by praman --on 2026-07-01 data-source-1.csv project-7.csv

What a line leaves empty of who decided, and when, is what ``--by`` and ``--on`` say.
The lines with a decision are added to what the seed has; the others are left for the
next time. Everything is checked before the seed is touched; all that is wrong is told.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from itertools import chain
from pathlib import Path

from access_review.pack import PEOPLE, is_computed
from secure_config.errors import without_steering

COLUMNS = (
    *("object_type", "object_id", "user_id", "seen"),
    *("decision", "decided_by", "decided_on"),
)
DECISIONS = ("keep", "remove")
# What may be said of all lines at once.
GIVEN_FOR_ALL = {"decided_by": "--by", "decided_on": "--on"}
# What a table says of a line, beside what is taken of it.
TOLD_BESIDE = ("status", "decides", "first", "login_name")
SEEN = re.compile(r"v1-[0-9a-f]{32}")
Decision = dict[str, str]


class DecisionError(Exception):
    """A table, or a seed, that can't be taken; its arguments are what is wrong."""


def unguarded(text: str) -> str:
    """Return a cell as it was before its guard against spreadsheets."""
    return text[1:] if text.startswith("'") and is_computed(text[1:]) else text


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the lines of a table with their numbers, whatever separates the cells."""
    try:
        # Spreadsheets put a mark before the text, or do not.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DecisionError(
            f"{path} is not in UTF-8: save it as 'CSV UTF-8'."
        ) from None
    except OSError as problem:
        raise DecisionError(f"{path} can't be read: {problem.strerror}.") from None
    rows = text.splitlines(keepends=True)
    # Some spreadsheets are told what separates the cells by a line of its own.
    above = 1 if rows and rows[0].lower().startswith("sep=") else 0
    first = rows[above] if rows[above:] else ""
    separator = max(",;\t", key=first.count)
    lines = csv.DictReader(rows[above:], delimiter=separator)
    for line in lines:
        yield (
            lines.line_num + above,
            {
                (name or "").strip().lower(): value or ""
                for name, value in line.items()
                if not isinstance(value, list)
            },
        )


def decisions_in(path: Path, by: str = "", on: str = "") -> list[Decision]:
    """Return the decisions in a filled table; raise for all that can't be taken."""
    rows, problems = [], []
    for number, line in _lines(path):
        missing = [PEOPLE[c] for c in COLUMNS if PEOPLE[c] not in line]
        if missing:
            raise DecisionError(
                f"{path} has no column '{missing[0]}': its first line must be as the"
                " pack has it, each name in a cell of its own."
            )
        row = {c: unguarded(line[PEOPLE[c]].strip()).strip() for c in COLUMNS}
        if not row["decision"]:
            continue
        row |= {
            "decision": row["decision"].lower(),
            "decided_by": row["decided_by"] or by,
            "decided_on": row["decided_on"] or on,
        }
        told = {c: unguarded(line.get(PEOPLE[c], "").strip()) for c in TOLD_BESIDE}
        problems += [f"{path}, line {number}: {each}" for each in _problems(row)]
        rows.append(row | told)
    if problems:
        raise DecisionError(*problems)
    return rows


def _problems(row: Decision) -> Iterator[str]:
    """Say what is wrong with a decision, all of it."""
    if row["decision"] not in DECISIONS:
        yield f"the decision is '{row['decision']}'; it must be keep or remove."
    for column in COLUMNS:
        if not row[column] and column != "decision":
            option = GIVEN_FOR_ALL.get(column)
            cure = f": write it there, or give {option}" if option else ""
            yield f"'{PEOPLE[column]}' is empty{cure}."
    if row["seen"] and not SEEN.fullmatch(row["seen"].lower()):
        yield f"'seen' is '{row['seen']}'; it must stay as the pack has it."
    if re.search(r"\s", row["decided_by"]):
        yield (
            f"'decided by' is '{row['decided_by']}'; it must be an id, a login name or"
            " an e-mail address, without a space."
        )
    if row["decided_on"] and not is_day(row["decided_on"]):
        yield f"the day is '{row['decided_on']}'; it must be written like 2026-07-01."
    elif row["decided_on"] > datetime.now(timezone.utc).date().isoformat():
        yield f"the day {row['decided_on']} has not come."


def is_day(text: str) -> bool:
    """Say whether a text is a day, written like 2026-07-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def add(seed: Path, decisions: Iterable[Decision]) -> int:
    """Add decisions to a seed, but for those that it has; return how many."""
    known: list[tuple[str, ...]] = []
    if seed.exists():
        with seed.open(encoding="utf-8", newline="") as file:
            header, *lines = list(csv.reader(file)) or [[]]
        if tuple(header) != COLUMNS:
            raise DecisionError(f"{seed} has other columns than {', '.join(COLUMNS)}.")
        known = [tuple(line) for line in lines]
    decisions = list(decisions)
    told = dict.fromkeys(tuple(row[c] for c in COLUMNS) for row in decisions)
    new = [row for row in told if row not in set(known)]
    # A keep of one's own counts for nothing, and takes no removal away.
    own = {tuple(row[c] for c in COLUMNS) for row in decisions if _is_own_keep(row)}
    if problems := _contradictions([r for r in (*known, *new) if r not in own]):
        raise DecisionError(*problems)
    beside = seed.with_name(f"{seed.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *known, *new])
    beside.replace(seed)
    return len(new)


def _contradictions(lines: list[tuple[str, ...]]) -> list[str]:
    """Say which accesses were both kept and removed on one day: none of it counts."""
    decided: dict[tuple[str, ...], set[str]] = {}
    for line in lines:
        row = dict(zip(COLUMNS, (cell.strip().lower() for cell in line), strict=True))
        if row["decision"] == "keep" and row["decided_by"] == row["user_id"]:
            continue
        about = tuple(row[c] for c in (*COLUMNS[:3], "decided_on"))
        decided.setdefault(about, set()).add(row["decision"])
    return [
        f"of user {user} on {kind.title()} {number}, keep and remove are both decided"
        f" on {day}: take one out, of the tables or of the seed."
        for (kind, number, user, day), words in decided.items()
        if words >= set(DECISIONS)
    ]


def main(arguments: list[str] | None = None) -> int:
    """Add the decisions of filled tables to a seed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "tables", nargs="+", type=Path, help="tables of a pack, with keep or remove"
    )
    parser.add_argument("--seed", required=True, type=Path)
    parser.add_argument(
        "--by",
        default="",
        help="who decided where a line does not say it: id, login or e-mail",
    )
    parser.add_argument(
        "--on", default="", help="the day, likewise, such as 2026-07-01"
    )
    given = parser.parse_args(arguments)
    tables: dict[Path, list[Decision]] = {}
    problems: list[str] = []
    for table in given.tables:
        try:
            tables[table] = decisions_in(table, given.by.strip(), given.on.strip())
        except DecisionError as found:
            problems.extend(found.args)
    number = 0
    if not problems:
        try:
            number = add(given.seed, chain.from_iterable(tables.values()))
        except DecisionError as found:
            problems.extend(found.args)
    if problems:
        for problem in problems:
            print(without_steering(problem), file=sys.stderr)
        return 1
    for table, rows in tables.items():
        print(f"{without_steering(str(table))}: {_counted(rows)}")
    added = "1 decision" if number == 1 else f"{number} decisions"
    print(f"{added} added to {without_steering(str(given.seed))}.")
    return 0


def _counted(rows: list[Decision]) -> str:
    """Return how many decisions of each kind a table has, and what is odd of them."""
    numbers = Counter(row["decision"] for row in rows)
    told = [f"{numbers[word]} {word}" for word in DECISIONS]
    if others := sum(bool(row["decides"]) for row in rows):
        told.append(f"{others} about what others decide, as the table says")
    kept = [row for row in rows if row["decision"] == "keep"]
    if own := sum(_is_own_keep(row) for row in kept):
        told.append(f"{own} by whose own access is kept, which counts for nothing")
    if asked := sum(bool(row["first"]) for row in kept):
        told.append(f"{asked} kept of what was first to be seen to")
    if back := sum(row["status"] == "to be removed" for row in kept):
        told.append(f"{back} of what was to be removed is kept now")
    return ", ".join(told)


def _is_own_keep(row: Decision) -> bool:
    """Say whether who keeps an access is whose it is, by id or login name."""
    own = (row["user_id"], row["login_name"].lower())
    return row["decision"] == "keep" and row["decided_by"].lower() in own


if __name__ == "__main__":
    sys.exit(main())
