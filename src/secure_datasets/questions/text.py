"""Answers as text for people, and as one JSON document."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from secure_datasets.questions.notes import GATES, NOT_ASKED, Facts, Note, named

STEP = "    "
SUPPORT = "Last support: take any one of these rows away, and it is gone"
LEFT_OUT = (
    "Not listed: what is needed in any case (the user's row, the row asked about with"
    " its parents, the objects of its tier), and what a subquery of a condition reads."
)
NO_SINGLE_ROW = (
    "none: there are several ways, and either way alone is enough: no single row is the"
    " last support"
)
FOR_EVERYONE = "none: the row is for everyone"
UNTOLD = "not known: the config does not say all that it is seen by"
MEND = (
    "Mend what is there: each of these rows opens the tier by itself, once it is put"
    " right at its source"
)
TOLD_OF_CLOSED = ("gate", "says", "what_helps")
NO_NEW_ROW = (
    "none: no permission, membership or link that could be added opens the tier"
)


def called(person: Facts) -> str:
    """Return a user as people call them: by name, else login, else e-mail, else id."""
    name, login, user = full_name(person), person["login_name"], person["user_id"]
    if name and login:
        return f"{name} ({login}, user {user})"
    known = name or login or person.get("email")
    return f"{known} (user {user})" if known else f"User {user}"


def as_user(person: Facts) -> str:
    """Return the line above what a user sees: `User 8, Hyun-woo Park (hpark)`."""
    name, login = full_name(person), person["login_name"]
    known = name or login or person.get("email")
    if name and login:
        known = f"{name} ({login})"
    live = "" if person["is_live"] else ": not active, so nothing but the global events"
    return f"User {person['user_id']}{f', {known}' if known else ''}{live}"


def known_as(person: Facts) -> str:
    """Return a user for a second mention."""
    known = full_name(person) or person["login_name"] or person.get("email")
    return known or f"user {person['user_id']}"


def full_name(person: Facts) -> str:
    """Return first and last name, without a missing one."""
    return " ".join(filter(None, (person["first_name"], person["last_name"])))


def about(question: Facts) -> str:
    """Return the subject of a question."""
    keys = named(question["keys"]) or "the one row"
    of = "of" if question["kind"] == "dataset" else "of the tier"
    return f"{keys} {of} '{question['name']}'"


def sentence(question: Facts, person: Facts, answer: Facts) -> str:
    """Return the answer in one line."""
    verb = ("sees", "does not see")
    if question["kind"] == "tier":
        verb = ("has access to", "has no access to")
    says = f"{called(person)} {verb[not answer['seen']]} {about(question)}"
    if answer["seen"]:
        return f"{says}."
    return f"{says}: {answer['why']}."


def caveat(question: Facts, answer: Facts) -> list[str]:
    """Return what is to be known of an answer that is not yet what is shown."""
    if not answer["of_before"]:
        return []
    shown = f"'{question['name']}'" if question["kind"] == "dataset" else "its view"
    others = [name for name in answer["of_before"] if name != question["shown"]]
    is_shown_before = question["shown"] in answer["of_before"]
    of_before = [shown] * is_shown_before + others
    state = "Not as it is shown yet" if is_shown_before else "Not of one state"
    anew = made_anew(answer["staged_since"], answer["made_since"])
    return [
        f"{state}: since {' and '.join(of_before)} {_was(of_before)} made, {anew}. The"
        " answer is by the newest of each that is built, and may be that of neither"
        " state: run dbt, and ask again."
    ]


def made_anew(tables: list[str], stored: list[str]) -> str:
    """Return what was staged and made anew, in words."""
    parts = [f"other rows of {', '.join(tables)} were staged"] if tables else []
    if stored:
        parts.append(f"{', '.join(stored)} {_was(stored)} made anew")
    return ", and ".join(parts)


def shown_before(tables: list[str], stored: list[str]) -> str:
    """Return the line about what was made since a user's relations were made."""
    return (
        "Not as it is shown yet: since the secure datasets were made, or what else is"
        f" asked, {made_anew(tables, stored)}. What follows is by the newest of each"
        " that is built, and may be that of neither state: run dbt, and ask again."
    )


def past_unknown(unknown: dict[str, list[str]]) -> str:
    """Return the line about datasets without a past, each with its raw tables."""
    tables = dict.fromkeys(chain.from_iterable(unknown.values()))
    return (
        f"Not known: the past of {', '.join(tables)}. The feed holds the present alone;"
        " if its format keeps snapshots, build the state of the day. See docs/feeds.md"
        " of the package."
    )


def not_built(nodes: list[Facts], first_run: str = "dbt") -> str:
    """Return why nothing can be answered: the relations of nodes do not exist."""
    first, *others = nodes
    more = f", and {len(others)} more that it asks are missing" if others else ""
    return (
        f"there is no {first['name']} in the schema '{first['schema']}'{more}: run"
        f" {first_run} there first, or call this where it was run"
    )


def _was(names: list[str]) -> str:
    return "were" if len(names) > 1 else "was"


def as_lines(question: Facts, person: Facts, answer: Facts) -> list[str]:
    """Return an answer as lines for people."""
    lines = [sentence(question, person, answer), *caveat(question, answer), ""]
    width = max(len(gate["gate"]) for gate in answer["gates"])
    for gate in answer["gates"]:
        state = f"{gate['gate']:{width}}  {gate['state']:9}"
        lines.append(f"{STEP[:2]}{state}  {gate['says']}")
        lines += _evidence(gate["evidence"], 2)
    if answer["masks"]:
        lines += ["", "Masks", *_evidence(answer["masks"], 1)]
    for below in answer["masks_below"]:
        title = f"Masks of '{below['dataset']}', which it is over"
        lines += ["", title, *_evidence(below["masks"], 1)]
    if "last_support" in answer:
        rows = answer["last_support"]
        told = [f"{STEP}{support(row)}" for row in rows or []]
        if not told:
            is_public = answer["gates"][1]["state"] == NOT_ASKED
            told = [f"{STEP}{FOR_EVERYONE if is_public else NO_SINGLE_ROW}"]
        if rows is None:
            told = [f"{STEP}{UNTOLD}"]
        lines += ["", SUPPORT, *told, f"{STEP}{LEFT_OUT}"]
    if helps := answer["what_helps"]:
        lines += ["", f"{helps[0].upper()}{helps[1:]}."]
        if answer["closed_gate"] in GATES[GATES.index("tier") + 1 :]:
            lines += [
                f"The gate {each['gate']} is closed, too: {_says_and_helps(each)}."
                for each in answer["closed_beside"]
            ]
    if "mends" in answer:
        lines += ["", MEND, *_evidence(answer["mends"], 1)]
    if "nearest" in answer and answer["closed_gate"] == "tier":
        lines += ["", "Nearest missing grants"]
        if answer["uncounted"]:
            names = ", ".join(answer["uncounted"])
            lines.append(
                f"{STEP}Rows are not counted of what no run has built: {names}."
            )
        lines += [f"{STEP}{told}" for told in closed_with_sets(answer)]
        for each in answer["nearest"]:
            lines += [f"{STEP}{each['says']}", f"{STEP * 2}{each['comes_with']}"]
        lines += _evidence(answer["in_charge"], 1)
        if not answer["nearest"]:
            lines.append(f"{STEP}{NO_NEW_ROW}")
    if _has_reasons(answer["gates"]):
        lines += ["", f"Since when: secure-datasets timeline {person['user_id']}"]
    return lines


def closed_with_sets(answer: Facts) -> list[str]:
    """Return the sets that open the tier and leave a gate behind it closed."""
    found: dict[tuple, list[int]] = {}
    for number, item in enumerate(answer["nearest"], 1):
        for each in item["closed_beside"]:
            told = tuple(each[name] for name in TOLD_OF_CLOSED)
            found.setdefault(told, []).append(number)
    lines = []
    for told, numbers in found.items():
        which = sets_named(numbers, len(answer["nearest"]))
        verb = "leave" if len(numbers) > 1 else "leaves"
        closed = dict(zip(TOLD_OF_CLOSED, told, strict=True))
        lines.append(f"{which} {verb} {told[0]} closed: {_says_and_helps(closed)}.")
    return lines


def _says_and_helps(closed: Facts) -> str:
    """Return the text of a closed gate, and the ways to open it."""
    helps = closed["what_helps"]
    return f"{closed['says']}; {helps}" if helps else closed["says"]


def sets_named(numbers: list[int], count: int) -> str:
    """Return some of so many sets, by their numbers, in words."""
    *others, last = map(str, numbers)
    if not others:
        return f"Set {last}"
    if len(numbers) == count:
        return "All sets"
    return f"Sets {', '.join(others)} and {last}"


def _has_reasons(notes: list[Note]) -> bool:
    """Whether evidence has an existing row that does not count."""
    return any(note.get("reasons") or _has_reasons(note["evidence"]) for note in notes)


def support(row: Note) -> str:
    """Return a row of the last support: its name, and the gates that it opens."""
    called = f", {', '.join(row['names'])}" if row["names"] else ""
    return f"{row['says']}{called}: supports {', '.join(row['gates'])}"


def _evidence(notes: list[Note], depth: int) -> list[str]:
    lines = []
    for note in notes:
        says = note["says"]
        if "gate" in note:
            says = f"{note['gate']}, {note['state']}: {says}"
        lines.append(f"{STEP * depth}{says}")
        lines += _evidence(note["evidence"], depth + 1)
    return lines


def as_document(question: Facts, answers: list[tuple[Facts, Facts]]) -> str:
    """Return the answers about all users of a name as one JSON document."""
    found = [
        {
            "user": {
                key: person[key]
                for key in ("user_id", "login_name", "first_name", "last_name")
            }
            | {"is_live": person["is_live"]},
            "answer": sentence(question, person, answer),
            **answer,
        }
        for person, answer in answers
    ]
    asked: dict[str, Any] = {question["kind"]: question["name"]}
    part = "row" if question["kind"] == "dataset" else "object"
    asked[part] = question["keys"]
    document = {"question": {"user": question["user"], **asked}, "answers": found}
    return json.dumps(document, indent=2)
