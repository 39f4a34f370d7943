"""Small wrong edits of a query's syntax tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import sqlglot
from sqlglot import exp

EQUALITIES = (exp.NullSafeEQ, exp.NEQ)
BOUNDARY = {exp.GT: exp.GTE, exp.GTE: exp.GT, exp.LT: exp.LTE, exp.LTE: exp.LT}


class Edit(NamedTuple):
    """The text of a node, which of the nodes with that text, and the new text."""

    old: str
    number: int
    new: str


def replacements(node: exp.Expression) -> Iterator[exp.Expression | None]:
    """Yield what may stand in a node's place; None removes the node."""
    twin = node.copy()
    if isinstance(node, exp.And | exp.Or):
        yield from (twin.left, twin.right)
    elif isinstance(node, exp.EQ):
        yield from (cls(this=twin.left, expression=twin.right) for cls in EQUALITIES)
    elif isinstance(node, exp.NullSafeEQ):
        yield exp.EQ(this=twin.left, expression=twin.right)
    elif type(node) in BOUNDARY:
        yield BOUNDARY[type(node)](this=twin.left, expression=twin.right)
    elif isinstance(node, exp.Not):
        yield twin.this
    elif isinstance(node, exp.Is | exp.Exists | exp.In | exp.RegexpLike):
        yield exp.Not(this=exp.paren(twin))
    elif isinstance(node, exp.Where | exp.Having | exp.Distinct):
        yield None
    elif isinstance(node, exp.Join) and node.args.get("on"):
        is_left = node.side == "LEFT" and not node.kind
        twin.set("side", None if is_left else "LEFT")
        twin.set("kind", "INNER" if is_left else None)
        yield twin
    elif isinstance(node, exp.Union):
        twin.set("distinct", not node.args.get("distinct"))
        yield twin
    elif isinstance(node, exp.Ordered):
        twin.set("desc", not node.args.get("desc"))
        yield twin
    elif isinstance(node, exp.Coalesce):
        yield twin.this
    elif isinstance(node, exp.If) and len(node.parent.args.get("ifs") or ()) > 1:
        yield None
    elif isinstance(node, exp.Literal) and node.is_int:
        yield exp.Literal.number(int(node.this) + 1)


def _edits(tree: exp.Expression) -> Iterator[tuple[Edit, exp.Expression, object]]:
    met: Counter = Counter()
    for node in list(tree.walk()):
        others = list(replacements(node))
        if not others:
            continue
        old = node.sql("spark")
        met[old] += 1
        for other in others:
            new = "" if other is None else other.sql("spark")
            yield Edit(old, met[old], new), node, other


def edits_of(sql: str) -> list[Edit]:
    """Return all edits of a query."""
    return [edit for edit, _, _ in _edits(sqlglot.parse_one(sql, read="spark"))]


def edited(sql: str, edit: Edit) -> str:
    """Return a query with an edit, if it has the node that the edit replaces."""
    tree = sqlglot.parse_one(sql, read="spark")
    for found, node, other in _edits(tree):
        if found == edit:
            node.replace(other) if other is not None else node.pop()
            return tree.sql("spark")
    return sql
