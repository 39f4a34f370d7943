"""Refuses expressions that an engine may compute differently from Spark.

Without ANSI mode Spark wraps whole numbers on overflow, casts texts to numbers, and
gives null for a text that is no number. Other engines fail on the value, or take a
wider type. So the bounds of whole numbers are computed here, and only values of one
family may stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING

from secure_datasets.sql import days, expressions
from secure_datasets.sql.expressions import (
    DECIMAL_TYPE,
    INTEGERS,
    WHOLE,
    ExpressionProblem,
)

if TYPE_CHECKING:
    from sqlglot import exp

WHOLE_NUMBERS = (*INTEGERS, "number")
# The types by their number of bits without the sign.
NAMES = {7: "tinyint", 15: "smallint", 31: "int", 63: "bigint"}
# The number of digits when Spark converts these types to decimals.
DIGITS = {7: 3, 15: 5, 31: 10, 63: 20}
DIGITS_OF_DECIMAL = 38
# A double holds every whole number of this many digits exactly.
DIGITS_OF_DOUBLE = 15


@dataclass(frozen=True)
class Whole:
    """A whole number: its least and greatest value, and the bits of its type."""

    least: int
    most: int
    bits: int


def whole(node: exp.Expression | None, types: Mapping[str, str]) -> Whole | None:
    """Return the bounds of a whole number, as Spark computes it.

    None if the expression is no whole number, or may exceed its type.
    """
    from sqlglot import exp

    if node is None:
        return None
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return _constant(node)
    if isinstance(node, exp.Column | exp.Cast | exp.Var):
        bits = INTEGERS.get(expressions.known_type(node, types) or "")
        if not bits:
            return None
        inner = whole(node.this, types) if isinstance(node, exp.Cast) else None
        within = _within([inner.least, inner.most], bits) if inner else None
        return within or Whole(-(2**bits), 2**bits - 1, bits)
    if isinstance(node, exp.Length):
        return Whole(0, 2**31 - 1, 31)
    if isinstance(node, exp.Count):
        return Whole(0, 2**63 - 1, 63)
    if isinstance(node, exp.Subquery | exp.Alias | exp.Max | exp.Min | exp.Nullif):
        return whole(node.this, types)
    if isinstance(node, exp.Query):
        return whole(node.selects[0], types) if len(node.selects) == 1 else None
    if isinstance(node, exp.Neg | exp.Abs):
        return _signed(node, types)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _worked_out(node, types)
    return _one_of(node, types)


def _constant(node: exp.Literal) -> Whole | None:
    """Return the bounds of a constant; its type is int, or bigint if int is too small.

    None if the constant is no whole number, or exceeds bigint.
    """
    if node.is_string or not WHOLE.fullmatch(node.this):
        return None
    value = int(node.this)
    bits = next((bits for bits in (31, 63) if value < 2**bits), None)
    return Whole(value, value, bits) if bits else None


def _signed(node: exp.Expression, types: Mapping[str, str]) -> Whole | None:
    """Return the bounds of a negated number or an absolute value."""
    from sqlglot import exp

    if expressions.is_signed(node) and node.this.is_int:
        # Spark reads the sign with the number, so the least int is an int.
        value = -int(node.this.this)
        bits = next((bits for bits in (31, 63) if value >= -(2**bits)), None)
        return Whole(value, value, bits) if bits else None
    held = whole(node.this, types)
    if held is None:
        return None
    if isinstance(node, exp.Neg):
        return _within([-held.least, -held.most], held.bits)
    least = 0 if held.least < 0 < held.most else min(abs(held.least), abs(held.most))
    return _within([abs(held.least), abs(held.most), least], held.bits)


def _worked_out(node: exp.Binary, types: Mapping[str, str]) -> Whole | None:
    """Return the bounds of a sum, a difference or a product."""
    from sqlglot import exp

    left, right = whole(node.left, types), whole(node.right, types)
    if left is None or right is None:
        return None
    work = {exp.Add: int.__add__, exp.Sub: int.__sub__, exp.Mul: int.__mul__}
    ends = [
        work[type(node)](one, other)
        for one in (left.least, left.most)
        for other in (right.least, right.most)
    ]
    return _within(ends, max(left.bits, right.bits))


def _one_of(node: exp.Expression, types: Mapping[str, str]) -> Whole | None:
    """Return the bounds of an expression that returns one of several values."""
    from sqlglot import exp

    known = []
    for value in _values(node):
        if isinstance(value.unnest(), exp.Null):
            continue
        held = whole(value, types)
        if held is None:
            return None
        known.append(held)
    if not known:
        return None
    ends = [end for held in known for end in (held.least, held.most)]
    return Whole(min(ends), max(ends), max(held.bits for held in known))


def _within(ends: list[int], bits: int) -> Whole | None:
    """Return the bounds; none if they exceed the type."""
    if min(ends) < -(2**bits) or max(ends) >= 2**bits:
        return None
    return Whole(min(ends), max(ends), bits)


def fits(held: Whole, wanted: str) -> bool:
    """Whether a type holds each possible value of a whole number."""
    if wanted in INTEGERS:
        limit = 2 ** INTEGERS[wanted]
        return -limit <= held.least and held.most < limit
    found = DECIMAL_TYPE.fullmatch(wanted)
    if not found:
        return False
    limit = 10 ** (int(found[1] or 10) - int(found[2] or 0))
    return -limit < held.least and held.most < limit


def widen(holder: exp.Expression, types: Mapping[str, str]) -> None:
    """Cast the operands of arithmetic to the type of Spark's result."""
    from sqlglot import exp

    work = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs)
    # Inner nodes first: the outer node copies them.
    for node in reversed(list(holder.find_all(*work))):
        result = whole(node, types)
        for part in filter(None, (node.this, node.args.get("expression"))):
            held = whole(part, types)
            inner = part.unnest()
            if result is None or held is None or isinstance(inner, exp.Literal):
                continue
            # A constant beside a narrow column is narrow in some engines.
            kinds = (exp.Column, exp.Cast, exp.Count, exp.Var)
            is_of_type = isinstance(inner, kinds)
            if held.bits < result.bits or not is_of_type:
                to = exp.DataType.build(NAMES[result.bits], dialect="spark")
                part.replace(exp.Cast(this=part.copy(), to=to))


def kind_of(node: exp.Expression, types: Mapping[str, str]) -> str | None:
    """Return the family of a value; numbers have one for each representation."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string:
        # A constant with an exponent is a double.
        if "e" in node.this.lower():
            return "double"
        return "constant" if len(node.this) <= DIGITS_OF_DOUBLE else "exact"
    if expressions.is_signed(node):
        return kind_of(node.this, types)
    if whole(node, types):
        return "exact"
    if isinstance(node, exp.Nullif):
        return kind_of(node.this, types)
    if isinstance(node, exp.Coalesce | exp.Case | exp.If):
        return _kind_of_values(node, types)
    found = type_of(node, types)
    if found is None or found == "number":
        is_named = isinstance(
            node, exp.Column | exp.Var | exp.Query | exp.Max | exp.Min | exp.Subquery
        )
        return None if is_named else "several types"
    if DECIMAL_TYPE.fullmatch(found):
        return "exact"
    return "float" if found in ("real", "float") else found.split("(")[0]


def _values(node: exp.Expression) -> list[exp.Expression]:
    """Return the candidate values of a coalesce, a case or an if; else no values."""
    from sqlglot import exp

    is_choice = isinstance(node, exp.Coalesce)
    return [node.this, *node.expressions] if is_choice else expressions.branches(node)


def _kind_of_values(node: exp.Expression, types: Mapping[str, str]) -> str | None:
    """Return the family of an expression that returns one of several values."""
    kinds = {kind_of(value, types) for value in _values(node)} - {"null"}
    if kinds and kinds <= {"exact", "constant"}:
        return "exact"
    if kinds and kinds <= {"double", "constant"}:
        return "double"
    if len(kinds) > 1:
        return "several types"
    return kinds.pop() if kinds else "null"


def is_double(text: str) -> bool:
    """Whether a number is neither too large for a double nor too near to zero."""
    try:
        value = float(text)
    except ValueError:
        return True
    has_digits = any(digit in "123456789" for digit in text.lower().split("e")[0])
    return has_digits == (value != 0) and (not isinf(value) or "inf" in text.lower())


def shape(node: exp.Expression, types: Mapping[str, str]) -> tuple[int, int] | None:
    """Return Spark's number of digits before and behind the point; none if unknown.

    A double has no fixed digits.
    """
    from sqlglot import exp

    node = node.unnest()
    if expressions.is_signed(node):
        return shape(node.this, types)
    if isinstance(node, exp.Literal):
        if node.is_string or "e" in node.this.lower():
            return None
        before, _, behind = node.this.partition(".")
        return len(before.lstrip("0")), len(behind)
    held = whole(node, types)
    if held is not None:
        return DIGITS[held.bits], 0
    if _values(node):
        known = [each for value in _values(node) if (each := shape(value, types))]
        return tuple(map(max, zip(*known, strict=True))) if known else None
    found = DECIMAL_TYPE.fullmatch(type_of(node, types) or "")
    if not found:
        return None
    digits, behind = int(found[1] or 10), int(found[2] or 0)
    return digits - behind, behind


def agree(kinds: set[str | None]) -> bool:
    """Whether engines compare values of these families as Spark does."""
    known = kinds - {"null"}
    if known <= {"exact", "constant"} or known <= {"double", "constant"}:
        return True
    if None in known:
        # The product's own relations are joined by keys of one type.
        return not known & {"constant", "double", "float", "boolean"}
    return len(known) == 1


def check(
    holder: exp.Expression,
    types: Mapping[str, str],
    refuse: Callable[[str], ExpressionProblem],
) -> None:
    """Raise a problem for an expression that engines compute differently from Spark."""
    from sqlglot import exp

    for node in holder.walk():
        _check_form(node, refuse)
        if isinstance(node, exp.Sum):
            raise refuse("sum, which can overflow")
        of_what = node.this if isinstance(node, exp.Case) else None
        if of_what is not None and isinstance(of_what.unnest(), exp.Null):
            raise refuse("case of null")
        if expressions.is_signed(node):
            continue
        is_moved = isinstance(node, exp.Add | exp.Sub)
        is_moved = is_moved and type_of(node, types) == "date"
        if is_moved and not any(map(days.is_small, (node.left, node.right))):
            raise refuse(f"{node.key} of days that are no constant, which overflow")
        is_work = isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg | exp.Abs)
        if is_work and type_of(node, types) != "date" and whole(node, types) is None:
            raise refuse(
                f"{node.key}, which can overflow, or works with other than whole"
                " numbers of known types"
            )
    for node in holder.walk():
        # The reader of the config checks that the operands of `and` are booleans.
        both = [] if isinstance(node, exp.Connector) else side_by_side(node, types)
        for parts in both:
            _check_side_by_side([part for part in parts if part], types, refuse)


def check_doubles(
    holder: exp.Expression,
    types: Mapping[str, str],
    refuse: Callable[[str], ExpressionProblem],
) -> None:
    """Raise a problem for a comparison of doubles, since NaN compares otherwise."""
    from sqlglot import exp

    for node in holder.find_all(exp.Predicate, exp.Case, exp.Nullif):
        if isinstance(node, exp.Is):
            continue
        for parts in side_by_side(node, types):
            given = [part for part in parts if part is not None]
            kinds = {kind_of(part, types) for part in given}
            # A case without a value of its own compares none.
            is_compared = not isinstance(node, exp.Case) or (
                node.this is not None and any(part is node.this for part in given)
            )
            if kinds & {"double", "float"} and is_compared:
                raise refuse("a comparison of doubles, of which one may be NaN")


def _check_form(
    node: exp.Expression, refuse: Callable[[str], ExpressionProblem]
) -> None:
    """Raise a problem for a form that parses everywhere with different meanings."""
    from sqlglot import exp

    above = node.parent
    is_looked_up = isinstance(above, exp.In) and above.args.get("query")
    # Outside Spark, a tuple is null if all of its values are null, and a tuple with a
    # null equals no tuple.
    if isinstance(node, exp.Tuple) and not is_looked_up:
        raise refuse("tuple")
    if isinstance(node, exp.Count) and node.expressions:
        raise refuse("count of several")
    if isinstance(node, exp.SetOperation) and node.args.get("by_name"):
        raise refuse("union by name")
    if isinstance(node, exp.Join):
        # The text does not show the compared columns and their types.
        if node.args.get("using") or node.method:
            raise refuse("a join by the names of columns")
        if node.kind.upper() in ("SEMI", "ANTI"):
            raise refuse(f"a {node.kind.lower()} join")
    has_power = isinstance(node, exp.Literal) and "e" in node.this.lower()
    if has_power and not node.is_string and not is_double(node.this):
        raise refuse(f"{node.this}, which is no double")


def _check_side_by_side(
    parts: list[exp.Expression],
    types: Mapping[str, str],
    refuse: Callable[[str], ExpressionProblem],
) -> None:
    """Raise a problem for values of several families side by side."""
    from sqlglot import exp

    if any(isinstance(part, exp.Tuple) for part in parts):
        of_each = (members(part) for part in parts)
        for one in zip(*of_each, strict=False):
            _check_side_by_side(list(one), types, refuse)
        return
    kinds = {kind_of(part, types) for part in parts}
    # `printing` checks the values beside days and moments.
    is_of_moments = any(kind is not None and is_moment(kind) for kind in kinds)
    shapes = [found for part in parts if (found := shape(part, types))]
    if len(shapes) > 1 and sum(map(max, zip(*shapes, strict=True))) > DIGITS_OF_DECIMAL:
        # Spark gives both a type too small for some of the numbers, which become null.
        raise refuse(f"numbers of more than {DIGITS_OF_DECIMAL} digits side by side")
    if not is_of_moments and not agree(kinds):
        raise refuse(
            " beside ".join(sorted(SAID.get(kind, str(kind)) for kind in kinds))
        )


SAID = {
    None: "an unknown type",
    "exact": "whole number or decimal",
    "constant": "number",
    "string": "text",
}


def is_moment(data_type: str | None) -> bool:
    return data_type is not None and data_type.startswith(("date", "time"))


def type_of(node: exp.Expression, types: Mapping[str, str]) -> str | None:
    """Return the type of an expression, including arithmetic with days."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Subquery | exp.Alias | exp.Max | exp.Min):
        return type_of(node.this, types)
    if isinstance(node, exp.Query):
        kinds = {type_of(each, types) for each in node.selects}
        return kinds.pop() if len(kinds) == len(node.selects) == 1 else None
    if isinstance(node, exp.Add | exp.Sub):
        kinds = {type_of(part, types) for part in (node.this, node.expression)}
        if "date" in kinds and kinds & set(WHOLE_NUMBERS):
            return "date"
        if any(map(is_moment, kinds)):
            return None
    found = expressions.known_type(node, types)
    return found.lower() if found else None


def side_by_side(
    node: exp.Expression, types: Mapping[str, str]
) -> Iterator[list[exp.Expression]]:
    """Yield the groups of parts of an expression that an engine gives one type."""
    from sqlglot import exp

    given = node.args
    if isinstance(node, exp.Add | exp.Sub) and type_of(node, types) == "date":
        # A day plus or minus a number of days.
        return
    if isinstance(node, exp.Case):
        yield [*(each.args["true"] for each in given["ifs"]), given.get("default")]
        if node.this:
            yield [node.this, *(each.this for each in given["ifs"])]
    elif isinstance(node, exp.If) and node.arg_key != "ifs":
        yield [given["true"], given.get("false")]
    elif isinstance(node, exp.SetOperation):
        for pair in zip(node.left.selects, node.right.selects, strict=False):
            yield list(pair)
    elif isinstance(node, exp.In):
        yield [node.this, *node.expressions, given.get("query")]
    elif isinstance(node, exp.Between):
        yield [node.this, given["low"], given["high"]]
    elif isinstance(node, exp.Coalesce):
        yield [node.this, *node.expressions]
    elif isinstance(node, exp.Binary | exp.Nullif):
        yield [node.this, node.expression]


def members(part: exp.Expression) -> list[exp.Expression]:
    """Return the members of a tuple, or the columns of a query."""
    from sqlglot import exp

    if isinstance(part, exp.Tuple):
        return part.expressions
    query = part.unnest()
    return query.selects if isinstance(query, exp.Query) else []
