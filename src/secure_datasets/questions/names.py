"""Users, groups, roles and objects by id, login, e-mail, or by words of their names.

One match is taken; several are listed with their ids, the nearest first. Nothing is
guessed: a word matches a whole word of a name or its beginning, with or without
accents.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from secure_datasets.config.steering import without_steering
from secure_datasets.questions.asked import QuestionError

MOST = 10
# The distance of a word in a question from a word of a name.
SAME, BEGINS, PART = range(3)
NUMBER = re.compile(r"[+-]?[0-9][0-9.,e+-]*")
# `core_banking` has two words, as people say it.
WORD = re.compile(r"[^\W_]+")


class NotKnown(QuestionError):
    """Nothing has the name in the question."""


@dataclass(frozen=True)
class Named:
    """A thing with a name: its kind, its id, and further names."""

    kind: str
    key: str
    name: str | None
    others: tuple[str, ...] = ()
    # Names that find the thing, and that no answer shows.
    hidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = self.name or "(no name)"
        others = f"{', '.join(self.others)}, " if self.others else ""
        return without_steering(f"{name} ({others}{self.kind} {self.key})")

    @property
    def _all(self) -> tuple[str | None, ...]:
        return (self.name, *self.others, *self.hidden)

    @property
    def texts(self) -> list[str]:
        """The name of the thing."""
        return [text.casefold() for text in self._all if text]


def find(text: str, kind: str, candidates: Iterable[Named]) -> Named:
    """Return the one thing that a text means; raise if none or several match."""
    asked, known = " ".join(text.split()).casefold(), list(candidates)
    # As it is shown: `user 8`.
    asked = asked if any(asked in one.texts for one in known) else _id_of(asked, kind)
    exact = [one for one in known if one.key.casefold() == asked]
    exact = exact or [one for one in known if asked in one.texts]
    # An unknown id is never matched with parts of names.
    by_words = [] if NUMBER.fullmatch(asked) else matches(asked, known)
    found = exact or [one for rank, one in by_words if rank < PART]
    if len(found) == 1:
        return found[0]
    shown = without_steering(text)
    if not found:
        near = [one for _, one in by_words] or nearest(asked, known)
        hint = f"; near it are {_listed(near)}" if near else ""
        raise NotKnown(f"there is no {kind} '{shown}'{hint}.")
    raise QuestionError(
        f"'{shown}' may be {_listed(found)}: write {_what_tells(shown, kind, found)}."
    )


def _what_tells(shown: str, kind: str, found: list[Named]) -> str:
    """Return the text that means exactly one of several matches."""
    first, kinds = found[0], {one.kind for one in found}
    if first.kind == kind:
        return "the id"
    if len(kinds) == len(found):
        return f"the type before it, as in '{first.kind} {shown}'"
    return f"the type and the id, as in '{first.kind} {first.key}'"


def _id_of(asked: str, kind: str) -> str:
    """Return the id if a text is a kind and an id, or else the text."""
    number = asked.removeprefix(f"{kind} ")
    return number if NUMBER.fullmatch(number) else asked


def matches(text: str, candidates: Iterable[Named]) -> list[tuple[int, Named]]:
    """Return the things with every word of a text in their names, the nearest first.

    Each comes with the distance of its farthest word.
    """
    asked = WORD.findall(text.casefold())
    found = []
    for one in candidates:
        words = WORD.findall(" ".join(one.texts))
        words += [*map(_without_accents, words)]
        ranks = [_rank(word, words) for word in asked]
        if asked and None not in ranks:
            name = one.name or ""
            # `rust` is nearer to `rust-lang/rust` than to `rust-lang/ena`.
            others = sum(word not in asked for word in WORD.findall(name.casefold()))
            length = abs(len(name) - len(text))
            found.append((max(ranks), others, length, name, one.key, one))
    found.sort(key=lambda each: (*each[:4], len(each[4]), each[4]))
    return [(each[0], each[-1]) for each in found]


def _without_accents(text: str) -> str:
    """Return a text as a keyboard without accents writes it."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _rank(word: str, words: list[str]) -> int | None:
    """Return the distance of a word from these words: equal, a beginning, or a part."""
    if word in words:
        return SAME
    if any(other.startswith(word) for other in words):
        return BEGINS
    return PART if any(word in other for other in words) else None


def nearest(text: str, candidates: Iterable[Named]) -> list[Named]:
    """Return the things with the most similar names, if no name has all words."""
    by_text = {name: one for one in candidates for name in one.texts}
    close = difflib.get_close_matches(text, by_text, n=3, cutoff=0.6)
    return list(dict.fromkeys(by_text[name] for name in close))


def _listed(found: list[Named]) -> str:
    shown = "; ".join(map(str, found[:MOST]))
    left = len(found) - MOST
    return f"{shown}; and {left} more" if left > 0 else shown
