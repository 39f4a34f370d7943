"""What a Python model may read, as far as its code tells."""

from __future__ import annotations

import ast
import importlib
from types import ModuleType

from dbt_common.exceptions import CompilationError
from sqlglot import exp

from dbt_secure_spark.queries import queries_of_python
from secure_datasets.leaks.proof import NotUnderstood, tokens_and_tree

# Modules that read nothing by themselves.
MODULES = {
    *("__future__", "collections", "dataclasses", "datetime", "decimal", "enum"),
    *("functools", "itertools", "math", "re", "typing"),
    *("pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types"),
    "pyspark.sql.window",
}
# Functions by which code gets at what it doesn't name.
HIDING = {
    *("__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr"),
    *("globals", "input", "locals", "memoryview", "open", "setattr", "vars"),
}
# Attributes of Spark's objects by which code reads files without a reader.
READING = {
    *("SparkContext", "context", "createExternalTable", "createTable", "ctx"),
    "sparkContext",
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
    modules = _modules(tree)
    if any(_hides(node, modules) for node in ast.walk(tree)):
        return None
    try:
        return tuple(_over_relations(query, views) for query in queries)
    except NotUnderstood:
        return None


def _modules(tree: ast.AST) -> dict[str, ModuleType]:
    """Return the allowed modules that the code imports, by the names that it uses."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in MODULES:
                    name = alias.name if alias.asname else alias.name.split(".")[0]
                    found[alias.asname or name] = importlib.import_module(name)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in MODULES:
                    found[alias.asname or alias.name] = importlib.import_module(name)
    return found


def _hides(node: ast.AST, modules: dict[str, ModuleType]) -> bool:
    """Whether a part of the code may read what it doesn't name."""
    if isinstance(node, ast.Import):
        return any(alias.name not in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module not in MODULES:
            return True
        module = importlib.import_module(node.module)
        return any(_leads_away(module, alias.name) for alias in node.names)
    if isinstance(node, ast.Name):
        return node.id in HIDING
    if isinstance(node, ast.MatchClass):
        return bool(node.kwd_attrs)
    if not isinstance(node, ast.Attribute):
        return False
    module = _module_of(node.value, modules)
    return (
        node.attr.startswith("_")
        or node.attr in READING
        or (module is not None and _leads_away(module, node.attr))
    )


def _module_of(node: ast.AST, modules: dict[str, ModuleType]) -> ModuleType | None:
    """Return the module that an expression names; None if it names none."""
    if isinstance(node, ast.Name):
        return modules.get(node.id)
    if isinstance(node, ast.Attribute):
        of = _module_of(node.value, modules)
        found = getattr(of, node.attr, None) if of else None
        return found if isinstance(found, ModuleType) else None
    return None


def _leads_away(module: ModuleType, name: str) -> bool:
    """Whether a module's attribute is a module that is not allowed, or not there."""
    of_name = f"{module.__name__}.{name}"
    if of_name in MODULES:
        importlib.import_module(of_name)
    found = getattr(module, name, None)
    is_elsewhere = isinstance(found, ModuleType) and found.__name__ not in MODULES
    return is_elsewhere or not hasattr(module, name)


def _over_relations(query: str, views: set[str]) -> str:
    """Return a query that names relations of a schema and temporary views alone."""
    _, tree = tokens_and_tree(query)
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if not is_named or (not table.db and table.name.lower() not in ctes | views):
            raise NotUnderstood("a relation without a schema")
    return query
