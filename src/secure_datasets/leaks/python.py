"""What a Python model may read, as far as its code tells."""

from __future__ import annotations

import ast

from dbt_common.exceptions import CompilationError
from sqlglot import exp

from dbt_secure_spark.queries import queries_of_python
from secure_datasets.leaks.proof import NotUnderstood, tokens_and_tree

# Modules that read nothing by themselves.
MODULES = {
    *("__future__", "collections", "dataclasses", "datetime", "decimal", "enum"),
    *("functools", "itertools", "math", "operator", "re", "string", "typing"),
    *("pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types"),
    "pyspark.sql.window",
}
# Functions by which code gets at what it doesn't name.
HIDING = {
    *("__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr"),
    *("globals", "input", "locals", "memoryview", "open", "setattr", "vars"),
}


def what_python_asks(code: str) -> tuple[str, ...] | None:
    """Return the queries of a Python model beside ref() and source(), if it is known.

    None where the code may read by other means: modules that read files, names that are
    put together, what begins with an underscore.
    """
    try:
        tree = ast.parse(code)
        queries, views = queries_of_python("", code)
    except (SyntaxError, CompilationError):
        return None
    if any(map(_hides, ast.walk(tree))):
        return None
    try:
        return tuple(_over_relations(query, views) for query in queries)
    except NotUnderstood:
        return None


def _hides(node: ast.AST) -> bool:
    """Whether a part of the code may read what it doesn't name."""
    if isinstance(node, ast.Import):
        return any(alias.name not in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return bool(node.level) or node.module not in MODULES
    if isinstance(node, ast.Name):
        return node.id in HIDING
    return isinstance(node, ast.Attribute) and node.attr.startswith("_")


def _over_relations(query: str, views: set[str]) -> str:
    """Return a query that names relations of a schema and temporary views alone."""
    _, tree = tokens_and_tree(query)
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if not is_named or (not table.db and table.name.lower() not in ctes | views):
            raise NotUnderstood("a relation without a schema")
    return query
