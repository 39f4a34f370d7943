"""One statement as tokens and tree, or an error if Spark may read it otherwise."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from secure_datasets.sql.functions import (
    AGGREGATES,
    GENERATORS,
    WINDOW_FUNCTIONS,
    names,
)
from secure_datasets.sql.scalar_functions import SCALARS

# The parser warns of statements that it only half knows; callers raise errors.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

DIALECT = "spark"


OF_SEVERAL_ROWS = AGGREGATES | WINDOW_FUNCTIONS


FUNCTIONS = OF_SEVERAL_ROWS | GENERATORS | SCALARS


# What may stand before a parenthesis without being a function.
WORDS = names(
    """
    all and anti array as between both by case char cross cube dec decimal distinct
    div else end escape except exists filter for from full group having ilike in
    inner intersect interval is join lateral leading left like limit map minus not nulls
    numeric offset on or order outer over partition pivot placing qualify range
    recursive regexp repeatable right rlike rollup select semi set sets struct table
    tablesample then trailing union unpivot using values varchar when where window
    with within
    """
)


class NotUnderstood(Exception):
    """The query has something that isn't known here."""


def functions_called(tokens: list[Token]) -> Iterator[list[str]]:
    """Yield the words before a parenthesis, each with what qualifies it."""
    for place, token in enumerate(tokens[:-1]):
        if tokens[place + 1].token_type is not TokenType.L_PAREN:
            continue
        is_text = token.token_type in (TokenType.STRING, TokenType.RAW_STRING)
        # Spark's names may begin with a digit.
        if is_text or not re.search(r"\w", token.text):
            continue
        name = token.text
        if token.token_type is not TokenType.IDENTIFIER:
            # Two words of SQL are one token.
            name = name.split()[-1]
        parts = [name]
        while place >= 2 and tokens[place - 1].token_type is TokenType.DOT:
            place -= 2
            parts.insert(0, tokens[place].text)
        yield parts


def functions_of_people(
    tokens: list[Token], tree: exp.Expression
) -> list[tuple[list[str], bool]]:
    """Return what a query may call that is no function of Spark's own, by its parts.

    With each, whether it may also be a word of SQL or an alias before its columns.
    """
    known = WORDS | named_with_columns(tree.walk())
    found = []
    for parts in functions_called(tokens):
        word = parts[-1].lower()
        if word == "identifier":
            raise NotUnderstood("what identifier() names is worked out by Spark")
        if len(parts) > 1 or word not in FUNCTIONS:
            found.append((parts, len(parts) == 1 and word in known))
    return found


def named_with_columns(nodes: Iterable[exp.Expression]) -> set[str]:
    """Return the names before a list of columns, which look like functions."""
    return {
        node.name.lower()
        for node in nodes
        if isinstance(node, exp.TableAlias) and node.args.get("columns")
    }


def _told(error: SqlglotError) -> str:
    """Say what a parser says, and where."""
    for told in getattr(error, "errors", None) or []:
        return f"{told['description'].rstrip('.')} in line {told['line']}"
    return str(error).splitlines()[0]


def tokens_and_tree(sql: str) -> tuple[list[Token], exp.Expression]:
    """Read one query, or raise if it may be something else for Spark."""
    if "${" in sql:
        raise NotUnderstood("${...} is replaced before Spark reads the query")
    if "\\\n" in sql or "\\\r" in sql:
        # For Spark alone, a comment goes on after it.
        raise NotUnderstood("a line ends with a backslash")
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(sql)
        trees = [t for t in dialect.parser().parse([*tokens], sql) if t is not None]
    except SqlglotError as error:
        raise NotUnderstood(f"it can not be parsed: {_told(error)}") from error
    except Exception as error:
        # What the parser did not foresee is no proof either.
        raise NotUnderstood(f"it can not be parsed: {type(error).__name__}") from error
    if any(token.token_type is TokenType.PIPE_GT for token in tokens):
        raise NotUnderstood("pipes are not known here")
    if any("/*+" in comment for token in tokens for comment in token.comments):
        # Comments nest. For Spark a hint is none, so that the one around it ends there.
        raise NotUnderstood("a hint stands in a comment")
    if len(trees) != 1:
        raise NotUnderstood("it is not one query")
    return tokens, trees[0]
