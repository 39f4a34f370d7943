"""Notes, of which evidence is made: a sentence, its parts, further notes below it."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]
Note = dict[str, Any]


def note(says: str, evidence: list[Note] | None = None, **parts: Any) -> Note:
    """Return a note."""
    return {"says": says, **parts, "evidence": evidence or []}
