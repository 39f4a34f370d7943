"""Reads from a Python model's code its queries, and whether it may write rows."""

from __future__ import annotations

import ast
from collections.abc import Collection

from dbt_common.exceptions import CompilationError
from sqlglot import exp

from dbt_secure_spark.hidden_reads import first_that_hides
from dbt_secure_spark.queries import queries_of_python
from secure_datasets.leaks.writers import calls_java
from secure_datasets.sql.functions import CHANCE, CLOCK, SESSION
from secure_datasets.sql.statements import (
    NotUnderstood,
    functions_of_people,
    tokens_and_tree,
)

# Functions of Spark's own that read no relation, though their values change.
OF_SPARK = CHANCE | CLOCK | SESSION
# Names that may store rows, and the beginnings of more.
WRITERS = {
    *("DataFrameWriter", "DataFrameWriterV2", "MergeIntoWriter"),
    *("ExcelWriter", "createOrReplace", "dump", "execute", "forName"),
    *("forPath", "foreach", "foreachBatch", "foreachPartition", "insertInto"),
    *("mergeInto", "open_memmap", "tofile", "to_clipboard", "to_csv", "to_excel"),
    *("to_feather", "to_gbq", "to_hdf", "to_html", "to_iceberg", "to_json"),
    *("to_latex", "to_markdown", "to_orc", "to_parquet", "to_pickle", "to_sql"),
    *("to_stata", "to_string", "to_xml"),
}
BEGINNINGS_OF_WRITERS = ("save", "write")


# The beginnings of settings that change how Spark works, and no result.
OF_EXECUTION = (
    *("spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold"),
    *("spark.sql.files.maxPartitionBytes", "spark.sql.shuffle."),
)
# Functions and methods that take texts of SQL.
WITH_TEXTS = {"call_function", "call_udf", "expr", "selectExpr"}
# Attributes that give a session a function by a name.
REGISTERS = {"register", "registerFunction", "registerJavaFunction", "registerJavaUDAF"}


def what_python_asks(code: str) -> tuple[str, ...] | None:
    """Return the queries of a Python model besides ref() and source(), if known.

    None if the code may read by different means: modules that read files, computed
    names, names with a leading underscore.
    """
    try:
        if what_changes_the_session(ast.parse(code)):
            return None
        queries, views = queries_of_python("", code)
        if not all(map(_is_query, queries)):
            # `use` and `set` change where names are looked up.
            return None
        return tuple(over_relations(query, views) for query in queries)
    except (SyntaxError, CompilationError, NotUnderstood):
        return None


def what_python_writes_by(code: str) -> str | None:
    """Return a name in the code that may write rows besides the model's result.

    None if there is no such name; a reason if the code can't be parsed.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return "it can not be parsed"
    if name := what_changes_the_session(tree):
        return name
    if hidden := first_that_hides(tree):
        return ast.unparse(hidden).splitlines()[0]
    if called := calls_java(ast.unparse(tree)) or _first_made_text(tree):
        return called
    # Queries, and modules such as `pyspark.sql`.
    known = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _asks_a_query(node)
    }
    known |= {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and node.name in WRITERS:
            return node.name
        if isinstance(node, ast.Attribute) and (
            node.attr in WRITERS
            or node.attr.startswith(BEGINNINGS_OF_WRITERS)
            or (node.attr == "sql" and id(node) not in known)
        ):
            return node.attr
    return None


def _first_made_text(tree: ast.Module) -> str | None:
    """Return the first call with a text of SQL that the code computes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        is_method = isinstance(called, ast.Attribute)
        name = called.attr if is_method else getattr(called, "id", "")
        given = node.args if name == "selectExpr" else node.args[:1]
        are_texts = given and all(isinstance(each, ast.Constant) for each in given)
        if name in WITH_TEXTS and not are_texts:
            return ast.unparse(node).splitlines()[0]
    return None


def what_changes_the_session(tree: ast.Module) -> str | None:
    """Return a name in the code that changes what later queries of the session mean.

    Such are a setting, and a function in the place of one of Spark's own.
    """
    of_execution = {
        call.func
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and str(call.args[0].value).startswith(OF_EXECUTION)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        is_of_settings = isinstance(node.value, ast.Attribute) and (
            node.value.attr == "conf" and node.attr in ("set", "unset")
        )
        if node.attr in REGISTERS or (is_of_settings and node not in of_execution):
            return ast.unparse(node)
    return None


def _asks_a_query(call: ast.Call) -> bool:
    """Whether the first argument of a call is the text of a query."""
    text = call.args[0] if call.args else None
    is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return is_text and _is_query(text.value)


def _is_query(text: str) -> bool:
    """Whether a text is a query, not a statement such as `use`."""
    try:
        return isinstance(tokens_and_tree(text)[1], exp.Query)
    except NotUnderstood:
        return False


def over_relations(query: str, views: Collection[str] = ()) -> str:
    """Return a query that names relations of a schema and temporary views alone.

    Raises NotUnderstood if it may read by other means: a relation without a schema, a
    part of a relation (`s.t.branch_b`), a table function, a function of one's own.
    """
    tokens, tree = tokens_and_tree(query)
    for parts, may_be_a_word in functions_of_people(tokens, tree):
        name = ".".join(parts).lower()
        if not may_be_a_word and name not in OF_SPARK:
            raise NotUnderstood(f"the function {name} is not known here")
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if not is_named or (not table.db and table.name.lower() not in ctes | {*views}):
            raise NotUnderstood("a relation without a schema")
    return query
