"""Which arguments of a Python model's calls are columns, and no texts of queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection

# The words of a text that may be part of a query.
OF_QUERIES = re.compile(r"\b(select|from)\b|\btable\s+[\w`]", re.I)
# Methods that columns have, and that give no text if a text has them too.
OF_COLUMNS = frozenset(
    (
        *("alias", "asc", "between", "cast", "contains", "desc", "endswith"),
        *("eqNullSafe", "ilike", "isNaN", "isNotNull", "isNull", "isin", "like"),
        *("otherwise", "over", "rlike", "startswith", "try_cast", "when"),
    )
)
# With texts these give texts.
OF_TEXTS = (ast.Add, ast.Mod, ast.Mult)


def makes_query(argument: ast.expr) -> bool:
    """Return whether an argument builds a text that may be part of a query."""
    return isinstance(argument, ast.JoinedStr) or any(
        map(_is_of_query, ast.walk(argument))
    )


def are_columns_in(
    tree: ast.Module, queries: Collection[str]
) -> Callable[[list[ast.expr]], bool]:
    """Return what says of arguments in the code whether they are columns.

    In code without texts of queries, but for those in plain sight, every argument is.

    queries  the functions that take the text of a query, or a part of one
    """
    in_sight = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = node.args + [each.value for each in node.keywords]
            in_sight |= {id(each) for each in given if called in queries}
    hidden = (node for node in ast.walk(tree) if id(node) not in in_sight)
    if not any(map(_is_of_query, hidden)):
        return lambda arguments: True
    names = _Names(tree)
    return lambda arguments: all(names.is_column(each) for each in arguments)


class _Names:
    """The names in the code, with what they are given."""

    def __init__(self, tree: ast.Module) -> None:
        self.given: dict[str, list[ast.expr | None]] = {}
        self.of_spark: set[str] = set()
        values = {
            id(target): node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                self.given.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                # A loop, a pattern and the like give what is not known.
                self.given.setdefault(node.id, []).append(values.get(id(node)))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None)
                self.of_spark |= {
                    each.asname or each.name
                    for each in node.names
                    if (module or each.name).split(".")[0] == "pyspark"
                }

    def is_column(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether a value is plainly a column, or at least no text."""
        if isinstance(node, ast.Compare | ast.UnaryOp):
            return True
        if isinstance(node, ast.BoolOp):
            return all(self.is_column(each, seen) for each in node.values)
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, OF_TEXTS) or any(
                self.is_column(each, seen) for each in (node.left, node.right)
            )
        if isinstance(node, ast.Call):
            return self._gives_column(node.func)
        if isinstance(node, ast.Name) and node.id not in seen:
            return all(
                value is not None and self.is_column(value, seen | {node.id})
                for value in self.given.get(node.id) or [None]
            )
        return False

    def _gives_column(self, function: ast.expr) -> bool:
        of = function.value if isinstance(function, ast.Attribute) else function
        is_of_spark = isinstance(of, ast.Name) and of.id in self.of_spark
        return is_of_spark or getattr(function, "attr", "") in OF_COLUMNS


def _is_of_query(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and OF_QUERIES.search(node.value) is not None
