"""Reads the grants in each statement before it is sent, and refuses forbidden ones.

A hook, a macro or a model may build a grant from anything known at run time. So the
text that the engine would get is read, and not its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt_secure_spark.settings import OF_CHANGES, OF_THE_PAST
from dbt_secure_spark.versions import SUFFIX, VERSION

if TYPE_CHECKING:
    from sqlglot.tokens import Token

# The schema and the name of a relation, in small letters.
Place = tuple[str, str]

# The objects that hold all schemas, and the objects that hold more than one relation.
ALL_SCHEMAS = {"catalog", "metastore"}
MANY = ALL_SCHEMAS | {"database", "namespace", "schema"}
KINDS = MANY | {"all", "tables", "views", "in", "table", "view", "materialized"}
KINDS |= {"function", "future"}
# The suffix of the schemas for dbt's stored test failures.
STORED = "_dbt_test__audit"
# The objects that hold the files of relations.
ALL_FILES = {("any", "file"), ("external", "location"), ("storage", "credential")}
CREDENTIAL = "credential"
# The words after a grant's `to` that are no roles.
NO_ROLES = {",", "group", "role", "user", "with", "grant", "option"}
# Privileges that show no rows: to use or browse a schema or a catalog, to create
# objects in it, and to read or write the files of a volume. To execute a readers'
# function is none of these: its caller chooses the user.
NO_ROWS = {"browse", "create", "use", "usage"}
FILES = {("read", "volume"), ("write", "volume")}
SELECT = "select"
# The words that may follow in these privileges, such as `create table`.
OF_WHAT = {"catalog", "connection", "function", "materialized", "model", "schema"}
OF_WHAT |= {"database", "table", "version", "view", "volume"}
# The first words of statements that hold statements, run a text or store one for later.
OF_SCRIPTS = {"begin", "call", "case", "create procedure", "declare", "do", "execute"}
OF_SCRIPTS |= {"for", "if", "loop", "repeat", "set", "while"}
# In a string literal, the letter before the word may end an escape, such as `\n`.
HAS_THE_WORD = re.compile(r"(?:\b|\\[a-z])grant\b", re.IGNORECASE)
SPACE = re.compile(r"\s*")
END_OF_LINE = re.compile(r"[\r\n]|\Z")
# The first word of a statement, and the colon if it is a label.
FIRST_WORD = re.compile(r"(create\s+(?:or\s+replace\s+)?procedure\b|\w+)\s*(:?)", re.I)
# Spark continues a comment in the next line after a backslash.
GOES_ON = re.compile(r"\\[\r\n]")
# Expressions and variables: only the engine knows their values.
UNKNOWN = {"(", "$", "{", ";"}
COMMA = ","
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
    """A grant: the words after its `on`, in small letters, and the roles.

    executes  whether the grantee may execute functions
    """

    on: tuple[str, ...]
    to: tuple[str, ...]
    executes: bool


class UnreadableError(Exception):
    """A statement has the word `grant`, and can't be parsed."""


@dataclass(frozen=True)
class Granting:
    """The limits on the grants of a run.

    of_all     relations that show the rows of all users, each with its roles in the
               `grants` of dbt_project.yml, in small letters
    secure     relations that show each user their own rows: secure datasets, and
               access views
    functions  the readers' functions, each with the `reader_applications`, in small
               letters: the caller of a function chooses the user
    built      the schemas of all built relations
    stored     the schemas of stored test failures
    """

    of_all: Mapping[Place, Set[str]]
    secure: Set[Place]
    functions: Mapping[Place, Set[str]]
    built: Set[str]
    stored: Set[str]

    def refusal(
        self, grants: Iterable[Grant], has_readers_views: Callable[[], bool]
    ) -> str | None:
        """Return a sentence with the reason to refuse a grant; none if all are allowed.

        has_readers_views  whether views show readers their rows of `secure`
        """
        found = (self._refusal(each, has_readers_views) for each in grants)
        return next(filter(None, found), None)

    def _refusal(self, grant: Grant, has_readers_views: Callable[[], bool]) -> str:
        kinds, names = _kinds_and_names(grant.on)
        told = " ".join(grant.on).replace(" . ", ".")
        roles = {role.lower() for role in grant.to}
        is_of_files = grant.on[:2] in ALL_FILES or grant.on[:1] == (CREDENTIAL,)
        if self._is_of_many(grant, kinds, names) or is_of_files:
            return (
                f"A statement grants '{told}', and with it what shows the rows of all"
                f" users: take it away, and {LET_GRANTS_SAY}."
            )
        for held, say in (
            (self.of_all, "`grants` in dbt_project.yml do"),
            (self.functions, "`reader_applications` says"),
        ):
            for place, reading in held.items():
                if _is_called(names, place) and not roles <= reading:
                    return (
                        f"A statement grants '{told}', which shows the rows of all"
                        f" users, to more than {say}: take it away, and"
                        f" {LET_GRANTS_SAY}."
                    )
        if VERSION.search(names[-1]) or any(map(self._is_beside, names[-2:-1])):
            return (
                f"A statement grants '{told}', which is kept beside what is published:"
                f" take it away, and {LET_GRANTS_SAY}."
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
        return {_plain(schema) for schema, _ in {*self.of_all, *self.secure}}

    def _is_beside(self, schema: str) -> bool:
        """Whether a schema holds versions, further states or stored test failures."""
        if schema in self.stored - self.built or OF_CHANGES.match(schema):
            return True
        of = _plain(schema)
        return of != schema and of in self._schemas | {*map(_plain, self.built)}

    def _is_of_many(self, grant: Grant, kinds: set[str], names: list[str]) -> bool:
        if ALL_SCHEMAS & kinds:
            return True
        schema = names[-1]
        # An earlier run may have created functions there.
        of_functions = {place[0] for place in self.functions if grant.executes}
        is_held = schema in self.stored | of_functions or self._is_beside(schema)
        return bool(MANY & kinds) and (is_held or _plain(schema) in self._schemas)


def grants_of(sql: str) -> Iterator[Grant]:
    """Yield a statement's grant, if it shows rows to anybody: at most one.

    Raises UnreadableError if that can't be determined. Scripts, and statements that
    run a text, are not parsed.
    """
    # Most statements are long, and lack the word.
    if not HAS_THE_WORD.search(sql):
        return
    first, at = _first_word(sql)
    # Skip the comments before it, where dbt names the model and the profile.
    if first in OF_SCRIPTS and HAS_THE_WORD.search(sql, at):
        raise UnreadableError
    if first == "grant":
        tokens = _tokens(sql)
        while tokens[-1].text == ";":
            tokens.pop()
        yield from _grant(tokens[1:])


def _first_word(sql: str) -> tuple[str, int]:
    """Return a statement's first word in small letters, and its position.

    Comments before the word are skipped. The word is an empty text for a query in
    brackets, and `begin` for a label. Raises UnreadableError if the end of a comment is
    uncertain.
    """
    at = 0
    while True:
        at = SPACE.match(sql, at).end()  # type: ignore[union-attr]
        if sql.startswith("--", at):
            at = END_OF_LINE.search(sql, at).start()  # type: ignore[union-attr]
            if sql[at - 1] == "\\":
                raise UnreadableError
        elif sql.startswith("/*", at):
            begin, at = at, sql.find("*/", at + 2) + 2
            # The ends of nested comments are not matched.
            if at < 2 or sql.find("/*", begin + 2, at) >= 0:
                raise UnreadableError
        else:
            found = FIRST_WORD.match(sql, at)
            if not found:
                return "", at
            word = "begin" if found[2] else found[1].lower()
            return ("create procedure" if "procedure" in word.split() else word), at


def _grant(tokens: list[Token]) -> Iterator[Grant]:
    """Yield the grant in the tokens after the word, if it shows rows to anybody.

    Raises UnreadableError if the tokens can't be parsed.
    """
    words = [_word(token) for token in tokens]
    if UNKNOWN & {*words} or any("${" in token.text for token in tokens):
        raise UnreadableError
    if "on" not in words:
        # A grant of a role shows only rows that the role is granted.
        return
    on = words.index("on")
    privileges = " ".join(words[:on]).split(",")
    if all(map(_shows_no_rows, privileges)):
        return
    # A name, or a part of it, may be `to`.
    ends = (at for at in range(on + 2, len(words)) if words[at - 1] != ".")
    to = next((at for at in ends if words[at] == "to"), len(words))
    roles = [
        token.text
        for token, word in zip(tokens[to + 1 :], words[to + 1 :], strict=True)
        if word not in NO_ROLES
    ]
    if not roles or COMMA in words[on:to]:
        raise UnreadableError
    yield Grant(
        tuple(token.text.lower() for token in tokens[on + 1 : to]),
        tuple(roles),
        executes=not all(
            privilege.strip() == SELECT or _shows_no_rows(privilege)
            for privilege in privileges
        ),
    )


def _shows_no_rows(privilege: str) -> bool:
    """Whether a privilege shows no rows."""
    words = tuple(privilege.split())
    is_none = words[:1] and words[0] in NO_ROWS and {*words[1:]} <= OF_WHAT
    return words in FILES or bool(is_none)


def _kinds_and_names(on: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """Return the kinds of a grant's object, and the parts of its name.

    The word of a kind may also be a part of the name, or the name itself.
    """
    at = 0
    while on[at : at + 1] and on[at] in KINDS and on[at + 1 : at + 2] != (".",):
        at += 1
    begin = min(at, len(on) - 1)
    kinds = on[:begin] or on[:at]
    return {*kinds}, [name for name in on[begin:] if name != "."]


def _plain(schema: str) -> str:
    """Return the published schema for a schema of versions, past states or failures."""
    return OF_THE_PAST.sub("", schema.removesuffix(SUFFIX).removesuffix(STORED))


def _is_called(names: list[str], place: Place) -> bool:
    """Whether a name, with its schema or without, may name a built relation."""
    schema = {_plain(each) for each in names[-2:-1]}
    return names[-1] == place[1] and schema <= {_plain(place[0])}


def _tokens(sql: str) -> list[Token]:
    """Return the tokens of SQL.

    Raises UnreadableError if Spark's tokens can't be determined.
    """
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    if GOES_ON.search(sql):
        raise UnreadableError
    try:
        # In Spark a carriage return ends a line, and with it a comment.
        return Spark().tokenize(sql.replace("\r", "\n"))
    except SqlglotError as problem:
        raise UnreadableError from problem


def _word(token: Token) -> str:
    """Return a word of SQL in small letters; an empty text for a quoted token."""
    from sqlglot.tokens import TokenType

    quoted = (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER)
    return "" if token.token_type in quoted else token.text.lower()
