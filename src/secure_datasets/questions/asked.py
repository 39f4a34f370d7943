"""Reads and checks questions, with the methods for macros. Knows no dbt."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NoReturn

from secure_datasets.config.plan import PREFIX, trimmed
from secure_datasets.config.references import STAGED
from secure_datasets.config.steering import printable, without_steering
from secure_datasets.questions import notes, text
from secure_datasets.questions.explanations import access_explanations
from secure_datasets.questions.facts import answers
from secure_datasets.questions.facts.built import Built, Macros, Ref
from secure_datasets.questions.facts.people import people
from secure_datasets.questions.notes import Facts
from secure_datasets.questions.shown import Shown, without_past
from secure_datasets.sql.expressions import INTEGERS
from secure_datasets.sql.spelling import listed

ID = re.compile(r"[+-]?[0-9]{1,19}")
LARGEST_ID = 2**63 - 1
FORMATS = ("text", "json")
# A null key in a row that is given as text.
NULL = "null"


class QuestionError(Exception):
    """The question is not valid; the message has the reason."""


class AccessQuestions:
    """Reads questions about access, and answers them by the product's macros."""

    explanations = staticmethod(access_explanations)

    def stop(self, sentence: str) -> NoReturn:
        """Stop with one sentence, without control characters of a terminal."""
        raise QuestionError(without_steering(sentence))

    def question(self, given: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        """Return a checked question: its subject, and its keys as text.

        `nodes` are dbt's nodes, whose documentation has the types of keys.
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
        numbers = _whole_numbers(name, given["nodes"]) if is_row else asked_by
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

    def why(self, given: Facts, macros: Macros, ref: Ref) -> list[str]:
        """Return the texts to print: why users see a row or an object, or why not.

        given  what `question` reads
        """
        built = Built(macros, ref)
        question = self.question(given, built.config)
        kind, name = question["kind"], question["name"]
        macros["check_raw_schema"]()
        question["shown"] = answers.shown_by(built, kind, name)
        read = answers.relations_of(built, kind, name)
        ahead = macros["staged_since"]([question["shown"], *read])
        self._check_built("why", ahead["not_built"], macros)
        about = answers.about_row if kind == "dataset" else answers.about_object
        found = []
        for person in self.people(question["user"], "why", macros, ref):
            answer = about(built, name, question["keys"], person)
            if answer["is_nowhere"]:
                self._nowhere(question, answer)
            answer["staged_since"] = ahead["tables"]
            answer["made_since"] = ahead["stored"]
            answer["of_before"] = ahead["of_before"]
            found.append((person, answer))
        return self.told(question, found, given["format"])

    def told(
        self, question: Facts, found: list[tuple[Facts, Facts]], form: str
    ) -> list[str]:
        """Return the answers about each user as texts to print."""
        if form == "json":
            return [text.as_document(question, found)]
        lines = []
        for person, answer in found:
            lines += ["", *map(printable, text.as_lines(question, person, answer))]
        return [*lines, ""]

    def who(self, user: Any, given: Facts, macros: Macros, ref: Ref) -> None:
        """Print what the users of a name see.

        given  dbt's `nodes`, `run_query` and `print`; the variable `as_of`; and
               `has_schema`, whether a schema exists
        """
        say, table = given["print"], macros["print_table"]
        # The user comes first, so the check of the further relations follows below.
        users = macros["model_named"](f"{STAGED}users")
        if not given["has_schema"](users["database"], users["schema"]):
            self.stop(f"who: {text.not_built([users])}.")
        found = self.people(user, "who", macros, ref)
        unknown = without_past(macros, given["nodes"], given["as_of"])
        for person in found:
            say("")
            say(printable(text.as_user(person)))
            shown = Shown(macros, ref, person["user_id"], unknown)
            ahead = macros["staged_since"](shown.relations())
            self._check_built("who", ahead["not_built"], macros)
            if ahead["of_before"]:
                say(text.shown_before(ahead["tables"], ahead["stored"]))
            run_query = given["run_query"]
            # A user's rows are few: Spark estimates this from the statistics of the
            # access views.
            run_query("set spark.sql.cbo.enabled = true")
            headers = ["tier", "object", "access type", "through"]
            table(headers, shown.objects(run_query), align="left")
            table(["secure dataset", "tier", "rows"], shown.datasets(run_query))
            if unknown:
                say(text.past_unknown(unknown))
            if by_rule := shown.rules(run_query):
                headers = ["secure dataset", "rule", "what it does", "rows"]
                table(headers, by_rule, align="left")

    def people(
        self, user: Any, operation: str, macros: Macros, ref: Ref
    ) -> list[Facts]:
        """Return the users of a name; stop if there is none."""
        if found := people(Built(macros, ref), user):
            return found
        self.stop(
            f"{operation}: there is no user with the id, login name or e-mail address"
            f" '{str(user).strip()}'."
        )

    def _check_built(self, operation: str, names: list[str], macros: Macros) -> None:
        if missing := names and macros["not_built"](names):
            self.stop(f"{operation}: {text.not_built(missing)}.")

    def _nowhere(self, question: Facts, answer: Facts) -> NoReturn:
        """Stop: the row or the object does not exist."""
        keys = notes.named(question["keys"]) or "the one row"
        of = f"{question['kind']} '{question['name']}'"
        known = answer["gates"][0]["says"]
        self.stop(f"why: {keys} of the {of} is nowhere: {known}.")


def _whole_numbers(dataset: str, nodes: Facts) -> list[str]:
    """Return the columns of a secure dataset that its documentation has as numbers."""
    return [
        column
        for node in nodes.values()
        if node["resource_type"] == "model" and node["name"] == PREFIX + dataset
        for column, documented in (node.get("columns") or {}).items()
        if documented.get("data_type") in INTEGERS
    ]


def _is_id(value: str | None) -> bool:
    """Whether a value is a whole number that an id may be."""
    is_number = ID.fullmatch(value or "") is not None
    return is_number and -LARGEST_ID - 1 <= int(value) <= LARGEST_ID


def _as_sql_text(value: Any) -> str:
    """Return a value as casting it to a string gives it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
