"""Reads a YAML document with the line of every key and value.

PyYAML's composer gives the line of each node. The value of a plain scalar is kept only
if the scalar spells it: `010` (YAML: 8) and `12:30:00` (YAML: 45000) become `Misread`,
a value that no key accepts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from secure_datasets.config.problems import ConfigProblem, Path, entry_of

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE = "tag:yaml.org,2002:merge"
YAML_WORDS = {MERGE: "<<", "tag:yaml.org,2002:value": "="}
TAGS = {
    f"tag:yaml.org,2002:{kind}": kind
    for kind in ("str", "int", "bool", "null", "float", "timestamp")
}
# The composer and the reader recurse at each level; no config is nearly as deep.
DEEPEST = 40
# Anchors can make a small document endless; no config has nearly as many values.
MOST_VALUES = 100_000


@dataclass(frozen=True)
class Misread:
    """A plain scalar whose YAML value differs from its text."""

    text: str
    read_as: str

    def __str__(self) -> str:
        return self.text


@dataclass
class Document:
    """A document's values, with the line of each, and the spelling of each scalar.

    `said_by`: for each place that is not from the product's document, the document's
    number.
    `before`: for a list and a document, the number of earlier entries in the list.
    `switched_off`: the datasets that a root project removes.
    `numbers`: for each policy after the checks, the number of the written policy.
    """

    values: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    spelled: dict[Path, str] = field(default_factory=dict)
    said_by: dict[Path, int] = field(default_factory=dict)
    before: dict[tuple[str, int], int] = field(default_factory=dict)
    switched_off: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def line(self, path: Path) -> int | None:
        """Return the line of a place, or of the nearest one above it."""
        return self.lines.get(self._said_at(path))

    def source(self, path: Path) -> int:
        """Return the number of the document that has the line of a place."""
        return self.said_by.get(self._said_at(path), 0)

    def spelling(self, path: Path, default: str) -> str:
        """Return the spelling of the scalar at a place."""
        return self.spelled.get(self._written(path), default)

    def entry(self, path: Path, config: Any = None) -> str:
        """Return the name of the entry at a place, numbered as in its own document."""
        path = self._written(path)
        before = self.before.get((path[0], self.source(path)), 0) if path else 0
        return entry_of(path, config, before)

    def _written(self, path: Path) -> Path:
        """Return the place in the written policy, for a place in a made policy."""
        if self.numbers and path[:1] == ("policies",) and len(path) > 1:
            return (path[0], self.numbers[path[1]], *path[2:])
        return path

    def _said_at(self, path: Path) -> Path:
        path = self._written(path)
        while path and path not in self.lines:
            path = path[:-1]
        return path


# The messages of YAML's reader for a value without its quotes.
UNQUOTED = (
    "did not find expected alphabetic or numeric character",
    "did not find expected ',' or '}'",
    "found undefined alias",
    "mapping values are not allowed",
)


def read(text: str, may_be_list: bool = False) -> Document:
    """Read a document; raise ConfigProblem, with a line, if it can't be read."""
    try:
        _refuse_depth(text)
        root = yaml.compose(text, LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        if "anchor" in (getattr(error, "context", None) or ""):
            reason = error.context
        if any(part in reason for part in UNQUOTED):
            reason += (
                "; a value that begins with * or holds ': ' stands in quotes, and one"
                " with a comma within { }"
            )
        raise ConfigProblem(
            "the config",
            f"is not a YAML mapping; it does not parse: {reason}",
            line=mark.line + 1 if mark else None,
        ) from error
    is_list = may_be_list and isinstance(root, yaml.SequenceNode)
    if not is_list and not isinstance(root, yaml.MappingNode):
        raise ConfigProblem("the config", "is not a YAML mapping; it does not parse")
    reader = _Reader()
    document = reader.document
    document.values = reader.value(root, ())
    _refuse_tabs(text, reader.quoted)
    return document


def _refuse_depth(text: str) -> None:
    """Raise ConfigProblem if lists and mappings nest too deeply to be composed.

    The check reads the document's events one by one, so it needs no recursion.
    """
    path: list[Any] = []
    # For each open list or mapping: its kind, and whether a key comes next.
    opened: list[list[Any]] = []
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
            path.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if opened:
            kind, key_comes = opened[-1]
            if kind == "list":
                path[-1] += 1
            elif key_comes:
                path[-1] = getattr(event, "value", None)
            opened[-1][1] = not key_comes
        if isinstance(event, yaml.CollectionStartEvent):
            is_list = isinstance(event, yaml.SequenceStartEvent)
            opened.append(["list" if is_list else "mapping", True])
            path.append(-1 if is_list else None)
            if len(opened) > DEEPEST:
                raise _too_deep(tuple(path), event.start_mark.line + 1)


def _too_deep(path: Path, line: int | None) -> ConfigProblem:
    """Return the problem for a value that nests too deeply, with the schema's key."""
    found = entry_of(path)
    place = path
    while len(place) > 1 and entry_of(place[:-1]) == found:
        place = place[:-1]
    # If the place is an entry, the problem names the key in the entry.
    named = path[len(place) : len(place) + 1] or place[-1:]
    key = named[0] if isinstance(named[0], str) else place[-1]
    return ConfigProblem(
        found,
        f"'{key}' holds lists and mappings more than {DEEPEST} deep",
        path,
        line,
    )


class _Reader:
    """Makes values from nodes, and remembers their lines."""

    def __init__(self) -> None:
        self.document = Document()
        self.open: list[yaml.Node] = []
        self.count = 0
        self.quoted: list[tuple[int, int]] = []
        self.constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, path: Path) -> Any:
        """Return the value of a node.

        Raises ConfigProblem for an endless anchor, or too many levels or values.
        """
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        self.enter(node, path)
        if isinstance(node, yaml.ScalarNode):
            self.open.pop()
            return self.scalar(node, path)
        if isinstance(node, yaml.SequenceNode):
            made: Any = [
                self.value(item, (*path, number))
                for number, item in enumerate(node.value)
            ]
        else:
            made = self.mapping(node, path)
        self.open.pop()
        return made

    def enter(self, node: yaml.Node, path: Path) -> None:
        """Note that a node is being read; raise ConfigProblem if that has no end."""
        self.count += 1
        if len(self.open) > DEEPEST:
            # The target of an anchor begins elsewhere, so the entry's line is used.
            raise _too_deep(path, self.document.line(path[:2]))
        if node in self.open or self.count > MOST_VALUES:
            raise ConfigProblem(
                entry_of(path), "an anchor stands in itself, without end", path,
                node.start_mark.line + 1,
            )  # fmt: skip
        self.open.append(node)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[Any, Any]:
        """Return a mapping; raise ConfigProblem for a repeated key."""
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        is_merged = False
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == MERGE:
                if is_merged:
                    raise ConfigProblem(
                        entry_of(path),
                        "the key '<<' is there twice: write one '<<' with a list,"
                        " '<<: [*a, *b]'",
                        path,
                        line,
                    )
                is_merged = True
                merged = self.merged(value_node, path)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigProblem(entry_of(path), "a key is no name", path, line)
            key = self.scalar(key_node, (*path, None))
            if key in own:
                raise ConfigProblem(
                    entry_of((*path, key)),
                    f"the key '{key}' is there twice",
                    (*path, key),
                    line,
                )
            self.document.lines[(*path, key)] = line
            own[key] = self.value(value_node, (*path, key))
        return merged | own

    def merged(self, node: yaml.Node, path: Path) -> dict[Any, Any]:
        """Return the values that `<<` merges; raise ConfigProblem unless mappings."""
        if isinstance(node, yaml.SequenceNode):
            found: dict[Any, Any] = {}
            self.enter(node, path)
            for item in node.value:
                found = self.merged(item, path) | found
            self.open.pop()
            return found
        if not isinstance(node, yaml.MappingNode):
            line = node.start_mark.line + 1
            raise ConfigProblem(entry_of(path), "'<<' names no mapping", path, line)
        return self.value(node, path)

    def scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        """Return the value of a scalar, or Misread if the scalar does not spell it."""
        text = node.value
        self.document.spelled[path] = text
        if node.style in ("'", '"', "|", ">"):
            self.quoted.append((node.start_mark.index, node.end_mark.index))
        kind = TAGS.get(node.tag)
        if kind == "str":
            return text
        if kind is None:
            line = node.start_mark.line + 1
            # `=` and `<<` are words of YAML itself; any further tag is written out.
            problem = f"'{text}' has the tag {node.tag}: write it without one"
            if node.tag in YAML_WORDS and text in YAML_WORDS.values():
                problem = f"'{text}' is a word of YAML itself: quote it"
            raise ConfigProblem(entry_of(path), problem, path, line)
        try:
            read = self.constructor.construct_object(node)
        except (ValueError, KeyError, AttributeError):
            # Such as 30 February: the check of its key reports it with all mistakes.
            return Misread(text, text)
        if read is None or isinstance(read, bool):
            return read
        if kind == "int" and str(read) == text:
            return read
        return Misread(text, str(read))


def _refuse_tabs(text: str, quoted: list[tuple[int, int]]) -> None:
    """Raise ConfigProblem if a tab stands outside a quoted text."""
    place = text.find("\t")
    while place >= 0:
        if not any(start <= place < end for start, end in quoted):
            raise ConfigProblem(
                "the config",
                "a tab stands outside of quotes: write spaces",
                line=text.count("\n", 0, place) + 1,
            )
        place = text.find("\t", place + 1)
