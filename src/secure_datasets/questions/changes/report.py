"""The changes between two states as Markdown, for a pull request or a mail.

Names are untrusted: no name breaks the page, makes a link, or notifies a person. The
report has no e-mail address, and the same facts give the same bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
NOTHING = "No one's access changes."
# The characters besides letters and digits that need no escape.
PLAIN = " ,-()'."
# Sites make links of these signs even if Markdown escapes them.
LOOKALIKES = {"@": "\uff20", "#": "\uff03"}
IDENTIFIERS = re.compile(r"[A-Za-z0-9_]+(=-?[0-9]+)?(, [A-Za-z0-9_]+=-?[0-9]+)*")
# An underscore between letters or digits: Markdown shows it as it is.
WITHIN_WORDS = re.compile(r"(?<=[^\W_])_(?=[^\W_])")
ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.I)
# A word with an at sign, or a lookalike, between two characters.
MAIL = re.compile(r"\S[@\uff20\ufe6b]\S")
MAIL_TOLD = "(an e-mail address)"
LONGEST_NAME = 80
PATHS_SHOWN = 3
CAUSES_SHOWN = 5
# The rows of each table in the short report.
SHOWN_IN_SHORT = 3


def escaped(text: Any) -> str:
    """Return a name escaped for Markdown, on one line, without e-mail addresses."""
    line = "".join(
        c if c.isprintable() and unicodedata.category(c) != "Cf" else "\ufffd"
        for c in " ".join(
            MAIL_TOLD if MAIL.search(word) else word for word in str(text).split()
        )
    )
    if len(line) > LONGEST_NAME:
        line = f"{line[: LONGEST_NAME - 3]}..."
    line = ADDRESS.sub(" ", line)
    shown = [
        c if c.isalnum() or c in PLAIN else LOOKALIKES.get(c, f"&#{ord(c)};")
        for c in line
    ]
    for found in WITHIN_WORDS.finditer(line):
        shown[found.start()] = "_"
    # A sign, or a number with a sign after it, would begin a list.
    at = len(line) - len(line.lstrip("0123456789"))
    if line[at : at + 1] and line[at] in PLAIN.strip():
        shown[at] = f"&#{ord(line[at])};"
    return "".join(shown)


def code(text: Any) -> str:
    """Return a name from a config or the database, as code if it is an identifier."""
    return f"`{text}`" if IDENTIFIERS.fullmatch(str(text)) else escaped(text)


def user_name(row: Row) -> str:
    """Return a user's name in the report, never an e-mail address."""
    if row["user_id"] is None:
        return "everyone"
    names = [row.get("first_name"), row.get("last_name")]
    name = " ".join(part for part in names if part) or row.get("login_name") or ""
    user = f"user {row['user_id']}"
    return user if not name or MAIL.search(name) else f"{escaped(name)} ({user})"


def object_name(keys: str, names: Mapping[str, str | None]) -> str:
    """Return an object's known names and its keys."""
    found = [names[key] for key in keys.split(", ") if names.get(key)]
    said = code(keys) if keys else "the one object"
    return f"{escaped(' in '.join(found))} ({said})" if found else said


def table(headers: list[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Return a table; its cells are Markdown already."""
    lines = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [*lines, ""]


def counted(number: int, what: str) -> str:
    """Return a number with the word for what it counts."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def signed(gained: int, lost: int) -> str:
    """Return the numbers gained and lost as one cell, such as `+3 -1`."""
    return " ".join(
        f"{sign}{number:,}" for sign, number in (("+", gained), ("-", lost)) if number
    )


def left_out(
    shown: int, number: int, what: str, where: str = "access_changes"
) -> list[str]:
    """Return how much a table leaves out, and the name of the full table."""
    if shown >= number:
        return []
    return [f"{counted(number - shown, what)} more left out: see `{where}`.", ""]


def path_text(path: Row) -> str:
    """Return one path in words."""
    parts = [path["path_kind"]]
    if path.get("permission_name"):
        parts.append(path["permission_name"])
    if path.get("role_name"):
        parts.append(f"role {path['role_name']}")
    if path.get("group_chain"):
        parts.append(f"through {path['group_chain']}")
    by = f"by {code(path['grant_table'])} {path['grant_id']}"
    return ", ".join([*map(escaped, parts), by])


def cause_text(cause: str, how: str | None = None) -> str:
    """Return a cause: a raw row with its change and how it went, or one word."""
    table_name, _, rest = (f"{cause}, {how}" if how else cause).partition(" ")
    return f"{code(table_name)} {escaped(rest)}" if rest else escaped(cause)


def some(texts: list[str], number: int, what: str) -> str:
    """Return the first `number` texts, and how many more there are."""
    more = len(texts) - number
    shown = "; ".join(texts[:number])
    return f"{shown}; {counted(more, what)} more" if more > 0 else shown


def change_row(row: Row, names: Mapping[str, str | None]) -> list[str]:
    """Return the cells of one change of access."""
    paths = row["paths_before"] if row["change"] == "lost" else row["paths_after"]
    what = row["change"]
    if what == "other access_type":
        types = (row["access_type_before"], row["access_type_after"])
        what = f"{escaped(types[0])} becomes {escaped(types[1])}"
    return [
        user_name(row),
        what,
        code(row["tier"]),
        object_name(row["object_keys"], names),
        some([path_text(path) for path in paths or ()], PATHS_SHOWN, "path"),
        some(list(map(cause_text, row["causes"], row["how"])), CAUSES_SHOWN, "row"),
    ]


def causes_of_rows(row: Row) -> str:
    """Return the causes of a change of rows: their kinds and the raw rows."""
    kinds = escaped(", ".join(row["causes"]))
    shown = [cause_text(cause) for cause in row["cause_rows"][:CAUSES_SHOWN]]
    more = len(row["cause_rows"]) - len(shown) + row["cause_rows_left_out"]
    if more:
        shown.append(f"{counted(more, 'row')} more")
    return f"{kinds}: {'; '.join(shown)}" if shown else kinds


def totals(facts: Mapping[str, Any]) -> str:
    """Return one sentence with all totals."""
    found = facts["totals"]
    said = ["no one gains or loses access to an object"]
    if found["gained"] or found["lost"]:
        said = [
            f"{counted(found[users], 'user')} {verb}{'s' if found[users] == 1 else ''}"
            f" access to {counted(found[objects], 'object')}"
            for verb, users, objects in (
                ("gain", "users_gaining", "objects_gained"),
                ("lose", "users_losing", "objects_lost"),
            )
        ]
    if found["other"]:
        comes = "comes" if found["other"] == 1 else "come"
        said.append(f"{counted(found['other'], 'right')} {comes} in another way")
    if facts["are_rows_compared"]:
        rows = facts["row_totals"]
        said.append(
            f"{counted(rows['rows_gained'], 'row')} of secure datasets are gained and"
            f" {rows['rows_lost']:,} lost"
        )
        if rows["values_newly_covered"] or rows["values_newly_shown"]:
            said.append(
                f"{counted(rows['values_newly_covered'], 'value')} newly masked and"
                f" {rows['values_newly_shown']:,} newly shown"
            )
        if rows["values_masked_otherwise"]:
            masked = counted(rows["values_masked_otherwise"], "value")
            said.append(f"{masked} masked by something else")
    sentence = f"{', '.join(said)}."
    return sentence[0].upper() + sentence[1:]


def markdown(facts: Mapping[str, Any]) -> str:
    """Return the report.

    facts  the result of `report_facts`: before, after, totals, row_totals,
           are_rows_compared, not_there, not_built, columns, are_past, objects (each
           with the number `in_all`), datasets, users, users_in_all, changes,
           row_changes, limits, limits_about_nothing
    """
    about = f"`{facts['before']}` and `{facts['after']}`"
    lines = [f"# What changes between {about}", ""]
    if not facts["totals"]["all"] and not facts["row_totals"]["users"]:
        return (
            "\n".join([*lines, NOTHING, *_limits(facts), *_notes(facts)]).rstrip()
            + "\n"
        )
    names = {row["object_keys"]: row["object_name"] for row in facts["objects"]}
    lines += [totals(facts), ""]
    lines += _limits(facts)
    for kind, title in (
        ("meta_data_source_id", "data source"),
        ("project_id", "project"),
    ):
        rows = [row for row in facts["objects"] if row["kind"] == kind]
        if rows:
            lines += [f"## By {title}", ""]
            lines += table(
                [
                    title.capitalize(),
                    "Users gaining",
                    "Users losing",
                    "Come in another way",
                ],
                (
                    [
                        object_name(r["object_keys"], names),
                        r["users_gaining"],
                        r["users_losing"],
                        r["others"],
                    ]
                    for r in rows
                ),
            )
            number = next(r["in_all"] for r in rows)
            lines += left_out(len(rows), number, title)
    if facts["datasets"]:
        lines += ["## By dataset", ""]
        lines += table(
            ["Dataset", "Users", "Rows", "Values masked", "Values shown"],
            (
                [
                    code(row["dataset"]),
                    f"{row['users']:,}",
                    signed(row["rows_gained"], row["rows_lost"]),
                    f"{row['values_newly_covered']:,}",
                    f"{row['values_newly_shown']:,}",
                ]
                for row in facts["datasets"]
            ),
        )
        number = facts.get("datasets_in_all", len(facts["datasets"]))
        lines += left_out(len(facts["datasets"]), number, "dataset", "row_changes")
        told = {row["dataset"] for row in facts["datasets"]}
        for each in facts["columns"]:
            if each["dataset"] in told:
                lines += [_other_columns(each), ""]
    lines += ["## By user", ""]
    lines += table(
        ["User", "Objects", "Rows", "Values masked", "Values shown"],
        (
            [
                user_name(row),
                signed(row["gained"], row["lost"]),
                signed(row["rows_gained"], row["rows_lost"]),
                f"{row['values_newly_covered']:,}",
                f"{row['values_newly_shown']:,}",
            ]
            for row in facts["users"]
        ),
    )
    lines += left_out(len(facts["users"]), facts["users_in_all"], "user")
    if facts["changes"]:
        lines += ["## The changes", ""]
        lines += table(
            ["User", "Change", "Tier", "Object", "Through", "Cause"],
            (change_row(row, names) for row in facts["changes"]),
        )
        lines += left_out(len(facts["changes"]), facts["totals"]["all"], "change")
    if facts["row_changes"]:
        lines += ["## The rows", ""]
        lines += table(
            ["User", "Dataset", "Rows", "Values masked", "Values shown", "Cause"],
            (
                [
                    user_name(row),
                    code(row["dataset"]),
                    signed(row["rows_gained"], row["rows_lost"]),
                    f"{row['values_newly_covered']:,}",
                    f"{row['values_newly_shown']:,}",
                    causes_of_rows(row),
                ]
                for row in facts["row_changes"]
            ),
        )
        number = facts["row_totals"]["changes"]
        lines += left_out(len(facts["row_changes"]), number, "change", "row_changes")
    lines += _notes(facts)[1:]
    return "\n".join(lines).rstrip() + "\n"


def _other_columns(each: Row) -> str:
    """Return a sentence about the columns that only one state of a dataset shows."""
    said = [
        f"{verb} {', '.join(map(code, each[which]))}"
        for which, verb in (("new", "newly shows"), ("gone", "no longer shows"))
        if each[which]
    ]
    return f"{code(each['dataset'])} {' and '.join(said)}."


def _limits(facts: Mapping[str, Any]) -> list[str]:
    """Return the section of limits: exceeded ones, and ones about nothing."""
    exceeded = [row for row in facts["limits"] if row["is_exceeded"]]
    if not exceeded and not facts["limits_about_nothing"]:
        return []
    lines = ["## Limits", ""]
    for row in exceeded:
        said = (
            f"approved by {escaped(row['approver'])}"
            if row["approver"]
            else "**not approved**"
        )
        lines.append(
            f"- {escaped(row['limit_name'])}: {escaped(row['found'])}, where"
            f" {escaped(row['allowed'])} may; {said}. Changes `{row['changes']}`."
        )
    lines += [
        f"- Passed over. {escaped(each)}" for each in facts["limits_about_nothing"]
    ]
    return [*lines, ""]


def _notes(facts: Mapping[str, Any]) -> list[str]:
    notes = []
    if facts["are_past"]:
        notes.append("Past states are built by the definitions of today.")
    if not facts["are_rows_compared"]:
        notes.append(
            "Rows are not compared, and limits of datasets not asked: at least one of"
            " the states has no secure dataset."
        )
        return _paragraphs(notes)
    if facts["not_built"]:
        names = ", ".join(
            f"`{name}` (not in {code(schema)})"
            for name, schema in facts["not_built"].items()
        )
        notes.append(
            f"Not compared, since both states have them and one has not built them:"
            f" {names}."
        )
    if facts["not_there"]:
        names = ", ".join(f"`{name}`" for name in facts["not_there"])
        notes.append(
            f"Not compared, and limits of them not asked, since neither state has them"
            f" built: {names}."
        )
    return _paragraphs(notes)


def _paragraphs(notes: Iterable[str]) -> list[str]:
    return [line for note in notes for line in ("", note)]


def in_short(facts: Mapping[str, Any]) -> str:
    """Return the report on one screen: first rows of each table, no single changes."""
    kinds = dict.fromkeys(row["kind"] for row in facts["objects"])
    objects = [
        row
        for kind in kinds
        for row in [r for r in facts["objects"] if r["kind"] == kind][:SHOWN_IN_SHORT]
    ]
    cut = {key: facts[key][:SHOWN_IN_SHORT] for key in ("users", "datasets")}
    cut |= {"objects": objects, "changes": [], "row_changes": []}
    cut["datasets_in_all"] = len(facts["datasets"])
    return f"{markdown({**facts, **cut})}\nAll of it: target/access_changes.md\n"
