"""Finds the clock where an expression has it as a text: `date'today'`, `day > 'now'`.

Spark takes these words for the clock wherever a constant text becomes a date or a time:
in a typed literal, in a cast, and in an implicit cast of a comparison or a function. So
such a word may stand only where a text certainly stays a text. A text that is computed
from texts may not become a date anywhere else either, since its value is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from secure_datasets.sql import expressions, inference
from secure_datasets.sql.expressions import Expression, ExpressionProblem

if TYPE_CHECKING:
    from sqlglot import exp

TypeOf = Callable[["exp.Expression"], str | None]
# With a time zone after it, if it is no moment. `epoch` is always the same.
CLOCK = re.compile(r"now|(today|tomorrow|yesterday)([^a-z\s]\S*|\s+\S+)?", re.ASCII)
# The characters that Java's `trim` removes, which Spark calls here.
BLANK = "".join(map(chr, range(33)))
TEXTS = ("string", "varchar", "char")
MOMENTS = ("date", "timestamp", "time")
# Functions whose value is never a text.
NO_TEXT = {
    *("add_months", "date_add", "date_sub", "datediff", "date_diff", "date_trunc"),
    *("dateadd", "last_day", "make_date", "make_interval", "make_timestamp"),
    *("months_between", "next_day", "to_date", "to_timestamp", "trunc"),
    *("ts_or_ds_add", "ts_or_ds_to_date", "timestamp_trunc", "date_sub", "array"),
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    *("time_str_to_time", "unix_timestamp", "to_unix_timestamp", "length"),
    *(
        "str_to_unix",
        "str_to_time",
        "ts_or_ds_diff",
        "timestamp_add",
        "struct",
        "map",
        "extract",
    ),
    # A failing call has no value.
    *("raise_error", "assert_true"),
}
# Functions that make a text from numbers, days or types.
MAKES_TEXT = {
    *("base64", "bin", "binary", "char", "chr", "conv", "dayname", "hex", "left"),
    *("lpad", "monthname", "overlay", "right", "rpad", "string", "to_base32"),
    *("typeof", "unhex"),
}


def is_clock(text: str) -> bool:
    """Whether Spark takes a text for the clock when it becomes a date or time."""
    return CLOCK.fullmatch(text.strip(BLANK).lower()) is not None


def types_of_row(name: str, types: Mapping[str, str]) -> TypeOf:
    """Return the known type of a column in an expression about a row.

    `name` is the row's name in a subquery, `types` has its columns.
    """
    from sqlglot import exp

    def type_of(column: exp.Expression) -> str | None:
        parts = [part.name.lower() for part in column.parts]
        if len(parts) > 1 and parts[0] == name:
            return types.get(parts[1])
        is_own = len(parts) == 1 and column.find_ancestor(exp.Query) is None
        return types.get(parts[0]) if is_own else None

    return type_of


def types_of_star(fact: str | None, relations: Mapping[str, Any]) -> TypeOf:
    """Return the known type of a column in a measure."""

    def type_of(column: exp.Expression) -> str | None:
        parts = [part.name.lower() for part in column.parts]
        relation = parts[0] if len(parts) > 1 else fact
        known = relations.get(relation, {}).get("columns", {})
        return known.get(parts[-1], "").lower() or None

    return type_of


def refuse(expression: Expression, type_of: TypeOf, becomes: str | None = None) -> None:
    """Raise a problem at a text that Spark could take for the clock.

    `type_of` returns the known type of a column; `becomes` is the type to which the
    whole value is cast.
    """
    from sqlglot import exp

    for text in expression.lost:
        if is_clock(text):
            raise _has(text)
    for node in expression.tree.find_all(exp.Literal):
        is_word = node.is_string and is_clock(node.this)
        if is_word and not _stays_text(node, type_of, becomes):
            raise _has(node.this)
    for node in expression.tree.walk():
        if _is_worked_out(node, type_of) and not _stays_text(node, type_of, becomes):
            raise ExpressionProblem(
                "'{key}' works out a text that could be read as the clock where Spark"
                " wants a date or time: write the text itself, or cast(... as string)"
            )


def _has(text: str) -> ExpressionProblem:
    said = text.strip(BLANK).replace("{", "(").replace("}", ")")
    return ExpressionProblem(
        f"'{{key}}' has '{said}', which Spark reads as the clock where it wants a date"
        " or time: compare it with what is known to be a text, such as cast(... as"
        " string)"
    )


def _is_worked_out(node: exp.Expression, type_of: TypeOf) -> bool:
    """Whether a node may be a text that Spark computes without a row."""
    from sqlglot import exp

    if not isinstance(node, exp.Func | exp.Binary | exp.Case | exp.Bracket | exp.Dot):
        return False
    # The value of a field is checked by itself.
    if isinstance(node, exp.Predicate | exp.Connector | exp.PropertyEQ):
        return False
    if isinstance(node, exp.Func) and expressions.function_name(node) in NO_TEXT:
        return False
    known = _type(node, type_of)
    if known is not None and not known.startswith(TEXTS):
        return False
    if node.find(exp.Column, exp.Query, exp.Lambda) or _names_variable(node):
        return False
    return known is not None or any(_may_be_text(part) for part in node.walk())


def _may_be_text(part: exp.Expression) -> bool:
    """Whether a part of a computed value is a text, or becomes one."""
    from sqlglot import exp

    if isinstance(part, exp.Literal):
        return part.is_string
    if isinstance(part, exp.Cast):
        return part.to.sql("spark").lower().startswith((*TEXTS, "binary"))
    # The names of a struct's fields can become texts too.
    is_text = isinstance(part, exp.HexString | exp.Chr | exp.Struct)
    is_text |= expressions.known_type(part, {}) == "string"
    if is_text or not isinstance(part, exp.Func):
        return is_text
    called = part.meta.get(expressions.CALLED)
    return bool({called, expressions.function_name(part)} & MAKES_TEXT)


def _names_variable(node: exp.Expression) -> bool:
    """Whether a node names a variable of a lambda, so that it waits for a row."""
    from sqlglot import exp

    variables = set()
    above = node.find_ancestor(exp.Lambda)
    while above is not None:
        variables |= {variable.name for variable in above.expressions}
        above = above.find_ancestor(exp.Lambda)
    return any(
        name.this in variables
        for name in node.find_all(exp.Identifier)
        # A field of a struct may have the name of a variable.
        if not isinstance(name.parent, exp.PropertyEQ)
        and not (isinstance(name.parent, exp.Dot) and name.arg_key == "expression")
    )


def _stays_text(
    node: exp.Expression,
    type_of: TypeOf,
    becomes: str | None,
) -> bool:
    """Whether a place reads its value as a text, and as nothing else."""
    from sqlglot import exp

    place = node
    while isinstance(place.parent, exp.Paren | exp.Alias):
        place = place.parent
    above = place.parent
    if above is None:
        return not inference.holds_moment(becomes)
    if isinstance(above, exp.Cast):
        # As a text it is checked again in the place of the cast.
        return not above.to.sql("spark").lower().startswith(MOMENTS)
    if isinstance(
        above,
        exp.Concat | exp.DPipe | exp.Lower | exp.Upper | exp.Trim | exp.Substring
        | exp.Replace | exp.Length | exp.Like | exp.ILike | exp.RegexpLike | exp.Split
        | exp.StartsWith | exp.EndsWith | exp.Contains | exp.StrPosition | exp.Reverse
        | exp.Left | exp.Right | exp.Pad | exp.Initcap | exp.Translate | exp.MD5
        | exp.SHA | exp.SHA2 | exp.RegexpReplace | exp.RegexpExtract | exp.Levenshtein
        | exp.StrToUnix | exp.Ascii | exp.ConcatWs | exp.ArrayToString,
    ):  # fmt: skip
        return True
    if isinstance(above, exp.PropertyEQ | exp.Struct | exp.Map | exp.VarMap | exp.Lambda
                  | exp.Transform | exp.ArrayFilter):  # fmt: skip
        # It stays what it is in a field, and comes out as one of the whole.
        return _stays_text(above, type_of, becomes)
    if isinstance(above, exp.Array):
        # Among its like it comes out as one of the whole.
        kinds = [_type(item, type_of) or "" for item in above.expressions]
        are_texts = all(kind.startswith((*TEXTS, "null")) for kind in kinds)
        return are_texts and _stays_text(above, type_of, becomes)
    others = [other for other in _beside(place, above) if other is not place]
    compares = isinstance(above, exp.ArrayContains) or bool(others)
    return compares and all(
        (_type(other, type_of) or "").startswith((*TEXTS, "null")) for other in others
    )


def _beside(place: exp.Expression, above: exp.Expression) -> Iterator[exp.Expression]:
    """Return the values that share a common type with a value."""
    from sqlglot import exp

    same = (
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
        exp.NullSafeNEQ, exp.Between, exp.Coalesce, exp.Nullif, exp.Greatest,
        exp.Least,
    )  # fmt: skip
    if isinstance(above, same):
        yield from above.iter_expressions()
    elif isinstance(above, exp.In):
        yield above.this
        yield from above.expressions
        if above.args.get("query"):
            yield above.args["query"]
    elif isinstance(above, exp.ArrayContains):
        yield from above.iter_expressions()
    elif isinstance(above, exp.If) and place is not above.this:
        yield from _branches(above)
    elif isinstance(above, exp.If) and expressions.is_when(above):
        # `case x when 'now'` compares with x.
        yield from filter(None, [above.parent.this])
    elif isinstance(above, exp.Case):
        is_value = place is not above.this
        whens = [when if is_value else when.this for when in above.args["ifs"]]
        for when in whens:
            yield from _branches(when) if is_value else [when]


def _branches(when: exp.Expression) -> list[exp.Expression]:
    """Return all values of the `case` or `if` of a branch."""
    if expressions.is_when(when):
        case = when.parent
        values = [branch.args["true"] for branch in case.args["ifs"]]
        return [*values, *filter(None, [case.args.get("default")])]
    return [value for key in ("true", "false") if (value := when.args.get(key))]


def _type(node: exp.Expression, type_of: TypeOf) -> str | None:
    """Return the type of a value, as far as it is known."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Column):
        return type_of(node)
    if isinstance(node, exp.Query):
        values = node.selects
        return _type(values[0].unalias(), type_of) if len(values) == 1 else None
    if isinstance(node, exp.Array):
        found = {_type(item, type_of) for item in node.expressions}
        return found.pop() if len(found) == 1 else None
    if isinstance(node, exp.If | exp.Case | exp.Coalesce):
        if isinstance(node, exp.Coalesce):
            values = [node.this, *node.expressions]
        else:
            values = _branches(
                node if isinstance(node, exp.If) else node.args["ifs"][0]
            )
        found = {_type(value, type_of) for value in values} - {"null"}
        return found.pop() if len(found) == 1 else None
    if isinstance(node, exp.Replace | exp.Reverse):
        return "string"
    return expressions.known_type(node, {})
