"""Reads and checks questions, with the methods for macros. Knows no dbt."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NoReturn

from secure_datasets.config.plan import trimmed
from secure_datasets.config.steering import without_steering
from secure_datasets.questions import (
    answers,
    missing,
    near_misses,
    notes,
    rights,
    support,
    text,
)
from secure_datasets.sql.spelling import listed

ID = re.compile(r"[+-]?[0-9]{1,19}")
LARGEST_ID = 2**63 - 1
FORMATS = ("text", "json")
# A null key in a row that is given as text.
NULL = "null"


class QuestionError(Exception):
    """The question is not valid; the message has the reason."""


class AccessQuestions:
    """Reads questions about access, and makes answers from the results of queries."""

    called_beside_id = staticmethod(text.called_beside_id)
    document = staticmethod(text.as_document)
    lines = staticmethod(text.as_lines)
    made_anew = staticmethod(text.made_anew)
    row_answer = staticmethod(answers.row_answer)
    object_answer = staticmethod(answers.object_answer)
    is_held = staticmethod(rights.is_held)
    is_linked = staticmethod(rights.is_linked)
    missed_key = staticmethod(rights.missed_key)
    missed_paths = staticmethod(near_misses.missed_paths)
    missed_links = staticmethod(near_misses.missed_links)
    named = staticmethod(notes.named)
    state = staticmethod(missing.state_of)
    nearest = staticmethod(missing.nearest)
    gained_keys = staticmethod(missing.gained_keys)
    rows_gained = staticmethod(missing.rows_gained)
    set_notes = staticmethod(missing.set_notes)
    in_charge = staticmethod(missing.in_charge)
    given_by = staticmethod(missing.given_by)
    row_support = staticmethod(support.row_support)
    object_support = staticmethod(support.object_support)
    add_names = staticmethod(support.add_names)

    def stop(self, sentence: str) -> NoReturn:
        """Stop with one sentence, without control characters of a terminal."""
        raise QuestionError(without_steering(sentence))

    def question(self, given: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        """Return a checked question: its subject, and its keys as text.

        `number_keys` are the keys of the dataset that are whole numbers.
        """

        if given["format"] not in FORMATS:
            self._stop_why(
                f"there is no format '{given['format']}'; known are text and json."
            )
        user = trimmed(str(given["user"] if given["user"] is not None else ""))
        if not user:
            self._stop_why(
                "'user' is missing: a user's id, login name or e-mail address."
            )
        kind, name = self._asked_about(given, config)
        is_row = kind == "dataset"
        part, other = ("row", "object") if is_row else ("object", "row")
        if given[other] not in (None, "", {}):
            self._stop_why(f"'{other}' says nothing of a {kind}: give its '{part}'.")
        known = config[f"{kind}s"][name]
        asked_by = known["unique_key" if is_row else "object_keys"]
        numbers = given["number_keys"] if is_row else asked_by
        keys = self._keys(given[part])
        what = f"{'a row' if is_row else 'an object'} of '{name}' is asked for"
        by = f"by {', '.join(asked_by) or 'no key: it has one row, so give {}'}"
        if keys is None:
            example = ", ".join(f"{k}={1 if k in numbers else '...'}" for k in asked_by)
            self._stop_why(
                f"'{part}' is '{given[part]}', which is no list of keys and values:"
                f" {what} {by}{f', such as {example}' if example else ''}."
            )
        for key in keys:
            if key not in asked_by:
                self._stop_why(f"{what} {by}, not by '{key}'.")
        for key in asked_by:
            if key not in keys:
                self._stop_why(f"{what} {by}, and '{key}' is missing.")
        ordered = {key: keys[key] for key in asked_by}
        for key in numbers:
            value = ordered.get(key)
            # A row's key may be null.
            if not _is_id(value) and not (is_row and value is None):
                no_id = f"number: {what} {by}" if is_row else "id"
                self._stop_why(f"'{key}' is '{value}', which is no {no_id}.")
            ordered |= {} if value is None else {key: str(int(value))}
        return {"user": user, "kind": kind, "name": name, "keys": ordered}

    def _stop_why(self, sentence: str) -> NoReturn:
        self.stop(f"why: {sentence}")

    def _asked_about(
        self, given: dict[str, Any], config: dict[str, Any]
    ) -> tuple[str, str]:
        """Return whether the subject is a dataset or a tier, and its name."""
        asked = {kind: given[kind] or None for kind in ("dataset", "tier")}
        if asked["dataset"] and asked["tier"]:
            self._stop_why(
                f"both 'dataset' and 'tier' are given, '{asked['dataset']}' and"
                f" '{asked['tier']}': ask about one of them."
            )
        if (asked["dataset"] is None) == (asked["tier"] is None):
            self._stop_why(
                "ask about a row, by 'dataset' and 'row', or about an object, by 'tier'"
                " and 'object'."
            )
        kind = "dataset" if asked["dataset"] else "tier"
        name, known = str(asked[kind]), config[f"{kind}s"]
        if name not in known:
            self._stop_why(f"there is no {kind} '{name}'{listed(name, known)}.")
        return kind, name

    def _keys(self, given: Any) -> dict[str, str | None] | None:
        """Return keys and values; a text has the form `key=value, key=value`."""
        if given is None or given == "":
            return {}
        if isinstance(given, str):
            parts = [part.partition("=") for part in given.split(",")]
            if not all(found for _, found, _ in parts):
                return None
            for key, times in Counter(key.strip() for key, _, _ in parts).items():
                if times > 1:
                    self.stop(f"why: '{key}' is given {times} times: give it once.")
            given = {key.strip(): value.strip() for key, _, value in parts}
            given = {k: None if v == NULL else v for k, v in given.items()}
        if not isinstance(given, dict):
            return None
        return {
            str(key): None if value is None else _as_sql_text(value)
            for key, value in given.items()
        }

    def no_user(self, user: str, operation: str) -> NoReturn:
        """Stop: nobody has this name."""
        self.stop(
            f"{operation}: there is no user with the id, login name or e-mail address"
            f" '{user}'."
        )

    def not_built(self, operation: str, names: list[str], schema: str) -> NoReturn:
        """Stop: the relation of the question does not exist."""
        first, *others = names
        more = f", and {len(others)} more that it asks are missing" if others else ""
        # A run may omit relations that only reviews read.
        is_review = operation == "review"
        first_run = "dbt build --select tag:review" if is_review else "dbt"
        self.stop(
            f"{operation}: there is no {first} in the schema '{schema}'{more}: run"
            f" {first_run} there first, or call this where it was run."
        )

    def nowhere(self, question: dict[str, Any], answer: dict[str, Any]) -> NoReturn:
        """Stop: the row or the object does not exist."""
        keys = notes.named(question["keys"]) or "the one row"
        of = f"{question['kind']} '{question['name']}'"
        known = answer["gates"][0]["says"]
        self.stop(f"why: {keys} of the {of} is nowhere: {known}.")


def _is_id(value: str | None) -> bool:
    """Whether a value is a whole number that an id may be."""
    is_number = ID.fullmatch(value or "") is not None
    return is_number and -LARGEST_ID - 1 <= int(value) <= LARGEST_ID


def _as_sql_text(value: Any) -> str:
    """Return a value as casting it to a string gives it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
