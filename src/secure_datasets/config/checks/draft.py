"""The config while it is checked: its values, its mistakes, and checks of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from secure_datasets.config import plan
from secure_datasets.config.models import Models
from secure_datasets.config.problems import ConfigProblem, ConfigProblems, Path
from secure_datasets.config.reading import Document
from secure_datasets.sql import spelling


class Draft:
    """A document, and the mistakes found in it so far."""

    def __init__(self, document: Document, models: Models) -> None:
        self.document = document
        self.values = document.values
        self.models = models
        self.problems: list[ConfigProblem] = []
        # The column for the current check of a policy on a tag.
        self.of_column: str | None = None
        # Datasets with a mistake, or over such a dataset: their chain may be endless.
        self.broken: set[str | None] = set()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Note a mistake, and continue with independent checks."""
        try:
            yield
        except ConfigProblem as problem:
            self.problems.append(problem)
        except (AttributeError, LookupError, TypeError, ValueError):
            # A check may fail on values that an earlier check has found wrong.
            if not self.problems:
                raise

    def end(self) -> None:
        """Raise ConfigProblems if there are mistakes: later checks rely on none."""
        if self.problems:
            raise ConfigProblems(self.problems)

    def fail(self, path: Path, problem: str, entry: str | None = None) -> NoReturn:
        """Raise a mistake at a place."""
        entry = entry or self.document.entry(path, self.document.values)
        if self.of_column:
            problem = f"of '{self.of_column}': {problem}"
        line, source = self.document.line(path), self.document.source(path)
        raise ConfigProblem(entry, problem, path, line, source)

    def check_columns(
        self,
        path: Path,
        names: Iterable[str],
        columns: Iterable[str],
        key: str | None = None,
        entry: str | None = None,
    ) -> None:
        """Check that the columns exist."""
        known = set(columns)
        for name in names:
            if name not in known:
                said = key or path[-1]
                self.fail(
                    path,
                    f"'{said}' names '{name}', which is not among its columns"
                    f"{spelling.hint(name, known)}",
                    entry,
                )

    def check_model(self, path: Path, name: str, key: str) -> None:
        """Check that a model or seed exists."""
        if self.models.is_known and name not in self.models.columns:
            self.fail(
                path,
                f"'{key}' names '{name}', which is no model and no seed"
                f"{spelling.hint(name, self.models.columns)}",
            )

    def check_documented(self, path: Path, names: Iterable[str], model: str) -> None:
        """Check that the documentation of a model has the columns."""
        documented = self.models.of(model)
        for name in names:
            if documented and name not in documented:
                self.fail(
                    path,
                    f"'{path[-1]}' has '{name}', which the documentation of '{model}'"
                    f" has not{spelling.hint(name, documented)}",
                )

    def check_not_off(self, path: Path, name: str) -> None:
        """Check that a needed dataset is not switched off."""
        if name in self.document.switched_off:
            self.fail(path, f"needs the dataset '{name}', which is switched off")

    def types_of(self, name: str) -> dict[str, str]:
        """Return the types of a dataset's columns, as far as they are documented."""
        dataset = self.values["datasets"][name]
        own = self.models.of(dataset.get("base") or plan.PREFIX + name)
        return {
            column: kind.lower()
            for column, kind in own.items()
            if kind and column in dataset["columns"]
        }
