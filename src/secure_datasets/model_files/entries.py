"""Edits the entries of models in YAML files as text: all else in a file stays."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import yaml

Column = dict[str, Any]
# The longest line, and the longest text beside its key. YAML's writer folds after the
# word that passes its width.
WIDTH = 100
BESIDE = 72
LONG_WORD = 12


class Flow(dict):
    """A mapping that is written in one line."""


class FlowList(list):
    """A list that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML as people do here."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        """Indent lists too."""
        return super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value:
        style = "|"
    elif len(value) > BESIDE:
        style = ">"
    elif "{{" in value or ": " in value:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(
    Flow,
    lambda dumper, value: dumper.represent_mapping(
        "tag:yaml.org,2002:map", value, flow_style=True
    ),
)
_Dumper.add_representer(
    FlowList,
    lambda dumper, value: dumper.represent_sequence(
        "tag:yaml.org,2002:seq", value, flow_style=True
    ),
)


def filled(*paragraphs: str) -> str:
    """Return paragraphs as the text of a description."""
    return "\n\n".join(textwrap.fill(text, WIDTH - 6) for text in paragraphs) + "\n"


def _written(item: dict[str, Any], indent: int) -> str:
    """Return an item of a list as lines."""
    width = WIDTH - LONG_WORD - indent
    text = yaml.dump(
        [item], Dumper=_Dumper, sort_keys=False, width=width, allow_unicode=True
    )
    # The dumper indents the list itself.
    return textwrap.indent(textwrap.dedent(text), " " * indent)


def with_entry(text: str, entry: dict[str, Any]) -> str:
    """Return a file's text with an entry after its models."""
    models = _value(yaml.compose(text), "models") if text.strip() else None
    if models is None or not models.value:
        begin = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{begin}models:\n{_written(entry, 2)}"
    lines = text.splitlines(keepends=True)
    end = _end(lines, models.end_mark.line, len(lines))
    new = _written(entry, models.start_mark.column)
    lines[end - 1] = lines[end - 1].rstrip("\n") + "\n"
    return "".join([*lines[:end], "\n", new, *lines[end:]])


def with_columns(
    text: str,
    model: str,
    columns: Iterable[Column],
    is_in_step: Callable[[Column, Column], bool],
) -> str:
    """Return a file's text with these columns of a model; those in step stay as text.

    An item that is written anew keeps all that the new one does not say.
    """
    entry = next(
        node
        for node in _value(yaml.compose(text), "models").value
        if getattr(_value(node, "name"), "value", None) == model
    )
    lines = text.splitlines(keepends=True)
    node = _value(entry, "columns")
    is_block = node is not None and not node.flow_style
    if node is None:
        begin = end = _end(lines, entry.end_mark.line, len(lines))
    else:
        begin = node.start_mark.line
        end = _end(lines, node.end_mark.line + (not is_block), len(lines))
    indent = node.start_mark.column if is_block else entry.start_mark.column + 2
    items = node.value if node else []
    loader = yaml.SafeLoader("")
    said = {c["name"]: c for c in map(loader.construct_document, items)}
    own = (
        dict(zip(said, _texts_of(items, lines, end), strict=False)) if is_block else {}
    )
    new = [] if is_block else [" " * entry.start_mark.column + "columns:\n"]
    for column in columns:
        name = column["name"]
        documented = said.get(name, {})
        if name in own and is_in_step(column, documented):
            new.append(own[name])
        else:
            new.append(_written({**column, **documented, **column}, indent))
    return "".join([*lines[:begin], *new, *lines[end:]])


def _texts_of(items: list[Any], lines: list[str], end: int) -> Iterator[str]:
    """Yield the lines of each item of a list; nothing if one is an alias.

    An alias has the place of what it stands for.
    """
    starts = [item.start_mark.line for item in items] + [end]
    if starts == sorted({*starts}):
        for begin, following in pairwise(starts):
            yield "".join(lines[begin:following])


def _value(node: Any, key: str) -> Any:
    """Return the node of a key's value; none without the key."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _end(lines: list[str], line: int, last: int) -> int:
    """Return the line after a node: the end mark is past blank lines and comments."""
    end = min(line, last)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip()[0] == "#"):
        end -= 1
    return end
