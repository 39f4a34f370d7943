"""The arguments of a Python model's calls that are columns, and no texts of queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection

# The words of a text that may be part of a query.
OF_QUERIES = re.compile(r"\bselect\b|\btable\b\s*[\w`/]|\|>", re.I)
# Methods that columns have, and that give no text if a text has them too.
OF_COLUMNS = frozenset(
    (
        *("alias", "asc", "between", "cast", "contains", "desc", "endswith"),
        *("eqNullSafe", "getField", "getItem", "ilike", "isNaN", "isNotNull", "isNull"),
        *("isin", "like", "otherwise", "over", "rlike", "startswith", "try_cast"),
        "when",
    )
)
# Names in Spark's modules of functions that give no columns.
NO_COLUMNS = frozenset({"cast", "escape_meta_characters"})
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
    """Return a function that decides whether arguments in the code are columns.

    In code without texts of queries, but for those in plain sight, every argument is.

    queries  the methods that take the text of a query, or a part of one
    """
    in_sight = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and node.func.attr in queries:
            given = node.args + [each.value for each in node.keywords if each.arg]
            in_sight |= {id(each) for each in given}
    hidden = (node for node in ast.walk(tree) if id(node) not in in_sight)
    if not any(map(_is_of_query, hidden)):
        return lambda arguments: True
    names = _Names(tree)
    return lambda arguments: all(map(names.is_no_text, arguments))


class _Names:
    """The names in the code, with what they are given."""

    def __init__(self, tree: ast.Module) -> None:
        self.given: dict[str, list[ast.expr | None]] = {}
        self.known: dict[str, bool] = {}
        imported: set[str] = set()
        defined: set[str] = set()
        values: dict[int, ast.expr | None] = {}
        self.has_classes = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                values |= {id(target): node.value for target in node.targets}
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
                values[id(node.target)] = node.value
            elif isinstance(node, ast.AugAssign):
                is_of_texts = isinstance(node.op, OF_TEXTS)
                values[id(node.target)] = None if is_of_texts else node
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imported |= _of_spark(node)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.add(node.name)
                self.has_classes |= isinstance(node, ast.ClassDef)
            elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
                self.given.setdefault(node.name, []).append(None)
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                self.given.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                # A loop and the like give what is not known.
                self.given.setdefault(node.id, []).append(values.get(id(node)))
        self.of_spark = imported - defined - self.given.keys()

    def is_no_text(self, node: ast.expr) -> bool:
        """Return whether a value is plainly a column, or no text of a query."""
        try:
            return self._is_no_text(node)
        except RecursionError:
            return False

    def _is_no_text(self, node: ast.AST | None) -> bool:
        if isinstance(node, ast.Constant):
            return not _is_of_query(node)
        if isinstance(node, ast.Compare | ast.UnaryOp | ast.Lambda | ast.AugAssign):
            return True
        if isinstance(node, ast.BoolOp):
            return all(map(self._is_no_text, node.values))
        if isinstance(node, ast.IfExp):
            return self._is_no_text(node.body) and self._is_no_text(node.orelse)
        if isinstance(node, ast.BinOp) and not isinstance(node.op, OF_TEXTS):
            return True
        if isinstance(node, ast.Name):
            return self._is_name_of(node.id)
        return self._is_column(node)

    def _is_column(self, node: ast.AST | None) -> bool:
        if isinstance(node, ast.BinOp):
            # A column makes one of whatever stands beside it.
            return self._is_column(node.left) or self._is_column(node.right)
        if isinstance(node, ast.Call):
            of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if isinstance(of, ast.Name) and of.id in self.of_spark:
                return name not in NO_COLUMNS
            return name in OF_COLUMNS and not self.has_classes
        if isinstance(node, ast.Subscript | ast.Attribute):
            return isinstance(node.value, ast.Name) and self._is_frame(node.value.id)
        return False

    def _is_name_of(self, name: str) -> bool:
        if name not in self.known:
            # Given by itself, it is not known.
            self.known[name] = False
            values = self.given.get(name) or [None]
            self.known[name] = all(
                value is not None and self._is_no_text(value) for value in values
            )
        return self.known[name]

    def _is_frame(self, name: str) -> bool:
        """Return whether a name is given rows alone: what ref() or source() began."""
        values = self.given.get(name)
        return bool(values) and all(_begins_with_rows(value, name) for value in values)


def _begins_with_rows(value: ast.AST | None, name: str) -> bool:
    """Return whether a chain of calls begins with ref() or source(), or by itself."""
    while isinstance(value, ast.Call | ast.Attribute):
        if isinstance(value, ast.Call):
            value = value.func
        elif value.attr in ("ref", "source") and isinstance(value.value, ast.Name):
            return True
        else:
            value = value.value
    return isinstance(value, ast.Name) and value.id == name


def _of_spark(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Return the names that an import takes from Spark."""
    module = getattr(node, "module", None)
    return {
        each.asname or each.name
        for each in node.names
        if (module or each.name).split(".")[0] == "pyspark"
        and each.name not in NO_COLUMNS
    }


def _is_of_query(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and OF_QUERIES.search(node.value) is not None
