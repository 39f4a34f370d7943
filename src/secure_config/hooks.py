"""What hooks grant, by their texts and by those of the macros that they call.

dbt renders a hook only in a run, so what is asked is what stands there: of Jinja its
strings, which may be SQL. What a variable or the environment holds is not looked into.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbt_common.clients.jinja import get_environment
from jinja2 import Environment, TemplateError, nodes
from jinja2.meta import find_undeclared_variables

from secure_config.source import PACKAGE

if TYPE_CHECKING:
    from sqlglot.tokens import Token

# The packages of dbt, of its adapters and of its tools.
DBTS = "dbt"
# As dbt's graph calls them.
HOOKS = ("pre-hook", "post-hook")
# What stands in SQL for what dbt puts into it.
UNKNOWN = "known_in_a_run"
# The relation of the node whose hook it is, where that stands by itself.
THIS = f"{UNKNOWN}_as_this"
# What a grant may have beside names after its `to`.
NO_ROLES = {",", ";", "group", "role", "user", "with", "grant", "option"}
# Who may only use a schema or a catalog, see what is there or make something in it sees
# no rows in it; nor does who reads the files of a volume. Who may execute the readers'
# functions chooses the user.
NO_ROWS = {"browse", "create", "use", "usage"}
FILES = {("read", "volume"), ("write", "volume")}
# What these are of.
OF_WHAT = {"catalog", "function", "materialized", "model", "schema"}
OF_WHAT |= {"database", "table", "view", "volume"}
# By what texts, and statements that are run, say where something is put in.
PUT_IN = {*"{}%:?()"}
# What may stand before a statement that begins.
BEFORE = {UNKNOWN, "begin", "do", "else", "then"}
# dbt's own that grant what they are given, whichever adapter's is taken.
GRANTING = {
    "apply_grants",
    "call_dcl_statements",
    "get_dcl_statement_list",
    "get_grant_sql",
}
# What they are given, a log shows and nothing runs; so do all of `exceptions`.
TELLING = {"log", "print"}
# It grants the readers' views and functions, which are for that.
OF_READERS = (PACKAGE, "publish_readers_objects")


@dataclass(frozen=True)
class Grant:
    """A grant as it is written, with UNKNOWN for what only a run knows."""

    on: tuple[str, ...] = (UNKNOWN,)
    to: tuple[str, ...] = (UNKNOWN,)


@dataclass(frozen=True)
class Mention:
    """A name by which a text may call a macro; `is_dispatched` without its prefix."""

    name: str
    package: str | None = None
    is_dispatched: bool = False

    @property
    def is_granting(self) -> bool:
        """Whether it is one of dbt's own, or that of an adapter, that grant."""
        return self.name.rpartition("__")[2] in GRANTING


# What holds all nodes and sources.
GRAPH = Mention("graph")


class Hooks:
    """The hooks of a project, with its macros as the manifest has them."""

    def __init__(self, macros: Iterable[Any] = (), root: str | None = None) -> None:
        self._root = root
        self._macros: dict[str, list[Any]] = defaultdict(list)
        self._dispatched: dict[str, list[Any]] = defaultdict(list)
        for macro in macros:
            self._macros[macro.name].append(macro)
            self._dispatched[macro.name.partition("__")[2]].append(macro)
        # A project may have macros of these names, which do whatever they do.
        self._telling = TELLING - {*self._macros}
        # The same hook may be that of all models, and a macro that of all hooks.
        self._found: dict[tuple[str | None, str], list[Grant]] = {}
        self._read: dict[str, _Text] = {}

    def granted_by(self, node: dict[str, Any]) -> dict[str, list[Grant]]:
        """Return the hooks of a node that grant, each with its grants.

        A hook that can't be read and may grant is among them.
        """
        package = node.get("package_name")
        return {
            text: grants
            for text in filter(None, _texts_of(node))
            if (grants := self._granted_by(text, package))
        }

    def may_name(self, names: Collection[str], text: str, node: dict[str, Any]) -> bool:
        """Whether a hook that grants what only a run knows may take it by a name.

        By one that stands in it, or in a macro behind it, or in dbt's graph. The macros
        that come with dbt know no names of a project's.
        """
        try:
            behind = [*self._texts_behind(text, node.get("package_name"))]
        except TemplateError:
            return bool({*names} & _words_of(text))
        return any(
            GRAPH in read.mentions or (not is_dbts and {*names} & read.named)
            for read, is_dbts in behind
        )

    def _granted_by(self, text: str, package: str | None) -> list[Grant]:
        """Return what a hook grants, with what all the macros do that it leads to."""
        key = (package, text)
        if key not in self._found:
            try:
                texts = list(self._texts_behind(text, package))
                self._found[key] = [grant for read, _ in texts for grant in read.grants]
            except TemplateError:
                self._found[key] = [Grant()] if _may_grant(text) else []
        return self._found[key]

    def _texts_behind(
        self, text: str, package: str | None
    ) -> Iterator[tuple[_Text, bool]]:
        """Yield the text of a hook of a package, and those of the macros behind it.

        With each, whether it comes with dbt.
        """
        texts, met = [(text, False)], {OF_READERS}
        while texts:
            text, is_dbts = texts.pop()
            if text not in self._read:
                self._read[text] = _Text(text, self._telling)
            yield self._read[text], is_dbts
            for mention in self._read[text].mentions:
                for macro in self._called_by(mention, package):
                    called = (macro.package_name, macro.name)
                    if called not in met:
                        met.add(called)
                        is_dbts = macro.package_name.startswith(DBTS)
                        texts.append((macro.macro_sql, is_dbts))

    def _called_by(self, mention: Mention, package: str | None) -> list[Any]:
        """Return the macros that may be called by a name: of each package that has it.

        By a name alone dbt calls that of the package whose hook it is, before that of
        the root project, also from other packages' macros. It stops at a name that no
        macro has, so what that might grant is never granted.
        """
        if mention.is_granting:
            return []
        if mention.is_dispatched:
            return self._dispatched.get(mention.name, [])
        found = self._macros.get(mention.name, [])
        if mention.package:
            return [macro for macro in found if macro.package_name == mention.package]
        for first in filter(None, (package, self._root)):
            if own := [macro for macro in found if macro.package_name == first]:
                return own
        return found


class _Text:
    """A text as SQL, and the names by which it may call macros."""

    def __init__(self, text: str, telling: set[str]) -> None:
        self.mentions: set[Mention] = set()
        self._telling = telling
        tree = _environment().parse(text)
        # Other names are those of its own variables and of what a macro is given.
        self._from_outside = {*find_undeclared_variables(tree), *_environment().globals}
        # What stands in it as an expression, each as it is.
        self._alone: list[str] = []
        # Its SQL, its strings, and those of them that are no names of relations.
        self._data: list[str] = []
        self._strings: list[nodes.Const] = []
        self._beside_this: set[int] = set()
        sql = self._sql_of(tree)
        # What the text by itself grants; most need not be taken apart.
        found = [*_grants(sql)] if "grant" in sql.lower() else []
        for text in self._alone:
            if "grant" in text.lower():
                found += _grants(text, may_grant=_may_begin_grant)
        self.grants = [*dict.fromkeys(found)]
        if any(mention.is_granting for mention in self.mentions):
            self.grants.append(Grant())

    @cached_property
    def named(self) -> set[str]:
        """The words in it by which it may name relations."""
        roles = {role.lower() for grant in self.grants for role in grant.to}
        strings = [
            text.value
            for text in self._strings
            if id(text) not in self._beside_this or not text.value.isidentifier()
        ]
        sql = _closed(" ".join(self._data), " ".join(self._data))
        return _words_of(sql) - roles | _words_of(" ".join(strings))

    def _sql_of(
        self,
        node: nodes.Node,
        is_told: bool = False,
        is_raw: bool = False,
        is_part: bool = False,
    ) -> str:
        """Return a node as SQL; of what is only told, what is called.

        is_raw   whether strings stand as they are: one with a comment, or with half of
                 what is quoted, would hide what follows it, which may be another text
        is_part  whether it is part of a string that is put together
        """
        if isinstance(node, nodes.TemplateData):
            self._data.append(node.data)
            return node.data
        if isinstance(node, nodes.Const):
            text = node.value if isinstance(node.value, str) and not is_told else ""
            closed = _closed(text)
            if text and not is_raw:
                self._strings.append(node)
            if not is_raw and (closed.strip() != UNKNOWN or not is_part):
                self._alone.append(text)
            return text if is_raw else closed
        if isinstance(node, nodes.Name):
            if node.ctx != "load":
                return ""
            if node.name in self._from_outside:
                self.mentions.add(Mention(node.name))
            return "" if is_told else f" {UNKNOWN} "
        self._mention(node)
        children = list(node.iter_child_nodes())
        if isinstance(node, nodes.Macro):
            children = [*node.defaults, *node.body]
        if isinstance(node, nodes.Call):
            # What is called may do more than tell, but for a method of a text.
            is_of_text = isinstance(getattr(node.node, "node", None), nodes.Const)
            is_told = self._tells(node.node) or (is_told and is_of_text)
            given = [*node.args, *(key.value for key in node.kwargs)]
            if any(map(self._is_this, given)):
                # Roles, say, and privileges.
                self._beside_this |= {id(text) for text in _literals(given)}
        if isinstance(node, nodes.Filter | nodes.FilterBlock):
            # What a filter is given is no part of the text that it changes.
            of_filter = node.filter if isinstance(node, nodes.FilterBlock) else node
            given = [*of_filter.args, *of_filter.kwargs]
            for argument in given:
                self._sql_of(argument, is_told)
            children = [child for child in children if child not in given]
        is_string = isinstance(node, nodes.Concat | nodes.Add)
        if is_string and not (is_raw or is_part or is_told):
            self._alone.append(self._sql_of(node, is_raw=True))
        is_joined = is_string or isinstance(node, nodes.Output)
        return ("" if is_joined else " ").join(
            f" {THIS} "
            if is_joined and self._is_this(child) and not is_told
            else self._sql_of(child, is_told, is_raw, is_string)
            for child in children
        )

    def _is_this(self, node: nodes.Node) -> bool:
        """Whether a node is the relation of the node whose hook it is."""
        is_name = isinstance(node, nodes.Name) and node.name == "this"
        return is_name and "this" in self._from_outside

    def _tells(self, called: nodes.Node) -> bool:
        """Whether a function only tells what it is given."""
        if isinstance(called, nodes.Name):
            return called.name in self._telling
        return _is_of("exceptions", called)

    def _mention(self, node: nodes.Node) -> None:
        """Note the macro that a node may name otherwise than by a name alone."""
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
            package = node.node.name
            is_any = package == "context"
            self.mentions.add(Mention(node.attr, None if is_any else package))
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            if isinstance(node.node, nodes.Name) and node.node.name == "context":
                self.mentions.add(Mention(str(node.arg.value)))
        elif isinstance(node, nodes.Call) and _is_of("adapter", node.node, "dispatch"):
            named = [key.value for key in node.kwargs if key.key == "macro_name"]
            for name in (*node.args[:1], *named):
                if isinstance(name, nodes.Const):
                    self.mentions.add(Mention(str(name.value), is_dispatched=True))


def _is_of(name: str, node: nodes.Node, attribute: str | None = None) -> bool:
    """Whether a node is an attribute of what bears a name."""
    return (
        isinstance(node, nodes.Getattr)
        and isinstance(node.node, nodes.Name)
        and node.node.name == name
        and attribute in (None, node.attr)
    )


@cache
def _environment() -> Environment:
    """Return Jinja as dbt has it."""
    return get_environment(None)


def _texts_of(node: dict[str, Any]) -> list[str | None]:
    """Return the texts of a node's hooks; that of a project is a node by itself."""
    if node.get("resource_type") == "operation":
        return [node["raw_code"]]
    return [hook["sql"] for key in HOOKS for hook in node["config"].get(key) or ()]


def _literals(given: Iterable[nodes.Node]) -> Iterator[nodes.Const]:
    """Yield the strings that are given as they are, in lists and mappings too."""
    for node in given:
        if isinstance(node, nodes.Const):
            yield node
        elif isinstance(node, nodes.List | nodes.Tuple | nodes.Dict | nodes.Pair):
            yield from _literals(node.iter_child_nodes())


def _words_of(text: str) -> set[str]:
    """Return the words of a text."""
    return {*re.findall(r"\w+", text.lower())}


def _closed(text: str, otherwise: str = f" {UNKNOWN} ") -> str:
    """Return a string of Jinja as it may stand in SQL, and hide nothing there.

    That is without comments, or otherwise where it is half of what is quoted.
    """
    if not re.search(r"""['"`]|--|/\*""", text):
        return text
    tokens = _tokens(text)
    if tokens is None:
        return otherwise
    if not re.search(r"--|/\*", text):
        return text
    return " ".join(text[token.start : token.end + 1] for token in tokens)


def _tokens(sql: str) -> list[Token] | None:
    """Return the tokens of SQL; None if it can't be taken apart."""
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        return Spark().tokenize(sql)
    except SqlglotError:
        return None


def _grants(
    sql: str, is_run: bool = False, may_grant: Callable[[str], bool] | None = None
) -> Iterator[Grant]:
    """Yield the grants of statements.

    Where something is run by `execute immediate`, texts are statements too.
    `may_grant` is asked of what can't be read.
    """
    from sqlglot.tokens import TokenType

    tokens = _tokens(sql)
    if tokens is None:
        if (may_grant or _may_grant)(sql):
            yield Grant()
        return
    if is_run or "execute" in map(_word, tokens):
        for token in tokens:
            if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
                yield from _grants(token.text, is_run=True)
    for statement in _statements(tokens):
        yield from _grants_of(statement, is_run)


def _grants_of(statement: list[Token], is_part: bool) -> Iterator[Grant]:
    """Yield the grants of what may be several statements, where Jinja runs them.

    Of a statement that is put together a text may be a part.
    """
    words = [_word(token) for token in statement]
    begins = [at for at, word in enumerate(words) if word == "grant"]
    for begin, end in pairwise([*begins, len(words)]):
        said = words[begin + 1 : end]
        on = said.index("on") if "on" in said else len(said)
        to = on + said[on:].index("to") if "to" in said[on:] else len(said)
        if _shows_no_rows(said[:on]):
            continue
        if to < len(said):
            names = [_name(token) for token in statement[begin + 1 : end]]
            yield Grant(
                tuple(name.lower() for name in names[on + 1 : to]),
                tuple(
                    UNKNOWN if name == THIS else name
                    for name, word in zip(names[to + 1 :], said[to + 1 :], strict=True)
                    if word not in NO_ROLES
                ),
            )
        elif (is_part or UNKNOWN in said) and {*words[:begin]} <= BEFORE:
            # It goes on elsewhere.
            yield Grant()


def _shows_no_rows(privileges: list[str]) -> bool:
    """Whether none of the privileges that are granted shows any rows."""
    listed = " ".join(privileges).split(",")
    return all(
        (words := tuple(privilege.split())) in FILES
        or (words[:1] and words[0] in NO_ROWS and {*words[1:]} <= OF_WHAT)
        for privilege in listed
    )


def _may_grant(text: str) -> bool:
    """Whether what can't be read has the word, and not only a part of another one."""
    return bool(re.search(r"\bgrant\b", text, re.IGNORECASE))


def _may_begin_grant(text: str) -> bool:
    """Whether a string that can't be read by itself may be SQL and not a sentence."""
    return bool(re.search(r"\bgrant\b.*\bon\b", text, re.IGNORECASE | re.DOTALL))


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
    word = "" if token.token_type in quoted else token.text.lower()
    return UNKNOWN if word == THIS else word


def _name(token: Token) -> str:
    """Return a name of SQL, quoted or not; of one that is put in nothing is known."""
    if token.text.strip() == THIS:
        return THIS
    is_known = UNKNOWN not in token.text and not PUT_IN & {*token.text}
    return token.text if is_known else UNKNOWN
