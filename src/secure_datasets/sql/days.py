"""Says where a day or a moment that is made of a text or a number can lead too far.

Spark's days reach to the year 5,881,580, and its moments to 294,247: what reads a day
as a moment, or adds months to it, fails on one that lies further; so does what moves a
moment near the end. Columns are taken to hold days of the calendar that Spark
documents, the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from secure_datasets.sql.expressions import ExpressionProblem, branches, constant
from secure_datasets.sql.functions import names
from secure_datasets.sql.inference import MOMENTS, family, written_family

if TYPE_CHECKING:
    from sqlglot import exp

# So many days lead from no day of the calendar to where moments end.
MOST_DAYS = 10**6
# Functions that sqlglot has no class for.
MAKES = {"make_date"}
MAKES_MOMENTS = {"timestamp_micros"}
PARTS = {"date_part", "datepart"}
# The parts of a day that Spark reads without its hours.
OF_A_DAY = names(
    "year y years yr yrs yearofweek quarter qtr month mon mons months week w weeks"
    " day d days dayofweek dow dayofweek_iso dow_iso doy"
)


def check(tree: exp.Expression) -> None:
    """Raise a problem at a made day that is read as a moment, or a made moment moved.

    The tree has types.
    """
    for node in tree.walk():
        if any(map(_is_made, _read_as_moments(node))):
            raise _problem()
        if any(map(_is_made_moment, _moved(node))):
            raise ExpressionProblem(
                "'{key}' moves a moment made of a text or a number, which fails near"
                " the ends of time: compare the moment itself, 'cast(x as timestamp)',"
                " and move the other side"
            )


def check_mask(tree: exp.Expression, data_type: str) -> None:
    """Raise a problem at a mask that is a made day, for a column of moments."""
    if written_family(data_type) == "timestamp" and _is_made(tree):
        raise _problem()


def _problem() -> ExpressionProblem:
    return ExpressionProblem(
        "'{key}' reads a day made of a text or a number as a moment, or adds months to"
        " it, which fails on a day far out of the calendar: compare days with days, and"
        " make a day of a text by 'cast(cast(x as timestamp) as date)'"
    )


def _read_as_moments(node: exp.Expression) -> Iterator[exp.Expression]:
    """Return the parts of a node that Spark reads as moments, if they are days."""
    from sqlglot import exp

    moments = (
        exp.AtTimeZone, exp.FromTimeZone, exp.Hour, exp.Minute, exp.MonthsBetween,
        exp.Second, exp.StrToUnix, exp.TimeToStr, exp.TimestampTrunc, exp.UnixMicros,
        exp.UnixMillis, exp.UnixSeconds,
    )  # fmt: skip
    is_quarter = isinstance(node, exp.DateTrunc) and (
        node.text("unit").upper() == "QUARTER"
    )
    if isinstance(node, (*moments, exp.AddMonths)) or is_quarter:
        yield from node.iter_expressions()
    elif isinstance(node, exp.Anonymous) and node.name.lower() in PARTS:
        part, *read = node.expressions
        yield from () if part.name.lower() in OF_A_DAY else read
    elif isinstance(node, exp.Extract):
        yield from () if node.name.lower() in OF_A_DAY else [node.expression]
    elif isinstance(node, exp.Cast) and family(node) == "timestamp":
        yield node.this
    elif isinstance(node, exp.Add | exp.Sub):
        pair = (node.left, node.right)
        if isinstance(node, exp.Sub) and {*map(family, pair)} == {"date"}:
            yield from pair
        if any(
            isinstance(part.unnest(), exp.Interval) or family(part) == "timestamp"
            for part in pair
        ):
            yield from pair
    else:
        together = list(_together(node))
        if any(family(part) == "timestamp" for part in together):
            yield from together


def _together(node: exp.Expression) -> Iterator[exp.Expression]:
    """Return the parts of a node that Spark brings to one type."""
    from sqlglot import exp

    compared = (exp.Binary, exp.In, exp.Between)
    chosen = (exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif, exp.Array)
    if isinstance(node, (*compared, *chosen)):
        yield from node.iter_expressions()
    elif isinstance(node, exp.Case | exp.If | exp.Nvl2):
        if node.this is not None and isinstance(node, exp.Case):
            yield node.this
            yield from (each.this for each in node.args["ifs"])
        yield from branches(node)


def _moved(node: exp.Expression) -> Iterator[exp.Expression]:
    """Return the moments that a node moves to other moments."""
    from sqlglot import exp

    moving = (
        *(exp.AtTimeZone, exp.ConvertTimezone, exp.FromTimeZone),
        *(exp.DateTrunc, exp.Sub, exp.TimestampTrunc),
    )
    is_moving = isinstance(node, moving)
    if isinstance(node, exp.Add):
        is_moving = "interval" in (family(node.left), family(node.right))
    yield from node.iter_expressions() if is_moving else ()


def _is_made_moment(node: exp.Expression) -> bool:
    """Whether a value can be a moment that was made of a text or a number."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Cast) and family(node) == "timestamp":
        if family(node.this) in ("number", "string"):
            return constant(node.this) is None
        return _is_made_moment(node.this)
    if isinstance(node, exp.Anonymous) and node.name.lower() in MAKES_MOMENTS:
        return any(constant(part) is None for part in node.expressions)
    inner = _chosen(node)
    if isinstance(node, exp.SafeAdd | exp.SafeSubtract):
        inner = [node.this, node.expression]
    return any(map(_is_made_moment, inner))


def _chosen(node: exp.Expression) -> list[exp.Expression]:
    """Return the values from which a node chooses one."""
    from sqlglot import exp

    if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least | exp.Nullif):
        return list(node.iter_expressions())
    return branches(node)


def _is_made(node: exp.Expression) -> bool:
    """Whether a value can be a day that was made of a text or a number."""
    from sqlglot import exp

    node = node.unnest()
    inner: list[exp.Expression] = []
    if isinstance(node, exp.Cast | exp.TsOrDsToDate):
        is_day = isinstance(node, exp.TsOrDsToDate) or family(node) == "date"
        found = family(node.this)
        if is_day and found not in (None, "null", *MOMENTS):
            return constant(node.this) is None
        inner = [node.this] if is_day and found == "date" else []
    elif isinstance(
        node, exp.TsOrDsAdd | exp.Add | exp.Sub | exp.SafeAdd | exp.SafeSubtract
    ):
        added = node.expression
        kinds = {family(node.this), family(added)}
        is_day = isinstance(node, exp.TsOrDsAdd) or "date" in kinds
        if is_day and "number" in kinds and not is_small(added):
            return True
        inner = [node.this, added]
    elif isinstance(node, exp.DateFromUnixDate):
        return constant(node.this) is None
    elif isinstance(node, exp.Anonymous):
        return node.name.lower() in MAKES
    elif isinstance(
        node, exp.LastDay | exp.NextDay | exp.DateTrunc | exp.TimeStrToTime
    ):
        inner = [node.this]
    else:
        inner = _chosen(node)
    return any(map(_is_made, inner))


def is_small(added: exp.Expression) -> bool:
    """Whether so many days are a constant that leads to no far day."""
    from sqlglot import exp

    if isinstance(added, exp.Mul):
        # How sqlglot writes `date_sub`.
        added = added.left
    found = constant(added)
    return bool(
        found and found[1].lstrip("-").isdecimal() and abs(int(found[1])) <= MOST_DAYS
    )
