"""Escapes texts for a terminal, and prints tables."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

# Controls, line and paragraph separators, the format characters of Unicode (Cf), and
# invisible characters (Default_Ignorable_Code_Point).
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


# The gap between two columns of a table.
GAP = "  "


def without_steering(sentence: str) -> str:
    """Return a sentence with a `?` for each unprintable character."""
    return "".join(c if c.isprintable() else "?" for c in sentence)


def printable(text: Any) -> str:
    """Return a text with escapes for invisible and terminal-steering characters."""
    return STEERING.sub(_escaped, str(text))


def _escaped(found: re.Match[str]) -> str:
    # JSON does not escape DEL, the last character of ASCII.
    return "\\u007f" if found[0] == "\x7f" else json.dumps(found[0])[1:-1]


def table_lines(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], align: str = "right"
) -> list[str]:
    """Return the lines of a table for people, with a rule below its headers.

    align    alignment of the columns after the first: right, for numbers, or left
    """
    cells = [[printable(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    placed = str.ljust if align == "left" else str.rjust
    lines = [
        GAP.join(
            (placed if place else str.ljust)(cell, width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    return [lines[0], rule, *lines[1:]]
