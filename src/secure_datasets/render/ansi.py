"""Refuses expressions that Spark computes differently where its ANSI mode is on.

The rules of a project are evaluated without ANSI mode: arithmetic wraps, and what can't
be computed or cast is null. Databricks' SQL warehouses have the mode on, where all that
is an error, and the error tells the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secure_datasets.render import agreement
from secure_datasets.sql import (
    argument_types,
    arguments,
    expressions,
    functions,
    inference,
)
from secure_datasets.sql.expressions import ExpressionProblem, pieces_of

if TYPE_CHECKING:
    from sqlglot import exp

# Functions that fail, or give another value, on some values. Operators and casts are
# judged by their operands.
DIFFERENT = functions.names(
    """
    cardinality ceil ceiling conv element_at elt floor make_date make_timestamp
    make_timestamp_ltz make_timestamp_ntz negative next_day pmod size to_date
    to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp unix_timestamp
    """
)
# Functions that are casts, but for those to a text or to bytes.
CASTING = functions.names(
    "bigint boolean date decimal double float int smallint timestamp tinyint"
)
# Functions that take an int, with its places: a larger number fails. The tree judges
# those that may have words between their arguments.
OF_INTS = dict.fromkeys(("date_from_unix_date", "factorial"), (0,))
OF_INTS |= dict.fromkeys(("get", "left", "right", "sha2"), (1,))
OF_INTS |= dict.fromkeys(("shiftleft", "shiftright", "shiftrightunsigned"), (1,))
OF_INTS |= dict.fromkeys(("locate", "position", "split", "substring_index"), (2,))
OF_INTS |= dict.fromkeys(
    functions.names("try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz"),
    range(7),
)
# Functions whose arguments, or the elements of those, get one type: slices of them.
WHOLE, PAIRS = (slice(None),), (slice(0, None, 2), slice(1, None, 2))
OF_ONE_TYPE = dict.fromkeys(
    functions.names(
        """
        array array_append array_contains array_except array_intersect array_position
        array_prepend array_remove array_union arrays_overlap coalesce equal_null
        greatest ifnull least map_contains_key nullif nvl
        """
    ),
    WHOLE,
)
OF_ONE_TYPE |= {"map": PAIRS, "nvl2": (slice(1, None),)}
TRIED = {
    "abs": "try_multiply(x, sign(x))",
    "add": "try_add(x, y)",
    "mul": "try_multiply(x, y)",
    "neg": "try_subtract(0, x)",
    "sub": "try_subtract(x, y)",
}


@dataclass(frozen=True)
class Mode:
    """Judges the parts of an expression.

    names   the names by which it qualifies the row's columns
    types   the types of these columns
    refuse  makes the problem for what depends on the mode
    """

    names: tuple[str, ...]
    types: Mapping[str, str]
    refuse: Callable[[str], ExpressionProblem]

    def check(self, tree: exp.Expression, text: str) -> None:
        """Raise a problem for an expression that depends on the mode.

        text  the expression as it was written
        """
        from sqlglot import exp

        self.check_calls(text)
        for each in arguments.lambdas_of(text, self.names[0], dict(self.types)):
            known = {key: kind for key, kind in each.types.items() if kind}
            if len(known) < len(each.types):
                raise self.refuse("'->' for values of an unknown type")
            within = replace(self, types={**self.types, **known})
            within.check(expressions.read(each.text).tree, each.text)
        apart = (exp.Connector, exp.Like, exp.ILike, exp.RegexpLike, exp.Dot)
        results = (exp.Case, exp.If, exp.Coalesce, exp.SetOperation)
        # The names of a lambda have types of their own.
        for node in tree.walk(prune=lambda node: isinstance(node, exp.Lambda)):
            self.check_operation(node)
            if isinstance(node, exp.DPipe):
                self.check_lists([node.left, node.right])
            elif not isinstance(node, (*apart, exp.Is)):
                is_result = isinstance(node, results)
                for parts in agreement.side_by_side(node, self.types):
                    given = [part for part in parts if part]
                    self.check_lists(given)
                    self.check_side_by_side(given, is_result)

    def check_calls(self, text: str) -> None:
        """Raise a problem for a call of a function that depends on the mode."""
        for called, given in _calls(text):
            if called in DIFFERENT:
                raise self.refuse(called)
            for of_group in OF_ONE_TYPE.get(called, ()):
                self.check_one_type(called, given[of_group])
            if called == "concat" and any(map(self.is_list, given)):
                self.check_one_type(called, given)
            for place, argument in enumerate(given):
                if self.is_cast(called, place, len(given), argument):
                    raise self.refuse(f"{called} of a text, or of an unknown type")
                if place in OF_INTS.get(called, ()):
                    self.check_int(called, expressions.read(argument).tree)

    def is_list(self, text: str) -> bool:
        """Whether an argument is known to be a list."""
        return "array" in {
            arguments.family_of_text(text, name, self.types) for name in self.names
        }

    def check_one_type(self, called: str, given: list[str]) -> None:
        """Raise a problem for arguments that get one type, or whose elements do."""
        found: set[str | None] = set()
        for text in given:
            kinds = {arguments.element_of_text(text, n, self.types) for n in self.names}
            found |= kinds - {None} or kinds
        found -= {"null"}
        if len(found) > 1 and found != {"string", None}:
            told = " and ".join(sorted(kind or "an unknown type" for kind in found))
            raise self.refuse(f"{called} of {told}")

    def check_operation(self, node: exp.Expression) -> None:
        """Raise a problem for an operation that depends on the mode."""
        from sqlglot import exp

        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg | exp.Abs):
            self.check_work(node)
        elif isinstance(node, exp.Div | exp.IntDiv | exp.Mod):
            self.check_quotient(node)
        elif isinstance(node, exp.Sum):
            raise self.refuse("sum, which can overflow")
        elif isinstance(node, exp.Cast) and not node.args.get("safe"):
            self.check_cast(node)
        elif isinstance(node, exp.In) and isinstance(node.this.unnest(), exp.Null):
            raise self.refuse("null in a list")
        elif isinstance(node, exp.Bracket) and self.family(node.this) != "map":
            raise self.refuse("a place in an array: write get(x, n)")
        elif isinstance(node, exp.Substring | exp.Overlay):
            for name in ("start", "length", "from_", "for_"):
                if part := node.args.get(name):
                    self.check_int(node.key, part)

    def family(self, part: exp.Expression) -> str | None:
        """Return the family of a value; none if it is unknown."""
        for tree in self.annotated(part):
            if found := inference.family(tree):
                return found
        known = agreement.type_of(part, self.types)
        return inference.written_family(known) if known else None

    def annotated(self, part: exp.Expression) -> Iterator[exp.Expression]:
        """Yield a part with types, for each name of the row."""
        return (inference.annotated(part, name, self.types) for name in self.names)

    def is_double(self, part: exp.Expression) -> bool:
        """Whether a value is a floating-point number, which never overflows."""
        from sqlglot import exp

        kinds = (exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT)
        return any(tree.unnest().is_type(*kinds) for tree in self.annotated(part))

    def is_float(self, part: exp.Expression) -> bool:
        """Whether a number has the type float, beside which ANSI mode takes doubles."""
        return any(tree.unnest().is_type("float") for tree in self.annotated(part))

    def check_int(self, called: str, part: exp.Expression) -> None:
        """Raise a problem for an argument that may be a number beyond an int."""
        held = agreement.whole(part, self.types)
        is_sure = (
            expressions.constant(part) is not None
            or agreement.type_of(part, self.types) in ("int", "string")
            or (held is not None and agreement.fits(held, "int"))
        )
        if not is_sure:
            raise self.refuse(
                f"{called} of a number that may be no int: write try_cast(x as int)"
            )

    def is_cast(self, called: str, place: int, number: int, text: str) -> bool:
        """Whether Spark may make a number or a moment of an argument that is a text."""
        found = {arguments.family_of_text(text, n, self.types) for n in self.names}
        if text.isdecimal():
            # Also the digits of a type, `decimal(9, 4)`.
            return False
        if called in CASTING:
            sure = inference.MOMENTS if called in inference.MOMENTS else frozenset()
            return not found & sure
        takes = argument_types.table().get(called, {}).get(number)
        kinds = takes.at(place) if takes else frozenset()
        # A function of texts takes numbers and flags too.
        if "string" not in kinds or "boolean" in kinds or kinds <= {"string", "null"}:
            return False
        return found <= {"string", None}

    def check_work(self, node: exp.Expression) -> None:
        """Raise a problem for arithmetic that can overflow."""
        if expressions.is_signed(node):
            return
        parts = [part for part in (node.this, node.args.get("expression")) if part]
        families = set(map(self.family, parts))
        floats = [*map(self.is_float, parts)]
        is_double = families == {"number"} and any(map(self.is_double, parts))
        is_double = is_double and any(floats) == all(floats)
        is_moved = families & {*inference.MOMENTS, "interval"}
        is_within = agreement.whole(node, self.types) is not None
        if not (is_double or is_moved or is_within):
            raise self.refuse(
                f"{node.key}, which can overflow: write {TRIED[node.key]}"
            )

    def check_quotient(self, node: exp.Binary) -> None:
        """Raise a problem for a quotient or a rest that may have no value."""
        by = agreement.whole(node.expression, self.types)
        is_whole = agreement.whole(node.this, self.types) is not None
        if by is None or by.least <= 0 or not (is_whole or self.is_double(node.this)):
            raise self.refuse(f"{node.key}: write try_divide or try_mod")

    def check_cast(self, node: exp.Cast) -> None:
        """Raise a problem for a cast that may fail."""
        wanted = node.to.sql("spark").lower()
        constant = expressions.constant(node.this)
        held = agreement.whole(node.this, self.types)
        found, into = self.family(node.this), inference.written_family(wanted)
        is_sure = (
            into == "string"
            or agreement.type_of(node.this, self.types) == wanted
            or (constant is not None and _is_read(constant, wanted))
            or (held is not None and wanted == "double")
            or (held is not None and agreement.fits(held, wanted))
            or {found, into} <= inference.MOMENTS
        )
        if not is_sure:
            raise self.refuse(f"cast({wanted}): write try_cast")

    def check_lists(self, parts: list[exp.Expression]) -> None:
        """Raise a problem for lists or maps whose elements need a cast."""
        if any(self.family(part) in ("array", "map") for part in parts):
            given = [
                each for part in parts for each in agreement.members(part) or [part]
            ]
            self.check_one_type("list", [each.sql("spark") for each in given])

    def check_side_by_side(
        self, parts: list[exp.Expression], is_result: bool = False
    ) -> None:
        """Raise a problem for a text beside a value of the type that it is cast to.

        is_result  whether one of the parts is the value, whose type would be different
        """
        from sqlglot import exp

        if any(isinstance(part, exp.Tuple) for part in parts):
            of_each = (agreement.members(part) for part in parts)
            for one in zip(*of_each, strict=False):
                self.check_side_by_side(list(one))
            return
        families = {self.family(part) for part in parts} - {"null"}
        if families >= {"boolean", "number"}:
            raise self.refuse("a flag beside a number")
        if families == {"number"} and 0 < sum(map(self.is_float, parts)) < len(parts):
            raise self.refuse("a float beside another number: write cast(x as double)")
        others = families - {"string", None}
        # The product's own relations are joined by keys of one type.
        is_plain = any(part.unnest().is_number for part in parts)
        if None in families and (is_plain or "boolean" in others):
            raise self.refuse("a value of an unknown type beside a number or a flag")
        for part in parts if "string" in families and others else ():
            said = expressions.constant(part)
            wanted = {{"number": "bigint"}.get(str(o), str(o)) for o in others}
            is_read = said and all(_is_read(said, each) for each in wanted)
            is_read = is_read and not is_result
            if self.family(part) == "string" and not is_read:
                raise self.refuse(
                    f"text beside {' and '.join(sorted(map(str, others)))}"
                )


def _is_read(constant: tuple[str, str], wanted: str) -> bool:
    """Whether a constant certainly casts to a type: only engines know all zones."""
    is_zone = constant[0] == "string" and "/" in constant[1]
    return expressions.casts(*constant, wanted) and not is_zone


def _calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the functions that a text calls, each with the texts of its arguments."""
    pieces = pieces_of(text)
    for place, piece in enumerate(pieces):
        opens = arguments.next_piece(pieces, place + 1)
        is_call = piece.kind in ("word", "name") and opens is not None
        if is_call and opens is not None and pieces[opens].raw == "(":
            given, _ = arguments.between_brackets(pieces, opens)
            written = ["".join(part.raw for part in each).strip() for each in given]
            yield piece.raw.strip("`").lower(), written
