"""Detect code of a Python model that may read something without naming it.

Code is trusted only if it imports only modules that read nothing, and calls nothing
that finds a function by a text.
"""

from __future__ import annotations

import ast
import importlib
from types import ModuleType

# Modules that read nothing, except by the names below. `LIBRARIES` are not part of
# Python, and change with each release.
LIBRARIES = {"networkx", "numpy", "pandas"}
MODULES = LIBRARIES | {
    *("__future__", "collections", "dataclasses", "datetime", "decimal", "enum"),
    *("functools", "itertools", "json", "math", "re", "typing"),
    *("pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types"),
    "pyspark.sql.window",
}
# Functions that reach objects that the code doesn't name.
HIDING = {
    *("__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr"),
    *("globals", "help", "input", "locals", "memoryview", "open", "setattr", "vars"),
}
# Attributes that read files without a reader of Spark's, beside read_..., or that reach
# foreign code.
READING = {
    *("DataFrameReader", "DataStreamReader", "SparkContext", "builder", "context"),
    *("createExternalTable", "createTable", "ctx", "pipe", "registerJavaFunction"),
    *("java_method", "reflect", "setCurrentCatalog", "try_reflect"),
    # What a name means after these, its text does not show.
    *("createGlobalTempView", "createOrReplaceGlobalTempView", "dropGlobalTempView"),
    *("cloneSession", "dropTempView", "newSession", "setCurrentDatabase"),
    *("registerJavaUDAF", "sparkContext"),
    # These run a text as SQL or code.
    *("eval", "get_type_hints", "pandas_api", "query"),
    *("DataSource", "ExcelFile", "HDFStore", "fromfile", "fromregex", "genfromtxt"),
    *("load", "loadtxt", "memmap"),
    *("ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals"),
    *("gi_frame", "tb_frame"),
}

# Methods that read or change one setting of a session, by its name.
SETTING = {"get", "set", "unset"}


def first_that_hides(tree: ast.Module) -> ast.AST | None:
    """Return the first part of the code that may read something unnamed, if any."""
    modules = _modules(tree)
    plain = {node.func.value for node in ast.walk(tree) if _names_a_setting(node)}
    return next(
        (
            node
            for node in ast.walk(tree)
            if _hides(node, modules) or (_leads_to_settings(node) and node not in plain)
        ),
        None,
    )


def _names_a_setting(node: ast.AST) -> bool:
    """Return whether a call names a setting that decides on no catalog."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SETTING
        and len(node.args) > 0
        and isinstance(node.args[0], ast.Constant)
        and "catalog" not in str(node.args[0].value).lower()
        and not node.keywords
    )


def _leads_to_settings(node: ast.AST) -> bool:
    """Return whether a part of the code reaches the settings of a session.

    One of them names the catalog in which names are looked up.
    """
    return isinstance(node, ast.Attribute) and node.attr == "conf"


def _modules(tree: ast.AST) -> dict[str, ModuleType]:
    """Return the allowed modules that the code imports, by the names that it uses."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in MODULES:
                    name = alias.name if alias.asname else alias.name.split(".")[0]
                    found[alias.asname or name] = _imported(name)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in MODULES:
                    found[alias.asname or alias.name] = _imported(name)
    return found


def _hides(node: ast.AST, modules: dict[str, ModuleType]) -> bool:
    """Return whether a part of the code may read something that it doesn't name."""
    if isinstance(node, ast.Import):
        return any(alias.name not in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module not in MODULES:
            return True
        module = _imported(node.module)
        return any(_leads_away(module, alias.name) for alias in node.names)
    if isinstance(node, ast.Name):
        return node.id in HIDING or node.id.startswith("__")
    if isinstance(node, ast.MatchClass):
        # A class says by a text which attribute stands in a place.
        return bool(node.kwd_attrs or node.patterns)
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
    """Return whether an attribute reads, is missing or is no allowed module."""
    if name in READING or name.startswith(("_", "read_")):
        return True
    of_name = f"{module.__name__}.{name}"
    if of_name in MODULES:
        _imported(of_name)
    found = getattr(module, name, None)
    is_elsewhere = isinstance(found, ModuleType) and found.__name__ not in MODULES
    return is_elsewhere or not hasattr(module, name)


def _imported(name: str) -> ModuleType:
    """Return an allowed module; an empty one if only the cluster has it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return ModuleType(name)
