"""What dbt knows about the project's models and seeds, for checks of the config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Models:
    """The project's models and seeds in dbt: their columns, with types.

    An undocumented model has no columns here. `is_known` is false if dbt knows no
    models at all. `tags` has only columns with tags, by model.
    """

    columns: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    is_known: bool = False
    tags: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    def tags_of(self, name: str, column: str) -> frozenset[str]:
        """Return the tags of a column in its model's documentation."""
        return self.tags.get(name, {}).get(column, frozenset())

    def of(self, name: str) -> Mapping[str, str | None]:
        """Return the documented columns of a model."""
        return self.columns.get(name, {})
