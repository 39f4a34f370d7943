"""Reads the documents of the config: the product's, what is added, files of SML."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from secure_datasets import digest
from secure_datasets.config import problems, sml
from secure_datasets.config.checks import check
from secure_datasets.config.document import (
    ADDED,
    MACRO,
    Source,
)
from secure_datasets.config.errors import ConfigError
from secure_datasets.config.layers import lay_on
from secure_datasets.config.models import Models
from secure_datasets.config.plan import PACKAGE
from secure_datasets.config.planner import Planner
from secure_datasets.config.problems import ConfigProblem, ConfigProblems
from secure_datasets.config.reading import Document, read

REMEMBERED = 256
NO_TEXT = (
    f"is not the text of the macro '{ADDED}': a root project's macro holds the document"
    " and nothing else, without 'set document' and without 'return'"
)


def layered(texts: tuple[str, ...], files: tuple[str, ...] = ()) -> Document:
    """Read the product's document, and lay what is added on it, files of SML last."""
    config, number = Document({}), 0
    for number, text in enumerate((*texts, *files)):
        is_file = number >= len(texts)
        added = _read_one(text, number, is_file)
        if not number:
            config = added
        # A file replaces no value that is no list: the checks refuse it.
        elif not is_file or all(
            isinstance(config.values.get(part, []), list) for part in added.values
        ):
            config = lay_on(config, added, number)
    return config


def _read_one(text: str, number: int, is_file: bool) -> Document:
    """Read one document; a mistake carries the document's number."""
    if number and not is_file and not text.strip():
        # The product's own macro, where no root project adds anything.
        return Document({})
    try:
        return sml.read_file(text) if is_file else read(text)
    except ConfigProblem as problem:
        problem.source = number
        raise


@lru_cache(maxsize=16)
def _patterns(texts: tuple[str, ...]) -> tuple[tuple[str, ConfigProblem], ...]:
    """Return the patterns of files that documents name, each with how it is wrong.

    The checks refuse what is no list of texts.
    """
    found = []
    with suppress(ConfigProblem):
        config = layered(texts)
        patterns = config.values.get("sml")
        for number, pattern in enumerate(
            patterns if isinstance(patterns, list) else ()
        ):
            if isinstance(pattern, str) and pattern.strip():
                path = ("sml", number)
                problem = ConfigProblem(
                    "the config", f"'sml' names '{pattern}'", path,
                    config.line(path), config.source(path),
                )  # fmt: skip
                found.append((pattern, problem))
    return tuple(found)


def _state_of(files: dict[str, str]) -> dict[str, str]:
    """Return what differs where files of SML differ; nothing without any."""
    return {"sml_state": sha256(repr(files).encode()).hexdigest()} if files else {}


def _sentence(
    found: Sequence[ConfigProblem], sources: Sequence[Source], texts: Sequence[str]
) -> str:
    """Return one text of all mistakes, each with its document."""
    return problems.told(
        [sources[each.source].said(each, texts[each.source]) for each in found]
    )


def _places(
    config: Mapping[str, Any],
    document: Document,
    sources: Sequence[Source],
    texts: Sequence[str],
) -> dict[str, dict[Any, str]]:
    """Return where the entries of some parts stand, by their names or numbers."""
    found: dict[str, dict[Any, str]] = {}
    for part in ("datasets", "policies", "row_security"):
        entries = config.get(part) or {}
        names = entries if isinstance(entries, dict) else range(len(entries))
        for name in names:
            at = document.source((part, name))
            line = document.line((part, name))
            found.setdefault(part, {})[name] = sources[at].place(line, texts[at])
    return found


class CheckedConfig(dict):
    """A config that was read from text and checked.

    `places` has the file and line of the entries of some parts.
    """

    places: Mapping[str, Mapping[Any, str]] = {}


class Documents(Planner):
    """Reads and checks the documents of the config for macros."""

    python_part = staticmethod(digest.python_part)
    # dbt's, where there is a project.
    manifest: Any = None
    _read: ClassVar[OrderedDict[Any, Any]] = OrderedDict()

    def __init__(self, models: Models | None = None, root: Path | None = None) -> None:
        self.models = models or Models()
        # The folder of the root project.
        self.root = root

    def read(self, text: str, context: Any = None, added: Any = None) -> dict[str, Any]:
        """Return the checked config of a document; raise what is wrong with it.

        `added` is the macro with what a root project adds.
        """
        sources = self.sources(context, added)
        for source in sources:
            source.refuse_lost(context)
        texts = (text,) if added is None else (text, self.text_of(added, sources[1]))
        files = self._files(texts, sources)
        told = (*texts, *files.values())
        sources = (*sources[: len(texts)], *map(Source, files))
        key = (told, sources, repr(self.models))
        remembered = Documents._read
        if key not in remembered:
            try:
                config = layered(texts, tuple(files.values()))
                made = CheckedConfig(check(config, self.models) | _state_of(files))
                made.places = _places(made, config, sources, told)
                remembered[key] = made
            except ConfigProblem as problem:
                remembered[key] = _sentence([problem], sources, told)
            except ConfigProblems as found:
                remembered[key] = _sentence(found.problems, sources, told)
            while len(remembered) > REMEMBERED:
                remembered.popitem(last=False)
        found = remembered[key]
        if isinstance(found, str):
            self.stop(found)
        return found

    def _files(
        self, texts: tuple[str, ...], sources: tuple[Source, ...]
    ) -> dict[str, str]:
        """Return the files of SML that documents name, each with its text."""
        found = {}
        for pattern, problem in _patterns(texts):
            said = problem.problem
            try:
                for path in sml.files_of(self.root, pattern):
                    said = f"{problem.problem}, and {path.name} can't be read"
                    name = str(path.relative_to(self.root or path))
                    found[name] = path.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                is_unread = isinstance(error, OSError | UnicodeError)
                at = problem.source
                told = ConfigProblem(
                    problem.entry,
                    f"{said}: {error}" if is_unread else f"{said}, {error}",
                    problem.path, problem.line, at,
                )  # fmt: skip
                self.stop(sources[at].sentence(told, texts[at]))
        return found

    def places(self, config: Mapping[str, Any]) -> Mapping[str, Mapping[Any, str]]:
        """Return where entries of the config stand, by part and name or number."""
        # A config that a macro made itself was read from no text.
        return config.places if isinstance(config, CheckedConfig) else {}

    def checked(self, config: Any, is_unit_test: bool = False) -> dict[str, Any]:
        """Return a config that was read, or one that a unit test puts in its place."""
        if isinstance(config, CheckedConfig):
            return config
        if isinstance(config, str):
            return self.read(config)
        if not is_unit_test and isinstance(config, dict):
            self.stop(
                f"{MACRO}: the config: is not read by its reader: end the macro with"
                " 'return(adapter.secure_datasets().read(document, context))'."
            )
        try:
            if not isinstance(config, dict):
                raise ConfigProblem("the config", "is not a YAML mapping")
            if config.get("sml"):
                raise ConfigProblem(
                    "the config", "'sml' must not stand in the config of a unit test"
                )
            return CheckedConfig(check(Document(config), self.models))
        except ConfigProblem as problem:
            self.stop(Source().sentence(problem, ""))
        except ConfigProblems as found:
            self.stop(_sentence(found.problems, (Source(),), ("",)))

    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by its documentation; none without one."""
        return self.models.of(model).get(column)

    def sources(self, context: Any, added: Any) -> tuple[Source, ...]:
        """Return where the document stands, and what is added to it."""
        return (Source(), Source())

    def text_of(self, added: Any, source: Source) -> str:
        """Return the document of the macro that adds to the product's."""
        text = added()
        macro = getattr(added, "macro", None)
        is_products = getattr(macro, "package_name", None) == PACKAGE
        if is_products or (isinstance(text, str) and text.strip()):
            return text
        return self.stop(source.sentence(ConfigProblem("the config", NO_TEXT), ""))

    def stop(self, sentence: str) -> NoReturn:
        """Stop dbt with a sentence."""
        raise ConfigError(sentence)
