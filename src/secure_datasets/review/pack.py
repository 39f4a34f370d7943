"""Writes the pages and tables of a review from streamed rows.

Names are untrusted: any user may choose some. Jinja2 escapes them; a page's content
security policy allows only scripts and styles with known digests; no cell of a table is
a formula. Rows come in the order of the objects, and only the rows of one page are in
memory.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from secure_datasets.questions.rejections import delivered, flaw_of, named_in
from secure_datasets.review.finding_rules import RULES, SEVERITIES
from secure_datasets.review.words import STATUSES, TOLD, URGENT

Row = dict[str, Any]
# The type and the id of an object.
Key = tuple[Any, Any]
ASSETS = Path(__file__).parent / "assets"
STYLES = ("simple.min.css", "pack.css")
SCRIPTS = ("sortable.auto.min.js", "search.js")
# The most rows on a page, and the most ways of a person; the table beside it has all.
MOST_SHOWN, MOST_WAYS = 500, 10
DAY = re.compile(r"(\d{4}-\d\d-\d\d)")
# The first characters of a formula in spreadsheets.
FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
PEOPLE = {
    "object_type": "object type", "object_id": "object id", "object_name": "object",
    "in_charge": "in charge",
    "user_id": "user id", "person": "person", "login_name": "login",
    "through": "through what", "elsewhere_in_full": "what it also gives",
    "since": "since", "last_login": "last login",
    "findings": "findings", "gravest": "gravest finding",
    "status": "status", "certified_until": "certified until",
    "put_off_until": "put off until", "last_decision": "last decision",
    "decides": "who else decides",
    "first": "first see to",
    # The reviewer fills these in; `seen` identifies the reviewed state of the access.
    "decision": "decision", "decided_by": "decided by", "decided_on": "decided on",
    "seen": "seen",
}  # fmt: skip
USERS = {
    "user_id": "user id", "person": "person", "login_name": "login",
    "last_login": "last login", "objects": "objects", "to_decide": "not certified",
}  # fmt: skip
FINDINGS = {
    "severity": "severity", "rule": "rule", "subject": "about", "named": "by name",
    "detail": "what is found", "who_acts": "who should act", "is_excused": "excused",
    "excused_until": "excused until", "excused_by": "who answers for it",
    "excused_because": "excused because",
}  # fmt: skip
# The columns of rejected rows.
REJECTED = {
    "table_name": "table", "raw_id": "row", "why": "why", "names": "what it names",
    "loaded_on": "loaded on",
}  # fmt: skip
# The remaining tasks about an access.
AFTER_FINDING = "to decide after what a finding asks"
REMOVED, PUT_OFF = "to be removed", "to be removed, put off"
UNREADABLE = "unreadable"
LEFT = (
    "to decide", AFTER_FINDING, "for others to decide", REMOVED, PUT_OFF, UNREADABLE,
)  # fmt: skip
# The remaining tasks that need a decision.
WAITS = ("to decide", AFTER_FINDING, "for others to decide", UNREADABLE)
# The texts on a page for the person in charge.
YOURS, NOTHING = "yours: keep or remove", "nothing to decide"
# The text for the person in charge if a finding needs an action before the decision.
YOURS_AFTER = "yours, once this is seen to"
MENDED_FIRST = "a decision is there, and can't be read: who runs the review mends it"
# The subjects of findings that count for no object of a pack.
PEOPLE_AS_A_WHOLE, NOT_LIVE = "people as a whole", "what is not live"
NUMBER_OF_ADMINS, NOT_JUDGED = (
    "the number of global administrators",
    "what is not judged",
)
ELSEWHERE = (
    *(PEOPLE_AS_A_WHOLE, NUMBER_OF_ADMINS, "memberships"),
    *("groups", "global roles", "reports", NOT_LIVE, NOT_JUDGED),
)
# The queries' columns with a person's findings, and with actions before a decision.
FOUND = ("found_everywhere", "found_here", "found_of_grants", "found_of_members")
ASKED = ("asked_here", "asked_of_grants", "asked_of_members")
# The people in charge of an object without any, and the most names that are listed.
GLOBAL, MOST_NAMED = "the global administrators", 5
IS_GLOBAL = "global administrator"
NO_LOGIN, NO_DATE = "never", "not known"


def shown(value: Any) -> str:
    """Return a value as text without invisible or direction-changing characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if text.isprintable():
        # A shortcut: the text has only visible characters and blanks.
        return text
    return "".join(
        " " if c.isspace() else "\ufffd" if unicodedata.category(c)[0] == "C" else c
        for c in text
    )


def dated(value: Any) -> Markup:
    """Return a value as text with marked days, which the style keeps on one line."""
    parts = DAY.split(shown(value))
    day = Markup('<span class="date">{}</span>')
    return Markup("").join(
        day.format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def cell(value: Any) -> str:
    """Return a value as the cell of a table, guarded against spreadsheet formulas."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = shown(value)
    return f"'{text}" if is_computed(text) else text


def is_computed(text: str) -> bool:
    """Whether a spreadsheet would compute a cell, with or without its guard."""
    # A shortcut: most cells begin with a letter or a digit, and some are long.
    if text[:1].isalnum():
        return False
    # Earlier guards also need a guard, so that exactly one can be removed again.
    return text.replace("'", " ").lstrip().startswith(FORMULAS)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(names: Iterable[str]) -> list[str]:
    return [(ASSETS / name).read_text(encoding="utf-8").strip() for name in names]


class Table:
    """A table in a file, written row by row."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.columns = columns
        # With a byte order mark, so that spreadsheets detect the encoding.
        self.file = path.open("w", encoding="utf-8-sig", newline="")
        self.writer = csv.writer(self.file, quoting=csv.QUOTE_ALL)
        self.writer.writerow(columns.values())

    def add(self, row: Row) -> None:
        """Add a row."""
        self.writer.writerow([cell(row.get(name)) for name in self.columns])

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *problem: object) -> None:
        self.file.close()


@dataclass(frozen=True)
class Campaign:
    """The campaign of a pack: a name and a deadline, if there are any, and its day."""

    name: str = ""
    deadline: date | None = None
    day: date | None = None

    @property
    def says(self) -> str:
        """Return the campaign in words: its deadline, and the days until then."""
        parts = [self.name] if self.name else []
        if self.deadline:
            parts.append(f"decide until {self.deadline}{self._left()}")
        return ": ".join(parts)

    def _left(self) -> str:
        if self.day is None or self.deadline is None:
            return ""
        days = (self.deadline - self.day).days
        if days < 0:
            return ", which is over"
        return f", {days} day{'s' * (days != 1)} from {self.day}"


class Pack:
    """A folder of pages, which replaces the earlier folder once it is complete."""

    def __init__(
        self,
        folder: Path,
        made: str,
        is_whole: bool = True,
        campaign: Campaign | None = None,
    ) -> None:
        self.campaign = campaign or Campaign()
        self.folder = folder
        self.beside = folder.with_name(f"{folder.name}.new")
        self.environment = Environment(
            loader=PackageLoader("secure_datasets.review"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=lambda value: value if isinstance(value, Markup) else shown(value),
            trim_blocks=True,
        )
        self.environment.filters["dated"] = dated
        styles, scripts = _read(STYLES), _read(SCRIPTS)
        self.environment.globals |= {
            "styles": [Markup(text) for text in styles],
            "scripts": [Markup(text) for text in scripts],
            "style_hashes": Markup(" ".join(map(_digest, styles))),
            "script_hashes": Markup(" ".join(map(_digest, scripts))),
            "made": made,
            "campaign": self.campaign.says,
            # Whether it covers everything, or only the objects of one person in charge.
            "is_whole": is_whole,
            "statuses": STATUSES,
            "urgent": URGENT,
            "rules": RULES,
            "told": TOLD,
            "severities": SEVERITIES,
            "place": lambda words, word: list(words).index(word),
            "anchor": _anchor,
            "yours": YOURS,
        }
        self.totals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.elsewhere: Counter[str] = Counter()
        # For each person in charge: the numbers of objects, accesses and decisions.
        self.progress: dict[tuple, Counter[str]] = {}
        self.administrators: list[tuple[int, str]] = []

    def write(
        self,
        objects: Iterable[Row],
        people: Iterable[Row],
        findings: Iterable[Row],
        users: Iterable[Row],
        administrators: Iterable[Row] = (),
        roles: Iterable[Row] = (),
        gravest: Iterable[Row] = (),
        of_ways: Iterable[Row] = (),
        charges: Iterable[Row] = (),
        rejected: Iterable[Row] | None = None,
        months: Iterable[Row] = (),
        months_not_told: Iterable[str] = (),
    ) -> Row:
        """Write the pack, and return its totals.

        objects   object_type, object_id, object_name, in_charge and not_listed, the
                  number of people whose rights are not listed; sorted by the first two
                  columns, the order of the objects
        people    the people with access to each object, in the order of the objects and
                  the persons
        findings  the findings, in the order of the objects
        users     all users with access, the most undecided accesses first
        administrators  user_id, person, login_name and is_dormant of each live global
                  administrator
        roles     object_type, role_name and permissions of each role
        gravest   the findings, excused ones last, then the gravest first
        of_ways   the findings about rows that give access to an object, if they are not
                  about the object; in the order of the objects
        charges   user_id and called of the people in charge, in the order of the
                  objects
        rejected  table_name, raw_id, reason, raw_row and loaded_on of rejected rows
                  that decide access; none if the pack can't list them
        months    day, accesses and people, for each day of the access history
        months_not_told  the tiers without an access history
        """
        self._begin(administrators, roles)
        people, found, beside = Grouped(people), Grouped(findings), Grouped(of_ways)
        charged, told = Grouped(charges), []
        for row in objects:
            key = _key(row)
            told.append(
                self._object(row, people.of(key), found.of(key), beside.of(key))
            )
            self._count(told[-1], charged.of(key))
        self._findings({_key(row) for row in told}, gravest, rejected)
        reach: Counter[int] = Counter()

        def counted() -> Iterator[Row]:
            for user in users:
                reach[user["objects"].bit_length()] += 1
                yield _told_user(user)

        first, number = self._table("users", USERS, counted())
        totals = {
            "objects": len(told), "rows": self.totals["rows"], "users": number,
            "severities": {name: self.totals[name] for name in SEVERITIES},
            "excused": self.totals["excused"],
            "statuses": {name: self.statuses[name] for name in STATUSES},
            "put_off": self.totals["put off"],
            "rejected": None if rejected is None else self.totals["rejected"],
            "found_of_objects": sum(row["findings"] for row in told),
            "found_elsewhere": {
                what: self.elsewhere[what] for what in ELSEWHERE if self.elsewhere[what]
            },
        }  # fmt: skip
        told.sort(key=lambda row: (row["object_type"], row["name"], row["object_id"]))
        self._page(
            "index", "index.html", self.campaign.name or "Access review",
            progress=_progress(self.progress), objects=told, totals=totals,
            users=first, bars=_bars(reach),
            months=_months(months, totals["rows"], number),
            months_not_told=list(months_not_told),
        )  # fmt: skip
        self._help(with_index=True)
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.beside.rename(self.folder)
        return totals

    def write_people(
        self,
        users: Iterable[Row],
        people: Iterable[Row],
        findings: Iterable[Row],
        administrators: Iterable[Row] = (),
        roles: Iterable[Row] = (),
    ) -> list[str]:
        """Write the pages of some people beside the existing pages; return their names.

        users     the people, in the order of their ids
        people    the accesses of each, as in `write`, with the objects' names; in the
                  order of the users
        findings  the findings about them, in the order of the users
        administrators, roles  as in `write`
        """
        self._begin(administrators, roles)
        access, found = Grouped(people, _user), Grouped(findings, _user)
        pages = [
            self._person(user, access.of(_user(user)), found.of(_user(user)))
            for user in map(_told_user, users)
        ]
        self._help(with_index=(self.folder / "index.html").exists())
        self.folder.mkdir(exist_ok=True)
        for path in self.beside.iterdir():
            path.replace(self.folder / path.name)
        self.beside.rmdir()
        return pages

    def _count(self, told: Row, charges: Iterable[Row]) -> None:
        """Count an object's decided accesses for each person in charge of it."""
        waits = sum(told["left"][what] for what in WAITS)
        people = [(row["user_id"], row["called"]) for row in charges]
        for person in people or [(None, GLOBAL)]:
            of_person = self.progress.setdefault(person, Counter())
            of_person["objects"] += 1
            of_person["accesses"] += told["people"]
            of_person["decided"] += told["people"] - waits

    def _begin(self, administrators: Iterable[Row], roles: Iterable[Row]) -> None:
        self.administrators = [
            (row["user_id"], _called_administrator(row)) for row in administrators
        ]
        self.environment.globals |= {
            "charged": GLOBAL,
            "named_administrators": self._named_administrators(None),
            "roles": list(roles),
        }
        if self.beside.exists():
            shutil.rmtree(self.beside)
        self.beside.mkdir(parents=True)

    def _named_administrators(self, but: int | None) -> str:
        """Return the names of the global administrators, except a person's."""
        names = [name for user, name in self.administrators if user != but]
        more = len(names) - MOST_NAMED
        named = ", ".join(names[:MOST_NAMED])
        return f"{named} and {more} more" if more > 0 else named

    def _named(self, who: str, user: int) -> str:
        """Return `who` decides or acts about a user's access, with names."""
        if IS_GLOBAL not in who:
            return who
        # A person never decides about their own access.
        names = self._named_administrators(user)
        if not names and "another" in who:
            names = "there is none, so ask who runs the review"
        return f"{who}: {names}" if names else who

    def _told(
        self, row: Row, findings: str, told: set[str], is_of_person: bool = False
    ) -> Row:
        """Return a person's access to an object, for pages and tables.

        findings      the page with the findings beside the person
        told          the rows whose further rights the page has listed; rows are added
        is_of_person  whether the page is the person's own: its reader may not be in
                      charge of all objects
        """
        access = _told_access(row)
        asked = _asked(access)
        access["elsewhere"] = []
        for each in row["elsewhere"] or ():
            access["elsewhere"].append(each | {"is_first": each["row"] not in told})
            told.add(each["row"])
        by_rows = {way["by_row"] for way in row["ways"] or ()}
        sentences = [self._told_asked(each, access, by_rows) for each in asked]
        if access["status"] in ("certified", REMOVED):
            decides = NOTHING
        elif access["status"] == UNREADABLE:
            decides = MENDED_FIRST
        else:
            yours = YOURS_AFTER if asked else YOURS
            in_charge = access["in_charge"] if is_of_person else yours
            decides = self._named(access["decides"] or in_charge, access["user_id"])
        return access | {
            "asked": list(zip(asked, sentences, strict=True)),
            "first": " ".join(sentences),
            "who_decides": decides,
            "found_on": findings,
        }

    def _told_asked(self, asked: Row, access: Row, by_rows: set[str]) -> str:
        """Return a sentence with the action that a finding needs before the decision.

        by_rows  the rows of the ways: a removal of the access removes them
        """
        who = asked["who_acts"]
        acts = access["in_charge"] if IS_GLOBAL not in who else who
        acts = f"Who sees to it: {self._named(acts, access['user_id'])}."
        if asked["rule"] == "toxic-pair":
            pair = asked["subject"].partition(": ")[2]
            sides = asked["sides"] or ()
            held = "; ".join(side["told"] for side in sides)
            removing = ", or write remove now, by which all of it goes."
            # The removal of all rows of one side breaks the pair.
            if not any(by_rows.issuperset(side["by_rows"]) for side in sides):
                removing = (
                    ": remove does not reach it, as each is held by a row that is no"
                    " way here."
                )
            return (
                f"Nobody should hold both {pair} on one"
                f" {access['object_type'].lower()}. Here they are held: {held}. Have"
                f" one of the two taken away first{removing} {acts}"
            )
        row, by = asked["subject"], asked["stands_in"]
        what = _kind_of(row)
        same = f"{access['person']} has the same"
        if asked["is_of_group"]:
            same = "everybody in the group has the same"
        unless = ""
        if asked["rule"] == "second-way":
            same += " in another way"
            unless = ", unless both are meant"
        # Members of a group may have the same by different rows.
        by = f"one of these rows: {by}" if asked["is_of_group"] and ", " in by else by
        return (
            f"This {what} is a duplicate: {same} by {by}. Have {row} switched off"
            f" first{unless}. To write remove is to end all of the access, and not the"
            f" duplicate alone. {acts}"
        )

    def _table(
        self, name: str, columns: dict[str, str], rows: Iterable[Row]
    ) -> tuple[list[Row], int]:
        """Write rows into a table; return the rows for a page, and the total number."""
        first, number = [], 0
        with Table(self.beside / f"{name}.csv", columns) as table:
            for row in rows:
                table.add(row)
                number += 1
                if len(first) < MOST_SHOWN:
                    first.append(row)
        return first, number

    def _person(self, user: Row, access: Iterable[Row], found: Iterable[Row]) -> str:
        page = f"person-{user['user_id']}"
        told: set[str] = set()
        rows = (self._told(row, f"{page}.html", told, True) for row in access)
        first, number = self._table(page, PEOPLE, rows)
        # The existing pack may be about different objects, or missing.
        links = {
            name: (self.folder / f"{name}.html").exists()
            for name in {"index", *(row["page"] for row in first)}
        }
        findings = list(found)
        self._page(
            "person", f"{page}.html", user["person"] or page,
            user=user, page=page, access=first, number=number, links=links,
            findings=findings[:MOST_SHOWN], number_of_findings=len(findings),
        )  # fmt: skip
        return page

    def _findings(
        self,
        objects: set[Key],
        gravest: Iterable[Row],
        rejected: Iterable[Row] | None,
    ) -> None:
        """Write all findings, in the order of `gravest`, and the rejected rows."""

        def counted() -> Iterator[Row]:
            for row in gravest:
                self.totals["excused" if row["is_excused"] else row["severity"]] += 1
                if not row["is_excused"] and (about := _elsewhere(row, objects)):
                    self.elsewhere[about] += 1
                yield row

        first, number = self._table("findings", FINDINGS, counted())
        unread: list[Row] = []
        if rejected is not None:
            rows = (_told_rejected(row) for row in rejected)
            unread, self.totals["rejected"] = self._table("rejected", REJECTED, rows)
        self._page(
            "findings", "findings.html", "Findings", findings=first, number=number,
            rejected=unread, number_of_rejected=self.totals["rejected"],
        )  # fmt: skip

    def _object(
        self,
        row: Row,
        people: Iterable[Row],
        findings: Iterable[Row],
        of_ways: Iterable[Row],
    ) -> Row:
        page, name = _page_of(row), _name_of(row)
        told = row | {"page": page, "name": name, "findings": 0, "excused": 0}
        decided: Counter[str] = Counter()
        left: Counter[str] = Counter()
        told_rows: set[str] = set()

        def counted() -> Iterator[Row]:
            for person in people:
                of_object = {n: row[n] for n in ("object_name", "in_charge")}
                access = self._told(person | of_object, "findings.html", told_rows)
                decided[access["status"]] += 1
                left[_left_to(access)] += 1
                yield access

        first, told["people"] = self._table(page, PEOPLE, counted())
        self.statuses += decided
        self.totals["put off"] += left[PUT_OFF]
        told["to_decide"] = told["people"] - decided["certified"]
        # A removal that is put off is not urgent before its day.
        told["urgent"] = sum(decided[status] for status in URGENT) - left[PUT_OFF]
        told["left"] = {what: left[what] for what in LEFT}
        found = []
        for finding in findings:
            told["excused" if finding["is_excused"] else "findings"] += 1
            if len(found) < MOST_SHOWN:
                found.append(finding)
        beside, number = [], 0
        for finding in of_ways:
            number += 1
            if len(beside) < MOST_SHOWN:
                beside.append(finding)
        self.totals["rows"] += told["people"]
        self._page(
            "object", f"{page}.html", name, object=told, people=first, findings=found,
            of_ways=beside, number_of_ways=number,
        )  # fmt: skip
        return told

    def _help(self, with_index: bool) -> None:
        title = "How to read this review"
        self._page("help", "help.html", title, with_index=with_index)

    def _page(self, template: str, name: str, title: str, **given: Any) -> None:
        printed = _printed(title, self.campaign)
        stream = self.environment.get_template(f"{template}.html").stream(
            title=title, printed=Markup(printed), printed_hash=Markup(_digest(printed)),
            **given,
        )  # fmt: skip
        stream.enable_buffering(64)
        with (self.beside / name).open("w", encoding="utf-8") as file:
            file.writelines(stream)


def _printed(title: str, campaign: Campaign) -> str:
    """Return the style that prints title, campaign and day on each sheet."""
    # Each character is escaped by its code, so no name ends the string or the element.
    told = [shown(each) for each in (title, campaign.name, campaign.day) if each]
    text = "".join(f"\\{ord(sign):06x}" for sign in ", ".join(told))
    return (
        f'@page {{ @top-left {{ content: "{text}"; }}'
        ' @top-right { content: counter(page) " / " counter(pages); } }'
    )


def _page_of(row: Row) -> str:
    # Only safe characters: the page of every type stays in the folder.
    kind = re.sub("[^a-z0-9]+", "-", row["object_type"].lower())
    return f"{kind}-{int(row['object_id'])}"


def _called(user: Row) -> str:
    """Return a user's name, in the queries' form for people in charge."""
    login = user["login_name"]
    # A login that is the person's only name is not repeated.
    beside = login if login and login != user["person"] else user["user_id"]
    return f"{user['person']} ({beside})"


def _called_administrator(user: Row) -> str:
    """Return an administrator's name, marked if dormant: they may never decide."""
    called = _called(user)
    return f"{called[:-1]}, dormant)" if user["is_dormant"] else called


def _name_of(row: Row) -> str:
    return row["object_name"] or f"(no name) {row['object_id']}"


def _bars(reach: Counter[int]) -> list[Row]:
    """Return the bars of a histogram: numbers of people by their number of objects.

    The range of each bar is twice as wide as the previous one, so that large numbers
    fit.
    """
    most = max(reach.values(), default=1)
    return [
        {
            "objects": _from_to(1 << (size - 1), (1 << size) - 1),
            "people": reach[size],
            "percent": _percent(reach[size], most),
        }
        for size in range(1, max(reach, default=0) + 1)
    ]


def _progress(progress: dict[tuple, Counter[str]]) -> list[Row]:
    """Return the progress of each person in charge, the most undecided first."""
    told = [
        {
            "person": called,
            **{name: of[name] for name in ("objects", "accesses", "decided")},
            "percent": _percent(of["decided"], max(of["accesses"], 1)),
        }
        for (_, called), of in progress.items()
    ]
    told.sort(key=lambda row: (row["decided"] - row["accesses"], row["person"]))
    return told[:MOST_SHOWN]


def _months(months: Iterable[Row], accesses: int, people: int) -> list[Row]:
    """Return the access history as bars, with the pack's own access as the last."""
    told = [dict(row) for row in months]
    if not told:
        return []
    told.append({"day": "in this pack", "accesses": accesses, "people": people})
    most = max(1, *(row["accesses"] for row in told))
    return [row | {"percent": _percent(row["accesses"], most)} for row in told]


def _percent(number: int, most: int) -> float:
    return round(100 * number / most, 1)


def _from_to(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _told_rejected(row: Row) -> Row:
    raw = delivered(row)
    why = flaw_of(row["reason"], row["table_name"], raw)
    return row | {"why": why, "names": named_in(raw)}


def _told_user(row: Row) -> Row:
    return row | {"last_login": row["last_login"] or NO_LOGIN}


def _anchor(finding: Row) -> str:
    """Return the anchor of a finding on a page: a digest of its rule and subject."""
    about = f"{finding['rule']}|{finding['subject']}"
    return f"f-{hashlib.sha256(about.encode()).hexdigest()[:12]}"


def _elsewhere(row: Row, objects: set[Key]) -> str | None:
    """Return a finding's kind of subject if it counts for no object; else none."""
    if row["raw_table"] == "user_group_members":
        return "memberships"
    if row["raw_table"] == "user_global_roles":
        return "global roles"
    if row["object_type"] == "User Group":
        return "groups"
    if row["object_type"] == "Report":
        return "reports"
    if row["object_id"] is not None:
        return None if _key(row) in objects else NOT_LIVE
    if row["user_id"] is not None:
        return PEOPLE_AS_A_WHOLE
    is_count = row["rule"] == "too-many-global-admins"
    return NUMBER_OF_ADMINS if is_count else NOT_JUDGED


def _kind_of(row: str) -> str:
    """Return the kind of a raw row: a membership, a global role or a grant."""
    table = row.partition(" ")[0]
    kinds = {"user_group_members": "membership", "user_global_roles": "global role"}
    return kinds.get(table, "grant")


def _told_login(row: Row) -> str:
    """Return the last login, marked if it was before the access began."""
    if row["last_login"] in (None, NO_DATE):
        return row["last_login"] or NO_LOGIN
    ways = row["ways"] or ()
    is_known = row["since"] is not None and all(way["since"] for way in ways)
    is_before = is_known and row["last_login"] < row["since"]
    return (
        f"{row['last_login']} (before this access)" if is_before else row["last_login"]
    )


def _told_since(since: str | None, ways: Iterable[Row]) -> str:
    """Return the first day of access, as far as it is known."""
    if since is None:
        return NO_DATE
    is_known = all(way["since"] is not None for way in ways)
    return since if is_known else f"{since} or earlier"


def _told_access(row: Row) -> Row:
    """Return a person's access to an object, as far as it follows from the row."""
    login, decided_on = _lower(row["login_name"] or ""), row["last_decided_on"]
    ways = [_told_way(way, login, decided_on) for way in row["ways"] or ()]
    found = [finding for name in FOUND for finding in row[name] or ()]
    is_put_off = row["status"] == REMOVED and row["put_off_until"] is not None
    return row | {
        "page": _page_of(row),
        "object_name": _name_of(row),
        "ways": ways[:MOST_WAYS],
        "number_of_ways": len(ways),
        "through": "; ".join(ways),
        "since": _told_since(row["since"], row["ways"] or ()),
        "last_login": _told_login(row),
        "found": found,
        "findings": "; ".join(finding["told"] for finding in found),
        "gravest": _gravest(found),
        "put_off_until": row["put_off_until"] if is_put_off else None,
    }


def _gravest(found: Iterable[Row]) -> str | None:
    """Return the severity of the gravest finding that is not excused."""
    grave = (finding["severity"] for finding in found if not finding["is_excused"])
    return min(grave, key=SEVERITIES.index, default=None)


def _asked(access: Row) -> list[Row]:
    """Return the findings that need an action before the access is decided."""
    if access["status"] in ("certified", REMOVED):
        return []
    return [each for name in ASKED for each in access[name] or ()]


def _left_to(access: Row) -> str | None:
    """Return the remaining task about an access, if there is one."""
    if access["status"] == "certified":
        return None
    if access["status"] == REMOVED:
        return PUT_OFF if access["put_off_until"] else REMOVED
    if access["status"] == UNREADABLE:
        return UNREADABLE
    if access["decides"]:
        return "for others to decide"
    return AFTER_FINDING if access["first"] else "to decide"


def _told_way(way: Row, login: str, decided_on: str | None) -> str:
    """Return a way to a right, with its date and its author.

    login       the login of the person with the access, in small letters
    decided_on  the day of the last decision: a later way is new
    """
    since = way["since"]
    is_new = since is not None and decided_on is not None and since > decided_on
    told = [way["way"]]
    if since:
        told.append(f"since {since}")
    for given, by in (("granted by", "granted_by"), ("made a member by", "member_by")):
        if way[by]:
            own = ", whose access it is" if _lower(way[by]) == login else ""
            told.append(f"{given} {way[by]}{own}")
    return f"{'new: ' if is_new else ''}{', '.join(told)}"


def _lower(text: str) -> str:
    """Return a text, trimmed, with ASCII letters in lower case."""
    text = text.strip()
    if text.isascii():
        return text.lower()
    return "".join(c.lower() if c.isascii() else c for c in text)


def _user(row: Row) -> tuple:
    return (row["user_id"],)


class Grouped:
    """Rows in the order of objects, or of users, handed out one by one."""

    def __init__(
        self, rows: Iterable[Row], key: Callable[[Row], tuple] | None = None
    ) -> None:
        self.rows, self.key = iter(rows), key or _key
        self.next = next(self.rows, None)

    def of(self, key: tuple) -> Iterator[Row]:
        """Yield the rows of a key; rows of earlier keys are skipped."""
        while self.next is not None and _place(self.key(self.next)) < _place(key):
            self._take()
        while self.next is not None and self.key(self.next) == key:
            yield self._take()

    def _take(self) -> Row:
        row = self.next
        assert row is not None
        self.next = next(self.rows, None)
        return row


def _key(row: Row) -> Key:
    return row["object_type"], row["object_id"]


def _place(key: tuple) -> tuple:
    # Rows without an object come first, as nulls do.
    return tuple((part is not None, part) for part in key)
