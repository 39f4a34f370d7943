"""Rows and scopes: which columns hold the reader, and what conditions say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from secure_datasets.leaks.understood import Name, check_parts, schema_and_name
from secure_datasets.sql.functions import names
from secure_datasets.sql.statements import (
    DIALECT,
    NotUnderstood,
)

Ref = tuple[str, str]
DIGITS_OF_BIGINT = 19
# Spark compares a decimal with a text as doubles.
INEXACT = {
    exp.DataType.Type.FLOAT,
    exp.DataType.Type.DOUBLE,
    exp.DataType.Type.DECIMAL,
}
# Functions with the type of their arguments, and functions with an integer result.
OF_A_GIVEN_TYPE = (
    *(exp.Coalesce, exp.If, exp.Case, exp.Nullif, exp.Greatest, exp.Least, exp.Abs),
    *(exp.Max, exp.Min, exp.First, exp.Last, exp.AnyValue, exp.ArgMax, exp.ArgMin),
    *(exp.FirstValue, exp.LastValue, exp.Lag, exp.Lead, exp.Sum, exp.Ceil, exp.Floor),
)
# Aggregates that return one of the values.
OF_ONE_VALUE = (exp.AnyValue, exp.First, exp.Last, exp.Max, exp.Min)
OF_INTEGERS = names("bigint hash pmod smallint tinyint xxhash64")
# The errors of the parser's annotator at an unexpected call.
UNTYPED = (SqlglotError, LookupError, AttributeError, TypeError, ValueError)
UNKNOWN_TYPES = {exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL}


@dataclass(frozen=True)
class Problem:
    """Why no key separates the rows of users: the broken rule, and the reason."""

    rule: str
    text: str
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rows:
    """The known properties of the rows of a query or a relation.

    columns   their names in order; none if they are unknown
    keys      the columns that are keys of the rows
    reads     the protected relations behind the rows; empty: the rows are open
    problem   why there is no key, though the rows are protected
    odd       the columns that may not be spelt in lower case
    inexact   the columns that may hold floating-point numbers or decimals; with ANY,
              all columns that are no keys. In a comparison with such a number, Spark
              may cast ids to doubles, and make the ids of two users equal
    is_unordered  whether the columns may stand in another order
    """

    columns: tuple[str, ...] | None
    keys: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    problem: Problem | None = None
    odd: frozenset[str] = frozenset()
    inexact: frozenset[str] = frozenset()
    is_unordered: bool = False

    def has(self, column: str) -> bool:
        """Whether the column certainly exists."""
        return column in self.keys or column in (self.columns or ())

    def is_inexact(self, column: str) -> bool:
        """Whether a comparison with a column may make the ids of two users equal."""
        is_any = ANY in self.inexact and column not in self.keys
        return is_any or column in self.inexact


# Stands for all columns.
ANY = "*"


# The separator of a struct and its field; no column's name contains it.
FIELD = "\0"


@dataclass
class Scope:
    """The rows of a `from` after its joins, with their keys.

    A key is (alias, column). A full join combines two keys into one with the alias '',
    as a column of `using` or as their coalesce(). After an outer join, a column equal
    to a key is that key or null (`null_or_keys`). If a subquery is looked up by a
    column of open rows, this column becomes their key, if `takes_key` allows it.
    """

    outer: Scope | None
    sources: dict[str, Rows] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    keys: set[Ref] = field(default_factory=set)
    null_or_keys: dict[Ref, Ref] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    problem: Problem | None = None
    merged: dict[str, Ref | None] = field(default_factory=dict)
    coalesced: dict[frozenset[Ref], Ref] = field(default_factory=dict)
    not_null: set[Ref] = field(default_factory=set)
    takes_key: bool = True
    is_grouped: bool = False
    # The outputs' names that a subquery sees in the place of columns.
    shadowed: frozenset[str] = frozenset()
    # The relations without an alias, by their names in the `from`.
    relations: dict[str, Name] = field(default_factory=dict)

    def lose(self, rule: str, text: str, reads: frozenset[str] = frozenset()) -> None:
        """Remove all keys of the rows, and keep the first reason for that."""
        self.reads |= reads
        self.problem = self.problem or Problem(rule, text, self.reads)
        self.keys, self.null_or_keys, self.coalesced = set(), {}, {}
        self.merged = dict.fromkeys(self.merged)

    def pin(self, outside: Scope, ref: Ref) -> None:
        """Open the rows to the outer row: both belong to one user."""
        if not outside.reads:
            outside.keys, outside.reads = {ref}, self.reads
        self.keys, self.null_or_keys = set(), {}
        self.reads, self.problem = frozenset(), None

    def find(self, column: exp.Column) -> tuple[Scope, Ref] | None:
        """Return the scope and the source of a column, if they are unambiguous."""
        name = column.name.lower()
        if isinstance(column.this, exp.Star):
            return None
        if column.args.get("db"):
            return self.find_in_schema(column)
        if alias := column.table.lower():
            if alias not in self.sources:
                if alias in self.shadowed:
                    return None
                if field := self.find_field(column):
                    return field
                # A struct column has priority over an outer relation.
                return None if self.may_have(alias) else self.find_outside(column)
            return None if alias in self.hidden else (self, (alias, name))
        if name in self.shadowed:
            return None
        if name in self.merged:
            ref = self.merged[name]
            return (self, ref) if ref else None
        shown = {a: rows for a, rows in self.sources.items() if a not in self.hidden}
        having = [alias for alias, rows in shown.items() if rows.has(name)]
        if having:
            return (self, (having[0], name)) if len(having) == 1 else None
        if any(rows.columns is None for rows in shown.values()):
            return None
        return self.find_outside(column)

    def find_outside(self, column: exp.Column) -> tuple[Scope, Ref] | None:
        """Return the source of a column among the outer rows."""
        return self.outer.find(column) if self.outer else None

    def may_have(self, name: str) -> bool:
        """Whether a column of this name may exist."""
        return any(
            rows.columns is None or rows.has(name)
            for alias, rows in self.sources.items()
            if alias not in self.hidden
        )

    def find_in_schema(self, column: exp.Column) -> tuple[Scope, Ref] | None:
        """Return the source of a column with its schema, or of a struct's field."""
        alias, name = column.table.lower(), column.name.lower()
        named = schema_and_name(column.text("catalog"), column.text("db"), alias)
        # A relation that joins later is not visible yet.
        if alias in self.sources and self.relations.get(alias) == named:
            return None if alias in self.hidden else (self, (alias, name))
        if found := self.find_field(column):
            return found
        first = column.parts[0].name.lower()
        # Names of this scope have priority over outer names.
        is_here = first in self.sources or self.may_have(first)
        return None if is_here else self.find_outside(column)

    def find_field(self, column: exp.Column) -> tuple[Scope, Ref] | None:
        """Return the source of a field of a struct, if the field is a key."""
        found = self.struct_of(column)
        ref = found and (found[0], f"{found[1]}{FIELD}{column.name.lower()}")
        return (self, ref) if ref in self.keys else None

    def struct_of(self, column: exp.Column) -> Ref | None:
        """Return the source of the struct before a field or a star, if it is known."""
        struct, alias = column.table.lower(), column.text("db").lower()
        if struct in self.sources or column.args.get("catalog"):
            return None
        shown = {a: rows for a, rows in self.sources.items() if a not in self.hidden}
        if any(rows.columns is None for rows in shown.values()):
            return None
        having = [a for a, rows in shown.items() if struct in (rows.columns or ())]
        having = [a for a in having if a == alias] if alias else having
        return (having[0], struct) if len(having) == 1 else None

    def ref_of(
        self, node: exp.Expression | None, is_compared: bool = True
    ) -> tuple[Scope, Ref] | None:
        """Return the column that an expression equals, whatever its type.

        A decimal key separates users, unless it is compared.
        """
        if isinstance(node, (exp.Paren, exp.Alias)):
            return self.ref_of(node.this, is_compared)
        if isinstance(node, exp.Column):
            found = self.find(node)
            if found and found[0].is_inexact_column(found[1]):
                return None if is_compared or found[1] not in found[0].keys else found
            return found
        if isinstance(node, exp.Subquery) and (value := _value_of(node)) is not None:
            return self.ref_of(value, is_compared)
        if isinstance(node, exp.Cast) and _keeps_apart(node, is_compared):
            return self.ref_of(node.this, is_compared)
        if choices := list(_choices_of(node)):
            found = [self.ref_of(part) for part in choices]
            if any(each is None or each[0] is not self for each in found):
                return None
            refs = frozenset(ref for _, ref in filter(None, found))
            if refs in self.coalesced:
                return self, self.coalesced[refs]
            keys = {self.null_or_keys.get(ref, ref) for ref in refs}
            if len(keys) == 1 and keys <= refs:
                return self, *keys
        return None

    def is_inexact_column(self, ref: Ref) -> bool:
        """Whether a comparison with a column may make the ids of two users equal."""
        alias, name = ref
        return alias in self.sources and self.sources[alias].is_inexact(name)

    def is_inexact(self, node: exp.Expression) -> bool:
        """Whether comparing with an expression may make the ids of two users equal."""
        if isinstance(node, exp.Column):
            # An unknown column may be a field of a struct.
            found = self.find(node)
            if found is None:
                return bool(node.table) or self.is_not_followed()
            return found[0].is_inexact_column(found[1])
        try:
            whole = annotate_types(node.copy(), dialect=DIALECT)
        except UNTYPED:
            return True
        known = whole.unalias().type
        if known and known.this not in UNKNOWN_TYPES:
            return known.this in INEXACT
        return any(
            _may_be_inexact(part)
            or (isinstance(part, exp.Column) and self.is_inexact(part))
            for part in whole.walk()
        )

    def is_not_followed(self) -> bool:
        """Whether a column here may have any type."""
        return any(ANY in rows.inexact for rows in self.sources.values())

    def key_of(self, node: exp.Expression | None) -> Ref | None:
        """Return the key of this scope that an expression equals.

        All rows of a group have the same value in a key that they are grouped by.
        """
        if self.is_grouped:
            node = _one_value_of(node)
        found = self.ref_of(node, is_compared=False)
        return (
            found[1] if found and found[0] is self and found[1] in self.keys else None
        )

    def outer_key(self, node: exp.Expression | None) -> tuple[Scope, Ref] | None:
        """Return the key of the outer rows that an expression is, or may become."""
        found = self.ref_of(node)
        if found is None or found[0] is self:
            return None
        outside, ref = found
        # A null matches no inner row, or only rows without a user.
        is_key = ref in outside.keys or ref in outside.null_or_keys
        return found if is_key or (outside.takes_key and not outside.reads) else None


def _value_of(node: exp.Subquery) -> exp.Expression | None:
    """Return the value of a subquery that reads nothing: `(select user_id)`."""
    select, parts = node.this, ("this", "expressions")
    is_plain = all(not value for name, value in node.args.items() if name not in parts)
    if (
        not isinstance(select, exp.Select)
        or len(select.expressions) != 1
        or not is_plain
    ):
        return None
    has_more = any(v for name, v in select.args.items() if name != "expressions" and v)
    return None if has_more else select.expressions[0]


def _choices_of(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """Yield the arguments of a coalesce(), and of those within it in their place.

    Nothing if an expression is no coalesce() in any spelling.
    """
    for part in _first_not_null(node):
        yield from list(_choices_of(part.unnest())) or [part]


def _first_not_null(node: exp.Expression | None) -> list[exp.Expression]:
    """Return the arguments of a coalesce(), or of a `case` or if() that equals one."""
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Nvl2):
        tests = [(node.this, True, node.args["true"])]
        last = node.args.get("false")
    elif isinstance(node, exp.Case) and not node.this:
        tests = [
            (*_null_test(each.this), each.args["true"]) for each in node.args["ifs"]
        ]
        last = node.args.get("default")
    elif isinstance(node, exp.If):
        tests = [(*_null_test(node.this), node.args["true"])]
        last = node.args.get("false")
    else:
        return []
    *before, (column, is_not_null, value) = tests
    if not is_not_null:
        # `case when a is null then b else a end`
        value, last = last, value
    pairs = [*((tested, shown) for tested, is_not, shown in before if is_not)]
    pairs.append((column, value))
    is_one = len(pairs) == len(tests) and last is not None
    is_same = all(isinstance(a, exp.Column) and a == b for a, b in pairs)
    return [*(tested for tested, _ in pairs), last] if is_one and is_same else []


def _null_test(node: exp.Expression) -> tuple[exp.Expression | None, bool]:
    """Return what a condition compares with null, and whether it is true without."""
    node = node.unnest()
    if isinstance(node, exp.Not):
        tested, is_not_null = _null_test(node.this)
        return tested, not is_not_null
    is_of_null = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
    return (node.this.unnest(), False) if is_of_null else (None, False)


def _one_value_of(node: exp.Expression | None) -> exp.Expression | None:
    """Return the argument of an aggregate that returns one of its values."""
    while isinstance(node, (exp.Alias, exp.Paren)):
        node = node.this
    if not isinstance(node, OF_ONE_VALUE):
        return node
    has_more = any(value for name, value in node.args.items() if name != "this")
    return node if has_more else node.this


def is_bare_relation(node: exp.Expression) -> bool:
    """Whether a relation or a CTE has no alias and no pivot."""
    is_named = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    return is_named and not (node.args.get("alias") or node.args.get("pivots"))


def _keeps_apart(cast: exp.Cast, is_compared: bool) -> bool:
    """Whether a cast keeps the ids of two users distinct."""
    kept, types = {"this", "to"}, {exp.DataType.Type.BIGINT, exp.DataType.Type.TEXT}
    if not is_compared and not cast.args.get("safe") and _has_room(cast.to):
        types |= {exp.DataType.Type.DECIMAL}
    if cast.args.get("safe"):
        # `try_cast` turns failures into null; a cast to text never fails.
        kept, types = kept | {"safe"}, {exp.DataType.Type.TEXT}
    return cast.to.this in types and all(
        name in kept or not value for name, value in cast.args.items()
    )


def _has_room(data_type: exp.DataType) -> bool:
    """Whether a decimal has as many digits before the point as a bigint."""
    digits = [int(n.name) for n in data_type.expressions if n.name.isdigit()]
    return bool(digits) and digits[0] - sum(digits[1:]) >= DIGITS_OF_BIGINT


def _may_be_inexact(part: exp.Expression) -> bool:
    """Whether a part of an expression may give floating-point numbers or decimals."""
    if isinstance(part, (exp.Div, exp.Bracket, exp.Dot)):
        return True
    if part.type is not None and part.type.this not in UNKNOWN_TYPES:
        return part.type.this in INEXACT
    if isinstance(part, exp.Anonymous):
        return part.name.lower() not in OF_INTEGERS
    return isinstance(part, exp.Func) and not isinstance(part, OF_A_GIVEN_TYPE)


def conjuncts(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """Yield the conjuncts of a condition."""
    if isinstance(node, (exp.Where, exp.Paren)):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    elif node is not None:
        yield node


def equalities(
    parts: Iterable[exp.Expression], null_safe: bool = True
) -> list[tuple[exp.Expression, exp.Expression]]:
    """Return the two sides of each conjunct that is an equality.

    Spark compares the values of two rows as `<=>` does.
    """
    kinds = (exp.EQ, exp.NullSafeEQ) if null_safe else (exp.EQ,)
    parts = [*parts]
    of_rows = [
        pair
        for part in parts
        if null_safe and type(part) in kinds and _is_of_rows(part)
        for pair in zip(part.this.expressions, part.expression.expressions, strict=True)
    ]
    return of_rows + [
        # `in` with one element is an equality too.
        (part.this, part.expressions[0] if type(part) is exp.In else part.expression)
        for part in parts
        if type(part) in kinds or (type(part) is exp.In and len(part.expressions) == 1)
    ]


def _is_of_rows(part: exp.Binary) -> bool:
    """Return whether two rows of the same length are compared, `(a, b) = (c, d)`."""
    sides = (part.this, part.expression)
    lengths = {len(side.expressions) for side in sides}
    return all(isinstance(side, exp.Tuple) for side in sides) and len(lengths) == 1


def named_anew(outputs: list[exp.Expression]) -> frozenset[str]:
    """Return the names of outputs that are no columns of the same name."""
    columns = [
        output for output in outputs if not isinstance(output.unalias(), exp.Star)
    ]
    return frozenset(
        name
        for output in columns
        if (name := name_of(output))
        and not (
            isinstance(output.unalias(), exp.Column)
            and output.unalias().name.lower() == name
        )
    )


def add_alias(scope: Scope, alias: str, rows: Rows) -> None:
    if alias in scope.sources:
        raise NotUnderstood(f"{alias} stands twice in a from")
    scope.sources[alias] = rows


def settle(
    scope: Scope, pairs: Iterable[tuple[exp.Expression, exp.Expression]]
) -> None:
    """Make each column a key that equals a key in every row."""
    pairs, size = list(pairs), -1
    while scope.keys and size != len(scope.keys):
        size = len(scope.keys)
        for left, right in pairs:
            a, b = scope.ref_of(left), scope.ref_of(right)
            if a and b and a[0] is b[0] is scope and {a[1], b[1]} & scope.keys:
                scope.keys |= {a[1], b[1]}


def inexact_of(left: Rows, right: Rows) -> frozenset[str]:
    """Return the columns of two branches that are inexact in either branch."""
    if left.columns is None:
        return left.inexact | right.inexact
    if right.columns is None:
        is_any = ANY in right.inexact
        return left.inexact | frozenset(left.columns if is_any else ())
    pairs = zip(left.columns, right.columns, strict=False)
    return frozenset(a for a, b in pairs if left.is_inexact(a) or right.is_inexact(b))


def all_columns(scope: Scope, alias: str | None) -> tuple[list[str] | None, set[str]]:
    """Return the columns of a star, and the keys among them."""
    shown = [a for a in scope.sources if a not in scope.hidden]
    if alias is not None:
        if alias not in shown:
            raise NotUnderstood(f"{alias} is no relation of the from")
        shown = [alias]
    merged = [] if alias is not None else list(scope.merged)
    # Spark puts the columns of a `using` first, also in `alias.*`.
    names: list[str] | None = None if alias and scope.merged else list(merged)
    keys = {name for name in merged if scope.merged[name] in scope.keys}
    for source in shown:
        columns = scope.sources[source].columns
        if columns is None:
            names = None
        elif names is not None:
            names += [column for column in columns if column not in merged]
        keys |= {name for a, name in scope.keys if a == source and name not in merged}
    return names, keys


def is_of_struct(output: exp.Expression, scope: Scope) -> bool:
    """Whether an output is the star of a struct: a relation's has priority."""
    is_star = isinstance(output, exp.Column) and isinstance(output.this, exp.Star)
    return is_star and scope.struct_of(output) is not None


def fields_of(star: exp.Column, scope: Scope) -> set[str]:
    """Return the keys among the fields of a struct's star."""
    found = scope.struct_of(star)
    pairs = ((alias, *key.split(FIELD)) for alias, key in scope.keys if FIELD in key)
    return {field for alias, struct, field in pairs if (alias, struct) == found}


def renamed(rows: Rows, alias: exp.Expression | None) -> Rows:
    """Return the rows with the column names of an alias."""
    if alias is None:
        return rows
    check_parts(alias)
    names = tuple(column.name.lower() for column in alias.args.get("columns") or [])
    if not names:
        return rows
    if rows.columns is None or len(rows.columns) != len(names) or rows.is_unordered:
        if rows.reads:
            raise NotUnderstood("the columns that an alias renames are not known")
        is_any = ANY in rows.inexact
        return Rows(columns=names, inexact=frozenset(names if is_any else ()))
    pairs = list(zip(names, rows.columns, strict=True))
    return replace(
        rows,
        columns=names,
        keys=frozenset(
            new for new, old in pairs if old in rows.keys and names.count(new) == 1
        ),
        inexact=frozenset(new for new, old in pairs if rows.is_inexact(old)),
    )


def name_of(output: exp.Expression) -> str:
    """Return the name of an output; an empty text if Spark generates the name."""
    output = output.unnest()
    # A single cast keeps the column's name; a cast of a cast does not.
    if isinstance(output, exp.Cast):
        output = output.this.unnest()
    if isinstance(output, (exp.Column, exp.Alias)):
        return output.alias_or_name.lower()
    return ""
