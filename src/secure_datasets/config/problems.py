"""The mistakes of a config: a sentence, and its place in the config."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from secure_datasets.sql.spelling import listed

Path = tuple[Any, ...]


class ConfigProblem(Exception):
    """A mistake: its entry, its sentence and its place.

    Without a line, the line follows from the place once the config's lines are known.
    `source` is the number of the document with the mistake: 0 the product's, 1 the root
    project's, then the files that these name.
    """

    def __init__(
        self,
        entry: str,
        problem: str,
        path: Path = (),
        line: int | None = None,
        source: int = 0,
    ) -> None:
        super().__init__(f"{entry}: {problem}")
        self.entry = entry
        self.problem = problem
        self.path = path
        self.line = line
        self.source = source


class ConfigProblems(Exception):
    """All mistakes of a config."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        # In the order of each document.
        self.problems = sorted(problems, key=lambda each: (each.source, each.line or 0))


def told(problems: Sequence[str]) -> str:
    """Return one sentence with all mistakes of a config."""
    if len(problems) == 1:
        return f"secure_datasets_config: {problems[0]}."
    lines = "".join(f"\n  - {problem}." for problem in problems)
    return f"secure_datasets_config: {len(problems)} things are wrong.{lines}"


def entry_of(path: Path, config: Any = None, before: int = 0) -> str:
    """Return the name of the entry of the config at a place.

    With a config, the name of a policy includes its role and resource. The number of an
    entry in a list does not count the first `before` entries.
    """
    if path[:1] == ("reader",):
        return "the reader"
    if len(path) < 2:
        return "the config"
    part, name, *rest = path
    if part == "datasets":
        return f"dataset '{name}'{_part_of_dataset(rest)}"
    if part == "tiers":
        return f"tier '{name}'"
    if part == "relations":
        return f"relation '{name}'"
    if not isinstance(name, int):
        return "the config"
    number = name + 1 - before
    if part == "policies":
        return f"policy {number}{_who_and_what(config, name)}"
    if part == "relationships":
        end = rest[0] if rest and rest[0] in ("from", "to") else None
        return f"relationship {number}{f', {end}' if end else ''}"
    return f"{part} {number}"


def _part_of_dataset(rest: list[Any]) -> str:
    """Return the name of the part of a dataset at a place, if the part has one."""
    said = ""
    if rest[:2] == ["switch", "cases"] and len(rest) > 2:
        said, rest = f", case '{rest[2]}'", rest[3:]
    elif rest[:1] in (["switch"], ["query"]) and rest[1:] != ["cases"]:
        return f", {rest[0]}"
    if rest[:1] == ["second_side"]:
        said += ", second_side"
    return said


def _who_and_what(config: Any, number: int) -> str:
    """Return the roles and the resource of a policy in words."""
    if not isinstance(config, dict):
        return ""
    policy = config["policies"][number]
    if "role" in policy:
        who = f"role '{_called(policy['role'])}'"
    elif "shown_to" in policy:
        who = "shown_to"
    else:
        spared = "', '".join(map(_called, policy.get("except", [])))
        who = f"all but '{spared}'"
    resource = policy["resource"]
    is_tag = isinstance(resource, dict)
    return (
        f", {who} on {'the tag ' * is_tag}'{resource['tag'] if is_tag else resource}'"
    )


def _called(role: Any) -> str:
    """Return the name of a role in messages, from its form in the config."""
    return f"group {role['group']}" if isinstance(role, dict) else str(role)


class EngineProblem(Exception):
    """The reason, as a sentence, why an engine's text can't be rendered."""


def check_engine(engine: str, known: Iterable[str]) -> None:
    """Raise EngineProblem if an engine is unknown."""
    if engine not in known:
        raise EngineProblem(f"unknown engine '{engine}'{listed(engine, known)}")
