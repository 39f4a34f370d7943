"""Proves that a query carries user_id through, by following it through the text.

A column is a *key* of a relation's rows if each row with a user in it comes only from
this user's rows and from rows without a user, and each row with null in it comes only
from rows without a user. A protected relation has the key user_id. For each step of a
query, the proof computes the keys of the rows after it. A step that is unknown here
proves nothing; nor does a relation that the project doesn't know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from secure_datasets.leaks.scope import (
    ANY,
    FIELD,
    Problem,
    Ref,
    Rows,
    Scope,
    add_alias,
    all_columns,
    conjuncts,
    equalities,
    fields_of,
    inexact_of,
    is_bare_relation,
    is_of_struct,
    name_of,
    named_anew,
    renamed,
    settle,
)
from secure_datasets.leaks.understood import (
    COMMAS,
    HIDDEN,
    OF_TIMES,
    Name,
    UnknownRelation,
    check_commas,
    check_function,
    check_names,
    check_parts,
    has_generator,
    is_aggregate,
    is_generator,
    is_windowed,
    kind_of,
    parse,
    relation_named,
    relations_of,
    subquery_of,
    text_of,
    walk,
    words_of,
)
from secure_datasets.sql.statements import (
    NotUnderstood,
)

USER = "user_id"
CARRY = "carry-user-id"
GROUP = "group-by-user-id"
OWN = "rules-of-its-own"
UNPROVEN = "cannot-be-proven"
# The name of a column, alone or after its relation's name.
Key = TypeVar("Key", str, Ref)
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
# A recursive CTE over this many relations settles in fewer steps.
MAXIMAL_STEPS = 20
OPEN = Rows(columns=None)
# The rows of a query that is not followed: its columns may have any type.
NOT_FOLLOWED = Rows(columns=None, inexact=frozenset((ANY,)))
Resolve = Callable[[Name], Rows | None]
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
                self.resolve(relation_named(table))
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
            raise NotUnderstood(f"{kind_of(node)} is not known here")
        check_parts(node)
        ctes = self.with_ctes(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            rows = (
                self.table(node.this, ctes)
                if node.alias and is_bare_relation(node.this)
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
        check_parts(clause)
        seen = dict(ctes)
        for cte in clause.expressions:
            check_parts(cte)
            name, alias = cte.alias.lower(), cte.args.get("alias")
            if clause.args.get("recursive") and _names_cte(cte.this, name):
                seen[name] = self.repeated(cte, seen, outer)
            else:
                seen[name] = renamed(self.rows(cte.this, seen, outer), alias)
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
        rows = renamed(self.rows(union.this, ctes, outer), alias)
        for _ in range(MAXIMAL_STEPS):
            before = rows
            made = self.rows(union, {**ctes, name: before}, outer)
            rows = renamed(made, alias)
            rows = replace(rows, inexact=rows.inexact | before.inexact)
            if rows == replace(before, columns=rows.columns, problem=rows.problem):
                return rows
        raise NotUnderstood("a recursive CTE has too many steps")

    def inline_rows(self, node: exp.Values) -> Rows:
        """Return the rows of a `values` clause."""
        check_parts(node)
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
        inexact = inexact_of(left, right)
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
        scope.shadowed = named_anew(outputs)
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
            check_commas(joins)
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
            add_alias(scope, alias, rows)
        settle(scope, equalities(parts))

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
                scope.relations[name] = relation_named(node)
        elif isinstance(node, (exp.Subquery, exp.Values)):
            # It sees no relation beside it, but the outer row of a subquery.
            rows = self.rows(node, ctes, scope.outer)
        elif isinstance(node, exp.Lateral):
            check_parts(node)
            if isinstance(node.this, exp.Subquery):
                rows = self.rows(node.this, ctes, scope)
            else:
                rows = self.generated(node.this, scope, ctes)
        elif isinstance(node, exp.Table):
            check_parts(node)
            rows = self.generated(node.this, scope, ctes)
        else:
            rows = self.generated(node, scope, ctes)
        # An alias before a pivot has already renamed the pivot's input.
        return name, rows if node.args.get("pivots") else renamed(rows, alias)

    def table(self, node: exp.Table, ctes: Mapping[str, Rows]) -> Rows:
        """Return the rows of a CTE or a relation."""
        check_parts(node)
        rows = (
            self.resolve(relation_named(node))
            if node.db
            else ctes.get(node.name.lower())
        )
        if rows is None:
            name = ".".join(relation_named(node)) if node.db else node.name
            raise UnknownRelation(f"{name} is no relation of this project")
        if (sample := node.args.get("sample")) and rows.reads:
            check_parts(sample)
            # A percentage draws row by row, but a seed makes it depend on their places.
            if sample.args.get("size") or sample.args.get("seed"):
                rows = _lost(rows, GROUP, "a sample of the rows of several users")
        return rows

    def pivoted(self, rows: Rows, node: exp.Expression) -> Rows:
        """Return the rows after the pivots of a relation or a subquery."""
        for number, pivot in enumerate(node.args.get("pivots") or []):
            # The alias before a pivot renames the pivot's input.
            rows = rows if number else renamed(rows, node.args.get("alias"))
            rows = self.turned(rows, pivot)
        return rows

    def turned(self, rows: Rows, pivot: exp.Pivot) -> Rows:
        """Return the rows of one pivot or unpivot.

        A pivot groups by the columns that it does not name; an unpivot repeats them.
        """
        check_parts(pivot)
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
        return renamed(rows, pivot.args.get("alias"))

    def generated(
        self, node: exp.Expression, scope: Scope, ctes: Mapping[str, Rows]
    ) -> Rows:
        """Return the rows that a generator makes from a row."""
        if isinstance(node, exp.Anonymous) and node.name.lower() == "range":
            parts = node.expressions
        elif is_generator(node):
            parts = [node]
        else:
            raise NotUnderstood(f"{text_of(node)} is no relation and no generator")
        for part in parts:
            self.scan(part, scope, ctes)
        return NOT_FOLLOWED if is_generator(node) else OPEN

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
        check_parts(node)
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
        add_alias(scope, alias, rows)
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
            settle(scope, equalities(on))
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
        left, _ = all_columns(scope, None)
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
        check_parts(group)
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
            text = f"{text_of(group).lower()} without the protected user_id"
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
        named = {(name_of(each), scope.key_of(each)) for each in node.expressions}
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
        named = [o for o in node.expressions if name_of(o) == name]
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
            check_parts(definition)
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
            if is_of_struct(output, scope):
                inexact.add(ANY)
            elif output.is_star:
                inexact |= {
                    name for of in scope.sources.values() for name in of.inexact
                }
            elif names is None:
                inexact.add(ANY)
            elif has_generator(output) or scope.is_inexact(output):
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
            check_parts(distinct)
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
            check_parts(star)
            alias = output.table.lower() if isinstance(output, exp.Column) else None
            if is_of_struct(output, scope):
                names, keys = None, fields_of(output, scope)
            elif output.args.get("db") and not scope.find_in_schema(output):
                raise NotUnderstood(f"{text_of(output)} may be of a struct")
            else:
                names, keys = all_columns(scope, alias)
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
        if has_generator(output):
            # Spark refuses a single alias for several columns.
            is_named = isinstance(output, exp.Alias) and is_generator(output.this)
            return [output.alias.lower()] if is_named else None, set()
        name = name_of(output)
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
        for part in walk(node):
            if isinstance(part, exp.Window):
                windows.append(part)
            elif is_aggregate(part) and not is_windowed(part):
                aggregates.append(part)
        return aggregates, windows

    def scan(
        self, node: exp.Expression, scope: Scope, ctes: Mapping[str, Rows]
    ) -> None:
        """Check each part of an expression, and its subqueries.

        A subquery over protected rows removes the keys. Raises NotUnderstood for an
        unknown part.
        """
        for part in walk(node):
            query = subquery_of(part)
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
                raise NotUnderstood(f"{kind_of(part)} within an expression")
            elif isinstance(part, exp.Func):
                check_function(part)
            elif isinstance(part, exp.Column) and HIDDEN & words_of(part):
                found = scope.find(part)
                rows = found and found[0].sources[found[1][0]]
                if not rows or found[1][1] not in (rows.columns or ()):
                    raise NotUnderstood(
                        f"the hidden column {text_of(part)} is not known"
                    )
            elif not isinstance(part, (*ROW_EXPRESSIONS, exp.Having, exp.Qualify)):
                raise NotUnderstood(f"{kind_of(part)} is not known here")


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
        for part in walk(child)
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


def _order_of(window: exp.Window) -> list[exp.Expression]:
    order = window.args.get("order")
    return order.expressions if order else []


def _joined(way: str) -> str:
    words = {"": "a join with", "SEMI": "a semi join with", "ANTI": "an anti join with"}
    return words.get(way, f"a {way.lower()} join with")


def _no_key(outputs: list[exp.Expression]) -> str:
    for output in outputs:
        if name_of(output) == USER:
            return f"{text_of(output)} is not the user_id of the protected dataset"
    return "user_id is not among its columns"


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
            raise UnknownRelation(f"{text_of(table)} is no relation of this project")
    known = {name: resolve(name) for name in relations_of(tree)}
    odd = frozenset().union(*(rows.odd for rows in known.values() if rows))
    names = {name.name for name in tree.find_all(exp.Identifier)}
    check_names(names.union(*(rows.columns or () for rows in known.values() if rows)))
    odd |= {name.lower() for name in names if name != name.lower()}
    try:
        found = Query(resolve, odd, bool(tree.meta.get(COMMAS))).rows(tree, {})
        return replace(found, odd=odd)
    except RecursionError as error:
        raise NotUnderstood("it is nested too deeply") from error
