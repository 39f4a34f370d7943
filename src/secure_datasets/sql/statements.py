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


# Words that continue an expression behind a bracket.
OPERATORS = names("and between div ilike in is like not or regexp rlike")
# Words that begin a clause; only `from` and `join` precede relations.
CLAUSES = names("by from having join on qualify select set using where window")


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


def clause_read_as_alias(tokens: list[Token]) -> str | None:
    """Return the first word of a clause that Spark reads as a relation's alias, if any.

    `where (a, b)` behind a relation without an alias gives the relation the name
    `where` and its columns the names a and b.
    """
    for place, token in enumerate(tokens):
        if _word(token) not in ("where", "having", "qualify"):
            continue
        end = _end_of_names(tokens, place + 1)
        if end is None or _is_operator(tokens, end):
            continue
        if _ends_without_alias(tokens[:place]):
            return _word(token)
    return None


def _word(token: Token) -> str:
    """Return a word of SQL in lower case; nothing of a quoted name or a text."""
    kinds = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING)
    # Two words of SQL are one token.
    words = "" if token.token_type in kinds else token.text.lower()
    return words.split()[-1] if words.split() else ""


def _end_of_names(tokens: list[Token], place: int) -> int | None:
    """Return the place behind a bracket of bare names; none if there is none."""
    if place >= len(tokens) or tokens[place].token_type is not TokenType.L_PAREN:
        return None
    for at in range(place + 1, len(tokens) - 1, 2):
        is_quoted = tokens[at].token_type is TokenType.IDENTIFIER
        if not is_quoted and not re.fullmatch(r"[^\W\d]\w*", _word(tokens[at])):
            return None
        if tokens[at + 1].token_type is TokenType.R_PAREN:
            return at + 2
        if tokens[at + 1].token_type is not TokenType.COMMA:
            return None
    return None


def _is_operator(tokens: list[Token], place: int) -> bool:
    """Return whether the bracket before a place goes on as an expression."""
    if place >= len(tokens):
        return False
    return _word(tokens[place]) in OPERATORS or not re.match(
        r"[\w`),;]", tokens[place].text
    )


def _ends_without_alias(tokens: list[Token]) -> bool:
    """Return whether tokens end with a relation that may still be given an alias."""
    depth, begin, clause = 0, len(tokens), ""
    for place in range(len(tokens) - 1, -1, -1):
        kind, word = tokens[place].token_type, _word(tokens[place])
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0:
            return False
        if depth:
            continue
        if kind is TokenType.COMMA and begin == len(tokens):
            begin = place + 1
        elif word in CLAUSES:
            clause = word
            begin = begin if begin < len(tokens) else place + 1
            break
    rest = tokens[begin:]
    if clause not in ("from", "join") or not rest:
        return False
    if _word(rest[0]) == "lateral":
        rest = rest[1:]
    # The name or the bracket, a function's bracket, and a sample.
    rest = _behind_bracket(rest) if _opens(rest) else _behind_name(rest)
    rest = _behind_bracket(rest) if _opens(rest) else rest
    if rest and _word(rest[0]) == "tablesample":
        rest = _behind_bracket(rest[1:])
    if len(rest) > 3 and _word(rest[0]) in ("version", "timestamp"):
        rest = rest[4:]
    return not rest


def _opens(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[0].token_type is TokenType.L_PAREN


def _behind_name(tokens: list[Token]) -> list[Token]:
    """Return the tokens behind a name of one or several parts."""
    place = 1
    while place < len(tokens) and tokens[place].token_type is TokenType.DOT:
        place += 2
    return tokens[place:]


def _behind_bracket(tokens: list[Token]) -> list[Token]:
    """Return the tokens behind a bracket's other end."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if not depth:
            return tokens[place + 1 :]
    return []


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
    if word := clause_read_as_alias(tokens):
        raise NotUnderstood(
            f"for Spark '{word} (...)' names a relation and its columns"
        )
    return tokens, trees[0]
