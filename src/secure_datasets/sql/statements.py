"""One statement as tokens and tree; an error if Spark may read it differently."""

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

# The parser warns about statements that it knows in part; callers raise errors.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

DIALECT = "spark"


OF_SEVERAL_ROWS = AGGREGATES | WINDOW_FUNCTIONS


FUNCTIONS = OF_SEVERAL_ROWS | GENERATORS | SCALARS


# Words that may precede a parenthesis and are no functions.
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
    """The query has a part that this module does not know."""


def functions_called(tokens: list[Token]) -> Iterator[list[str]]:
    """Yield the words before a parenthesis, each with its qualifiers."""
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
    """Return the names that a query may call and Spark does not define, by their parts.

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


def clause_read_as_alias(tree: exp.Expression) -> str | None:
    """Return the first word of a clause that Spark reads as a relation's alias, if any.

    `where (a, b)` behind a relation without an alias gives the relation the name
    `where` and its columns the names a and b.
    """
    for select in tree.find_all(exp.Select):
        for key in ("where", "having", "qualify"):
            if clause := select.args.get(key):
                bracket = clause.this
                are_names = isinstance(bracket, exp.Paren | exp.Tuple) and all(
                    isinstance(each, exp.Column) and len(each.parts) == 1
                    for each in (bracket.expressions or [bracket.this])
                )
                if are_names and _ends_without_alias(select):
                    return key
                break
            # What stands before it ends the relations.
            if key == "where" and select.args.get("group"):
                break
    return None


def _ends_without_alias(select: exp.Select) -> bool:
    """Return whether the last relation of a query may still be given an alias."""
    joins = select.args.get("joins")
    last = joins[-1] if joins else select.args.get("from_") or select.args.get("from")
    if last is None or select.args.get("laterals") or last.args.get("pivots"):
        return False
    # A join without a condition has this one for the parser.
    if last.args.get("on") not in (None, exp.true()) or last.args.get("using"):
        return False
    return not last.this.alias


def _told(error: SqlglotError) -> str:
    """Return a parser's message with its place."""
    for told in getattr(error, "errors", None) or []:
        return f"{told['description'].rstrip('.')} in line {told['line']}"
    return str(error).splitlines()[0]


def tokens_and_tree(sql: str) -> tuple[list[Token], exp.Expression]:
    """Read one query; raise if Spark may read it differently."""
    if "${" in sql:
        raise NotUnderstood("${...} is replaced before Spark reads the query")
    if "\\\n" in sql or "\\\r" in sql:
        # For Spark, unlike the parser, the comment continues after it.
        raise NotUnderstood("a line ends with a backslash")
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(sql)
        trees = [t for t in dialect.parser().parse([*tokens], sql) if t is not None]
    except SqlglotError as error:
        raise NotUnderstood(f"it can not be parsed: {_told(error)}") from error
    except Exception as error:
        # An unforeseen error of the parser is no proof either.
        raise NotUnderstood(f"it can not be parsed: {type(error).__name__}") from error
    if any(token.token_type is TokenType.PIPE_GT for token in tokens):
        raise NotUnderstood("pipes are not known here")
    if any("/*+" in comment for token in tokens for comment in token.comments):
        # Comments nest. A hint is no comment for Spark: the outer comment ends there.
        raise NotUnderstood("a hint stands in a comment")
    if len(trees) != 1:
        raise NotUnderstood("it is not one query")
    if word := clause_read_as_alias(trees[0]):
        raise NotUnderstood(
            f"for Spark '{word} (...)' names a relation and its columns"
        )
    return tokens, trees[0]
