"""Proves that a query carries user_id through, by following it through the text.

A column is a *key* of a relation's rows if each row with a user in it comes only from
this user's rows and from rows without a user, and each row with null in it comes only
from rows without a user. A protected relation has the key user_id. For each step of a
query, the proof computes the keys of the rows after it. A step that is unknown here
proves nothing; nor does a relation that the project doesn't know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.tokens import Token, TokenType

from secure_datasets.sql.functions import GENERATORS, names
from secure_datasets.sql.statements import (
    DIALECT,
    FUNCTIONS,
    OF_SEVERAL_ROWS,
    WORDS,
    NotUnderstood,
    functions_called,
    named_with_columns,
    tokens_and_tree,
)

USER = "user_id"
CARRY = "carry-user-id"
GROUP = "group-by-user-id"
OWN = "rules-of-its-own"
UNPROVEN = "cannot-be-proven"
Ref = tuple[str, str]
Name = tuple[str, str]
# The name of a column, alone or after its relation's name.
Key = TypeVar("Key", str, Ref)

# Columns that a file or a table format adds: they reveal the places of rows.
HIDDEN = names(
    """
    _change_type _commit_timestamp _commit_version _deleted _file
    _last_updated_sequence_number _metadata _partition _pos _row_id _spec_id
    """
)
# The known expressions, besides functions, that read one row.
ROW_EXPRESSIONS = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Alias),
    *(exp.Aliases, exp.Paren, exp.Star, exp.Binary, exp.Unary, exp.Between, exp.In),
    *(exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam),
    *(
        exp.ColumnDef,
        exp.Interval,
        exp.IntervalSpan,
        exp.Var,
        exp.Lambda,
        exp.Ordered,
        exp.Order,
    ),
    *(exp.Tuple, exp.Bracket, exp.Slice, exp.Distinct, exp.Filter, exp.Where),
    *(exp.WithinGroup, exp.Window, exp.WindowSpec, exp.IgnoreNulls, exp.RespectNulls),
    *(exp.AtTimeZone, exp.PropertyEQ, exp.Exists, exp.Subquery),
    *(
        exp.RawString,
        exp.HexString,
        exp.Any,
        exp.All,
        exp.JSONPath,
        exp.JSONPathPart,
        exp.FromTimeZone,
    ),
)
GENERATOR_NODES = (exp.UDTF, exp.Explode, exp.Posexplode, exp.Inline, exp.Stack)
# Window functions that the parser does not count among the aggregates.
WINDOW_NODES = tuple(
    {exp.RowNumber, exp.Rank, exp.DenseRank, exp.CumeDist, exp.PercentRank, exp.Ntile}
)
# The known arguments of the parts of a query. Every further argument is refused.
PARTS: dict[type, frozenset[str]] = {
    exp.Select: names(
        "with_ expressions from_ joins laterals where group having qualify windows"
        " distinct order sort cluster distribute limit offset hint"
    ),
    exp.SetOperation: names("with_ this expression distinct order limit offset"),
    exp.Subquery: frozenset(("this", "alias", "with_", "pivots")),
    exp.Table: frozenset(("this", "db", "catalog", "alias", "sample", "pivots")),
    exp.TableSample: names("percent size bucket_numerator bucket_denominator seed"),
    exp.Pivot: names(
        "expressions fields unpivot include_nulls alias columns pivot_column_naming"
    ),
    exp.Join: frozenset(("this", "side", "kind", "on", "using", "method")),
    exp.Lateral: frozenset(("this", "view", "outer", "alias")),
    exp.CTE: frozenset(("this", "alias")),
    exp.With: frozenset(("expressions", "recursive")),
    exp.TableAlias: frozenset(("this", "columns")),
    exp.Star: frozenset(("except_",)),
    exp.Group: frozenset(
        ("expressions", "all", "rollup", "cube", "grouping_sets", "totals")
    ),
    exp.Window: frozenset(("this", "partition_by", "order", "spec", "alias", "over")),
    exp.Distinct: frozenset(("expressions",)),
    exp.Values: frozenset(("expressions", "alias")),
}


# Hints change the execution of a query, but not its result.
HINTS = names(
    """
    broadcast broadcastjoin coalesce mapjoin merge mergejoin rebalance repartition
    repartition_by_range shuffle_hash shuffle_merge shuffle_replicate_nl shufflemerge
    """
)
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
# A recursive CTE over this many relations settles in fewer steps.
MAXIMAL_STEPS = 20

# Statements that write no rows.
UPKEEP = (exp.Grant, exp.Revoke, exp.Analyze, exp.Comment, exp.Refresh)
UPKEEP_COMMANDS = {"ANALYZE", "OPTIMIZE", "VACUUM", "REFRESH", "MSCK", "MSCK REPAIR"}
# A setting that changes how long a query takes, and no result.
SET_FOR_SPEED = re.compile(
    r"set\s+spark\.sql\.(shuffle\.partitions|adaptive\.(?!custom)[\w.]+)\s*=\s*\w+",
    re.I,
)

# The key of a parsed query's metadata: whether commas separate relations.
COMMAS = "commas"


# Functions that make rows from one row, or a value, by a time: a group by them holds no
# further rows. They also add a column, which a star may have or not.
OF_TIMES = names("session_window window window_time")


class UnknownRelation(NotUnderstood):
    """The query reads a relation that the project does not know."""


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


OPEN = Rows(columns=None)
# Stands for all columns.
ANY = "*"
# The rows of a query that is not followed: its columns may have any type.
NOT_FOLLOWED = Rows(columns=None, inexact=frozenset((ANY,)))
# The separator of a struct and its field; no column's name contains it.
FIELD = "\0"
Resolve = Callable[[Name], Rows | None]


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
        named = _schema_and_name(column.text("catalog"), column.text("db"), alias)
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


def _is_bare_relation(node: exp.Expression) -> bool:
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
    """Return the two sides of each conjunct that is an equality."""
    kinds = (exp.EQ, exp.NullSafeEQ) if null_safe else (exp.EQ,)
    return [
        # `in` with one element is an equality too.
        (part.this, part.expressions[0] if type(part) is exp.In else part.expression)
        for part in parts
        if type(part) in kinds or (type(part) is exp.In and len(part.expressions) == 1)
    ]


# Comparisons that are true only if neither side is null.
STRICT = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
SETS = {"rollup": exp.Rollup, "cube": exp.Cube, "grouping_sets": exp.GroupingSets}


class Query:
    """Follows the keys through a parsed query."""

    def __init__(self, resolve: Resolve, odd: frozenset[str], has_commas: bool) -> None:
        self.resolve = resolve
        self.odd = odd
        self.has_commas = has_commas

    def rows(
        self,
        node: exp.Expression,
        ctes: Mapping[str, Rows],
        outer: Scope | None = None,
    ) -> Rows:
        """Return the known properties of a query's rows.

        A query over open rows only has open rows, even if it is not understood. Raises
        NotUnderstood for protected rows, UnknownRelation for an unknown relation.
        """
        try:
            return self.understood(node, ctes, outer)
        except UnknownRelation:
            raise
        except NotUnderstood:
            if not isinstance(node, exp.Query) or self.reads_protected(node, ctes):
                raise
            return NOT_FOLLOWED

    def reads_protected(self, node: exp.Query, ctes: Mapping[str, Rows]) -> bool:
        """Whether a relation or CTE that a query names may be protected."""
        tables = node.find_all(exp.Table)
        for table in (each for each in tables if isinstance(each.this, exp.Identifier)):
            rows = (
                self.resolve(_relation(table))
                if table.db
                else ctes.get(table.name.lower(), OPEN)
            )
            if rows is None or rows.reads:
                return True
        return False

    def understood(
        self, node: exp.Expression, ctes: Mapping[str, Rows], outer: Scope | None
    ) -> Rows:
        """Return the known properties of a query's rows, or raise NotUnderstood."""
        if not isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            if isinstance(node, exp.Values):
                return self.inline_rows(node)
            raise NotUnderstood(f"{_kind(node)} is not known here")
        _known_parts(node)
        ctes = self.with_ctes(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            rows = (
                self.table(node.this, ctes)
                if node.alias and _is_bare_relation(node.this)
                else self.rows(node.this, ctes, outer)
            )
            return self.pivoted(rows, node)
        if isinstance(node, exp.SetOperation):
            return self.combined(node, ctes, outer)
        return self.selected(node, ctes, outer)

    def with_ctes(
        self, node: exp.Expression, ctes: Mapping[str, Rows], outer: Scope | None
    ) -> Mapping[str, Rows]:
        """Return the CTEs in a query's scope, its own included."""
        if not (clause := node.args.get("with_")):
            return ctes
        _known_parts(clause)
        seen = dict(ctes)
        for cte in clause.expressions:
            _known_parts(cte)
            name, alias = cte.alias.lower(), cte.args.get("alias")
            if clause.args.get("recursive") and _names_cte(cte.this, name):
                seen[name] = self.repeated(cte, seen, outer)
            else:
                seen[name] = _renamed(self.rows(cte.this, seen, outer), alias)
        return seen

    def repeated(
        self, cte: exp.CTE, ctes: Mapping[str, Rows], outer: Scope | None
    ) -> Rows:
        """Return the rows of a CTE that reads itself.

        Induction: a property of the start that each step preserves is a property of all
        rows.
        """
        name, alias, union = cte.alias.lower(), cte.args.get("alias"), cte.this
        if not isinstance(union, exp.Union) or _names_cte(union.this, name):
            raise NotUnderstood("a recursive CTE is no union of a start and a step")
        rows = _renamed(self.rows(union.this, ctes, outer), alias)
        for _ in range(MAXIMAL_STEPS):
            before = rows
            made = self.rows(union, {**ctes, name: before}, outer)
            rows = _renamed(made, alias)
            rows = replace(rows, inexact=rows.inexact | before.inexact)
            if rows == replace(before, columns=rows.columns, problem=rows.problem):
                return rows
        raise NotUnderstood("a recursive CTE has too many steps")

    def inline_rows(self, node: exp.Values) -> Rows:
        """Return the rows of a `values` clause."""
        _known_parts(node)
        scope = Scope(outer=None)
        for part in node.expressions:
            self.scan(part, scope, {})
        if scope.reads:
            raise NotUnderstood("a subquery in inline rows")
        width = len(node.expressions[0].expressions) if node.expressions else 0
        columns = tuple(f"col{n + 1}" for n in range(width))
        inexact = {
            column
            for row in node.expressions
            for column, value in zip(columns, row.expressions, strict=False)
            if scope.is_inexact(value)
        }
        return Rows(columns=columns or None, inexact=frozenset(inexact))

    def combined(
        self, node: exp.SetOperation, ctes: Mapping[str, Rows], outer: Scope | None
    ) -> Rows:
        """Return the rows of a union, an intersect or an except.

        All protected branches need a key in the same place, so that rows are compared
        only with rows of the same key.
        """
        left = self.rows(node.this, ctes, outer)
        right = self.rows(node.expression, ctes, outer)
        reads = left.reads | right.reads
        inexact = _inexact_of(left, right)
        if not reads:
            return Rows(columns=left.columns, inexact=inexact)
        if left.is_unordered or right.is_unordered:
            raise NotUnderstood("the order of a branch's columns is not known")
        problem = left.problem or right.problem
        places: set[int] | None = None
        for branch in (left, right):
            if not branch.reads:
                continue
            if branch.columns is None:
                raise NotUnderstood("the columns of a branch of a union are not known")
            own = {n for n, c in enumerate(branch.columns) if c in branch.keys}
            places = own if places is None else places & own
        columns = left.columns
        if columns is None:
            raise NotUnderstood("the columns of a branch of a union are not known")
        if right.columns is not None and len(right.columns) != len(columns):
            raise NotUnderstood("the branches of a union are not equally wide")
        keys = frozenset(columns[n] for n in places or () if n < len(columns))
        keys = frozenset(key for key in keys - inexact if columns.count(key) == 1)
        if not (left.reads and right.reads):
            keys = frozenset(_one_of(keys))
        if not keys:
            text = "the branches of a union have no user_id of their own in one place"
            problem = problem or Problem(CARRY, text, reads)
        elif _is_cut(node):
            keys = frozenset()
            problem = Problem(GROUP, "a limit over the rows of several users", reads)
        order = node.args.get("order")
        if order and any(order.find_all(exp.Query)):
            raise NotUnderstood("a subquery in the order of a union")
        return Rows(columns, keys, reads, None if keys else problem, inexact=inexact)

    def selected(
        self, node: exp.Select, ctes: Mapping[str, Rows], outer: Scope | None
    ) -> Rows:
        """Return the rows of a single `select`."""
        scope = Scope(outer=outer)
        self.joined(node, scope, ctes)
        self.filtered(node, scope, ctes)
        outputs = list(node.expressions)
        after = [
            *outputs,
            *(node.args[name] for name in ("having", "qualify") if node.args.get(name)),
            *(
                part
                for name in ("order", "sort", "cluster", "distribute")
                if node.args.get(name)
                for part in node.args[name].expressions
            ),
        ]
        _check_times(node)
        found = [self.parts_of(part) for part in after]
        is_grouped = node.args.get("group") or node.args.get("having")
        if is_grouped or any(aggregates for aggregates, _ in found):
            self.grouped(node, scope, ctes)
        for window in node.args.get("windows") or []:
            after += [*(window.args.get("partition_by") or []), *_order_of(window)]
        for part in outputs:
            self.scan(part, scope, ctes)
        # In a subquery of `having`, an output stands before a column of its name.
        scope.shadowed = _named_anew(outputs)
        for part in after[len(outputs) :]:
            self.scan(part, scope, ctes)
        scope.shadowed = frozenset()
        for _, windows in found:
            for window in windows:
                self.windowed(window, node, scope)
        return self.output(node, outputs, scope)

    def joined(self, node: exp.Select, scope: Scope, ctes: Mapping[str, Rows]) -> None:
        """Add the `from`, its joins and lateral views to a scope."""
        joins = node.args.get("joins") or []
        if self.has_commas:
            _check_commas(joins)
        parts = list(conjuncts(node.args.get("where")))
        sides = {(join.side or "").upper() for join in joins}
        # A later join may fill both sides with nulls, which `<=>` takes as equal.
        inner = equalities(parts, null_safe=not sides & {"RIGHT", "FULL"})
        if first := node.args.get("from_"):
            _check_pivots(node)
            alias, rows = self.source(first.this, scope, ctes)
            scope.sources[alias] = rows
            scope.reads |= rows.reads
            scope.problem = scope.problem or rows.problem
            if not scope.problem:
                scope.keys = {(alias, key) for key in rows.keys}
        # The rows of a lateral subquery depend on the relations before it.
        named = [
            None
            if isinstance(join.this, exp.Lateral)
            else self.source(join.this, scope, ctes, number)
            for number, join in enumerate(joins, 1)
        ]
        not_null = set(_not_null(parts))
        ways = _ways(joins, dict(scope.sources), named, set(not_null))
        for join, way, source in zip(joins, ways, named, strict=True):
            found = source or self.source(join.this, scope, ctes)
            self.join(join, way, found, scope, ctes, inner)
        scope.not_null |= not_null
        for lateral in node.args.get("laterals") or []:
            alias, rows = self.source(lateral, scope, ctes)
            _add_alias(scope, alias, rows)
        _close(scope, equalities(parts))

    def source(
        self,
        node: exp.Expression,
        scope: Scope,
        ctes: Mapping[str, Rows],
        number: int | None = None,
    ) -> tuple[str, Rows]:
        """Return the alias and the rows of an entry in a `from`."""
        alias = node.args.get("alias")
        name = (node.alias_or_name or f"#{number or len(scope.sources)}").lower()
        for pivot in node.args.get("pivots") or []:
            name = pivot.alias.lower() or name
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            rows = self.pivoted(self.table(node, ctes), node)
            if node.db and not node.alias and not node.args.get("pivots"):
                scope.relations[name] = _relation(node)
        elif isinstance(node, (exp.Subquery, exp.Values)):
            # It sees no relation beside it, but the outer row of a subquery.
            rows = self.rows(node, ctes, scope.outer)
        elif isinstance(node, exp.Lateral):
            _known_parts(node)
            if isinstance(node.this, exp.Subquery):
                rows = self.rows(node.this, ctes, scope)
            else:
                rows = self.generated(node.this, scope, ctes)
        elif isinstance(node, exp.Table):
            _known_parts(node)
            rows = self.generated(node.this, scope, ctes)
        else:
            rows = self.generated(node, scope, ctes)
        # An alias before a pivot has already renamed the pivot's input.
        return name, rows if node.args.get("pivots") else _renamed(rows, alias)

    def table(self, node: exp.Table, ctes: Mapping[str, Rows]) -> Rows:
        """Return the rows of a CTE or a relation."""
        _known_parts(node)
        rows = self.resolve(_relation(node)) if node.db else ctes.get(node.name.lower())
        if rows is None:
            name = ".".join(_relation(node)) if node.db else node.name
            raise UnknownRelation(f"{name} is no relation of this project")
        if (sample := node.args.get("sample")) and rows.reads:
            _known_parts(sample)
            # A percentage draws row by row, but a seed makes it depend on their places.
            if sample.args.get("size") or sample.args.get("seed"):
                rows = _lost(rows, GROUP, "a sample of the rows of several users")
        return rows

    def pivoted(self, rows: Rows, node: exp.Expression) -> Rows:
        """Return the rows after the pivots of a relation or a subquery."""
        for number, pivot in enumerate(node.args.get("pivots") or []):
            # The alias before a pivot renames the pivot's input.
            rows = rows if number else _renamed(rows, node.args.get("alias"))
            rows = self.turned(rows, pivot)
        return rows

    def turned(self, rows: Rows, pivot: exp.Pivot) -> Rows:
        """Return the rows of one pivot or unpivot.

        A pivot groups by the columns that it does not name; an unpivot repeats them.
        """
        _known_parts(pivot)
        fields = pivot.args.get("fields") or []
        if (
            len(fields) != 1
            or not isinstance(fields[0], exp.In)
            or rows.columns is None
        ):
            raise NotUnderstood("a pivot of columns that are not known")
        if any(pivot.find_all(exp.Query)):
            raise NotUnderstood("a subquery in a pivot")
        if any(not _counts_rows(star) for star in pivot.find_all(exp.Star)):
            # It names all columns, and a pivot groups by those that it does not name.
            raise NotUnderstood("a star in a pivot")
        is_unpivot = pivot.args.get("unpivot")
        named = fields[0].expressions if is_unpivot else [fields[0].this]
        named = [*named, *([] if is_unpivot else pivot.expressions)]
        read = [c for part in named for c in part.find_all(exp.Column)]
        if any(column.table for column in read):
            raise NotUnderstood("a field, or a relation's name, in a pivot")
        gone = {column.name.lower() for column in read}
        made = _unpivoted(pivot) if is_unpivot else _pivoted(pivot)
        left = [column for column in rows.columns if column not in gone]
        keys = rows.keys & set(left) - set(made)
        inexact = rows.inexact | frozenset(made)
        rows = replace(rows, columns=(*left, *made), keys=keys, inexact=inexact)
        if rows.reads and not keys:
            word = "an unpivot" if is_unpivot else "a pivot"
            text = f"{word} without the protected user_id among the columns it leaves"
            rows = _lost(rows, CARRY if is_unpivot else GROUP, text)
        return _renamed(rows, pivot.args.get("alias"))

    def generated(
        self, node: exp.Expression, scope: Scope, ctes: Mapping[str, Rows]
    ) -> Rows:
        """Return the rows that a generator makes from a row."""
        if isinstance(node, exp.Anonymous) and node.name.lower() == "range":
            parts = node.expressions
        elif _is_generator(node):
            parts = [node]
        else:
            raise NotUnderstood(f"{_text(node)} is no relation and no generator")
        for part in parts:
            self.scan(part, scope, ctes)
        return NOT_FOLLOWED if _is_generator(node) else OPEN

    def join(
        self,
        node: exp.Join,
        way: str,
        source: tuple[str, Rows],
        scope: Scope,
        ctes: Mapping[str, Rows],
        inner: list[tuple[exp.Expression, exp.Expression]],
    ) -> None:
        """Add one more relation to a scope, and compute the remaining keys.

        way    the side that keeps its rows, or a semi or anti join; see `_ways`
        inner  the two sides of each equality in the `where`
        """
        _known_parts(node)
        kind, side = (node.kind or "").upper(), (node.side or "").upper()
        if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            raise NotUnderstood(f"a {kind.lower()} join is not known here")
        if kind in ("SEMI", "ANTI") and side not in ("", "LEFT"):
            raise NotUnderstood(
                f"a {side.lower()} {kind.lower()} join is not known here"
            )
        alias, rows = source
        left_keys, left_reads = set(scope.keys), scope.reads
        right_keys = {(alias, key) for key in rows.keys}
        shared = [name.name.lower() for name in node.args.get("using") or []]
        if node.args.get("method"):
            shared = self.shared(node, scope, rows)
        left_of = {name: scope.find(exp.column(name)) for name in shared}
        _add_alias(scope, alias, rows)
        scope.keys = left_keys | right_keys
        on = list(conjuncts(node.args.get("on")))
        using = [
            (found[1], (alias, name))
            for name, found in left_of.items()
            if found and found[0] is scope
            if not scope.is_inexact_column(found[1]) and not rows.is_inexact(name)
        ]
        # A relation that joins later has priority over a field of the same name.
        here = {"", *scope.sources}
        sure = [pair for pair in inner if _tables(pair) <= here]
        pairs = _paired(scope, alias, equalities(on) + ([] if way else sure)) + using
        both = [(a, b) for a, b in pairs if a in left_keys and b in right_keys]
        # Any column of an open relation becomes a key once it is equal to a key.
        if not left_reads:
            both = [(a, b) for a, b in pairs if b in right_keys]
        elif not rows.reads:
            both = [(a, b) for a, b in pairs if a in left_keys]
        elif not both and way not in ("RIGHT", "FULL"):
            strict = _paired(scope, alias, equalities(on, null_safe=False)) + using
            nulls = scope.null_or_keys
            both = [(a, b) for a, b in strict if a in nulls and b in right_keys]
        # Columns of open rows that are kept without a match need not be equal.
        if way in ("LEFT", "ANTI", "FULL") and not left_reads:
            one = _one_of({a for a, _ in both})
            both = [(a, b) for a, b in both if a in one]
        elif way in ("RIGHT", "FULL") and not rows.reads:
            one = _one_of({b for _, b in both})
            both = [(a, b) for a, b in both if b in one]
        left = left_keys if left_reads else {a for a, _ in both}
        right = right_keys if rows.reads else {b for _, b in both}
        scope.reads = left_reads | rows.reads
        scope.problem = scope.problem or rows.problem
        # For two equal keys, the key that their coalesce() equals.
        either = {frozenset(pair): pair[way == "RIGHT"] for pair in both}
        if way == "FULL":
            either = {pair: ("", "/".join(sum(sorted(pair), ()))) for pair in either}
        # If coalesce(a, b) is one key of a pair, and c its second key, then
        # coalesce(a, b, c) has the value of the pair.
        either |= {
            refs | (pair - {ref}): key
            for pair, key in either.items()
            for refs, ref in scope.coalesced.items()
            if ref in pair
        }
        if way in ("RIGHT", "FULL"):
            scope.coalesced = {}
        # An equal key is needed between two protected sides, and also if a user's rows
        # decide which rows of an open side remain.
        is_met = both or not (
            (rows.reads and (left_reads or way in ("LEFT", "SEMI", "ANTI", "FULL")))
            or (left_reads and way in ("RIGHT", "FULL"))
        )
        kept = {
            "LEFT": left,
            "SEMI": left,
            "ANTI": left,
            "RIGHT": right,
            "": left | right,
        }
        scope.keys = kept.get(way, set(either.values())) if is_met else set()
        scope.coalesced |= either
        if way == "LEFT":
            nulls = scope.null_or_keys
            scope.null_or_keys |= {b: nulls.get(a, a) for a, b in both}
        elif way in ("RIGHT", "FULL"):
            scope.null_or_keys = {a: b for a, b in both if way == "RIGHT"}
            scope.not_null = set()
        # The columns of the last join stand first.
        scope.merged = {**dict.fromkeys(left_of), **scope.merged}
        for name, found in left_of.items():
            ref = found[1] if found and found[0] is scope else None
            own = (alias, name)
            if way == "FULL":
                scope.merged[name] = either.get(frozenset((ref, own))) if ref else None
            else:
                scope.merged[name] = own if way == "RIGHT" else ref
        if scope.reads and not scope.keys:
            scope.lose(CARRY, f"{_joined(way)} {alias} without an equal user_id")
        # A subquery in an outer join's `on` may keep or drop rows of further users.
        scope.takes_key = False
        for part in on:
            self.scan(part, scope, ctes)
        scope.takes_key = True
        if way == "":
            _close(scope, equalities(on))
        if way in ("", "SEMI"):
            scope.not_null |= set(_not_null(on))
        if way in ("SEMI", "ANTI"):
            scope.hidden.add(alias)

    def shared(self, node: exp.Join, scope: Scope, rows: Rows) -> list[str]:
        """Return the common columns of a natural join."""
        if node.args["method"].upper() != "NATURAL":
            raise NotUnderstood(
                f"a {node.args['method'].lower()} join is not known here"
            )
        left, _ = _all_columns(scope, None)
        if left is None or rows.columns is None:
            raise NotUnderstood("a natural join of columns that are not known")
        shared = [name for name in left if name in rows.columns]
        if any(left.count(n) > 1 or rows.columns.count(n) > 1 for n in shared):
            raise NotUnderstood("a natural join by a column that stands twice")
        # Spark's versions differ on whether two spellings are one column.
        if odd := sorted(self.odd.intersection(shared)):
            raise NotUnderstood(f"a natural join by two spellings of {odd[0]}")
        return shared

    def filtered(
        self, node: exp.Select, scope: Scope, ctes: Mapping[str, Rows]
    ) -> None:
        """Apply the `where` to a scope: lookups of a user, and filters to one user."""
        parts = list(conjuncts(node.args.get("where")))
        # An `on` names only the relations before it.
        known = list(scope.sources)
        looked_at = [(parts, known)] + [
            (list(conjuncts(join.args.get("on"))), known[: number + 2])
            for number, join in enumerate(node.args.get("joins") or [])
            if not join.side and (join.kind or "").upper() in ("", "INNER", "CROSS")
        ]
        for conditions, there in looked_at if scope.outer and scope.reads else ():
            for left, right in equalities(conditions):
                for inside, outside in ((left, right), (right, left)):
                    key = scope.outer_key(outside)
                    ref = scope.ref_of(inside)
                    is_there = ref is not None and ref[1][0] in there
                    if key and scope.key_of(inside) and is_there:
                        for part in parts:
                            self.scan(part, scope, ctes)
                        if not scope.problem:
                            scope.pin(*key)
                        return
        for part in parts:
            if not self.is_looked_up(part, scope, ctes):
                self.scan(part, scope, ctes)

    def is_looked_up(
        self, node: exp.Expression, scope: Scope, ctes: Mapping[str, Rows]
    ) -> bool:
        """Whether a conjunct looks up the row's own user: `user_id in (select ...)`."""
        is_not = isinstance(node, exp.Not)
        node = node.this.unnest() if isinstance(node, exp.Not) else node
        if not isinstance(node, exp.In) or not (query := node.args.get("query")):
            return False
        if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Subquery):
            # Double brackets make a scalar: the value of one row, or null without rows.
            return False
        rows = self.rows(query, ctes, scope)
        if not rows.reads or rows.columns is None:
            return False
        if rows.is_unordered and len(rows.columns) > 1:
            raise NotUnderstood("the order of a subquery's columns is not known")
        values = (
            node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        )
        for value in values:
            self.scan(value, scope, ctes)
        if len(values) != len(rows.columns):
            return False
        looked_up = [
            ref[1]
            for value, column in zip(values, rows.columns, strict=True)
            if column in rows.keys and not rows.is_inexact(column)
            # `null not in (...)` is true only if the subquery has no row of any user.
            # Another user's id is unequal, whatever stands beside it.
            if not is_not or self.is_never_null(value, scope)
            if (ref := scope.ref_of(value)) and ref[0] is scope
        ]
        if scope.reads:
            return any(ref in {*scope.keys, *scope.null_or_keys} for ref in looked_up)
        if looked_up:
            # A row that is in no pair of ids may have the ids of two users.
            scope.keys = _one_of(looked_up) if is_not else set(looked_up)
            scope.reads = rows.reads
        return bool(looked_up)

    @staticmethod
    def is_never_null(value: exp.Expression, scope: Scope) -> bool:
        """Whether a filter removes the rows with null in a column."""
        found = scope.ref_of(value)
        return found is not None and any(
            (alias, name) == found[1]
            # With `using`, the name may stand for the columns of both sides.
            or (not alias and name == found[1][1] and not scope.merged)
            for alias, name in scope.not_null
        )

    def grouped(self, node: exp.Select, scope: Scope, ctes: Mapping[str, Rows]) -> None:
        """Apply the `group by` to a scope: only its keys stay."""
        group = node.args.get("group")
        scope.takes_key = False
        if group is None:
            if scope.reads:
                scope.lose(GROUP, "an aggregate without a group by")
            return
        _known_parts(group)
        for term in _terms_of(group):
            self.scan(term, scope, ctes)
        if not scope.reads:
            return
        if group.args.get("totals"):
            raise NotUnderstood("totals in group are not known here")
        terms = list(group.expressions)
        if group.args.get("all"):
            terms = [
                output for output in node.expressions if not self.parts_of(output)[0]
            ]
        # `group by a, b grouping sets (...)` and `with rollup` group by the sets only.
        if sets := [s for name in SETS for s in group.args.get(name) or []]:
            terms = sets
        keys = set()
        for term in terms:
            keys |= self.grouping_keys(term, node, scope)
        keys |= self.keys_without_totals(group, node, scope)
        scope.is_grouped = True
        if keys:
            scope.keys, scope.null_or_keys = keys, {}
        else:
            text = f"{_text(group).lower()} without the protected user_id"
            is_total = any(group.find_all(*SETS.values()))
            scope.lose(
                GROUP, "a group by with totals over all users" if is_total else text
            )

    def keys_without_totals(
        self, group: exp.Group, node: exp.Select, scope: Scope
    ) -> set[Ref]:
        """Return the keys that are null in all totals over them, which `having` drops.

        An output that is called as a key could stand in its place in the condition.
        """
        if not (having := node.args.get("having")):
            return set()
        kept = {
            found[1]
            for alias, name in _not_null(conjuncts(having.this))
            if (found := scope.find(exp.column(name, table=alias or None)))
            and found[0] is scope
            and found[1][1] == name
        }
        named = {(_name_of(each), scope.key_of(each)) for each in node.expressions}
        return {
            key
            for term in map(exp.Expression.unnest, _terms_of(group))
            if isinstance(term, exp.Column)
            for key in self.grouping_keys(term, node, scope) & kept
            if all(other == key for name, other in named if name == key[1])
        }

    def grouping_keys(
        self, term: exp.Expression, node: exp.Select, scope: Scope
    ) -> set[Ref]:
        """Return the keys that are in each grouping set of a term of a `group by`.

        A rollup or a cube has none: one of its sets is empty.
        """
        if isinstance(term, exp.GroupingSets):
            found = [self.grouping_keys(each, node, scope) for each in term.expressions]
            return set.intersection(*found) if found else set()
        if isinstance(term.parent, exp.GroupingSets) and isinstance(
            term, (exp.Tuple, exp.Paren)
        ):
            parts = term.expressions if isinstance(term, exp.Tuple) else [term.this]
            return {
                key for each in parts for key in self.grouping_keys(each, node, scope)
            }
        # A star shifts the positions of the outputs after it.
        has_star = any(output.is_star for output in node.expressions)
        is_place = isinstance(term, exp.Literal) and not term.is_string
        if is_place and term.name.isdigit() and not has_star:
            place = int(term.name) - 1
            term = node.expressions[place] if place < len(node.expressions) else term
        found = scope.ref_of(term)
        if found is None and isinstance(term, exp.Column) and not term.table:
            term = self.named_output(term.name.lower(), node, scope) or term
        key = scope.key_of(term)
        return {key} if key else set()

    @staticmethod
    def named_output(
        name: str, node: exp.Select, scope: Scope
    ) -> exp.Expression | None:
        """Return the output that a `group by` names, if the name can be no column's."""
        if any(rows.columns is None for rows in scope.sources.values()):
            return None
        named = [o for o in node.expressions if _name_of(o) == name]
        return named[0] if len(named) == 1 else None

    def windowed(self, window: exp.Window, node: exp.Select, scope: Scope) -> None:
        """Check that a window stays within the rows of one key."""
        if not scope.reads:
            return
        # Names of windows are case-sensitive in Spark.
        named = {w.name: w for w in node.args.get("windows") or []}
        partition: list[exp.Expression] = []
        seen: set[str] = set()
        definition: exp.Window | None = window
        while definition is not None:
            _known_parts(definition)
            partition += definition.args.get("partition_by") or []
            name = definition.alias
            if name in seen or (name and name not in named):
                raise NotUnderstood(f"the window {name} is not known")
            seen.add(name)
            definition = named.get(name) if name else None
        if not any(scope.key_of(term) for term in partition):
            scope.lose(
                GROUP, "a window without the protected user_id in its partition by"
            )

    def output(
        self, node: exp.Select, outputs: list[exp.Expression], scope: Scope
    ) -> Rows:
        """Return the selected rows, with the keys among the outputs."""
        columns: list[str] | None = []
        keys: set[str] = set()
        others: set[str] = set()
        inexact: set[str] = set()
        for number, output in enumerate(outputs):
            names, own = self.output_columns(output, scope)
            if names == [""]:
                # Two columns with names made by Spark stay distinct.
                names = [f"{FIELD}{number}"]
            if _is_of_struct(output, scope):
                inexact.add(ANY)
            elif output.is_star:
                inexact |= {
                    name for of in scope.sources.values() for name in of.inexact
                }
            elif names is None:
                inexact.add(ANY)
            elif _has_generator(output) or scope.is_inexact(output):
                inexact |= set(names)
            if names is None:
                columns = None
            elif columns is not None:
                columns += names
            keys |= own
            others |= set(names or ()) - own
        keys = {
            key
            for key in keys
            if key not in others and (columns is None or _is_once(key, columns))
        }
        known = tuple(columns) if columns is not None else None
        is_unordered = any(output.is_star for output in outputs) and any(
            of.is_unordered for of in scope.sources.values()
        )
        made = Rows(
            known,
            reads=scope.reads,
            inexact=frozenset(inexact),
            is_unordered=is_unordered,
        )
        if not scope.reads:
            return made
        if scope.problem:
            return replace(made, problem=scope.problem)
        distinct = node.args.get("distinct")
        if distinct:
            _known_parts(distinct)
            if distinct.expressions:
                raise NotUnderstood("distinct on is not known here")
        if _is_cut(node):
            scope.lose(GROUP, "a limit over the rows of several users")
        elif not keys and distinct:
            scope.lose(GROUP, "a distinct without the protected user_id")
        elif not keys:
            scope.lose(CARRY, _no_key(outputs))
        kept = frozenset(() if scope.problem else keys)
        return replace(made, keys=kept, problem=scope.problem)

    def output_columns(
        self, output: exp.Expression, scope: Scope
    ) -> tuple[list[str] | None, set[str]]:
        """Return the columns of an output, and the keys among them."""
        star = output.this if isinstance(output, exp.Column) else output
        if isinstance(star, exp.Star):
            _known_parts(star)
            alias = output.table.lower() if isinstance(output, exp.Column) else None
            if _is_of_struct(output, scope):
                names, keys = None, _fields_of(output, scope)
            elif output.args.get("db") and not scope.find_in_schema(output):
                raise NotUnderstood(f"{_text(output)} may be of a struct")
            else:
                names, keys = _all_columns(scope, alias)
            parts = star.args.get("except_") or []
            if any(column.args.get("table") for column in parts):
                # `except (a.x)` leaves a further column `x` in place.
                names = None
            without = {column.name.lower() for column in parts}
            # `except` may remove a single field of a struct.
            inner = without | {column.text("table").lower() for column in parts}
            left = None if names is None else [n for n in names if n not in without]
            return left, {key for key in keys if key.split(FIELD)[0] not in inner}
        if isinstance(output, exp.Aliases):
            return [alias.name.lower() for alias in output.aliases], set()
        if _has_generator(output):
            # Spark refuses a single alias for several columns.
            is_named = isinstance(output, exp.Alias) and _is_generator(output.this)
            return [output.alias.lower()] if is_named else None, set()
        name = _name_of(output)
        value = output.this if isinstance(output, exp.Alias) else output
        if isinstance(value, exp.Struct):
            parts = [p for p in value.expressions if isinstance(p, exp.PropertyEQ)]
            # A star may have a field of the same name.
            are_all = len(parts) == len(value.expressions)
            fields = [part.this.name.lower() for part in parts]
            return [name], {
                f"{name}{FIELD}{field}"
                for part, field in zip(parts, fields, strict=True)
                if are_all and fields.count(field) == 1
                # No comparison shows the type of a field.
                if not scope.is_inexact(part.expression)
                if scope.key_of(part.expression)
            }
        return [name], {name} if scope.key_of(output) else set()

    def parts_of(
        self, node: exp.Expression
    ) -> tuple[list[exp.Expression], list[exp.Window]]:
        """Return an expression's aggregates and windows, without subqueries."""
        aggregates: list[exp.Expression] = []
        windows: list[exp.Window] = []
        for part in _walk(node):
            if isinstance(part, exp.Window):
                windows.append(part)
            elif _is_aggregate(part) and not _is_windowed(part):
                aggregates.append(part)
        return aggregates, windows

    def scan(
        self, node: exp.Expression, scope: Scope, ctes: Mapping[str, Rows]
    ) -> None:
        """Check each part of an expression, and its subqueries.

        A subquery over protected rows removes the keys. Raises NotUnderstood for an
        unknown part.
        """
        for part in _walk(node):
            query = _subquery_of(part)
            if query is not None:
                if (rows := self.rows(query, ctes, scope)).reads:
                    problem = rows.problem or Problem(CARRY, "")
                    text = problem.text if problem.rule == GROUP else ""
                    scope.lose(
                        problem.rule if text else CARRY,
                        "a subquery reads the rows of other users"
                        + (f": {text}" if text else ""),
                        rows.reads,
                    )
            elif isinstance(part, exp.Query):
                raise NotUnderstood(f"{_kind(part)} within an expression")
            elif isinstance(part, exp.Func):
                _known_function(part)
            elif isinstance(part, exp.Column) and HIDDEN & _words_of(part):
                found = scope.find(part)
                rows = found and found[0].sources[found[1][0]]
                if not rows or found[1][1] not in (rows.columns or ()):
                    raise NotUnderstood(f"the hidden column {_text(part)} is not known")
            elif not isinstance(part, (*ROW_EXPRESSIONS, exp.Having, exp.Qualify)):
                raise NotUnderstood(f"{_kind(part)} is not known here")


def _named_anew(outputs: list[exp.Expression]) -> frozenset[str]:
    """Return the names of outputs that are no columns of the same name."""
    columns = [
        output for output in outputs if not isinstance(output.unalias(), exp.Star)
    ]
    return frozenset(
        name
        for output in columns
        if (name := _name_of(output))
        and not (
            isinstance(output.unalias(), exp.Column)
            and output.unalias().name.lower() == name
        )
    )


def _words_of(column: exp.Column) -> set[str]:
    """Return the parts of a column's name."""
    return {part.name.lower() for part in column.parts}


def _paired(
    scope: Scope, alias: str, pairs: list[tuple[exp.Expression, exp.Expression]]
) -> list[tuple[Ref, Ref]]:
    """Return the pairs of equal columns of the earlier sources and of one more."""
    found = [(scope.ref_of(left), scope.ref_of(right)) for left, right in pairs]
    return [
        (a[1], b[1]) if b[1][0] == alias else (b[1], a[1])
        for a, b in found
        if a and b and a[0] is b[0] is scope
        if (a[1][0] == alias) != (b[1][0] == alias)
    ]


def _one_of(keys: Iterable[Key]) -> set[Key]:
    """Return one of the keys, preferably user_id: in open rows the keys differ."""
    return set(sorted(keys, key=lambda key: (USER not in (key, key[-1]), key))[:1])


def _add_alias(scope: Scope, alias: str, rows: Rows) -> None:
    if alias in scope.sources:
        raise NotUnderstood(f"{alias} stands twice in a from")
    scope.sources[alias] = rows


def _close(
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


def _inexact_of(left: Rows, right: Rows) -> frozenset[str]:
    """Return the columns of two branches that are inexact in either branch."""
    if left.columns is None:
        return left.inexact | right.inexact
    if right.columns is None:
        is_any = ANY in right.inexact
        return left.inexact | frozenset(left.columns if is_any else ())
    pairs = zip(left.columns, right.columns, strict=False)
    return frozenset(a for a, b in pairs if left.is_inexact(a) or right.is_inexact(b))


def _all_columns(scope: Scope, alias: str | None) -> tuple[list[str] | None, set[str]]:
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


def _is_of_struct(output: exp.Expression, scope: Scope) -> bool:
    """Whether an output is the star of a struct: a relation's has priority."""
    is_star = isinstance(output, exp.Column) and isinstance(output.this, exp.Star)
    return is_star and scope.struct_of(output) is not None


def _fields_of(star: exp.Column, scope: Scope) -> set[str]:
    """Return the keys among the fields of a struct's star."""
    found = scope.struct_of(star)
    pairs = ((alias, *key.split(FIELD)) for alias, key in scope.keys if FIELD in key)
    return {field for alias, struct, field in pairs if (alias, struct) == found}


def _tables(pair: Iterable[exp.Expression]) -> set[str]:
    """Return the qualifiers of columns; an empty text for a column without one."""
    columns = (column for side in pair for column in side.find_all(exp.Column))
    return {column.table.lower() for column in columns}


def _lost(rows: Rows, rule: str, text: str) -> Rows:
    """Return the rows without keys, with a problem."""
    problem = rows.problem or Problem(rule, text, rows.reads)
    return replace(rows, keys=frozenset(), problem=problem)


def _is_once(key: str, columns: list[str]) -> bool:
    """Whether a key stands for one column, or a field of one."""
    return columns.count(key.split(FIELD)[0]) == 1


def _ways(
    joins: list[exp.Join],
    sources: dict[str, Rows],
    named: list[tuple[str, Rows] | None],
    not_null: set[Ref],
) -> list[str]:
    """Return for each join the side that keeps its rows, or SEMI or ANTI.

    A side does not keep its rows if the query later drops rows with a null column of
    the opposite side. `not_null` holds the columns that are not null after the joins;
    this function adds the columns that inner joins compare.
    """
    known, ways = sources | dict(filter(None, named)), []
    for join, source in zip(reversed(joins), reversed(named), strict=True):
        way, kind = (join.side or "").upper(), (join.kind or "").upper()
        way = kind if kind in ("SEMI", "ANTI") else way
        alias = source[0] if source else join.this.alias_or_name.lower()
        rows = known.pop(alias, OPEN)
        # A qualified name may be a field of a struct, if there is no such column.
        is_right = any(a == alias and rows.has(name) for a, name in not_null)
        is_left = any(a in known and known[a].has(name) for a, name in not_null)
        keeps_left = way in ("LEFT", "FULL") and not is_right
        keeps_right = way in ("RIGHT", "FULL") and not is_left
        if way in ("LEFT", "RIGHT", "FULL"):
            side_of = {(True, False): "LEFT", (False, True): "RIGHT", (True, True): way}
            way = side_of.get((keeps_left, keeps_right), "")
        if way in ("", "RIGHT", "SEMI"):
            not_null |= set(_not_null(conjuncts(join.args.get("on"))))
        ways.insert(0, way)
    return ways


def _not_null(conditions: Iterable[exp.Expression]) -> Iterator[Ref]:
    """Yield the columns that are not null if these conditions are true."""
    for part in conditions:
        sides: list[exp.Expression] = []
        if type(part) in STRICT:
            sides = [part.left, part.right]
        elif isinstance(part, (exp.In, exp.Between)):
            sides = [part.this]
        elif isinstance(part, exp.Not) and isinstance(part.this, exp.Is):
            is_null = isinstance(part.this.expression, exp.Null)
            sides = [part.this.this] if is_null else []
        for side in sides:
            if isinstance(side, exp.Column) and not side.args.get("db"):
                yield side.table.lower(), side.name.lower()


def _is_cut(node: exp.Query) -> bool:
    """Whether a limit or an offset cuts the rows of a query."""
    limit = node.args.get("limit")
    is_all = isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Var)
    return bool(node.args.get("offset") or (limit and not is_all))


def _names_cte(node: exp.Expression, name: str) -> bool:
    """Whether a query may read a CTE of this name."""
    return any(
        not table.db and table.name.lower() == name
        for table in node.find_all(exp.Table)
    )


def _check_commas(joins: list[exp.Join]) -> None:
    """Raise if a join after a comma may name a relation before the comma.

    Spark reads `a, b join c` as `a cross join (b join c)`.
    """
    here: set[str] | None = None
    for join in joins:
        name = join.this.alias_or_name.lower()
        if (join.kind or "").upper() == "CROSS":
            here = {name}
            continue
        if here is None:
            continue
        here.add(name)
        on = join.args.get("on")
        named = {c.table.lower() for c in on.find_all(exp.Column)} if on else set()
        is_outer = (join.side or "").upper() in ("RIGHT", "FULL")
        is_shared = join.args.get("using") or join.args.get("method")
        if is_outer or is_shared or not here >= named:
            raise NotUnderstood("a join after a comma: write cross join for the comma")


def _check_pivots(node: exp.Select) -> None:
    """Raise unless a pivot applies to the only relation of a `from`.

    After a join, Spark applies a pivot to the whole join.
    """
    joins = node.args.get("joins") or []
    sources = [*joins, *(join.this for join in joins), *node.args.get("laterals", ())]
    is_alone = not sources
    if not is_alone and any(
        each.args.get("pivots") for each in (node.args["from_"].this, *sources)
    ):
        raise NotUnderstood("a pivot beside a join is not known here")


def _counts_rows(star: exp.Star) -> bool:
    """Whether a star stands in `count(*)`, which names no column."""
    count = star.parent
    is_alone = isinstance(count, exp.Count) and not count.args.get("expressions")
    return is_alone and not star.args.get("except_")


def _check_times(node: exp.Select) -> None:
    """Raise if a star may have the column that a function of times adds."""
    times = any(
        isinstance(part, exp.Anonymous) and part.name.lower() in OF_TIMES
        for child in node.iter_expressions()
        for part in _walk(child)
    )
    if times and any(output.is_star for output in node.expressions):
        raise NotUnderstood("a star beside a window of time")


def _pivoted(pivot: exp.Pivot) -> list[str]:
    """Return the columns that a pivot makes: one for each value and aggregate."""
    found = []
    for value in pivot.args["fields"][0].expressions:
        name = value.alias if isinstance(value, exp.PivotAlias) else value.name
        if not isinstance(value, (exp.PivotAlias, exp.Literal)):
            raise NotUnderstood("a pivot for values without a name")
        for aggregate in pivot.expressions:
            if len(pivot.expressions) > 1:
                if not isinstance(aggregate, exp.Alias):
                    raise NotUnderstood("a pivot with aggregates without names")
                found.append(f"{name}_{aggregate.alias}".lower())
            else:
                found.append(name.lower())
    return found


def _unpivoted(pivot: exp.Pivot) -> list[str]:
    """Return the columns that an unpivot makes: the name, and the values."""
    made = [pivot.args["fields"][0].this]
    for part in pivot.expressions:
        made += part.expressions if isinstance(part, exp.Tuple) else [part]
    if not all(isinstance(part, (exp.Identifier, exp.Column)) for part in made):
        raise NotUnderstood("an unpivot to columns that are not known")
    return [part.name.lower() for part in made]


def _terms_of(group: exp.Group) -> Iterator[exp.Expression]:
    """Yield the expressions of a `group by`, those within its sets included."""
    waiting = [*group.expressions]
    waiting += [each for name in SETS for each in group.args.get(name) or []]
    while waiting:
        term = waiting.pop()
        if isinstance(term, (*SETS.values(), exp.Tuple)):
            waiting += term.expressions
        else:
            yield term


def _walk(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the parts of an expression; a subquery's own parts are left out."""
    yield node
    if _subquery_of(node) is not None:
        if isinstance(node, exp.In):
            yield from _walk(node.this)
        return
    if isinstance(node, exp.Query):
        return
    for child in node.iter_expressions():
        yield from _walk(child)


def _order_of(window: exp.Window) -> list[exp.Expression]:
    order = window.args.get("order")
    return order.expressions if order else []


def _subquery_of(node: exp.Expression) -> exp.Expression | None:
    """Return the query of a subquery in an expression."""
    if isinstance(node, exp.In):
        return node.args.get("query")
    if isinstance(node, exp.Subquery):
        return node
    if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
        return node.this
    return None


def _renamed(rows: Rows, alias: exp.Expression | None) -> Rows:
    """Return the rows with the column names of an alias."""
    if alias is None:
        return rows
    _known_parts(alias)
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


def _name_of(output: exp.Expression) -> str:
    """Return the name of an output; an empty text if Spark generates the name."""
    output = output.unnest()
    # A single cast keeps the column's name; a cast of a cast does not.
    if isinstance(output, exp.Cast):
        output = output.this.unnest()
    if isinstance(output, (exp.Column, exp.Alias)):
        return output.alias_or_name.lower()
    return ""


def _known_parts(node: exp.Expression) -> None:
    """Raise NotUnderstood if a part of a query has an unknown argument."""
    kind = next(kind for kind in PARTS if isinstance(node, kind))
    for name, value in node.args.items():
        if value and name not in PARTS[kind]:
            raise NotUnderstood(f"{name.strip('_')} in {_kind(node)} is not known here")


def _known_function(node: exp.Func) -> None:
    """Raise NotUnderstood if a function is not Spark's own."""
    known = FUNCTIONS | OF_TIMES
    if isinstance(node, exp.Anonymous) and node.name.lower() not in known:
        raise NotUnderstood(f"the function {node.name.lower()} is not known here")


def _is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in OF_SEVERAL_ROWS
    return isinstance(node, (exp.AggFunc, *WINDOW_NODES))


def _is_windowed(node: exp.Expression) -> bool:
    """Whether a window applies to an aggregate."""
    while isinstance(
        node.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)
    ):
        if node.arg_key != "this":
            return False
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def _is_generator(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in GENERATORS
    return isinstance(node, GENERATOR_NODES)


def _has_generator(node: exp.Expression) -> bool:
    return any(map(_is_generator, node.find_all(exp.Func)))


def _kind(node: exp.Expression) -> str:
    return type(node).__name__.lower()


def _text(node: exp.Expression) -> str:
    return node.sql(dialect=DIALECT, comments=False)


def _joined(way: str) -> str:
    words = {"": "a join with", "SEMI": "a semi join with", "ANTI": "an anti join with"}
    return words.get(way, f"a {way.lower()} join with")


def _no_key(outputs: list[exp.Expression]) -> str:
    for output in outputs:
        if _name_of(output) == USER:
            return f"{_text(output)} is not the user_id of the protected dataset"
    return "user_id is not among its columns"


def _check_functions(tokens: list[Token], nodes: list[exp.Expression]) -> None:
    """Raise unless each function is Spark's own, and the parser knows the aggregates.

    Otherwise an aggregate would go unseen if a version of the parser took it for a
    function of one row.
    """
    known = FUNCTIONS | OF_TIMES
    named = named_with_columns(nodes)
    called = [(parts[-1].lower(), len(parts) > 1) for parts in functions_called(tokens)]
    for word, is_qualified in called:
        if is_qualified:
            raise NotUnderstood(f"the function {word} of a schema is not known here")
        if word not in known and word not in WORDS and word not in named:
            raise NotUnderstood(f"the function {word} is not known here")
    functions = [node for node in nodes if isinstance(node, exp.Func)]
    for function in functions:
        if function.name.lower() != "range":
            _known_function(function)
    spelled = sum(word in OF_SEVERAL_ROWS for word, _ in called)
    # The `any` of `like any (...)` is no aggregate.
    spelled -= sum(
        isinstance(node, exp.Any) and isinstance(node.parent, (exp.Like, exp.ILike))
        for node in nodes
    )
    if spelled != sum(map(_is_aggregate, functions)):
        raise NotUnderstood("an aggregate is not read as one")


def _check_hints(sql: str, tokens: list[Token]) -> None:
    """Raise unless each hint is known, and ends in Spark at the same place as here."""
    hints = [token.text for token in tokens if token.token_type is TokenType.HINT]
    texts = [token.text for token in tokens if token.token_type is TokenType.STRING]
    if sql.count("/*+") != sum(text.count("/*+") for text in (*hints, *texts)):
        raise NotUnderstood("a hint stands beside another, or not after its select")
    for hint in hints:
        body = hint.removeprefix("/*+").removesuffix("*/").lower()
        words = re.sub(r"\([^()]*\)", " ", body).replace(",", " ").split()
        if not re.fullmatch(r"[\w\s.,()]*", body) or not HINTS.issuperset(words):
            raise NotUnderstood(f"the hint {body.strip()} is not known here")


def parse(sql: str) -> exp.Expression:
    """Parse one query with known functions only, or raise NotUnderstood."""
    tokens, tree = tokens_and_tree(sql)
    _check_hints(sql, tokens)
    for hint in list(tree.find_all(exp.Hint)):
        # A hint changes the execution, not the result.
        hint.pop()
    if not all(cte.alias.isascii() for cte in tree.find_all(exp.CTE)):
        # Spark folds more letters together than a comparison in lower case does.
        raise NotUnderstood("a CTE's name has other letters than ASCII")
    _check_functions(tokens, list(tree.walk()))
    # The parser takes a comma between relations for a cross join.
    crossed = sum(token.token_type is TokenType.CROSS for token in tokens)
    crosses = [j for j in tree.find_all(exp.Join) if (j.kind or "").upper() == "CROSS"]
    tree.meta[COMMAS] = len(crosses) > crossed
    return tree


def is_of_a_row(sql: str) -> bool:
    """Whether an expression reads one row only, whatever it calls."""
    try:
        tree = parse(f"select {sql} from rows")
    except NotUnderstood:
        return False
    return not any(
        isinstance(node, (exp.Subquery, exp.Window))
        or (isinstance(node, exp.Anonymous) and node.name.lower() in OF_TIMES)
        or (isinstance(node, exp.Query) and node is not tree)
        or _is_aggregate(node)
        for node in tree.walk()
    )


def is_upkeep(sql: str) -> bool:
    """Whether a statement maintains a table and writes no rows."""
    try:
        tokens, tree = tokens_and_tree(sql)
        _check_hints(sql, tokens)
    except NotUnderstood:
        return False
    if isinstance(tree, exp.Set):
        return bool(SET_FOR_SPEED.fullmatch(sql.strip()))
    if isinstance(tree, exp.Command):
        return tree.name.upper() in UPKEEP_COMMANDS
    if isinstance(tree, exp.Alter):
        actions = tree.args.get("actions") or []
        is_of_table = actions and tree.args.get("kind") == "TABLE"
        return bool(is_of_table) and all(map(_tells, actions))
    return isinstance(tree, UPKEEP)


def _tells(action: exp.Expression) -> bool:
    """Whether an action of `alter table` says something of rows, and changes none."""
    given = {name for name, value in action.args.items() if value}
    if isinstance(action, exp.AlterColumn):
        is_not_null = given == {"this"} and action.args.get("allow_null") is False
        return given == {"this", "comment"} or is_not_null
    if isinstance(action, exp.AddConstraint):
        # With `rely`, the engine takes a constraint for true, and leaves out steps.
        return not any(
            part.args.get("options")
            or isinstance(part, exp.Query)
            or (isinstance(part, exp.Func) and not isinstance(part, exp.Connector))
            for part in action.walk()
        )
    return (
        isinstance(action, exp.AlterSet)
        and given == {"expressions"}
        and all(isinstance(each, exp.Properties) for each in action.expressions)
    )


def deletes_from(sql: str, relation: Name) -> bool:
    """Whether a statement deletes rows of a relation, each by its own columns."""
    try:
        tokens, tree = tokens_and_tree(sql)
        _check_hints(sql, tokens)
        nodes = list(tree.walk())
        _check_functions(tokens, nodes)
    except NotUnderstood:
        return False
    given = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Delete) or not given <= {"this", "where"}:
        return False
    is_own = isinstance(tree.this, exp.Table) and _relation(tree.this) == relation
    return is_own and not any(
        isinstance(node, (exp.Query, exp.Window))
        or (isinstance(node, exp.Table) and node is not tree.this)
        or (isinstance(node, exp.Column) and HIDDEN & _words_of(node))
        or _is_aggregate(node)
        or _is_generator(node)
        for node in nodes
    )


def relations_of(tree: exp.Expression) -> set[Name]:
    """Return the relations that a query names with their schema."""
    return {
        _relation(table)
        for table in tree.find_all(exp.Table)
        if table.db and isinstance(table.this, exp.Identifier)
    }


def _relation(table: exp.Table) -> Name:
    """Return the schema and the name of a table."""
    return _schema_and_name(table.catalog, table.db, table.name)


def _schema_and_name(catalog: str, schema: str, name: str) -> Name:
    """Return a schema and a name; the schema includes a catalog that is not Spark's."""
    is_own = catalog.lower() in ("", "spark_catalog")
    found = schema if is_own else f"{catalog}.{schema}"
    return found.lower(), name.lower()


def query_rows(sql: str, resolve: Resolve) -> Rows:
    """Return the known properties of a query's rows.

    `resolve` returns the rows of a relation by schema and name, or none if the project
    doesn't know it. Raises NotUnderstood if there is no proof.
    """
    return tree_rows(parse(sql), resolve)


def tree_rows(tree: exp.Expression, resolve: Resolve) -> Rows:
    """Return the known properties of a parsed query's rows."""
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not table.db and isinstance(table.this, exp.Identifier):
            if table.name.lower() not in ctes:
                raise UnknownRelation(f"{table.name} is no relation of this project")
        elif not isinstance(table.this, (exp.Identifier, exp.Func)):
            raise UnknownRelation(f"{_text(table)} is no relation of this project")
    known = {name: resolve(name) for name in relations_of(tree)}
    odd = frozenset().union(*(rows.odd for rows in known.values() if rows))
    odd |= {
        name.name.lower()
        for name in tree.find_all(exp.Identifier)
        if name.name != name.name.lower()
    }
    try:
        found = Query(resolve, odd, bool(tree.meta.get(COMMAS))).rows(tree, {})
        return replace(found, odd=odd)
    except RecursionError as error:
        raise NotUnderstood("it is nested too deeply") from error
