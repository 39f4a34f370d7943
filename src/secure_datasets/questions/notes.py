"""Notes, of which evidence is made, and gates: notes with a state."""

from __future__ import annotations

from typing import Any

OPEN, CLOSED, NOT_ASKED = "open", "closed", "not asked"
# The most items of a long list that an answer names.
SOME = 5
GATES = ("row", "user", "tier", "view authorization", "row security", "conditions")

Facts = dict[str, Any]
Note = dict[str, Any]


def note(says: str, evidence: list[Note] | None = None, **parts: Any) -> Note:
    """Return a note."""
    return {"says": says, **parts, "evidence": evidence or []}


def named(keys: dict[str, Any]) -> str:
    """Return keys with their values: `project_id=1, meta_data_source_id=6`."""
    return ", ".join(
        f"{key}={'null' if value is None else value}" for key, value in keys.items()
    )


def gate(name: str, state: str, says: str, evidence: list[Note] | None = None) -> Note:
    """Return a gate."""
    return {"gate": name, "state": state, "says": says, "evidence": evidence or []}


def state_of(is_open: bool) -> str:
    """Return the state of a gate that was asked."""
    return OPEN if is_open else CLOSED


def listed(values: list[Any], limit: int = 20, joined: str = ", ") -> str:
    """Return values in words, at most `limit` of them by name."""
    ordered = sorted(values, key=lambda value: (value is None, str(value)))
    shown = ["null" if value is None else str(value) for value in ordered[:limit]]
    more = [f"and {len(values) - limit} more"] if len(values) > limit else []
    return joined.join(shown + more) or "none"


def said(value: bool | None) -> str:
    """Return the result of a condition, in words."""
    return "null" if value is None else str(value).lower()
