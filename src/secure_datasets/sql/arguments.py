"""Checks the arguments of Spark's functions in a rule against the types that they take.

Spark refuses a call by the types of its arguments when a view is made, long after the
config was read. Calls are read from the pieces of the text, by the names that Spark
sees. An unknown type, as in a subquery, fits everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from secure_datasets.sql import argument_types, expressions, functions, inference
from secure_datasets.sql.argument_types import (
    GROUPS,
    NOTHING,
    Takes,
    family_of,
    said,
)
from secure_datasets.sql.expressions import (
    Expression,
    ExpressionProblem,
    Piece,
    pieces_of,
)

if TYPE_CHECKING:
    from sqlglot import exp

Argument = list[Piece]
Types = dict[str, str]

# Functions with '->' whose answer for each element must be true or false.
ASKING = functions.names("exists filter forall map_filter")
# Functions whose lambdas are given the elements of a list, or of a map.
OF_LISTS = functions.names("exists filter forall transform zip_with")
OF_MAPS = functions.names("map_filter map_zip_with transform_values")
STEPS = functions.names("aggregate reduce")
# The places of their start, and of the function for each step.
START, STEP = 1, 2
# The families of the first argument, for functions that the table lacks.
FIRST_IS = dict.fromkeys(
    functions.names("hour minute second"), ("date", "timestamp", "string")
)
# They take no map, at any depth.
WITHOUT_MAPS = functions.names("hash xxhash64")
# They read texts by a format, even without one.
BY_A_FORMAT = functions.names("to_unix_timestamp unix_timestamp")
# The same for texts.
OF_TEXTS = {
    **dict.fromkeys(("array_size", "cardinality", "size"), "length(x)"),
    "array_contains": "contains(x, y)",
    "array_position": "instr(x, y)",
    "array_remove": "replace(x, y, '')",
    **dict.fromkeys(
        ("element_at", "get", "slice", "try_element_at"), "substring(x, n, m)"
    ),
}
# The kinds of types whose families have several.
SIZES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT"), frozenset({"int"})),
    "BIGINT": frozenset({"bigint"}),
    **dict.fromkeys(("FLOAT", "DOUBLE"), frozenset({"double"})),
    "DECIMAL": frozenset({"decimal"}),
    "TIMESTAMP": frozenset({"timestamp_ltz"}),
    "TIMESTAMP_NTZ": frozenset({"timestamp_ntz"}),
}
# Functions that take a unit, a word, before two moments.
WITH_UNIT = functions.names("date_diff datediff")
NUMBER_WITH_UNIT = 3
# Functions that read a constant text as a number.
OF_CONSTANTS = functions.names("date_add date_sub dateadd")
# Names of families within lists and maps.
INNER = {"number": "int"}
ARROW = re.compile(r"\s*(?:\(([^()]*)\)|(`?\w+`?))\s*->(.*)", re.DOTALL)
# In a combination of numbers, the largest type counts.
WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
NUMBERS = (*WHOLE, "DECIMAL", "DOUBLE")
# The digits of a whole number as a decimal, and of any decimal.
DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
MOST_DIGITS, LEAST_PLACES = 38, 6
# The operators with two operands that must fit, as they are written.
OPERATORS = {
    **{"EQ": "=", "NEQ": "<>", "NullSafeEQ": "<=>", "NullSafeNEQ": "is distinct from"},
    **{"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="},
    **{"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "IntDiv": "div()"},
    **{"BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "DPipe": "||"},
}
# Those that the table has by a like one.
LIKE = {
    **dict.fromkeys(("<>", "<=>", "is distinct from"), "="),
    **dict.fromkeys(("<=", ">", ">=", "between"), "<"),
    **dict.fromkeys(("|", "^"), "&"),
}


class Lambda(NamedTuple):
    """A lambda: its text, and the types of its names, None where one is not known."""

    text: str
    types: dict[str, str | None]


def check_operators(tree: exp.Expression) -> None:
    """Raise a problem at an operator whose operands Spark does not take together."""
    for node in tree.walk():
        for symbol, operands in _operators(node):
            takes = argument_types.table()[LIKE.get(symbol, symbol)][len(operands)]
            if not any(map(_holds_unasked, operands)):
                given = [*map(kinds_of, operands)]
                _refuse_kinds(symbol.removesuffix("()"), takes, given)


def _operators(
    node: exp.Expression,
) -> Iterator[tuple[str, tuple[exp.Expression, ...]]]:
    """Yield the operators of a node as they are written, with their operands."""
    from sqlglot import exp

    if isinstance(node, exp.Binary) and type(node).__name__ in OPERATORS:
        yield OPERATORS[type(node).__name__], (node.left, node.right)
        yield from _of_rows(node.left, node.right)
    elif isinstance(node, exp.In):
        for each in node.expressions:
            yield "in()", (node.this, each)
            yield from _of_rows(node.this, each)
    elif isinstance(node, exp.Between):
        yield "between", (node.this, node.args["low"])
        yield "between", (node.this, node.args["high"])
    elif isinstance(node, exp.Neg | exp.BitwiseNot):
        yield "negative" if isinstance(node, exp.Neg) else "~", (node.this,)
    elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        yield "is()", (node.this,)
    elif isinstance(node, exp.Case):
        for each in node.args["ifs"]:
            yield (
                ("=", (node.this, each.this)) if node.this else ("when()", (each.this,))
            )
        values = expressions.branches(node)
        for pair in combinations(values, 2):
            yield "case()", pair


def _of_rows(
    left: exp.Expression, right: exp.Expression
) -> Iterator[tuple[str, tuple[exp.Expression, ...]]]:
    """Yield the members of two rows, each beside the other row's."""
    from sqlglot import exp

    left, right = left.unnest(), right.unnest()
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        for pair in zip(left.expressions, right.expressions, strict=False):
            yield "row()", pair


def check(expression: Expression, name: str | None, types: Mapping[str, str]) -> None:
    """Raise a problem at an argument of a type that its function does not take.

    `name` is the row's name, and `types` has its columns.
    """
    _check(pieces_of(expression.text), name, dict(types))


def _check(pieces: Argument, name: str | None, types: Types) -> None:
    """Check the calls among some pieces, but not those in subqueries."""
    for called, arguments in _brackets(pieces):
        if _is_query(arguments[0]):
            continue
        if called is None:
            for argument in arguments:
                _check(argument, name, types)
        else:
            _check_call(called, arguments, name, types)


def _brackets(pieces: Argument) -> Iterator[tuple[str | None, list[Argument]]]:
    """Yield the outermost brackets: the name of the function, and what is in them.

    The name is None without a function, and empty for a user's own.
    """
    end = 0
    for place, piece in enumerate(pieces):
        if place < end or piece.raw != "(":
            continue
        before = [n for n in range(place) if pieces[n].kind != "space"][-1:]
        called = None
        if before and pieces[before[0]].kind in ("word", "name"):
            is_of_schema = before[0] > 0 and pieces[before[0] - 1].raw == "."
            called = "" if is_of_schema else pieces[before[0]].raw.strip("`").lower()
            called = None if _is_quantifier(pieces, before[0]) else called
        arguments, end = between_brackets(pieces, place)
        yield called, arguments


def _is_quantifier(pieces: Argument, place: int) -> bool:
    """Whether a word belongs to `like any (...)`, and is no function."""
    before = [piece for piece in pieces[:place] if piece.kind != "space"][-1:]
    return pieces[place].raw.lower() in ("any", "some", "all") and any(
        piece.raw.lower() in ("like", "ilike") for piece in before
    )


def next_piece(pieces: Argument, place: int) -> int | None:
    """Return the position of the next piece that is no space."""
    numbers = range(place, len(pieces))
    return next((n for n in numbers if pieces[n].kind != "space"), None)


def between_brackets(pieces: Argument, start: int) -> tuple[list[Argument], int]:
    """Return the arguments between brackets, and the position of the closing one."""
    depth, found = 0, [[]]
    for number in range(start, len(pieces)):
        piece = pieces[number]
        if piece.kind == "symbol":
            depth += (piece.raw in "([") - (piece.raw in ")]")
            if depth == 0:
                return found, number
            if depth == 1 and (number == start or piece.raw == ","):
                if number > start:
                    found.append([])
                continue
        found[-1].append(piece)
    return found, len(pieces)


def _is_query(argument: Argument) -> bool:
    first = next_piece(argument, 0)
    return first is not None and argument[first].raw.lower() in ("select", "with")


def _text(argument: Argument) -> str:
    return "".join(piece.raw for piece in argument).strip()


def _check_call(
    called: str, arguments: list[Argument], name: str | None, types: Types
) -> None:
    """Check a call, and the calls in its arguments."""
    arguments = [] if arguments == [[]] else arguments
    if called == "decimal" and all(_text(part).isdecimal() for part in arguments):
        # It is a type, with its digits.
        return
    made, lambdas = _read(called, arguments, name, types)
    for number, argument in enumerate(arguments):
        if number not in lambdas:
            _check(argument, name, types)
            continue
        text, within = lambdas[number]
        own = {key: kind for key, kind in (types | within).items() if kind}
        _check(pieces_of(text), name, own)
        body = _tree(text, name, own)
        if body is None:
            continue
        answer = inference.family(body)
        if called in ASKING and answer not in (None, "boolean", "null"):
            raise ExpressionProblem(
                f"'{{key}}' has '{called}' with a '->' that gives the type {answer}:"
                " write what is true or false"
            )
        inference.check_boolean(body, is_condition=False)
        inference.check_comparisons(body)
        inference.check_parts(body)
        inference.check_kinds(body)
        check_operators(body)
        if called in STEPS and number == STEP:
            _check_step(called, made[START], body)
    _check_arguments(called, arguments, made)


def _read(
    called: str, arguments: list[Argument], name: str | None, types: Types
) -> tuple[list[exp.Expression | None], dict[int, Lambda]]:
    """Return the arguments of a call with types, and its lambdas by their places."""
    made: list[exp.Expression | None] = []
    lambdas: dict[int, Lambda] = {}
    for number, argument in enumerate(arguments):
        arrow = ARROW.fullmatch(_text(argument))
        if arrow is None:
            made.append(_tree(_text(argument), name, types))
            continue
        names = [each.lower() for each in re.findall(r"\w+", arrow[1] or arrow[2])]
        kinds = _given(called, number, made)
        within = dict.fromkeys(names) | dict(zip(names, kinds, strict=False))
        lambdas[number] = Lambda(arrow[3], within)
        made.append(None)
    return made, lambdas


def lambdas_of(text: str, name: str | None, types: Types) -> Iterator[Lambda]:
    """Yield the outermost lambdas. In a subquery no type is known."""
    yield from _lambdas_of(pieces_of(text), name, types)


def _lambdas_of(pieces: Argument, name: str | None, types: Types) -> Iterator[Lambda]:
    for called, arguments in _brackets(pieces):
        known = {} if _is_query(arguments[0]) else types
        _, lambdas = _read(called or "", arguments, name, known)
        yield from lambdas.values()
        for number, argument in enumerate(arguments):
            if number not in lambdas:
                yield from _lambdas_of(argument, name, known)


def _check_arguments(
    called: str, arguments: list[Argument], made: Sequence[exp.Expression | None]
) -> None:
    """Raise a problem at a combination of argument types that Spark refuses."""
    from sqlglot import exp

    table = argument_types.table().get(called, {})
    if not table:
        _check_first(called, made)
    if called in WITHOUT_MAPS:
        _check_maps(called, made)
    is_one = len(made) == 1 and made[0] is not None
    if called in BY_A_FORMAT and is_one and inference.family(made[0]) == "string":
        raise ExpressionProblem(
            f"'{{key}}' has '{called}' of a text, by which values fail where a session"
            " has the older parser: write 'unix_seconds(to_timestamp(x))'"
        )
    if called == "position" and len(arguments) == 1:
        # It is `position(x in y)`.
        return
    has_unit = called in WITH_UNIT and len(arguments) == NUMBER_WITH_UNIT
    if has_unit or any(each is not None and _holds_unasked(each) for each in made):
        return
    more = max((number for number in table if table[number].has_more), default=None)
    given = [None if each is None else kinds_of(each) for each in made]
    if called in OF_CONSTANTS:
        # Spark reads a constant text as a number here, and no column.
        for place, text in enumerate(made):
            if isinstance(text, exp.Literal) and re.fullmatch(r"[+-]?\d+", text.this):
                given[place] = None
    takes = table.get(len(given))
    if takes is not None:
        _refuse_kinds(called, takes, given)
    elif more is not None and len(given) > more:
        first, further = given[: more - 2], given[more - 2 :]
        # Each pair of kinds once: there may be thousands of constants.
        counted = Counter(further)
        twice = [(kind, kind) for kind, number in counted.items() if number > 1]
        for pair in (*twice, *combinations(counted, 2)):
            _refuse_kinds(called, table[more], [*first, *pair])
    elif table and all(map(_is_read, arguments, made)):
        _refuse_number(called, len(given), table)


def _check_first(called: str, made: Sequence[exp.Expression | None]) -> None:
    """Raise a problem at a first argument of a family that Spark does not take."""
    first = made[0] if made else None
    found = inference.family(first) if first is not None else None
    takes = FIRST_IS.get(called)
    if takes and found not in (None, "null", *takes):
        raise _not_taken(called, str(found), takes)


def _check_maps(called: str, made: Sequence[exp.Expression | None]) -> None:
    """Raise a problem at an argument that is or contains a map."""
    for each in filter(None, made):
        if each.type is not None and _holds_map(each.type):
            raise ExpressionProblem(
                f"'{{key}}' has '{called}' of a map, which Spark never takes: write"
                " 'to_json(x)'"
            )


def _holds_map(data_type: exp.DataType) -> bool:
    """Whether a type is or contains a map."""
    from sqlglot import exp

    parts = data_type.find_all(exp.DataType)
    return any(inference.family_of_type(part) == "map" for part in parts)


def _not_taken(called: str, found: str, takes: Iterable[str]) -> ExpressionProblem:
    advice = OF_TEXTS.get(called, "") if found == "string" else ""
    advice = advice or ("to_json(x)" if found == "map" else "")
    return ExpressionProblem(
        f"'{{key}}' has '{called}' of the type {found}, and Spark takes"
        f" {' or '.join(takes)} there" + (f": write '{advice}'" if advice else "")
    )


def _is_read(argument: Argument, made: exp.Expression | None) -> bool:
    """Whether an argument is an expression, or a lambda: not `distinct x` or `*`."""
    return made is not None or ARROW.fullmatch(_text(argument)) is not None


def _refuse_number(called: str, number: int, table: Mapping[int, Takes]) -> None:
    """Raise a problem at a number of arguments that a function does not take."""
    numbers = ", ".join(
        f"{each} or more" if table[each].has_more else str(each)
        for each in sorted(table)
    )
    raise ExpressionProblem(
        f"'{{key}}' has '{called}' with {number} arguments, and Spark takes {numbers}"
    )


def _refuse_kinds(
    called: str, takes: Takes, given: Sequence[frozenset[str] | None]
) -> None:
    """Raise a problem at kinds that do not fit, and name the first that never does."""
    if takes.fits(given):
        return
    for place, kinds in enumerate(given):
        allowed = takes.at(place)
        if kinds is None or NOTHING in allowed or kinds & allowed:
            continue
        taken = sorted({family_of(kind) for kind in allowed} - {"null"})
        if {family_of(kind) for kind in kinds} & {*taken}:
            taken = [said(allowed - {"null"})]
        raise _not_taken(called, said(kinds), taken)
    known = [each for each in given if each is not None]
    is_between = {"interval"} in known and any(
        each <= GROUPS["number"] for each in known
    )
    advice = "'datediff(x, y)' for days" if is_between else "a cast of one of them"
    raise ExpressionProblem(
        f"'{{key}}' has '{called}' of {' and '.join(map(said, known))}, which Spark"
        f" does not take together: write {advice}"
    )


def _holds_unasked(tree: exp.Expression) -> bool:
    """Whether a value is a list or map of elements that the table lacks."""
    kind = _kind_of_nested(tree)
    return kind is not None and kind not in GROUPS["array"] | GROUPS["map"]


def _kind_of_nested(tree: exp.Expression) -> str | None:
    """Return the kind of a list or map; none if it is unknown or no such type."""
    found = inference.family(tree)
    inner = _parts(tree) if found in ("array", "map") else []
    of = inner[0] and inference.written_family(inner[0]) if inner else None
    return f"{found}<{INNER.get(of, of)}>" if of else None


def kinds_of(tree: exp.Expression) -> frozenset[str] | None:
    """Return the kinds that an annotated expression may have; none if any.

    The size of a number is known for sure of columns, casts and constants alone.
    """
    from sqlglot import exp

    found, part = inference.family(tree), tree.unnest()
    if found in ("number", "timestamp"):
        is_sure = isinstance(part, exp.Column | exp.Cast) and part.type is not None
        size = part.type.sql("spark").partition("(")[0] if is_sure else _size(part)
        return SIZES.get(size or "", GROUPS[found])
    if found in ("array", "map"):
        kind = _kind_of_nested(tree)
        return frozenset({kind}) if kind in GROUPS[found] else GROUPS[found]
    return None if found is None else frozenset({found})


def _tree(text: str, name: str | None, types: Types) -> exp.Expression | None:
    """Return an argument with types; none if it is no expression by itself."""
    try:
        found = expressions.read(text)
    except ExpressionProblem:
        return None
    return inference.annotated(found.tree, name, types)


def family_of_text(text: str, name: str | None, types: Mapping[str, str]) -> str | None:
    """Return the family of an argument's type; none if it is unknown."""
    tree = _tree(text, name, dict(types))
    return inference.family(tree) if tree is not None else None


def element_of_text(
    text: str, name: str | None, types: Mapping[str, str]
) -> str | None:
    """Return the kind of an argument, or of the elements of a list or a map's keys.

    None if it is unknown. Days and moments are one kind, and so are numbers but floats.
    """
    tree = _tree(text, name, dict(types))
    found = inference.family(tree) if tree is not None else None
    if found in ("array", "map"):
        inner = _parts(tree)
        found = inner[0] and inference.written_family(inner[0]) if inner else None
        is_float = bool(inner) and str(inner[0]).upper() == "FLOAT"
    else:
        is_float = tree is not None and tree.unnest().is_type("float")
    if is_float:
        return "float"
    return "moment" if found in inference.MOMENTS else found


def _given(
    called: str, number: int, made: list[exp.Expression | None]
) -> list[str | None]:
    """Return the types of a lambda's arguments, as far as they are known.

    number  which argument of the call the lambda is
    made    the arguments before it
    """
    if called in STEPS:
        first = made[START] if len(made) > START else None
        start = (_size(first) if first is not None else None) or _type(first)
        digits = _digits(first) if start == "DECIMAL" else None
        start = f"DECIMAL{digits}" if digits else start
        return [start, *_parts(made[0])] if number == STEP else [start]
    if called == "zip_with":
        return [part for each in made for part in (_parts(each) or [None])]
    if called in OF_LISTS:
        return [*(_parts(made[0]) or [None]), "int"] if made else []
    if called in OF_MAPS:
        # The call refuses all values except maps.
        maps = [
            parts if len(parts := _parts(each)) == 2 else [None, None] for each in made
        ]
        return [maps[0][0], *(values for _, values in maps)] if maps else []
    return []


def _type(tree: exp.Expression | None) -> str | None:
    """Return the type of an argument, if it is known."""
    if tree is None or tree.type is None or inference.family(tree) in (None, "null"):
        return None
    return tree.type.sql("spark")


def _parts(tree: exp.Expression | None) -> list[str | None]:
    """Return the types of a list's elements, or of a map's keys and values."""
    from sqlglot import exp

    if tree is None or tree.type is None:
        return []
    number = {"array": 1, "map": 2}.get(inference.family(tree) or "")
    inner = [each for each in tree.type.expressions if isinstance(each, exp.DataType)]
    if number is None or len(inner) != number:
        return []
    families = map(inference.family_of_type, inner)
    return [
        kind.sql("spark") if family not in (None, "null") else None
        for kind, family in zip(inner, families, strict=True)
    ]


def _check_step(
    called: str, start: exp.Expression | None, step: exp.Expression
) -> None:
    """Raise a problem at a step whose result has a type different from its start."""
    if start is None:
        return
    first, then = inference.family(start), inference.family(step)
    if {first, then} & {None, "null"}:
        return
    kinds = _size(start), _size(step)
    if kinds[0] == "DECIMAL" and kinds[1] in ("DECIMAL", None):
        digits = _digits(start), _digits(step) if kinds[1] else None
        kinds = tuple(f"decimal{each}" if each else "other digits" for each in digits)
    if first == then and (None in kinds or kinds[0] == kinds[1]):
        return
    told = first, then
    if first == then:
        told = str(kinds[0]).lower(), str(kinds[1]).lower()
    raise ExpressionProblem(
        f"'{{key}}' has '{called}' that starts with the type {told[0]} and whose steps"
        f" give {told[1]}, where Spark wants one type: write a cast of one of the two"
    )


def _size(tree: exp.Expression) -> str | None:
    """Return the type of a number without its digits, if it is certain."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.Literal) and not tree.is_string:
        if not tree.this.isdigit():
            return "DOUBLE" if "e" in tree.this.lower() else "DECIMAL"
        number = int(tree.this)
        sizes = {"INT": 31, "BIGINT": 63, "DECIMAL": 126}
        return next((n for n, bits in sizes.items() if number < 2**bits), None)
    if isinstance(tree, exp.Neg | exp.Abs):
        return _size(tree.this)
    if isinstance(tree, exp.IntDiv):
        return "BIGINT"
    if isinstance(tree, exp.Column | exp.Cast) and tree.type is not None:
        written = tree.type.sql("spark").partition("(")[0]
        return written if written in NUMBERS else None
    found = [_size(each) for each in _combined(tree)]
    if None in found or not found:
        return None
    largest = max(map(str, found), key=NUMBERS.index)
    # A quotient of whole numbers is none.
    is_quotient = isinstance(tree, exp.Div) and largest in WHOLE
    return "DOUBLE" if is_quotient else largest


def _digits(tree: exp.Expression) -> tuple[int, int] | None:
    """Return the digits of a number as a decimal, and those after the point.

    None if they are not known.
    """
    from sqlglot import exp

    tree, size = tree.unnest(), _size(tree)
    if isinstance(tree, exp.Literal) and size in (*WHOLE, "DECIMAL"):
        whole, _, part = tree.this.partition(".")
        return max(len((whole + part).lstrip("0")), len(part)), len(part)
    if isinstance(tree, exp.Neg | exp.Abs):
        return _digits(tree.this)
    if isinstance(tree, exp.Column | exp.Cast) and size == "DECIMAL":
        digits = [int(part.name) for part in tree.type.expressions] or [DIGITS["INT"]]
        return digits[0], (*digits, 0)[1]
    if isinstance(tree, exp.Mul | exp.Div | exp.Mod):
        return None
    found = [(DIGITS[size], 0)] if size in DIGITS else [*map(_digits, _combined(tree))]
    if isinstance(tree, exp.Add | exp.Sub) and None not in found:
        after = max(places for _, places in found)
        before = max(digits - places for digits, places in found) + 1
        # Too many digits: some after the point are lost.
        return min(before + after, MOST_DIGITS), max(
            min(after, MOST_DIGITS - before), min(after, LEAST_PLACES)
        )
    return found[0] if found and found == found[:1] * len(found) else None


def _combined(tree: exp.Expression) -> list[exp.Expression]:
    """Return the values whose types make the type of a combination."""
    from sqlglot import exp

    if isinstance(tree, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
        return [tree.left, tree.right]
    if isinstance(tree, exp.Coalesce | exp.Greatest | exp.Least):
        return [tree.this, *tree.expressions]
    values = expressions.branches(tree)
    return [each for each in values if not isinstance(each, exp.Null)]
