"""The errors that stop dbt with a sentence."""

from __future__ import annotations

from typing import Any

from dbt_common.exceptions import CompilationError


class SentenceError(CompilationError):
    """An error with one sentence. It belongs to no model, whichever is rendered."""

    def add_node(self, node: Any = None) -> None:
        """Name no model: the sentence contains the place of the mistake."""


class ConfigError(SentenceError):
    """A mistake in the config: the sentence names the file and the entry."""
