"""Where the config stands: its file, the line of each of its lines, and its names.

The document is a block of a Jinja macro, and is rendered before it is read. Jinja makes
nothing of a name that it does not know, so that is refused before.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from secure_config.problems import ConfigProblem, entry_of

MACRO = "secure_datasets_config"


@dataclass(frozen=True)
class Source:
    """The macro that holds a document; without one, lines are the document's own."""

    file: str | None = None
    macro: str = ""
    # The line of the file on which the macro's text begins.
    begins: int = 1

    def refuse_undefined_names(self, context: Any) -> None:
        """Raise if the document has a name in braces that stands for nothing."""
        from secure_config.adapter import ConfigError

        if not self.macro or context is None:
            return
        for name, line in undefined_names(self.macro, context):
            problem = ConfigProblem(
                "the config", f"the name '{name}' in braces is not defined", line=line
            )
            raise ConfigError(self._told(problem, self.begins + line - 1))

    def sentence(self, problem: ConfigProblem, text: str) -> str:
        """Return the sentence that stops dbt."""
        line = problem.line
        if line is not None and self.macro:
            line = self.begins - 1 + line_in_macro(self.macro, text, line)
        return self._told(problem, line)

    def _told(self, problem: ConfigProblem, line: int | None) -> str:
        entry = problem.entry or entry_of(problem.path)
        place = f"line {line}" if line else ""
        place += f"{' of ' if place else ''}{self.file}" if self.file else ""
        return f"{MACRO}: {entry}: {problem.problem}{f' ({place})' if place else ''}."


@lru_cache(maxsize=16)
def _block(macro: str) -> tuple[nodes.AssignBlock | None, tuple[str, ...]]:
    """Return the first block that a macro assigns, and the names of its own."""
    try:
        template = get_environment(None, capture_macros=False).parse(macro)
    except jinja2.TemplateSyntaxError:
        return None, ()
    names = {name.name for name in template.find_all(nodes.Name) if name.ctx != "load"}
    return next(iter(template.find_all(nodes.AssignBlock)), None), tuple(names)


@lru_cache(maxsize=64)
def _line_map(macro: str, text: str) -> tuple[int, ...]:
    """Return, for each line of a rendered document, the line of the macro."""
    block, _ = _block(macro)
    first = block.lineno if block is not None else 1
    written = macro.split("\n")[first - 1 :]
    rendered = text.split("\n")
    lines = [0] * len(rendered)
    matcher = SequenceMatcher(None, rendered, written, autojunk=False)
    for mine, other, size in matcher.get_matching_blocks():
        for offset in range(size):
            lines[mine + offset] = first + other + offset
    # A line that rendering has changed stands after the one before it.
    for number, line in enumerate(lines):
        lines[number] = line or (lines[number - 1] + 1 if number else first)
    return tuple(lines)


def line_in_macro(macro: str, text: str, line: int) -> int:
    """Return the line of a macro from which a line of its document was rendered."""
    lines = _line_map(macro, text)
    return lines[min(line, len(lines)) - 1]


def undefined_names(macro: str, context: Any) -> list[tuple[str, int]]:
    """Return the names in a macro's document that stand for nothing, with lines."""
    block, own = _block(macro)
    if block is None:
        return []
    return [
        (said, node.lineno)
        for node in block.find_all((nodes.Name, nodes.Getattr, nodes.Getitem))
        if (said := _undefined(node, context, own))
    ]


def _undefined(node: nodes.Node, context: Any, own: tuple[str, ...]) -> str | None:
    """Return what a name is called, if it stands for nothing."""
    if isinstance(node, nodes.Name):
        known = node.name in own or node.name in context
        is_loaded = node.ctx == "load"
        return None if known or not is_loaded or node.name in _builtin() else node.name
    value, said = _value(node, context)
    return said if isinstance(value, jinja2.Undefined) else None


def _value(node: nodes.Node, context: Any) -> tuple[Any, str]:
    """Return the value of a chain of attributes of a known name; else something."""
    if isinstance(node, nodes.Name):
        return context.get(node.name, ...), node.name
    if isinstance(node, nodes.Getattr):
        value, said = _value(node.node, context)
        if value is ... or isinstance(value, jinja2.Undefined):
            return ..., said
        environment = get_environment(None, capture_macros=False)
        return environment.getattr(value, node.attr), f"{said}.{node.attr}"
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        value, said = _value(node.node, context)
        if value is ... or isinstance(value, jinja2.Undefined):
            return ..., said
        environment = get_environment(None, capture_macros=False)
        item = node.arg.value
        return environment.getitem(value, item), f"{said}[{item!r}]"
    return ..., ""


@lru_cache(maxsize=1)
def _builtin() -> frozenset[str]:
    return frozenset(get_environment(None, capture_macros=False).globals)


def source_of(manifest: Any, context: Any) -> Source:
    """Return the project's own config macro, or that of a package."""
    macros = [
        macro
        for macro in getattr(manifest, "macros", {}).values()
        if macro.name == MACRO
    ]
    if not macros:
        return Source()
    own = (context or {}).get("project_name")
    macro = min(macros, key=lambda macro: macro.package_name != own)
    return _in_file(macro.original_file_path, macro.macro_sql, _root(manifest, macro))


def _root(manifest: Any, macro: Any) -> str:
    """Return the folder that a macro's file path begins at."""
    for file in getattr(manifest, "files", {}).values():
        if macro.unique_id in getattr(file, "macros", ()):
            return file.path.project_root
    return ""


def _in_file(file: str, macro: str, root: str) -> Source:
    """Find a macro in its file."""
    try:
        text = (Path(root) / file).read_text(encoding="utf-8")
    except OSError:
        return Source(file, macro)
    place = text.find(macro)
    return Source(file, macro, text.count("\n", 0, max(place, 0)) + 1)
