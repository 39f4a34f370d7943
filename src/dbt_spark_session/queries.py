"""Which relations a query reads, and other queries in the place of some of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt_common.exceptions import CompilationError

if TYPE_CHECKING:
    from sqlglot import exp

# Table functions that read no relation.
READ_NOTHING = {"explode", "explode_outer", "inline", "inline_outer", "json_tuple"}
READ_NOTHING |= {"posexplode", "posexplode_outer", "range", "stack"}
# What a Python model hands texts to that Spark reads, and the query that each makes.
QUERIES = {
    "call_function": "select {}()",
    "call_udf": "select {}()",
    "expr": "select {}",
    "filter": "select {}",
    "selectExpr": "select {}",
    "sql": "{}",
    "table": "select * from {}",
    "where": "select {}",
}
# Where a column may stand in the text's place.
TAKE_COLUMNS = {"filter", "where"}
# What reads files, streams and table functions, of a session.
READERS = {"read", "readStream", "tvf"}
# What of a query can name no relation: comments, texts, raw ones among them, and what
# stands in backticks, as dbt-spark never writes a relation.
NO_NAMES = "|".join(
    (
        r"--[^\n]*",
        r"/\*.*?\*/",
        r"\br'[^']*'",
        r'\br"[^"]*"',
        r"'(?:[^'\\]|\\.)*'",
        r'"(?:[^"\\]|\\.)*"',
        r"`(?:[^`]|``)*`",
    )
)


def names(sql: str | None, relation: str) -> bool:
    """Say whether a query names a relation."""
    return replaced(sql or "", relation, "") != (sql or "")


def replaced(sql: str, name: str, by: str) -> str:
    """Put something else where a query names a relation, not in texts and comments."""
    pattern = rf"(?<![\w.]){re.escape(name)}(?!\w)|(?P<kept>{NO_NAMES})"
    return re.sub(pattern, lambda found: found["kept"] or by, sql, flags=re.I | re.S)


def relations_read(node_name: str, sql: str) -> list[str]:
    """Return the relations that a query reads, its own CTEs aside, in lower case.

    Table functions among them, unless they are known to read none.
    """
    from sqlglot import exp

    found = []
    for table in _tables(_tree(node_name, sql)):
        if isinstance(table.this, exp.Identifier):
            found.append(_name(table.parts))
        elif table.db or not _reads_nothing(table.this):
            found.append(table.sql("spark"))
    return list(dict.fromkeys(found))


def _reads_nothing(function: exp.Expression) -> bool:
    from sqlglot import exp

    names = {function.name.lower()}
    if isinstance(function, exp.Func):
        names.add(function.sql_name().lower())
    return bool(names & READ_NOTHING)


def with_queries(
    node_name: str, sql: str, views: Iterable[str], text_of: Callable[[str], str]
) -> str:
    """Put queries in the place of the views that a query reads.

    The rest of its text stays as it is written.

    views    the relations that are views, in lower case
    text_of  gives the query of one of them
    """
    from sqlglot import exp

    tree = _tree(node_name, sql)
    changes = []
    for table in _tables(tree):
        view = _name(table.parts)
        if view in views:
            query = text_of(view)
            for read in relations_read(view, query):
                if "." not in read:
                    raise CompilationError(
                        f"'{node_name}' reads {view}, which names {read} without its"
                        " schema: another relation could be meant where it is read."
                    )
            # Its columns may be called by its name, where it has no other one.
            is_bare = {key for key, value in table.args.items() if value} <= {
                "this",
                "db",
            }
            alias = f" as {table.name}" if is_bare else ""
            place = (_start(table.parts[0]), _end(table.parts[-1]))
            changes.append((*place, f"(\n{query}\n){alias}"))
    for column in tree.find_all(exp.Column):
        if len(column.parts) == 3 and _name(column.parts[:-1]) in views:
            changes.append((_start(column.parts[0]), _start(column.parts[1]), ""))
    for start, end, text in sorted(changes, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def functions_of_people(node_name: str, sql: str) -> dict[str, bool]:
    """Return what a query may call that is no function of Spark's own, quoted.

    With each, whether it may also be no function at all.
    """
    # Only a run needs the parser, and every dbt command would wait for it.
    from dbt_spark_session.leaks import proof

    with _told(node_name):
        called = proof.functions_of_people(sql)
    return {
        ".".join(f"`{part.replace('`', '``')}`" for part in parts): may_be_none
        for parts, may_be_none in called
    }


def queries_of_python(node_name: str, code: str) -> list[str]:
    """Return what a Python model asks Spark for by texts of its own, as queries.

    What it reads by ref() and source() is not among them. Raises CompilationError where
    what is read can't be told from the code.
    """
    tree = ast.parse(code)
    called = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    queries = []
    for node in ast.walk(tree):
        # A bare name may be a variable's, unless it is called.
        if not isinstance(node, ast.Attribute) and node not in called:
            continue
        word = node.attr if isinstance(node, ast.Attribute) else _called(node)
        if word not in QUERIES.keys() | READERS:
            continue
        texts = _texts(word, called.get(node))
        if texts is None:
            raise CompilationError(
                f"What '{node_name}' reads can't be found out: line {node.lineno} hands"
                f" {word} what is no plain text."
            )
        queries += [QUERIES[word].format(text) for text in texts]
    return queries


def _called(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _texts(word: str, call: ast.Call | None) -> list[str] | None:
    """Return the texts that a call hands over; None if they can't be told."""
    if word in READERS or call is None:
        return None
    # Of the others, what follows are arguments.
    given = call.args if word == "selectExpr" else call.args[:1]
    texts = [arg.value for arg in given if isinstance(arg, ast.Constant)]
    if word in TAKE_COLUMNS and not any(isinstance(a, ast.JoinedStr) for a in given):
        return [text for text in texts if isinstance(text, str)]
    is_told = texts and len(texts) == len(given) and not call.keywords
    return texts if is_told and all(isinstance(text, str) for text in texts) else None


def _tree(node_name: str, sql: str) -> exp.Expression:
    from dbt_spark_session.leaks import proof

    with _told(node_name):
        return proof.tokens_and_tree(sql)[1]


@contextmanager
def _told(node_name: str) -> Iterator[None]:
    """Say of which node a query can't be read."""
    from dbt_spark_session.leaks.proof import NotUnderstood

    try:
        yield
    except NotUnderstood as reason:
        raise CompilationError(
            f"What '{node_name}' reads can't be found out: {reason}."
        ) from None


def _tables(tree: exp.Expression) -> list[exp.Table]:
    """Return what stands where a query reads relations, its own CTEs aside."""
    from sqlglot import exp

    return [
        table
        for table in tree.find_all(exp.Table)
        if not table.find_ancestor(exp.Hint)
        and not (
            isinstance(table.this, exp.Identifier)
            and len(table.parts) == 1
            and _is_cte(table)
        )
    ]


def _is_cte(table: exp.Table) -> bool:
    """Say whether a table is one of the CTEs that stand before it."""
    from sqlglot import exp

    inner, outer = table, table.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            before = outer.expressions
            is_inside = [cte is inner for cte in before]
            if any(is_inside):
                before = before[: is_inside.index(True)]
                if any(_is_called(cte, table) for cte in before):
                    return True
            inner, outer = outer.parent, outer.parent.parent
            continue
        if isinstance(outer, exp.Query) and any(
            _is_called(cte, table) for cte in outer.ctes
        ):
            return True
        inner, outer = outer, outer.parent
    return False


def _is_called(cte: exp.CTE, table: exp.Table) -> bool:
    """Say whether a CTE has a table's name, of other letters than ASCII exactly."""
    name = table.name
    return cte.alias == name or (name.isascii() and cte.alias.lower() == name.lower())


def _name(parts: list[exp.Expression]) -> str:
    return ".".join(part.name for part in parts).lower()


def _start(part: exp.Expression) -> int:
    return part.meta["start"]


def _end(part: exp.Expression) -> int:
    return part.meta["end"] + 1
