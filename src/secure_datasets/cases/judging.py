"""Runs cases in the quick engine: the project's models over the given rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

from secure_datasets.cases.given import Given
from secure_datasets.cases.reading import (
    ONE_KEY,
    Case,
    CaseProblem,
    Expected,
    Row,
)
from secure_datasets.config import plan
from secure_datasets.engines.compiled import Kept, Models
from secure_datasets.engines.duckdb import DuckDB, NotExact, as_json
from secure_datasets.engines.published import State
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.facts.keys import line_of_everyone
from secure_datasets.questions.macros import Package
from secure_datasets.questions.rejections import flaw_of
from secure_datasets.sql import spelling
from secure_datasets.sql.writing import row_filter

SEEN, NOT_SEEN = "seen", "not seen"
NULL = "null"
Keys = dict[str, str | None]
Line = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A failed expectation about one row, seen or not, or about one value in it.

    why    the lines about the gates, from `why`
    rules  the deciding rules, with file and line
    """

    case: Case
    where: str
    user: str
    dataset: str
    row: str
    expected: str
    found: str
    why: tuple[str, ...]
    rules: tuple[str, ...]


class World:
    """The project over the given rows of a case."""

    def __init__(self, case: Case, kept: Kept, engine: Any) -> None:
        self.given, self.kept, self.engine = Given(case, kept), kept, engine
        for seed in kept.seeds:
            self.engine.put(seed.relation, seed.rows)
        models = Models(kept.models)
        models.put(self.engine, {seed.name: seed.relation for seed in kept.seeds})
        for name, rows in self.given.relations.items():
            self.engine.put(name, rows)
        self.relations = models.relations
        self._check_taken()

    @cached_property
    def package(self) -> Package:
        """Return the product's macros over these rows."""
        state = State(Path(), b"", self.kept.state, None)
        # Spark itself writes rows as JSON.
        written = as_json if isinstance(self.engine, DuckDB) else None
        return Package(state, self.engine, written, is_resolved=True)

    @property
    def config(self) -> dict[str, Any]:
        """Return the project's checked config."""
        return self.kept.state["documents"]["secure_datasets"]["config"]

    def _check_taken(self) -> None:
        """Raise CaseProblem if staging rejects a given row: it would give no right."""
        for table, rows in self.given.raw.items():
            key = self.given.tables[table]["key"]
            rejected = self.engine.ask(
                f"select {key} as id, rejection_reason as reason from"
                f" {self.relations[f'stg_{table}']} where rejection_reason is not null"
            )
            reasons = {str(each["id"]): each["reason"] for each in rejected}
            for row, values in rows:
                if reason := reasons.get(str(values["id"])):
                    raw = {name: value and str(value) for name, value in values.items()}
                    flaw = flaw_of(reason, table, raw)
                    raise CaseProblem(row.where, f"{table} rejects the row: {flaw}")

    def shown(self, dataset: str, user: int, columns: Iterable[str]) -> list[Line]:
        """Return the rows of a dataset that a user sees, with some columns."""
        listed = ", ".join(f"`{column}`" for column in columns) or "1 as the_row"
        return self.package["rows_of"](
            f"select {listed} from {self.relations[plan.PREFIX + dataset]}"
            f" where user_id = {user} or user_id is null"
        )

    def is_there(self, dataset: str, keys: Mapping[str, str | None]) -> bool:
        """Whether a row exists, whoever may see it."""
        ruling = plan.chain_of(dataset, self.config)[-1]
        entry = self.config["datasets"][ruling]
        if "query" in entry:
            built = Built(self.package, self.package["ref_of_model"])
            query = line_of_everyone(built, ruling, keys)
        else:
            terms = row_filter("base", keys)
            base = self.relations[entry["base"]]
            query = f"select 1 as is_there from {base} as base {terms} limit 1"
        return bool(self.engine.ask(query))

    def why(self, dataset: str, user: int, keys: Keys) -> dict[str, Any]:
        """Return the answer of `why`; raise QuestionError if the row does not exist."""
        self.package.printed.clear()
        self.package.why(
            str(user), dataset=dataset, row={**keys} or None, format="json"
        )
        (answer,) = json.loads("\n".join(self.package.printed))["answers"]
        return answer


@dataclass(frozen=True)
class Outcome:
    """The result of cases: the failures, and the cases that can't be judged."""

    failures: list[Failure]
    problems: list[CaseProblem]


def quick_engine() -> DuckDB:
    """Return a quick engine without any relation."""
    return DuckDB(fingerprints=True)


def judged(
    cases: Iterable[Case], kept: Kept, engine: Callable[[], Any] = quick_engine
) -> Outcome:
    """Judge cases; return their outcome.

    engine  returns a new engine; it is called once for each change of the given rows
    """
    outcome, world, made = Outcome([], []), None, ""
    for case in cases:
        try:
            # Consecutive cases of one file mostly share their rows.
            if world is None or case.world != made:
                world, made = World(case, kept, engine()), case.world
            found = [
                failure
                for expected in case.expected
                for failure in _Judge(world, case, expected).failures()
            ]
            outcome.failures.extend(found)
        except CaseProblem as problem:
            outcome.problems.append(problem)
        except NotExact as problem:
            said = f"DuckDB does not work it out as Spark would: {problem}"
            outcome.problems.append(CaseProblem(case.where, said))
        except QuestionError as problem:
            outcome.problems.append(CaseProblem(case.where, str(problem).rstrip(".")))
    return outcome


class _Judge:
    """One expectation over the rows of its case."""

    def __init__(self, world: World, case: Case, expected: Expected) -> None:
        self.world, self.case, self.expected = world, case, expected
        datasets = world.config["datasets"]
        if expected.dataset not in datasets:
            raise self._problem(
                f"there is no dataset '{expected.dataset}'"
                f"{spelling.listed(expected.dataset, datasets)}"
            )
        self.dataset = datasets[expected.dataset]
        self.key: list[str] = self.dataset["unique_key"]
        user = world.given.user(expected.user)
        if user is None:
            raise self._problem(f"no user '{expected.user}' is given")
        self.user = user

    def _problem(self, sentence: str, where: str = "") -> CaseProblem:
        return CaseProblem(where or self.expected.where, sentence)

    def failures(self) -> Iterator[Failure]:
        """Yield the failures of the expectation.

        Raises CaseProblem for an expectation that can't be judged.
        """
        seen = [(row, *self._parts(row)) for row in self.expected.seen]
        hidden = [(row, *self._parts(row)) for row in self.expected.hidden]
        named = dict.fromkeys(c for _, _, values in seen for c in values)
        shown = self.world.shown(
            self.expected.dataset, self.user, [*dict.fromkeys([*self.key, *named])]
        )
        for row, keys, values in seen:
            found = [line for line in shown if self._is(line, keys)]
            self._check_is_there(row, keys, bool(found))
            if not found:
                yield self._failure(row.where, keys, SEEN, NOT_SEEN)
            for column, value in values.items():
                wrong = [x for x in found if not _alike(x[column], value)]
                for line in wrong[:1]:
                    told = [f"{column} = {_told(x)}" for x in (value, line[column])]
                    yield self._failure(row.where, keys, *told, column)
        for row, keys, values in hidden:
            if values:
                raise self._problem(
                    f"'does_not_see' names a row by its key, {', '.join(self.key)},"
                    f" and not by '{next(iter(values))}'",
                    row.where,
                )
            found = [line for line in shown if self._is(line, keys)]
            self._check_is_there(row, keys, bool(found))
            if found:
                yield self._failure(row.where, keys, NOT_SEEN, SEEN)
        if self.expected.only:
            for line in shown:
                if not any(self._is(line, keys) for _, keys, _ in seen):
                    own = {column: _text(line[column]) for column in self.key}
                    if not any(self._is(line, keys) for _, keys, _ in hidden):
                        yield self._failure(
                            self.expected.where, own, f"{NOT_SEEN} (only: true)", SEEN
                        )

    def _parts(self, row: Row) -> tuple[Keys, Keys]:
        """Return the key and the expected values of a row.

        Raises CaseProblem for an unknown column, or a missing part of the key.
        """
        values = dict(row.values)
        if ONE_KEY in values:
            if len(self.key) != 1:
                key = ", ".join(self.key) or "no key: its one row is {}"
                raise self._problem(
                    f"a row of '{self.expected.dataset}' is named by {key}", row.where
                )
            values = {self.key[0]: values[ONE_KEY]}
        for column in (*self.key, *values):
            if column not in values:
                raise self._problem(
                    f"a row of '{self.expected.dataset}' is named by"
                    f" {', '.join(self.key)}, and '{column}' is missing",
                    row.where,
                )
            if column not in self.dataset["columns"]:
                raise self._problem(
                    f"'{self.expected.dataset}' has no column '{column}'"
                    f"{spelling.listed(column, self.dataset['columns'])}",
                    row.where,
                )
        keys = {column: values.pop(column) for column in self.key}
        return keys, values

    def _is(self, line: Line, keys: Keys) -> bool:
        return all(_alike(line[column], value) for column, value in keys.items())

    def _check_is_there(self, row: Row, keys: Keys, is_shown: bool) -> None:
        """Raise CaseProblem if no given row has a key: then nobody could see it."""
        if is_shown or self.world.is_there(self.expected.dataset, keys):
            return
        try:
            # An inactive row, or one hidden with its parent, exists: nobody sees it.
            self.world.why(self.expected.dataset, self.user, keys)
        except QuestionError as problem:
            said = str(problem).removeprefix("why: ").rstrip(".")
            raise self._problem(f"no such row is given: {said}", row.where) from None

    def _failure(
        self, where: str, keys: Keys, expected: str, found: str, column: str = ""
    ) -> Failure:
        answer = self.world.why(self.expected.dataset, self.user, keys)
        return Failure(
            self.case, where, self.expected.user, self.expected.dataset,
            ", ".join(f"{k}={_told(v)}" for k, v in keys.items()) or "the one row",
            expected, found, (answer["answer"], *_lines(answer, bool(column))),
            (*self._places(answer["closed_gate"], column),),
        )  # fmt: skip

    def _places(self, closed: str | None, column: str) -> Iterator[str]:
        """Yield the deciding rules, each with its file and line."""
        config, document = self.world.config, self.world.kept.state["documents"]
        places = document["secure_datasets"]["places"]
        if not places:
            # A macro of the project made the config, so the lines of rules are unknown.
            return
        ruling = plan.ruling_dataset(self.expected.dataset, config)
        policies = enumerate(config.get("policies") or ())
        if not column and closed not in ("row security", "conditions"):
            yield f"dataset '{ruling}': {places['datasets'][ruling]}"
        for number, policy in policies if closed in (None, "conditions") else ():
            dataset, masked = plan.parts_of(policy["resource"])
            if dataset == ruling and (masked or "") == column:
                verb = f"mask on {column}" if column else "condition"
                whom = plan.called_for(policy, '"')
                yield f"{verb} of {whom}: {places['policies'][str(number)]}"
        for number, entry in enumerate(config.get("row_security") or ()):
            if closed == "row security":
                place = places["row_security"][str(number)]
                yield f'row security "{entry["label"]}": {place}'


def _lines(answer: dict[str, Any], of_masks: bool) -> Iterator[str]:
    """Yield the lines of `why` about the gates, or about the masks, shortened."""
    if of_masks:
        for note in [
            *answer["masks"],
            *(each for below in answer["masks_below"] for each in below["masks"]),
        ]:
            yield f"  {note['says']}"
            yield from (f"      {each['says']}" for each in note["evidence"][:3])
        return
    width = max(len(gate["gate"]) for gate in answer["gates"])
    for gate in answer["gates"]:
        yield f"  {gate['gate']:{width}}  {gate['state']:9}  {gate['says']}"
        if gate["gate"] == answer["closed_gate"] or answer["seen"]:
            told = [x["says"] for x in gate["evidence"] if x["says"] != gate["says"]]
            yield from (f"      {says}" for says in told[:3])
    if helps := answer.get("what_helps"):
        yield f"  {helps}"


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _alike(found: Any, wanted: str | None) -> bool:
    """Whether a value equals its spelling: numbers by value, all else as text."""
    if wanted is None or not isinstance(found, int | float) or isinstance(found, bool):
        return _text(found) == wanted
    try:
        return Decimal(str(found)) == Decimal(wanted)
    except InvalidOperation:
        return False


def _told(value: Any) -> str:
    return NULL if value is None else str(_text(value))
