"""Lays the config of a root project on the config of the product.

- A named entry is added, or changes the product's entry of the same name: its keys
  replace the product's keys, and a null key removes the product's key.
- `false` switches one of the product's datasets off.
- A list is appended, and so are the entries of the files that either document names.

The checks read the merged config, and name the document that has the line.
"""

from __future__ import annotations

from typing import Any

from secure_datasets.config.problems import ConfigProblem, Path
from secure_datasets.config.reading import Document
from secure_datasets.sql import spelling

# The parts of the config whose entries have names.
NAMED = ("tiers", "datasets", "relations")
OFF = "is switched off by 'false'"


def lay_on(product: Document, added: Document, source: int = 1) -> Document:
    """Return the product's config with the entries of a second document.

    `source` is the number of the second document: the root project's is 1.
    """
    layers = _Layers(product, added, source)
    for part, value in added.values.items():
        layers.add_part(part, value)
    return layers.config


class _Layers:
    """The product's document with a second document laid on it, part by part."""

    def __init__(self, product: Document, added: Document, source: int) -> None:
        self.added, self.source = added, source
        self.config = Document(
            values=dict(product.values),
            lines=dict(product.lines),
            spelled=dict(product.spelled),
            said_by=dict(product.said_by),
            before=dict(product.before),
            switched_off=list(product.switched_off),
        )

    def add_part(self, part: Any, value: Any) -> None:
        """Lay a part of the added document on the product's."""
        own = self.config.values.get(part)
        if part in NAMED and isinstance(own, dict) and isinstance(value, dict):
            self.config.values[part] = dict(own)
            for name, entry in value.items():
                self._add_entry(part, name, entry)
        elif isinstance(own, list) and isinstance(value, list):
            self.config.values[part] = [*own, *value]
            self.config.before[part, self.source] = len(own)
            for number in range(len(value)):
                self._move((part, number), (part, len(own) + number))
        else:
            self.config.values[part] = value
            self._move((part,), (part,))

    def _add_entry(self, part: str, name: Any, entry: Any) -> None:
        """Add a named entry, or change the product's entry of the same name."""
        entries, path = self.config.values[part], (part, name)
        own = entries.get(name)
        if part == "datasets" and entry is False:
            self._switch_off(name)
        elif isinstance(own, dict) and isinstance(entry, dict):
            entries[name] = changed = dict(own)
            self._said(path, path)
            for key, value in entry.items():
                self._move((*path, key), (*path, key))
                if value is None and key in own:
                    del changed[key]
                else:
                    changed[key] = value
        else:
            entries[name] = entry
            self._move(path, path)

    def _switch_off(self, name: Any) -> None:
        """Remove one of the product's datasets.

        Raises ConfigProblem if the product has no such dataset.
        """
        path = ("datasets", name)
        if name not in self.config.values["datasets"]:
            raise ConfigProblem(
                f"dataset '{name}'",
                f"{OFF}, and the product has no dataset of this name"
                f"{spelling.hint(name, self.config.values['datasets'])}",
                path,
                self.added.line(path),
                source=self.source,
            )
        del self.config.values["datasets"][name]
        self.config.switched_off.append(name)

    def _move(self, path: Path, to: Path) -> None:
        """Take the lines of a place, and of all below it, from the added document."""
        config, size = self.config, len(path)
        for told in (config.lines, config.spelled):
            for place in [place for place in told if place[: len(to)] == to]:
                del told[place]
        for place in [place for place in self.added.lines if place[:size] == path]:
            self._said(place, (*to, *place[size:]))
        for place, text in self.added.spelled.items():
            if place[:size] == path:
                config.spelled[(*to, *place[size:])] = text

    def _said(self, place: Path, to: Path) -> None:
        """Take the line of one place from the added document."""
        if place in self.added.lines:
            self.config.lines[to] = self.added.lines[place]
            self.config.said_by[to] = self.source
