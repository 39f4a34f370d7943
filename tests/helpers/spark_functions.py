"""What the functions that rules may call are held against Spark with.

They stand in spark_functions.txt. A line of a function has its name, a call with
hostile values, an example and its value as a text; one of an aggregate has no hostile
call, and one of an operator nothing else. A column of a hostile call is one letter;
VALUES has the values that it goes through.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TEXT = re.compile(r"'(?:[^'\\]|\\.)*'")
LAMBDA = re.compile(r"(?:\([a-z, ]+\)|\b[a-z]\b)(?= ->)")

# The columns of hostile calls, by letters, with their type and their values. Dates and
# times are those that Spark documents: years 1 to 9999.
VALUES: dict[str, tuple[str, tuple[str, ...]]] = {
    "stu": ("string", (
        "'a'", "''", "null", "' '", "'12'", "'-1.5e300'", "'NaN'",
        "'9223372036854775808'", "'2026-02-30'", "'99999-01-01'", "'24:00:00'", "'['",
        "'('", "'*'", r"'a\\'", r"'\\'", "'%'", "'{'", """'{"a":1}'""",
        """'{"a":"x","a":2}'""", "'[1'", "'<a'", "'%zz'", "'http://['",
        "'Europe/Nowhere'", "'=A'", "'中国人'", "cast(x'ff41' as string)", r"'\u0000'",
        "'31/12/26'", "'a,a:b'", "repeat('ab', 800)", "'$.['", "'now'",
    )),
    "ijk": ("int", (
        "null", "0", "1", "-1", "13", "2147483647", "-2147483648",
    )),
    "bc": ("bigint", (
        "null", "0", "1", "-1", "9223372036854775807", "-9223372036854775808",
        "1114112", "55296",
    )),
    "fg": ("double", (
        "null", "0", "-0D", "1", "'NaN'", "'Infinity'", "'-Infinity'",
        "1.7976931348623157E308D", "4.9E-324D",
    )),
    "n": ("decimal(34,2)", (
        "null", "0", "'99999999999999999999999999999999.99'",
        "'-99999999999999999999999999999999.99'", "'0.01'", "'60.5'",
    )),
    "dq": ("date", (
        "null", "'0001-01-01'", "'9999-12-31'", "'2026-01-31'", "'1582-10-04'",
    )),
    "zw": ("timestamp", (
        "null", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'",
        "'2026-03-29 02:30:00'",
    )),
    "l": ("timestamp_ntz", ("null", "'0001-01-01 00:00:00'", "'2026-03-29 02:30:00'")),
    "y": ("boolean", ("null", "true", "false")),
    "x": ("binary", ("null", "x''", "x'ff00'", "x'41'")),
    "a": ("array<string>", (
        "null", "array()", "array(null)", "array('a', null, 'a')", "array('12', 'b')",
    )),
    "v": ("array<int>", ("null", "array()", "array(2147483647, 2147483647, null)")),
    "m": ("map<string,string>", ("null", "map()", "map('a', null, 'b', 'x')")),
    "r": ("struct<x:int,y:string>", (
        "null", "named_struct('x', null, 'y', 'a')", "named_struct('x', 1, 'y', null)",
    )),
}  # fmt: skip


class Function(NamedTuple):
    """A function: a call with hostile values, an example, and its value as a text."""

    name: str
    hostile: str
    example: str
    value: str


class Aggregate(NamedTuple):
    """An aggregate: an example, and its value as a text."""

    name: str
    example: str
    value: str


def _parts() -> dict[str, list[str]]:
    """Return the lines of the file, by the heading above them."""
    parts: dict[str, list[str]] = {}
    file = Path(__file__).with_suffix(".txt")
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            lines = parts.setdefault(line[2:], [])
        else:
            lines.append(line)
    return parts


PARTS = _parts()
FUNCTIONS = [Function(*line.split(" | ", 3)) for line in PARTS["functions"]]
AGGREGATES = [Aggregate(*line.split(" | ", 2)) for line in PARTS["aggregates"]]
OPERATORS = PARTS["operators"]


def columns_of(call: str) -> list[str]:
    """Return the columns that a hostile call names, which no lambda of it does."""
    bare = TEXT.sub("''", call)
    bound = set(re.findall(r"[a-z]", " ".join(LAMBDA.findall(bare))))
    named = dict.fromkeys(re.findall(r"(?<![.\w])[a-z](?!\w)(?! *\()", bare))
    return [name for name in named if name not in bound]
