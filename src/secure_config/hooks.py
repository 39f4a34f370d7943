"""What the hooks of a node grant, by their texts, which dbt renders only in a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, TemplateError

if TYPE_CHECKING:
    from sqlglot.tokens import Token

# As dbt's graph calls them.
HOOKS = ("pre-hook", "post-hook")
# What stands in SQL for what dbt puts into it.
SOMETHING = "something"
# What a grant may have beside names after its `to`.
NO_ROLES = {",", ";", "group", "role", "user", "with", "grant", "option"}


def granted_by_hooks(node: dict[str, Any]) -> dict[str, list[str]]:
    """Return the hooks of a node that grant, each with the roles that it names.

    A hook that can't be read and may grant is among them.
    """
    found = {}
    for key in HOOKS:
        for hook in node["config"].get(key) or ():
            text = hook["sql"] or ""
            if "grant" not in text.lower():
                continue
            try:
                roles = _granted(_without_jinja(text))
            except ValueError:
                roles = []
            if roles is not None:
                found[text] = roles
    return found


def _without_jinja(text: str) -> str:
    """Return a text as SQL: of Jinja the texts, which may be SQL, and no names."""
    sql = []
    try:
        for _, kind, value in Environment().lex(text):
            if kind == "data":
                sql.append(value)
            elif kind == "string":
                sql.append(str(ast.literal_eval(value)))
            elif kind == "name":
                sql.append(f" {SOMETHING} ")
            elif kind in ("block_begin", "block_end"):
                sql.append(" ")
    except (TemplateError, SyntaxError) as error:
        raise ValueError(str(error)) from error
    return "".join(sql)


def _granted(sql: str, is_run: bool = False) -> list[str] | None:
    """Return the roles that statements grant something to; None if they grant nothing.

    Of what `execute immediate` runs, texts are statements too.
    """
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError
    from sqlglot.tokens import TokenType

    try:
        tokens = Spark().tokenize(sql)
    except SqlglotError as error:
        raise ValueError(str(error)) from error
    found = None
    for statement in _statements(tokens):
        words = [_word(token) for token in statement]
        is_run_here = is_run or "execute" in words
        for token in statement:
            if is_run_here and token.token_type is TokenType.STRING:
                roles = _granted(token.text, is_run=True)
                found = found if roles is None else [*(found or ()), *roles]
        if "grant" in words and "on" in words[words.index("grant") :]:
            after = words.index("on", words.index("grant"))
            if "to" in words[after:]:
                to = words.index("to", after) + 1
                roles = [
                    token.text
                    for token, word in zip(statement[to:], words[to:], strict=True)
                    if word not in NO_ROLES | {SOMETHING}
                ]
                found = [*(found or ()), *roles]
    return found


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement."""
    statement: list[Token] = []
    for token in tokens:
        if token.text == ";":
            yield statement
            statement = []
        else:
            statement.append(token)
    yield statement


def _word(token: Token) -> str:
    """Return a word of SQL; what is quoted is none."""
    from sqlglot.tokens import TokenType

    quoted = (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER)
    return "" if token.token_type in quoted else token.text.lower()
