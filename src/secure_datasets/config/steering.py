"""Texts as they may be shown."""

from __future__ import annotations


def without_steering(sentence: str) -> str:
    """Return a sentence in which nothing steers the terminal, whatever it quotes."""
    return "".join(c if c.isprintable() else "?" for c in sentence)
