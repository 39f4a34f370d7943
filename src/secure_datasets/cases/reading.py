"""Reads the files of cases: `tests/access/*.yml` of a project.

given:
  users: [{id: 8, login_name: hpark}]
  projects: [{id: 2, name: Card Settlement}]
  project_permissions: [{project_id: 2, user_id: hpark, role_name: Viewer}]
  tests: [{id: 12, project_id: Card Settlement}]
cases:
  - case: a viewer sees the tests of the project
    expect:
      - {user: hpark, dataset: tests, sees: [12], only: true}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from secure_datasets.config.problems import ConfigProblem
from secure_datasets.config.reading import Document, read
from secure_datasets.sql.spelling import listed

Place = tuple[Any, ...]
FILE_KEYS = ("given", "cases")
CASE_KEYS = ("case", "given", "expect")
EXPECT_KEYS = ("user", "dataset", "sees", "does_not_see", "only")


class CaseProblem(Exception):
    """A case that can neither hold nor fail; the message begins with its place."""

    def __init__(self, where: str, sentence: str) -> None:
        super().__init__(f"{where}: {sentence}")
        self.where = where


@dataclass(frozen=True)
class Row:
    """A row: its values as text, by column; null is None."""

    where: str
    values: Mapping[str, str | None]


@dataclass(frozen=True)
class Expected:
    """The rows that a user is expected to see, or not to see, in a dataset.

    A row of `seen` has its key, and perhaps values; a row of `hidden` has only its key.
    A row that is no mapping is the value of the dataset's only key column.
    """

    where: str
    user: str
    dataset: str
    seen: tuple[Row, ...]
    hidden: tuple[Row, ...]
    only: bool


@dataclass(frozen=True)
class Case:
    """One case: the given rows, by table, and the expectations."""

    where: str
    name: str
    given: Mapping[str, tuple[Row, ...]]
    expected: tuple[Expected, ...]

    @property
    def world(self) -> str:
        """A text that only cases with the same given rows share."""
        tables = sorted(self.given.items())
        return repr([(t, [dict(row.values) for row in rows]) for t, rows in tables])


# Stands for the only key column of a dataset, whatever its name.
ONE_KEY = ""


@dataclass
class _File:
    name: str
    document: Document = field(default_factory=Document)

    def at(self, place: Place) -> str:
        """Return the file and line of a place: `tests/access/tests.yml:12`."""
        return f"{self.name}:{self.document.line(place) or 1}"

    def stop(self, place: Place, sentence: str) -> CaseProblem:
        return CaseProblem(self.at(place), sentence)


def read_cases(paths: Iterable[Path], folder: Path) -> list[Case]:
    """Return the cases of files, in their order; raise CaseProblem for a mistake."""
    found = []
    for path in paths:
        inside = path.is_relative_to(folder)
        file = _File(str(path.relative_to(folder) if inside else path))
        try:
            file.document = read(path.read_text(encoding="utf-8"))
        except ConfigProblem as problem:
            where = f"{file.name}:{problem.line or 1}"
            raise CaseProblem(where, problem.problem) from None
        except (OSError, UnicodeDecodeError) as failure:
            raise CaseProblem(file.name, f"can't be read: {failure}") from None
        found += _cases(file)
    names: dict[str, str] = {}
    for case in found:
        if other := names.get(case.name):
            raise CaseProblem(case.where, f"'{case.name}' is a case of {other} too")
        names[case.name] = case.where
    return found


def _cases(file: _File) -> list[Case]:
    values = file.document.values
    _check_keys(file, (), values, FILE_KEYS)
    shared, found = _given(file, ("given",), values.get("given", {})), []
    for number, entry in enumerate(_list(file, ("cases",), values.get("cases"))):
        place = ("cases", number)
        _check_keys(file, place, entry, CASE_KEYS)
        name = _text(entry.get("case"))
        if not name:
            raise file.stop(place, "'case' is missing: say in a sentence what holds")
        own = _given(file, (*place, "given"), entry.get("given", {}))
        given = {table: shared.get(table, ()) + own.get(table, ()) for table in shared}
        expected = [
            _expected(file, (*place, "expect", at), each)
            for at, each in enumerate(
                _list(file, (*place, "expect"), entry.get("expect"))
            )
        ]
        found.append(Case(file.at(place), name, own | given, tuple(expected)))
    return found


def _given(file: _File, place: Place, given: Any) -> dict[str, tuple[Row, ...]]:
    if not isinstance(given, dict):
        raise file.stop(place, "'given' must map tables to lists of rows")
    found = {}
    for table, rows in given.items():
        if not isinstance(rows, list):
            raise file.stop((*place, table), f"'{table}' must be a list of rows")
        found[str(table)] = tuple(
            _row(file, (*place, table, number), row) for number, row in enumerate(rows)
        )
    return found


def _expected(file: _File, place: Place, entry: Any) -> Expected:
    _check_keys(file, place, entry, EXPECT_KEYS)
    user, dataset = _text(entry.get("user")), _text(entry.get("dataset"))
    if not user or not dataset:
        raise file.stop(place, "'user' and 'dataset' say who sees, and of what")
    rows = {}
    for key in ("sees", "does_not_see"):
        each = entry.get(key, [])
        if not isinstance(each, list):
            raise file.stop((*place, key), f"'{key}' must be a list of rows")
        rows[key] = tuple(
            _row(file, (*place, key, number), row, may_be_key=True)
            for number, row in enumerate(each)
        )
    only = entry.get("only", False)
    if not isinstance(only, bool):
        raise file.stop((*place, "only"), "'only' must be true or false")
    if only and "sees" not in entry:
        raise file.stop(place, "'only' needs 'sees'; nothing at all is 'sees: []'")
    if not only and not rows["sees"] and not rows["does_not_see"]:
        raise file.stop(place, "expects nothing: name rows, or write 'only: true'")
    return Expected(
        file.at(place), user, dataset, rows["sees"], rows["does_not_see"], only
    )


def _row(file: _File, place: Place, row: Any, may_be_key: bool = False) -> Row:
    if may_be_key and not isinstance(row, dict | list):
        row = {ONE_KEY: row}
    if not isinstance(row, dict) or (not row and not may_be_key):
        raise file.stop(place, "a row must map columns to values")
    values = {}
    for column, value in row.items():
        if isinstance(value, dict | list):
            raise file.stop((*place, column), f"'{column}' must have one value")
        values[str(column)] = _text(value)
    return Row(file.at(place), values)


def _text(value: Any) -> str | None:
    """Return a value in the spelling of YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _list(file: _File, place: Place, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise file.stop(place, f"'{place[-1]}' must be a list, and not empty")
    return value


def _check_keys(file: _File, place: Place, entry: Any, known: Iterable[str]) -> None:
    if not isinstance(entry, dict):
        raise file.stop(place, f"must map keys to values; known are {', '.join(known)}")
    for key in entry:
        if key not in known:
            said = f"there is no key '{key}'{listed(key, known)}"
            raise file.stop((*place, key), said)
