"""Reads a YAML document with the line of every key and value.

PyYAML's composer says where each node stands. What it makes of a plain scalar is kept
only if the scalar says so itself: `010`, which is 8, or `12:30:00`, which is 45000, is
read as `Misread`, and no key takes that.
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
# What is composed and read calls itself at each level; no config comes near this.
DEEPEST = 40
# Anchors can make a small document endless; no config comes near this.
MOST_VALUES = 100_000


@dataclass(frozen=True)
class Misread:
    """A plain scalar that YAML takes for something else than it spells."""

    text: str
    read_as: str

    def __str__(self) -> str:
        return self.text


@dataclass
class Document:
    """A document's values, and of each its line and, of a scalar, how it is spelled.

    `said_by` has the places that another document than the product's says, each with
    the number of that; `before` how many entries of a list stand before those of a
    document; and `switched_off` the datasets that a root project takes away. `numbers`
    has, for each policy that the checks make of these, the number of the written one.
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
        """Return how the scalar of a place is spelled."""
        return self.spelled.get(self._written(path), default)

    def entry(self, path: Path, config: Any = None) -> str:
        """Say which entry a place belongs to, as its own document counts them."""
        path = self._written(path)
        before = self.before.get((path[0], self.source(path)), 0) if path else 0
        return entry_of(path, config, before)

    def _written(self, path: Path) -> Path:
        """Return the place of the written policy from which one is made."""
        if self.numbers and path[:1] == ("policies",) and len(path) > 1:
            return (path[0], self.numbers[path[1]], *path[2:])
        return path

    def _said_at(self, path: Path) -> Path:
        path = self._written(path)
        while path and path not in self.lines:
            path = path[:-1]
        return path


# What YAML's reader says where a value lacks its quotes.
UNQUOTED = (
    "did not find expected alphabetic or numeric character",
    "did not find expected ',' or '}'",
    "found undefined alias",
    "mapping values are not allowed",
)


def read(text: str, may_be_list: bool = False) -> Document:
    """Read a document; raise a problem with a line if it can't be read as it stands."""
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
    """Raise a problem if lists and mappings nest too deeply to be composed.

    The events of a document come one by one, however deep it is.
    """
    path: list[Any] = []
    # For each list or mapping that is open: its kind, and whether a key comes next.
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
    """Return the problem with what nests too deeply, named by the schema's own key."""
    found = entry_of(path)
    place = path
    while len(place) > 1 and entry_of(place[:-1]) == found:
        place = place[:-1]
    # What has an entry of its own is named by the key in it.
    named = path[len(place) : len(place) + 1] or place[-1:]
    key = named[0] if isinstance(named[0], str) else place[-1]
    return ConfigProblem(
        found,
        f"'{key}' holds lists and mappings more than {DEEPEST} deep",
        path,
        line,
    )


class _Reader:
    """Makes values of nodes, and remembers where they stand."""

    def __init__(self) -> None:
        self.document = Document()
        self.open: list[yaml.Node] = []
        self.count = 0
        self.quoted: list[tuple[int, int]] = []
        self.constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, path: Path) -> Any:
        """Return what a node says."""
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        self.count += 1
        if len(self.open) > DEEPEST:
            # What an anchor names begins elsewhere.
            raise _too_deep(path, self.document.line(path[:2]))
        if node in self.open or self.count > MOST_VALUES:
            raise ConfigProblem(
                entry_of(path), "an anchor stands in itself, without end", path,
                node.start_mark.line + 1,
            )  # fmt: skip
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        self.open.append(node)
        if isinstance(node, yaml.SequenceNode):
            made: Any = [
                self.value(item, (*path, number))
                for number, item in enumerate(node.value)
            ]
        else:
            made = self.mapping(node, path)
        self.open.pop()
        return made

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[Any, Any]:
        """Return a mapping; each of its own keys is there once."""
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
        """Return what `<<` brings in."""
        if isinstance(node, yaml.SequenceNode):
            found: dict[Any, Any] = {}
            for item in node.value:
                found = self.merged(item, path) | found
            return found
        if not isinstance(node, yaml.MappingNode):
            line = node.start_mark.line + 1
            raise ConfigProblem(entry_of(path), "'<<' names no mapping", path, line)
        return self.value(node, path)

    def scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        """Return what a scalar says, if it says it itself."""
        text = node.value
        self.document.spelled[path] = text
        if node.style in ("'", '"', "|", ">"):
            self.quoted.append((node.start_mark.index, node.end_mark.index))
        kind = TAGS.get(node.tag)
        if kind == "str":
            return text
        if kind is None:
            line = node.start_mark.line + 1
            # `=` and `<<` are words of YAML itself; any other tag is written out.
            problem = f"'{text}' has the tag {node.tag}: write it without one"
            if node.tag in YAML_WORDS and text in YAML_WORDS.values():
                problem = f"'{text}' is a word of YAML itself: quote it"
            raise ConfigProblem(entry_of(path), problem, path, line)
        try:
            read = self.constructor.construct_object(node)
        except (ValueError, KeyError, AttributeError):
            # The 30th of February: its key says what it takes, among all that is wrong.
            return Misread(text, text)
        if read is None or isinstance(read, bool):
            return read
        if kind == "int" and str(read) == text:
            return read
        return Misread(text, str(read))


def _refuse_tabs(text: str, quoted: list[tuple[int, int]]) -> None:
    """Raise a problem if a tab stands anywhere but in a quoted text."""
    place = text.find("\t")
    while place >= 0:
        if not any(start <= place < end for start, end in quoted):
            raise ConfigProblem(
                "the config",
                "a tab stands outside of quotes: write spaces",
                line=text.count("\n", 0, place) + 1,
            )
        place = text.find("\t", place + 1)
