"""Answers as text for people, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from secure_datasets.config.steering import GAP, table_lines, without_steering
from secure_datasets.questions.lookups import Answer, Table

BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
GREEN, RED = "\033[32m", "\033[31m"
COLOURS = {"open": GREEN, "gained": GREEN, "closed": RED, "lost": RED}
# A cell that is one of these words, and the rule below the head of a table.
STATE = re.compile(rf"(?<={GAP})(?:{'|'.join(COLOURS)})(?={GAP})")
RULE = re.compile("-{3,}")


def as_text(answer: Answer) -> str:
    """Return an answer for people."""
    lines = ["", answer.sentence, *filter(None, [answer.left_out])]
    for table in answer.tables:
        lines += ["", f"{table.title[0].upper()}{table.title[1:]}", *_lines(table)]
    return "\n".join([*map(without_steering, lines), ""])


def _lines(table: Table) -> list[str]:
    rows = [[_cell(value) for value in row] for row in table.rows]
    return table_lines(table.columns, rows, align="left")


def coloured(text: str) -> str:
    """Return an answer as a terminal shows it: heads in bold, yes and no in colour.

    Nothing is added but codes of style, and these stand in no name: what steers a
    terminal was taken out of the answer before.
    """
    lines, is_answer = text.split("\n"), True
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if (is_answer and line) or RULE.fullmatch(following):
            lines[place] = f"{BOLD}{line}{PLAIN}"
        elif RULE.fullmatch(line):
            lines[place] = f"{DIM}{line}{PLAIN}"
        else:
            lines[place] = STATE.sub(_in_colour, line)
        is_answer = is_answer and not line
    return "\n".join(lines)


def _in_colour(found: re.Match[str]) -> str:
    return f"{COLOURS[found[0]]}{found[0]}{PLAIN}"


def _cell(value: Any) -> str:
    return "-" if value is None else without_steering(str(value))


def as_document(answer: Answer, about: dict[str, Any]) -> str:
    """Return an answer as one JSON document, with what answered it."""
    tables = [
        {
            "title": table.title,
            "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        }
        for table in answer.tables
    ]
    told = {"answer": answer.sentence, "tables": tables}
    if answer.left_out:
        told["left_out"] = answer.left_out
    return json.dumps({**about, **told}, indent=2, default=str)


def as_csv(tables: list[Table]) -> str:
    """Return tables as one: each row says of which it is."""
    columns = list(dict.fromkeys(c for table in tables for c in table.columns))
    text = io.StringIO()
    writer = csv.DictWriter(text, ["table", *columns], lineterminator="\n")
    writer.writeheader()
    for table in tables:
        for row in table.rows:
            values = dict(zip(table.columns, map(_harmless, row), strict=True))
            writer.writerow({"table": _harmless(table.title), **values})
    return text.getvalue().rstrip("\n")


def _harmless(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    is_formula = isinstance(value, str) and value[:1] in (
        "=",
        "+",
        "-",
        "@",
        "\t",
        "\r",
    )
    return f"'{value}" if is_formula else value
