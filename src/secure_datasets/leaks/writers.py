"""Says whether a template may write rows, whichever way a command takes in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dbt_common.clients.jinja import get_environment
from jinja2 import TemplateError, nodes
from sqlglot import exp

from secure_datasets.leaks.texts import ASKS_FOR_RELATIONS, OF_TEXTS
from secure_datasets.leaks.understood import parse
from secure_datasets.sql.statements import NotUnderstood

# The macros that run a text, and the names that lead to any macro or run any template.
RUNS_A_QUERY = "run_query"
DISPATCHES = "dispatch"
HIDES = {"statement", "context", "builtins", "render", "submit_python_job"}
# The calls and names in a query that stand for a relation.
RELATIONS = {"ref", "source"}
# The names that are trusted to be dbt's own.
OF_DBT = RELATIONS | {RUNS_A_QUERY, "adapter", "this"}
RELATION = "a_schema.a_relation"
# Functions of SQL that call any method of Java, alone or by their name as a text.
OF_JAVA = re.compile(
    r"\b(?:java_method|(?:try_)?reflect)(?:`?\s*\(|['\"])", re.IGNORECASE
)


def calls_java(text: str) -> str | None:
    """Return the call in a text of SQL or Python that may run any method of Java."""
    found = OF_JAVA.search(text)
    return found[0] if found else None


def may_write(code: str, macros: Mapping[str, list[str]], packages: set[str]) -> bool:
    """Whether a template, or a macro that it may call, may write rows.

    Queries write none: `run_query` is allowed with the literal text of a query. A
    project with its own ref() or source() may write: these return any text.

    macros    the codes of macros by their names, without dbt's own run_query
    packages  the names of packages, through which macros are called
    """
    if RELATIONS & macros.keys():
        return True
    waiting, seen = [code], set()
    while waiting:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        try:
            tree = get_environment(None).parse(text)
        except TemplateError:
            return True
        if _writes(tree, packages):
            return True
        for name in _named(tree):
            waiting += macros.get(name, [])
    return False


def _writes(tree: nodes.Template, packages: set[str]) -> bool:
    """Whether a template itself may write rows."""
    allowed = set()
    for call in tree.find_all(nodes.Call):
        called = _name_of(call.node)
        if (called == RUNS_A_QUERY and _is_query(call, tree)) or (
            called == DISPATCHES and _names_its_macro(call)
        ):
            allowed.add(id(call.node))
    attributes = list(tree.find_all(nodes.Getattr))
    for attribute in attributes:
        if (
            attribute.attr in {RUNS_A_QUERY, DISPATCHES}
            and id(attribute) not in allowed
        ):
            return True
        if _name_of(attribute.node) == "adapter" and not (
            attribute.attr in OF_TEXTS or attribute.attr.startswith(ASKS_FOR_RELATIONS)
        ):
            return True
    owners = {id(attribute.node) for attribute in attributes}
    for name in tree.find_all(nodes.Name):
        is_owner = id(name) in owners
        if name.name in HIDES or (name.name == "adapter" and not is_owner):
            return True
        if name.name in OF_DBT and name.ctx != "load":
            return True
        if name.name in packages and not is_owner:
            return True
        if name.name == RUNS_A_QUERY and id(name) not in allowed:
            return True
    # The filter `attr`, an item and `dispatch` take names as texts.
    hidden = HIDES | {RUNS_A_QUERY}
    texts = {constant.value for constant in tree.find_all(nodes.Const)}
    return bool(HIDES & {each.attr for each in attributes} or hidden & texts)


def _named(tree: nodes.Template) -> set[str]:
    """Return the names by which a template may call macros."""
    found = {name.name for name in tree.find_all(nodes.Name)}
    found |= {attribute.attr for attribute in tree.find_all(nodes.Getattr)}
    # `dispatch` takes the name of a macro as a text.
    texts = (constant.value for constant in tree.find_all(nodes.Const))
    return found | {text for text in texts if isinstance(text, str)}


def _name_of(node: nodes.Node) -> str | None:
    """Return the name of a called macro, with or without its package."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.name if isinstance(node, nodes.Name) else None


def _names_its_macro(call: nodes.Call) -> bool:
    """Whether the first argument of a call is a text: `_named` finds its macro."""
    first = call.args[0] if call.args else None
    return isinstance(first, nodes.Const) and isinstance(first.value, str)


def _is_query(call: nodes.Call, tree: nodes.Template) -> bool:
    """Whether the only argument of a call is the text of one query."""
    if len(call.args) != 1 or call.kwargs or call.dyn_args or call.dyn_kwargs:
        return False
    texts = list(_texts_of(call.args[0], tree))
    return bool(texts) and all(text and _reads_only(text) for text in texts)


def _texts_of(node: nodes.Node, tree: nodes.Template) -> Iterator[str | None]:
    """Yield the possible values of an argument; none for a value that is not known."""
    if not isinstance(node, nodes.Name):
        yield _literal([node])
        return
    # A name that a loop, a macro's argument or a list binds is not known.
    bound = [n for n in tree.find_all(nodes.Name) if n.name == node.name]
    assigned = [
        each
        for each in tree.find_all((nodes.Assign, nodes.AssignBlock))
        if each.target in bound
    ]
    if len(assigned) != sum(name.ctx != "load" for name in bound):
        yield None
    for each in assigned:
        if isinstance(each, nodes.Assign):
            yield _literal([each.node])
        else:
            yield None if each.filter else _literal(each.body)


def _literal(parts: Iterable[nodes.Node]) -> str | None:
    """Return a text of constants and relations; none if it has another part."""
    found: list[str] = []
    for part in parts:
        text: Any = None
        if isinstance(part, nodes.Output):
            text = _literal(part.nodes)
        elif isinstance(part, nodes.TemplateData):
            text = part.data
        elif isinstance(part, nodes.Const) and isinstance(part.value, str):
            text = part.value
        elif isinstance(part, (nodes.Add, nodes.Concat)):
            is_sum = isinstance(part, nodes.Add)
            text = _literal([part.left, part.right] if is_sum else part.nodes)
        elif isinstance(part, nodes.Call) and isinstance(part.node, nodes.Name):
            text = RELATION if part.node.name in RELATIONS else None
        elif isinstance(part, nodes.Name):
            text = RELATION if part.name == "this" else None
        if text is None:
            return None
        found.append(text)
    return "".join(found)


def _reads_only(text: str) -> bool:
    """Whether a text is one query with known functions."""
    try:
        return isinstance(parse(text), exp.Query)
    except NotUnderstood:
        return False
