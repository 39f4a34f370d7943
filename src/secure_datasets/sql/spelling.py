"""Find the name of a closed list that a misspelt one is near."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: object, known: Iterable[object], cutoff: float = 0.6) -> str | None:
    """Return the known name that is spelled most like a name, if one is near it.

    cutoff  the likeness from which a name counts as near: difflib's ratio
    """
    plain = str(name).casefold().replace("-", "_")
    by_text = {str(each).casefold(): str(each) for each in sorted(map(str, known))}
    near = get_close_matches(plain, by_text, 1, cutoff)
    return by_text[near[0]] if near else None


def hint(name: object, known: Iterable[object]) -> str:
    """Return `; near it is 'jobs'` for 'jbos'; nothing where no name is near."""
    near = meant(name, known)
    return f"; near it is '{near}'" if near else ""


def listed(name: object, known: Iterable[object]) -> str:
    """Return the known names, for the end of a sentence, with the one that is near."""
    names = list(map(str, known))
    return f"; known are {', '.join(names) or 'none'}{hint(name, names)}"
