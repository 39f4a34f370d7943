"""What a statement grants, and whether it may: asked of each one before it is sent.

A hook, a macro or a model may put a grant together from whatever a run knows, so that
it is read as the engine would get it, and not where it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokens import Token

# The schema and the name of a relation, in small letters.
Place = tuple[str, str]

# What holds more than one relation, and what holds all of these.
ALL_SCHEMAS = {"catalog", "metastore"}
MANY = ALL_SCHEMAS | {"database", "schema"}
KINDS = MANY | {"all", "tables", "views", "in", "table", "view", "materialized"}
VERSIONS = "_versions"
# What holds the files of relations.
ALL_FILES = {("any", "file"), ("external", "location"), ("storage", "credential")}
# What a grant may have beside names after its `to`.
NO_ROLES = {",", "group", "role", "user", "with", "grant", "option"}
# Who may only use a schema or a catalog, see what is there or make something in it sees
# no rows in it; nor does who reads the files of a volume. Who may execute the readers'
# functions chooses the user.
NO_ROWS = {"browse", "create", "use", "usage"}
FILES = {("read", "volume"), ("write", "volume")}
# What these are of.
OF_WHAT = {"catalog", "function", "materialized", "model", "schema"}
OF_WHAT |= {"database", "external", "table", "version", "view", "volume"}
# What a statement begins with that may hold others, or run a text.
OF_SCRIPTS = {"begin", "call", "case", "declare", "do", "execute", "for", "if", "loop"}
OF_SCRIPTS |= {"repeat", "set", "while"}
HAS_THE_WORD = re.compile(r"\bgrant\b", re.IGNORECASE)
WORD = re.compile(r"\w+")
# To Spark such a comment goes on in the next line.
GOES_ON = re.compile(r"--[^\r\n]*\\[\r\n]")
# What a relation of one version is called.
VERSION = re.compile(r"__v\d+_")
LET_GRANTS_SAY = (
    "let `grants` in dbt_project.yml say who reads what, which are held against who"
    " reads secure datasets"
)
UNREADABLE = (
    "A statement has the word grant, and can't be read, so it may grant what shows the"
    f" rows of all users: take it away, and {LET_GRANTS_SAY}."
)


@dataclass(frozen=True)
class Grant:
    """A grant: the words after its `on`, in small letters, and the roles."""

    on: tuple[str, ...]
    to: tuple[str, ...]


class UnreadableError(Exception):
    """A statement has the word, and can't be taken apart."""


@dataclass(frozen=True)
class Granting:
    """What may be granted in a run.

    of_all   what shows the rows of all users, each with the roles to which `grants` of
             dbt_project.yml give it, in small letters
    secure   what shows each user their own rows: secure datasets, and access views
    """

    of_all: Mapping[Place, Set[str]]
    secure: Set[Place]

    def refusal(
        self, grants: Iterable[Grant], has_readers_views: Callable[[], bool]
    ) -> str | None:
        """Return as a sentence why grants are not to be made, if they are not.

        has_readers_views  whether views show readers their rows, of `secure`
        """
        found = (self._refusal(each, has_readers_views) for each in grants)
        return next(filter(None, found), None)

    def _refusal(self, grant: Grant, has_readers_views: Callable[[], bool]) -> str:
        kinds, names = _kinds_and_names(grant.on)
        told = " ".join(grant.on).replace(" . ", ".")
        roles = {role.lower() for role in grant.to}
        if self._is_of_many(kinds, names) or grant.on[:2] in ALL_FILES:
            return (
                f"A statement grants '{told}', and with it what shows the rows of all"
                f" users: take it away, and {LET_GRANTS_SAY}."
            )
        for place, reading in self.of_all.items():
            if _is_called(names, place) and not roles <= reading:
                return (
                    f"A statement grants '{told}', which shows the rows of all users,"
                    " to more than `grants` in dbt_project.yml do: take it away, and"
                    f" {LET_GRANTS_SAY}."
                )
        is_version = len(names) == 1 and VERSION.search(names[0])
        if is_version or {*names[-2:-1]} & self._of_versions:
            return (
                f"A statement grants '{told}', a version, which stays as it is: take"
                f" it away, and {LET_GRANTS_SAY}."
            )
        if not any(_is_called(names, place) for place in self.secure):
            return ""
        if has_readers_views():
            return (
                f"A statement grants '{told}', which filters nothing, beside the"
                " readers' views: take it away."
            )
        for place, reading in self.of_all.items():
            for role in sorted(roles & reading):
                return (
                    f"A statement grants '{told}' to '{role}', who may read"
                    f" '{'.'.join(place)}' by `grants` in dbt_project.yml, which shows"
                    " the rows of all users: take one of the two away."
                )
        return ""

    @property
    def _schemas(self) -> set[str]:
        return {schema for schema, _ in {*self.of_all, *self.secure}}

    @property
    def _of_versions(self) -> set[str]:
        return {schema + VERSIONS for schema in self._schemas}

    def _is_of_many(self, kinds: set[str], names: list[str]) -> bool:
        if ALL_SCHEMAS & kinds:
            return True
        return bool(MANY & kinds) and bool(
            {*names} & (self._schemas | self._of_versions)
        )


def grants_of(sql: str) -> Iterator[Grant]:
    """Yield the grants of a statement, of a script, or of texts that these run.

    Raises UnreadableError where that can't be known.
    """
    # Most are long, and need not be taken apart.
    first = _first_word(sql)
    if first and ";" not in sql and not _may_grant(first):
        return
    yield from _grants_in(sql, is_run=False)


def _grants_in(sql: str, is_run: bool) -> Iterator[Grant]:
    """Yield the grants of a statement, or of a text that one runs."""
    from sqlglot.tokens import TokenType

    if not HAS_THE_WORD.search(sql):
        return
    tokens = _tokens(sql)
    statements = [each for each in _statements(tokens) if each]
    if not statements:
        return
    first = _word(statements[0][0])
    if not is_run and len(statements) == 1 and not _may_grant(first):
        # Of a query, say, the word is a column's name.
        return
    if first != "grant":
        for token in tokens:
            # What follows a command, such as `execute`, is one text to sqlglot.
            if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
                yield from _grants_in(token.text, is_run=True)
    for statement in statements:
        words = [_word(token) for token in statement]
        begins = [at for at, word in enumerate(words) if word == "grant"]
        # That of `with grant option` begins none.
        begins = [at for at in begins if words[at - 1 : at] != ["with"]]
        for begin, end in pairwise([*begins, len(words)]):
            said = words[begin + 1 : end]
            if begin == 0 and is_run and "to" not in said:
                # A text that is put together with others.
                raise UnreadableError
            yield from _grant(statement[begin + 1 : end], said)


def _first_word(sql: str) -> str | None:
    """Return the word that a statement begins with, if it is plain which that is."""
    at = 0
    while True:
        at += len(sql[at:]) - len(sql[at:].lstrip())
        if sql.startswith("--", at):
            ends = [end for end in (sql.find("\n", at), sql.find("\r", at)) if end > 0]
            if not ends or sql[min(ends) - 1] == "\\":
                return None
            at = min(ends)
        elif sql.startswith("/*", at):
            end = sql.find("*/", at + 2)
            if end < 0 or "/*" in sql[at + 2 : end]:
                return None
            at = end + 2
        else:
            found = WORD.match(sql, at)
            return found[0] if found else None


def _may_grant(first: str) -> bool:
    """Whether a statement that begins with a word may grant something."""
    return first.lower() in OF_SCRIPTS | {"grant"}


def _grant(tokens: list[Token], words: list[str]) -> Iterator[Grant]:
    """Yield what stands after the word, if it shows rows to anybody."""
    if "on" not in words or "to" not in words[words.index("on") :]:
        # To be of a role shows what the role is granted.
        return
    on = words.index("on")
    to = on + words[on:].index("to")
    if _shows_no_rows(words[:on]):
        return
    roles = [
        token.text
        for token, word in zip(tokens[to + 1 :], words[to + 1 :], strict=True)
        if word not in NO_ROLES
    ]
    if not roles or {"(", "$", "{"} & {*words[on:]}:
        # What is worked out, or put in by Spark, is not known here.
        raise UnreadableError
    yield Grant(
        tuple(token.text.lower() for token in tokens[on + 1 : to]), tuple(roles)
    )


def _shows_no_rows(privileges: list[str]) -> bool:
    """Whether none of the privileges that are granted shows any rows."""
    listed = " ".join(privileges).split(",")
    return all(
        (words := tuple(privilege.split())) in FILES
        or (words[:1] and words[0] in NO_ROWS and {*words[1:]} <= OF_WHAT)
        for privilege in listed
    )


def _kinds_and_names(on: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """Return of what kind a grant says that something is, and the parts of its name.

    What is a kind before the name may be a part of it too.
    """
    at = 0
    while on[at : at + 1] and on[at] in KINDS and on[at + 1 : at + 2] != (".",):
        at += 1
    if 1 < at == len(on):
        at -= 1
    return {*on[:at]}, [name for name in on[at:] if name != "."]


def _is_called(names: list[str], place: Place) -> bool:
    """Whether a name, with its schema or without, may be that of what is built."""
    return tuple(names[-2:]) in (place, place[1:])


def _tokens(sql: str) -> list[Token]:
    """Return the tokens of SQL."""
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    if GOES_ON.search(sql):
        raise UnreadableError
    try:
        # To Spark a carriage return ends a line, and with it a comment.
        return Spark().tokenize(sql.replace("\r", "\n"))
    except SqlglotError as problem:
        raise UnreadableError from problem


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement."""
    from sqlglot.tokens import TokenType

    statement: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
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
