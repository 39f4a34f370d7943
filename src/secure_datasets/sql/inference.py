"""Infers the type of an expression, as far as columns are documented.

sqlglot annotates the tree. This module corrects it where it knows less than Spark or
differs from Spark; the tests compare the results with Spark's own types. Types are
distinguished by family: a comparison or cast within a family is never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from secure_datasets.sql import argument_types, expressions
from secure_datasets.sql.expressions import Expression, ExpressionProblem, pieces_of

if TYPE_CHECKING:
    from sqlglot import exp

# The name of the row for the annotation of its columns.
ROW = "__row"
# The families that `try_cast` can make of a family, beside itself and a text.
CASTS: Mapping[str, frozenset[str]] = {
    "null": frozenset(
        {"number", "boolean", "date", "timestamp", "binary", "array", "map", "struct"}
    ),
    "string": frozenset({"number", "boolean", "date", "timestamp", "binary"}),
    "number": frozenset({"boolean", "timestamp"}),
    "boolean": frozenset({"number"}),
    "date": frozenset({"timestamp"}),
    "timestamp": frozenset({"date", "number"}),
    "interval": frozenset({"number"}),
}
MOMENTS = frozenset({"date", "timestamp"})
NESTED = frozenset({"array", "map", "struct"})
KNOWS_NULL = re.compile(r"<=>|\bis\s+(not\s+)?distinct\s+from\b", re.IGNORECASE)


def _a(family: str | None) -> str:
    return f"{'an' if family in ('array', 'interval') else 'a'} {family}"


def annotated(
    tree: exp.Expression, name: str | None, types: Mapping[str, str]
) -> exp.Expression:
    """Return a copy of an expression whose parts have types.

    `name` is the row's name, and `types` has its columns; the columns of a subquery
    have no types.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types

    known: dict[str, exp.DataType] = {}
    for column, written in types.items():
        try:
            known[column] = exp.DataType.build(written, dialect="spark")
        except (SqlglotError, ValueError):
            continue
    holder = exp.Paren(this=tree.copy())
    for column in list(holder.find_all(exp.Column)):
        names = [part.name.lower() for part in column.parts]
        is_own = column.find_ancestor(exp.Query) is None
        if len(names) > 1 and names[0] == name:
            names = names[1:]
        elif not is_own:
            continue
        if names[0] not in known or column.find_ancestor(exp.Lambda):
            continue
        made: exp.Expression = exp.column(names[0], table=ROW)
        for field in names[1:]:
            made = exp.Dot(this=made, expression=exp.to_identifier(field))
        column.replace(made)
    query = exp.select(holder.copy().as_("value")).from_(ROW)
    try:
        query = annotate_types(
            query, schema={ROW: known or {ROW: "int"}}, dialect="spark"
        )
    except (SqlglotError, ValueError, RecursionError, AttributeError):
        # It fails on a quotient of intervals, among others.
        return holder.this
    return query.selects[0].this.this


def family(node: exp.Expression) -> str | None:
    """Return the family of an annotated expression's type; none if it is unknown."""
    from sqlglot import exp

    node = node.unnest()
    always = {
        "null": exp.Null,
        "boolean": exp.Predicate | exp.Connector | exp.Not | exp.Boolean,
        "struct": exp.Struct,
        "array": exp.Transform | exp.ArrayFilter,
        "number": exp.ArrayPosition,
    }
    for name, kinds in always.items():
        if isinstance(node, kinds):
            return name
    if isinstance(node, exp.Bracket) and family(node.this) == "map":
        parts = node.this.unnest().type
        return family_of_type(parts.expressions[-1]) if parts.expressions else None
    if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
        # `trunc` of a day is a day, `date_trunc` of one a moment.
        return None
    if isinstance(node, exp.DPipe):
        # Spark also concatenates lists and bytes this way.
        kinds = {family(node.left), family(node.right)}
        return None if kinds & {None, "array", "binary"} else "string"
    if isinstance(node, exp.Query):
        return family(node.selects[0]) if len(node.selects) == 1 else None
    if isinstance(node, exp.Alias):
        return family(node.this)
    if isinstance(node, exp.Add | exp.Sub | exp.SafeAdd | exp.SafeSubtract):
        kinds = {family(node.this), family(node.expression)}
        if isinstance(node, exp.Sub | exp.SafeSubtract) and kinds <= MOMENTS:
            return "interval"
        if kinds & (MOMENTS | {None, "interval"}):
            # A day some days later is a day.
            is_later = kinds in ({"date", "number"}, {"timestamp", "interval"})
            return (kinds & MOMENTS).pop() if is_later else None
    tried = exp.SafeAdd | exp.SafeSubtract | exp.SafeMultiply | exp.SafeDivide
    if isinstance(node, tried):
        kinds = {family(node.this), family(node.expression)}
        return "number" if kinds == {"number"} else None
    found = node.type
    return family_of_type(found) if found is not None else None


def family_of_type(data_type: exp.DataType) -> str | None:
    """Return the family of a type."""
    from sqlglot import exp

    kinds = exp.DataType.Type
    families = {
        "string": exp.DataType.TEXT_TYPES,
        "number": exp.DataType.NUMERIC_TYPES,
        "boolean": {kinds.BOOLEAN},
        "date": {kinds.DATE, kinds.DATE32},
        "timestamp": exp.DataType.TEMPORAL_TYPES - {kinds.DATE, kinds.DATE32},
        "binary": {kinds.BINARY, kinds.VARBINARY},
        "array": {kinds.ARRAY, kinds.LIST},
        "map": {kinds.MAP},
        "struct": {kinds.STRUCT},
        "null": {kinds.NULL},
        "interval": {kinds.INTERVAL},
    }
    for name, members in families.items():
        if data_type.this in members:
            return name
    return None


def written_family(data_type: str) -> str | None:
    """Return the family of a type as it is documented."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return family_of_type(exp.DataType.build(data_type, dialect="spark"))
    except (SqlglotError, ValueError):
        return None


def holds_moment(data_type: str | None) -> bool:
    """Whether a type is or contains a date or a time; true if it is unknown."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if data_type is None:
        return False
    try:
        built = exp.DataType.build(data_type, dialect="spark")
    except (SqlglotError, ValueError):
        return True
    return any(family_of_type(part) in MOMENTS for part in built.find_all(exp.DataType))


def _asked_to_be_boolean(tree: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the parts of a tree that must be true or false."""
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.And | exp.Or):
            yield from (node.left, node.right)
        elif isinstance(node, exp.Not | exp.Where | exp.Having):
            yield node.this
        elif isinstance(node, exp.If):
            compares = expressions.is_when(node) and node.parent.this
            yield from [] if compares else [node.this]


def check_boolean(tree: exp.Expression, is_condition: bool) -> None:
    """Raise a problem at a part that must be true or false and is known not to be."""
    from sqlglot import exp

    parts = list(_asked_to_be_boolean(tree))
    for node in tree.find_all(exp.Where, exp.Having):
        if family(node.this) == "null":
            raise ExpressionProblem("'{key}' has 'where null': write 'where false'")
    # Whatever its operands are, its result is not boolean.
    work = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
    for part in [tree, *parts] if is_condition else parts:
        found = family(part) or ("number" if isinstance(part.unnest(), work) else None)
        if found in (None, "boolean", "null"):
            continue
        is_constant = isinstance(part.unnest(), exp.Literal)
        what = "a constant" if is_constant else f"of the type {found}"
        if part is tree:
            raise ExpressionProblem(f"'{{key}}' is {what}, and must be true or false")
        raise ExpressionProblem(
            f"'{{key}}' has '{_text_of(part)}' where something true or false must be,"
            f" and it is {what}"
        )


def _text_of(part: exp.Expression) -> str:
    """Return a part as it was written, without braces."""
    text = part.sql("spark", copy=True).replace(f"{ROW}.", "")
    return text.replace("{", "(").replace("}", ")")


def check_known_booleans(tree: exp.Expression) -> None:
    """Raise a problem at a part that must be true or false and has no known type."""
    for part in [tree, *_asked_to_be_boolean(tree)]:
        if family(part) is None:
            said = _text_of(part)
            raise ExpressionProblem(
                f"'{{key}}' has '{said}', of which no type is known: write"
                f" `try_cast({said} as boolean)`"
            )


def check_brackets(expression: Expression) -> None:
    """Raise a problem at operators whose order differs between Spark and the parser.

    Spark reads `a = b in (c)` as `(a = b) in (c)`, and `a in (b) = c` fails.
    """
    from sqlglot import exp

    comparisons = (
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
        exp.NullSafeNEQ,
    )  # fmt: skip
    tests = (
        exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape,
    )  # fmt: skip
    # `regexp_like(...)` has brackets of its own; `rlike` has none.
    has_rlike = any(
        piece.kind == "word" and piece.raw.lower() in ("rlike", "regexp")
        for piece in pieces_of(expression.text)
    )
    pieces = pieces_of(expression.text)
    words = [p.raw.lower() for p in pieces if p.kind in ("word", "symbol")]
    # The parser puts brackets around `a is null`, where Spark reads on.
    tested = re.compile(r"\bis (not )?(null|true|false|unknown) [=<>!]")
    if tested.search(" ".join(words)):
        raise _in_several_orders()
    bits = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
    for node in expressions.read(_with_equals(expression.text)).tree.walk():
        inner: tuple[type, ...]
        if isinstance(node, (*comparisons, *tests)):
            inner = (*comparisons, *tests, exp.Not)
            if isinstance(node, exp.Escape):
                inner = (*comparisons, exp.In, exp.Between, exp.Is, exp.Not)
        elif isinstance(node, bits):
            inner = tuple(kind for kind in bits if not isinstance(node, kind))
        elif isinstance(node, exp.DPipe | exp.Add | exp.Sub):
            is_text = isinstance(node, exp.DPipe)
            inner = (exp.Add, exp.Sub) if is_text else (exp.DPipe,)
        else:
            continue
        if isinstance(node, exp.RegexpLike) and not has_rlike:
            continue
        for key in ("this", "expression", "low", "high"):
            part = node.args.get(key)
            is_call = isinstance(part, exp.RegexpLike) and not has_rlike
            if isinstance(part, inner) and not is_call:
                raise _in_several_orders()


def _with_equals(text: str) -> str:
    """Return an expression with `=` for each comparison that knows null.

    The parser puts brackets around its operands, where Spark reads on.
    """
    code = "".join(
        "'" * len(piece.raw) if piece.kind in ("text", "name") else piece.raw
        for piece in pieces_of(text)
    )
    for found in reversed([*KNOWS_NULL.finditer(code)]):
        text = f"{text[: found.start()]} = {text[found.end() :]}"
    return text


def _in_several_orders() -> ExpressionProblem:
    return ExpressionProblem(
        "'{key}' has operators side by side that are read in more than one order, such"
        " as 'a = b in (c)' or 'a = b = c': write brackets"
    )


def check_comparisons(tree: exp.Expression) -> None:
    """Raise a problem at a comparison of families that Spark refuses to compare."""
    from sqlglot import exp

    compared = (
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
        exp.NullSafeNEQ, exp.In, exp.Between, exp.Case,
    )  # fmt: skip
    for node in tree.find_all(*compared):
        if not node.this:
            # A case of conditions.
            continue
        others = [node.args.get(key) for key in ("expression", "low", "high")]
        others += node.expressions if isinstance(node, exp.In) else []
        others += [each.this for each in node.args.get("ifs", [])]
        left = family(node.this)
        for other in filter(None, others):
            right = family(other)
            if _is_variant(node.this) or _is_variant(other):
                raise ExpressionProblem(
                    "'{key}' compares variants, which Spark never does: compare values"
                    " of theirs, such as try_variant_get(x, '$.a', 'string')"
                )
            if left == right == "map":
                raise ExpressionProblem(
                    "'{key}' compares maps, which Spark never does: compare values of"
                    " theirs, such as x['a']"
                )
            if None in (left, right) or "null" in (left, right) or left == right:
                continue
            said = expressions.constant(other)
            # Only the engine knows the name of a zone, such as Europe/Berlin.
            if (
                left in MOMENTS
                and said
                and "/" not in said[1].partition(":")[2]
                and not expressions.casts(*said, left or "")
            ):
                raise ExpressionProblem(
                    f"'{{key}}' compares {_a(left)} with '{said[1]}', which is none:"
                    " it is never true"
                )


def _is_variant(node: exp.Expression) -> bool:
    """Whether a value is known to be a variant."""
    from sqlglot import exp

    node = node.unnest()
    is_typed = node.type is not None and node.type.this is exp.DataType.Type.VARIANT
    if not isinstance(node, exp.Anonymous):
        return is_typed
    # Without a type it gives a variant.
    is_part = node.name.lower() == "try_variant_get" and len(node.expressions) == 2
    return is_part or node.name.lower() == "try_parse_json"


def check_parts(tree: exp.Expression) -> None:
    """Raise a problem at a place, key or field that a value can't have.

    Examples: `name[0]`, `places['x']`, `name.x`.
    """
    from sqlglot import exp

    for node in tree.find_all(exp.Bracket, exp.Dot):
        kind = family(node.this)
        is_place = isinstance(node, exp.Bracket)
        if kind not in {None, "null", *NESTED}:
            what = "a place" if is_place else f"the field '{node.name}'"
            advice = ": write 'substring(x, n, 1)' for a letter" if is_place else ""
            raise ExpressionProblem(
                f"'{{key}}' has {what} in a {kind}, which has none{advice}"
            )
        field, fields = _field_of(node), _fields(node.this.unnest().type)
        inner = _inner_family(node.this.unnest().type)
        if not is_place and inner not in (None, "null", "struct"):
            raise ExpressionProblem(
                f"'{{key}}' asks for the field '{node.name}' of {_a(inner)} in a list"
            )
        if field is not None and fields and field.lower() not in fields:
            raise ExpressionProblem(
                f"'{{key}}' asks for the field '{field}', and there are:"
                f" {', '.join(sorted(fields))}"
            )
        if is_place and kind == "struct" and field is None:
            raise ExpressionProblem(
                "'{key}' asks a struct for a place: write the field's name, 'x.name'"
            )
        if is_place and kind == "array" and not (field and fields):
            found = family(node.expressions[0])
            if found not in (None, "null", "number"):
                raise ExpressionProblem(
                    f"'{{key}}' has {_a(found)} as a place in an array: write a number,"
                    " the first place is 0"
                )


def _field_of(node: exp.Expression) -> str | None:
    """Return the name of the field that is read; none if it is no constant."""
    from sqlglot import exp

    if isinstance(node, exp.Dot):
        return node.name if isinstance(node.expression, exp.Identifier) else None
    part = node.expressions[0] if node.expressions else None
    is_text = isinstance(part, exp.Literal) and part.is_string
    return part.name if is_text else None


def _inner_family(data_type: exp.DataType | None) -> str | None:
    """Return the family of a list's elements; none if it is unknown or no list."""
    from sqlglot import exp

    if data_type is None or family_of_type(data_type) != "array":
        return None
    inner = next(iter(data_type.expressions), None)
    return family_of_type(inner) if isinstance(inner, exp.DataType) else None


def _fields(data_type: exp.DataType | None) -> set[str]:
    """Return the fields of a struct's type, or of the structs in an array's."""
    from sqlglot import exp

    if data_type is not None and data_type.this in (
        exp.DataType.Type.ARRAY,
        exp.DataType.Type.LIST,
    ):
        data_type = next(iter(data_type.expressions), None)
    if not isinstance(data_type, exp.DataType) or family_of_type(data_type) != "struct":
        return set()
    return {part.name.lower() for part in data_type.expressions}


def check_kinds(tree: exp.Expression) -> None:
    """Raise a problem at values of kinds that Spark never combines."""
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.Cast):
            _check_cast(node)
        elif isinstance(node, exp.Add | exp.Sub):
            _check_sum(node)
        elif isinstance(node, exp.Like | exp.ILike | exp.RegexpLike):
            if (found := family(node.this)) in NESTED:
                raise ExpressionProblem(
                    f"'{{key}}' compares {_a(found)} with a pattern, which only a text"
                    " can be compared with"
                )
        elif (
            isinstance(node, exp.Array) and node.args.get("value_constructor") is False
        ):
            raise ExpressionProblem(
                "'{key}' has a list in brackets, which Spark has not: write"
                " 'array(1, 2)'"
            )


def _check_cast(node: exp.Cast) -> None:
    """Raise a problem at a cast that Spark lacks, or that a constant fails."""
    found, wanted = family(node.this), family_of_type(node.to)
    if found is None or wanted is None:
        return
    written = node.to.sql("spark").lower()
    said = expressions.constant(node.this)
    # Only the engine knows the name of a zone, such as Europe/Berlin.
    is_known = said is not None and said[0] == "string" and "/" not in said[1]
    is_known = is_known and said[1].strip().lower() != "epoch"
    if wanted in MOMENTS and is_known and not expressions.casts(*said, wanted):
        raise ExpressionProblem(f"'{{key}}' has '{said[1]}', which is no {wanted}")
    # Spark alone decides which numbers become bytes, and which flags become moments.
    unknown = {("number", "binary"), ("boolean", "timestamp")}
    fits = {found, "string"} | CASTS.get(found, frozenset())
    if not node.args.get("safe"):
        # `cast` accepts more than `try_cast`, although some results are always null.
        takes = argument_types.families(written.partition("(")[0], 1, 0) or ()
        fits |= {wanted} if found in takes else set()
    if wanted not in fits and (found, wanted) not in unknown:
        raise ExpressionProblem(
            f"'{{key}}' casts {_a(found)} to {written}, which Spark never does"
        )


def _check_sum(node: exp.Add | exp.Sub) -> None:
    """Raise a problem at a sum with true or false, or of a moment and a number."""
    from sqlglot import exp

    kinds = {family(node.left), family(node.right)}
    kind = exp.DataType.Type
    is_long = any(
        part.type is not None
        and part.type.this in (kind.BIGINT, kind.DECIMAL, kind.DOUBLE, kind.FLOAT)
        for part in (node.left.unnest(), node.right.unnest())
    )
    advice = ""
    if "date" in kinds and is_long:
        advice = ": write 'date_add(x, cast(n as int))'"
    elif kinds == {"timestamp", "number"}:
        advice = ": write '... + interval ...' with a constant"
    elif kinds == {"interval", "number"}:
        advice = ": write 'datediff(x, y)' for days"
    elif isinstance(node, exp.Add) and kinds & MOMENTS and "string" in kinds:
        advice = ": write 'x + interval '1' day'"
    elif not ("boolean" in kinds and "number" in kinds):
        return
    raise ExpressionProblem(f"'{{key}}' adds or subtracts what Spark does not{advice}")


def check_intervals(tree: exp.Expression) -> None:
    """Raise a problem at a multiplied time between two moments, which fails.

    It fails if the product is no longer an interval.
    """
    from sqlglot import exp

    for node in tree.find_all(exp.Mul, exp.Div, exp.IntDiv):
        for part in (node.left.unnest(), node.right.unnest()):
            is_between = isinstance(part, exp.Sub | exp.SafeSubtract) and MOMENTS & {
                family(part.this),
                family(part.expression),
            }
            if is_between and family(part) in (None, "interval"):
                raise ExpressionProblem(
                    "'{key}' works with the time between two moments, which fails on"
                    " some: write 'datediff' or 'unix_seconds'"
                )


def check_json(tree: exp.Expression) -> None:
    """Raise a problem at a struct that becomes JSON, or a type that is not known.

    A setting of the reader's session decides whether its empty fields are written.
    """
    from sqlglot import exp

    unknown = {exp.DataType.Type.UNKNOWN, exp.DataType.Type.STRUCT}
    for node in tree.find_all(exp.JSONFormat):
        made = node.this.type
        parts = made.find_all(exp.DataType) if made is not None else ()
        kinds = {part.this for part in parts} or unknown
        if kinds & unknown and not isinstance(node.parent, exp.Dot):
            raise ExpressionProblem(
                "'{key}' has 'to_json' of a struct, or of a type that is not known: a"
                " setting of the reader's session decides whether empty fields are"
                " written; give it an array or a map, or cast it: 'cast(x as"
                " map<string,string>)'"
            )


def check_mask(tree: exp.Expression, data_type: str) -> None:
    """Raise a problem at a mask whose type does not cast to the column's."""
    found, wanted = family(tree), written_family(data_type)
    if found is None or wanted is None or wanted in (found, "string"):
        return
    if wanted not in CASTS.get(found, frozenset()):
        raise ExpressionProblem(
            f"'{{key}}' is of the type {found}, which does not cast to the column's"
            f" type {data_type}"
        )
