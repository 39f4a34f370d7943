"""Turns the filled tables of a review into rows of the seed `review_decisions`.

    secure-datasets decisions --seed seeds/review/review_decisions.csv \\
        --by praman --on 2026-07-01 data-source-1.csv project-7.csv

What a line leaves empty of who decided, and when, is what ``--by`` and ``--on`` say.
The lines with a decision are added to what the seed has; the others are left for the
next time. Days are written like 2026-07-01, or as ``--dates DD.MM.YYYY`` says.
Everything is checked before the seed is touched; all that is wrong is told.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from itertools import chain
from pathlib import Path

from secure_datasets.config.steering import without_steering
from secure_datasets.review.pack import PEOPLE, is_computed

COLUMNS = (
    *("object_type", "object_id", "user_id", "seen"),
    *("decision", "decided_by", "decided_on"),
)
DECISIONS = ("keep", "remove")
OBJECT_TYPES = ("Data Source", "Project")
IDS = {"object_id": "object id", "user_id": "user id"}
ID = re.compile(r"[+-]?[0-9]{1,19}")
# A longer cell is no text of people, but a quote without its closing quote.
LONGEST_CELL = 131_072
# The columns with an option for all lines at once.
GIVEN_FOR_ALL = {"decided_by": "--by", "decided_on": "--on"}
# The columns of a table that are read, but not added to the seed.
TOLD_BESIDE = ("status", "decides", "first", "login_name")
SEEN = re.compile(r"v1-[0-9a-f]{32}")
SEPARATORS = (",", ";", "\t", "|")
# The parts of `--dates`: each occurs once.
PARTS_OF_DAY = {"D": "day", "M": "month", "Y": "year"}
# Invisible letters. Marks, controls and spaces have their own categories.
UNSEEN = "\u115f\u1160\u2800\u3164"
Decision = dict[str, str]


class DecisionError(Exception):
    """A table, or a seed, that can't be used; its arguments are the mistakes."""


def unguarded(text: str) -> str:
    """Return a cell as it was before its guard against spreadsheets."""
    return text[1:] if text.startswith("'") and is_computed(text[1:]) else text


def _text_of(path: Path) -> str:
    """Return the text of a file with its line ends; raise DecisionError on failure."""
    try:
        # Some spreadsheets write a byte order mark.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DecisionError(
            f"{path} is not in UTF-8: save it as 'CSV UTF-8'."
        ) from None
    except OSError as problem:
        raise DecisionError(f"{path} can't be read: {problem.strerror}.") from None


def _rows(path: Path, text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a table without blank rows, each with its first line.

    Raises DecisionError for rows that can't be parsed, or cells that are too long.
    """
    limit = csv.field_size_limit(max(len(text), LONGEST_CELL))
    # A quote without its closing quote would make one cell of all later lines.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, begins = [], 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error as problem:
        raise DecisionError(
            f"{path}, line {begins}: it can't be read as a line of a table: {problem};"
            " is there a quote without its other end?"
        ) from None
    finally:
        csv.field_size_limit(limit)
    too_long = [
        f"{path}, line {number}: a cell has more than {LONGEST_CELL} characters; is"
        " there a quote without its other end?"
        for number, cells in rows
        if max(map(len, cells)) > LONGEST_CELL
    ]
    if too_long:
        raise DecisionError(*too_long)
    return rows


def _lines(path: Path) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    """Return the lines of a table with their numbers, and the problems of lines.

    The separator is detected. Missing cells at the end of a line are empty. Raises
    DecisionError for a missing or repeated column.
    """
    text = _text_of(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    # Some spreadsheets write the separator in a line before the table.
    tells_separator = first.lower().startswith("sep=")
    separator = first[4:5]
    if not tells_separator or separator not in SEPARATORS:
        separator = max(SEPARATORS, key=first.count)
    rows = _rows(path, text, separator)[1 if tells_separator else 0 :]
    known = {_letters_of(name): name for name in PEOPLE.values()}
    names = [
        known.get(_letters_of(name), name.strip().lower())
        for name in (rows[0][1] if rows else [])
    ]
    for column in COLUMNS:
        name = PEOPLE[column]
        if name not in names:
            raise DecisionError(
                f"{path} has no column '{name}': its first line must be as the"
                " pack has it, each name in a cell of its own."
            )
    for name in dict.fromkeys(names):
        if name in PEOPLE.values() and names.count(name) > 1:
            raise DecisionError(
                f"{path}, line {rows[0][0]}: the column '{name}' is there"
                f" {names.count(name)} times; take out those that do not count."
            )
    problems = [
        f"{path}, line {number}: it has {len(cells)} cells and the first line"
        f" {len(names)}; a cell with '{separator}' in it must stand in quotes."
        for number, cells in rows[1:]
        if any(cell.strip() for cell in cells[len(names) :])
    ]
    problems += [
        f"{path}, line {number}: it is one cell; what separates cells must be"
        f" '{separator}' here, as in the first line."
        for number, cells in rows[1:]
        if len(cells) == 1 and max(map(cells[0].count, SEPARATORS)) >= len(COLUMNS) - 1
    ]
    problems += [
        f"{path}, line {number}: '{cell.strip()}' stands in a column without a name;"
        " it must stand under 'decision'."
        for number, cells in rows[1:]
        for name, cell in zip(names, cells, strict=False)
        if not _letters_of(name) and cell.strip().lower() in DECISIONS
    ]
    empty = dict.fromkeys(names, "")
    lines = [
        (number, empty | dict(zip(names, cells, strict=False)))
        for number, cells in rows[1:]
    ]
    problems += [
        f"{path}, line {number}: '{name}' goes over several lines; is there a quote"
        " without its other end?"
        for number, cells in rows[1:]
        for place, (name, cell) in enumerate(zip(names, cells, strict=False))
        if _may_hold_a_row(name, cell, place, separator)
    ]
    return lines, problems


def _may_hold_a_row(name: str, cell: str, place: int, separator: str) -> bool:
    """Whether a quote without its closing quote may have put the next row in a cell.

    The pack writes no line ends in its cells. A column of the reviewer's own may have
    some: there, each line looks like a row that has as many separators as stand before
    the column.
    """
    if name in (PEOPLE[column] for column in COLUMNS):
        return len(cell.strip().splitlines()) > 1
    _, *later = re.split(r"[\r\n]+", cell.strip())
    if name in PEOPLE.values():
        return bool(later)
    fewest = min(place, len(COLUMNS) - 1)
    return any(line.count(separator) >= fewest for line in later)


def _letters_of(name: str) -> str:
    """Return the visible letters of a column's name, case-folded and without spaces."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(
        letter
        for letter in letters
        if letter not in UNSEEN and unicodedata.category(letter)[0] not in "CMZ"
    )


def decisions_in(
    path: Path, by: str = "", on: str = "", dates: str = ""
) -> list[Decision]:
    """Return the decisions in a filled table; raise DecisionError with all problems."""
    lines, problems = _lines(path)
    rows = []
    for number, line in lines:
        row = {c: unguarded(line[PEOPLE[c]].strip()).strip() for c in COLUMNS}
        if not row["decision"]:
            problems += [
                f"{path}, line {number}: '{cell}' stands under '{PEOPLE[column]}'; it"
                " must stand under 'decision'."
                for column, cell in row.items()
                if cell.lower() in DECISIONS
            ]
            continue
        day = row["decided_on"] or on
        row |= {
            "decision": row["decision"].lower(),
            "decided_by": row["decided_by"] or by,
            "decided_on": day_of(day, dates) or day,
        }
        # Ids get one spelling, so that decisions on one access can be compared.
        row |= {c: _one_spelling(row[c]) for c in IDS}
        told = {c: unguarded(line.get(PEOPLE[c], "").strip()) for c in TOLD_BESIDE}
        problems += [f"{path}, line {number}: {each}" for each in _problems(row)]
        rows.append(row | told)
    if problems:
        raise DecisionError(*problems)
    return rows


def day_of(text: str, dates: str = "") -> str | None:
    """Return a day as 2026-07-01; none if it has neither this form nor `dates`."""
    if is_day(text):
        return text
    found = _pattern_of(dates).fullmatch(text) if dates else None
    if not found:
        return None
    year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
    try:
        return date(year, int(found["month"]), int(found["day"])).isoformat()
    except ValueError:
        return None


def _pattern_of(dates: str) -> re.Pattern[str]:
    """Return the pattern of days in a form such as `DD.MM.YYYY`.

    Raises DecisionError if the form is invalid.
    """
    parts = re.findall(r"D+|M+|Y+|[^DMY]", dates)
    letters = [part[0] for part in parts if part[0] in PARTS_OF_DAY]
    years = [len(part) for part in parts if part[0] == "Y"]
    shortened = [len(part) for part in parts if part[0] in "DM"]
    is_whole = sorted(letters) == sorted(PARTS_OF_DAY) and len(parts) == 5
    if not is_whole or years[0] not in (2, 4) or max(shortened) > 2:
        raise DecisionError(
            f"--dates is '{dates}'; it must be written like DD.MM.YYYY or MM/DD/YY."
        )
    digits = {"D": "{1,2}", "M": "{1,2}", "Y": f"{{{years[0]}}}"}
    return re.compile(
        "".join(
            f"(?P<{PARTS_OF_DAY[part[0]]}>[0-9]{digits[part[0]]})"
            if part[0] in PARTS_OF_DAY
            else re.escape(part)
            for part in parts
        )
    )


def _problems(row: Decision) -> Iterator[str]:
    """Yield all problems of a decision."""
    if row["decision"] not in DECISIONS:
        yield f"the decision is '{row['decision']}'; it must be keep or remove."
    for column in COLUMNS:
        if not row[column] and column != "decision":
            option = GIVEN_FOR_ALL.get(column)
            cure = f": write it there, or give {option}" if option else ""
            yield f"'{PEOPLE[column]}' is empty{cure}."
    if row["object_type"] and row["object_type"].lower() not in map(
        str.lower, OBJECT_TYPES
    ):
        yield (
            f"the object type is '{row['object_type']}'; it must be"
            f" {' or '.join(OBJECT_TYPES)}."
        )
    for column, name in IDS.items():
        if row[column] and _id_of(row[column]) is None:
            yield f"the {name} is '{row[column]}'; it must be a whole number."
    if row["seen"] and not SEEN.fullmatch(row["seen"].lower()):
        yield f"'seen' is '{row['seen']}'; it must stay as the pack has it."
    if any(unicodedata.category(sign)[0] in "CZ" for sign in row["decided_by"]):
        yield (
            f"'decided by' is '{row['decided_by']}'; it must be an id, a login name or"
            " an e-mail address, without a space or a sign that nobody sees."
        )
    if row["decided_on"] and not is_day(row["decided_on"]):
        yield (
            f"the day is '{row['decided_on']}'; it must be written like 2026-07-01, or"
            " as --dates says, such as DD.MM.YYYY."
        )
    elif row["decided_on"] > datetime.now(timezone.utc).date().isoformat():
        yield f"the day {row['decided_on']} has not come."


def _id_of(text: str) -> int | None:
    """Return the id that a text is; none if no bigint is written so."""
    number = int(text) if ID.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _one_spelling(text: str) -> str:
    """Return an id without its plus sign and leading zeros; other texts stay."""
    number = _id_of(text)
    return text if number is None else str(number)


def is_day(text: str) -> bool:
    """Whether a text is a day in the form 2026-07-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def add(seed: Path, decisions: Iterable[Decision]) -> int:
    """Add the decisions that a seed lacks; return their number.

    Raises DecisionError for a wrong seed, or contradictory decisions.
    """
    known: list[tuple[str, ...]] = []
    if seed.exists():
        (_, header), *lines = _rows(seed, _text_of(seed), ",") or [(1, [])]
        if tuple(header) != COLUMNS:
            raise DecisionError(f"{seed} has other columns than {', '.join(COLUMNS)}.")
        wrong = [
            f"{seed}, line {number}: it has {len(line)} cells and not {len(COLUMNS)}."
            for number, line in lines
            if len(line) != len(COLUMNS)
        ]
        if wrong:
            raise DecisionError(*wrong)
        known = [tuple(line) for _, line in lines]
    decisions = list(decisions)
    told = dict.fromkeys(tuple(row[c] for c in COLUMNS) for row in decisions)
    new = [row for row in told if row not in set(known)]
    # A keep of one's own access is void, so it contradicts no removal.
    own = {tuple(row[c] for c in COLUMNS) for row in decisions if _is_own_keep(row)}
    if problems := _contradictions([r for r in (*known, *new) if r not in own]):
        raise DecisionError(*problems)
    beside = seed.with_name(f"{seed.name}.new")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *known, *new])
        beside.replace(seed)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise DecisionError(f"{seed} can't be written: {problem.strerror}.") from None
    return len(new)


def _contradictions(lines: list[tuple[str, ...]]) -> list[str]:
    """Return a problem for each access both kept and removed on one day."""
    decided: dict[tuple[str, ...], set[str]] = {}
    for line in lines:
        row = dict(zip(COLUMNS, (cell.strip().lower() for cell in line), strict=True))
        # Lines that people have added by hand may have ids such as `+8`.
        row |= {c: _one_spelling(row[c]) for c in (*IDS, "decided_by")}
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
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], allow_abbrev=False
    )
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
    parser.add_argument(
        "--dates",
        default="",
        help="how the tables write days, such as DD.MM.YYYY or MM/DD/YY",
    )
    given = parser.parse_args(arguments)
    tables: dict[Path, list[Decision]] = {}
    problems: list[str] = []
    for table in given.tables:
        try:
            tables[table] = decisions_in(
                table, given.by.strip(), given.on.strip(), given.dates.strip()
            )
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
    """Return the numbers of a table's decisions in words, by kind and peculiarity."""
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
    """Whether a user keeps their own access, compared by id or else by login name."""
    by = row["decided_by"].lower()
    if row["decision"] != "keep":
        return False
    if _id_of(by) is not None:
        return _id_of(by) == _id_of(row["user_id"])
    return by == row["login_name"].lower()


if __name__ == "__main__":
    sys.exit(main())
