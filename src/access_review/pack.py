"""The pages and tables of a review, from rows that are streamed.

Names come from whoever may name something. Jinja2 escapes them, no page has a script or
a style but those that its policy names by their digests, and a cell of a table is no
formula. Rows come in the order of the objects, and no more of them are held than a page
shows.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from access_review.words import RULES, STATUSES, TOLD, URGENT

Row = dict[str, Any]
# The type and the id of an object.
Key = tuple[Any, Any]
ASSETS = Path(__file__).parent / "assets"
STYLES = ("simple.min.css", "pack.css")
SCRIPTS = ("sortable.auto.min.js", "search.js")
# What a page shows, and of a person's ways; the table beside it has everything.
MOST_SHOWN, MOST_WAYS = 500, 10
# What a spreadsheet takes for a formula.
FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
PEOPLE = {
    "object_type": "object type", "object_id": "object id", "object_name": "object",
    "user_id": "user id", "person": "person", "login_name": "login",
    "through": "through what", "elsewhere": "what it also gives",
    "since": "since", "last_login": "last login",
    "findings": "findings", "status": "status", "certified_until": "certified until",
    "last_decision": "last decision", "decides": "who else decides",
    "first": "first see to",
    # What the reviewer fills in, and what tells that it is about this access.
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
SEVERITIES = ("high", "medium", "low")
# What may be left to be done about an access.
AFTER_FINDING = "to decide after what a finding asks"
LEFT = ("to decide", AFTER_FINDING, "for others to decide", "to be removed")
# Who is in charge where nobody else is, as the queries say it; and how many are named.
GLOBAL, MOST_NAMED = "the global administrators", 5
NO_LOGIN, NO_DATE = "never", "not known"


def shown(value: Any) -> str:
    """Return a value as text in which nothing hides, or turns what is beside it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(
        " " if c.isspace() else "\ufffd" if unicodedata.category(c)[0] == "C" else c
        for c in str(value)
    )


def cell(value: Any) -> str:
    """Return a value as the cell of a table, which no spreadsheet computes."""
    text = shown(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"'{text}" if is_computed(text) and not is_number else text


def is_computed(text: str) -> bool:
    """Say whether a spreadsheet would compute a cell, or one without its guard."""
    # Guards before it are counted in, so that each can be taken off again.
    return text.replace("'", " ").lstrip().startswith(FORMULAS)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(names: Iterable[str]) -> list[str]:
    return [(ASSETS / name).read_text(encoding="utf-8").strip() for name in names]


class Table:
    """A table in a file, written row by row."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.columns = columns
        # With the mark by which spreadsheets know the encoding.
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


class Pack:
    """A folder of pages, in the place of the one before as soon as it is whole."""

    def __init__(self, folder: Path, made: str, is_whole: bool = True) -> None:
        self.folder = folder
        self.beside = folder.with_name(f"{folder.name}.new")
        self.environment = Environment(
            loader=PackageLoader("access_review"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=lambda value: value if isinstance(value, Markup) else shown(value),
            trim_blocks=True,
        )
        styles, scripts = _read(STYLES), _read(SCRIPTS)
        self.environment.globals |= {
            "styles": [Markup(text) for text in styles],
            "scripts": [Markup(text) for text in scripts],
            "style_hashes": Markup(" ".join(map(_digest, styles))),
            "script_hashes": Markup(" ".join(map(_digest, scripts))),
            "made": made,
            # Whether it is of everything, and not of what somebody is in charge of.
            "is_whole": is_whole,
            "statuses": STATUSES,
            "urgent": URGENT,
            "rules": RULES,
            "told": TOLD,
            "severities": SEVERITIES,
            "place": lambda words, word: list(words).index(word),
        }
        self.totals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        # What the page of all findings shows of them.
        self.gravest: dict[str, list[Row]] = {name: [] for name in SEVERITIES}

    def write(
        self,
        objects: Iterable[Row],
        people: Iterable[Row],
        findings: Iterable[Row],
        users: Iterable[Row],
        administrators: Iterable[Row] = (),
        roles: Iterable[Row] = (),
    ) -> Row:
        """Write the pack, and return its totals.

        objects   object_type, object_id, object_name, in_charge, in the order of the
                  first two, as what follows is
        people    of each object, those who have access; persons in their order
        findings  what is found, in the order of the objects; what is about none of
                  these is on the page of all findings alone
        users     everybody who has access, those first of whom most is to be decided
        administrators  user_id, person and login_name of each live global administrator
        roles     object_type, role_name and permissions of each role
        """
        self._begin(administrators, roles)
        told = list(self._objects(objects, Grouped(people), findings))
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
        }  # fmt: skip
        told.sort(key=lambda row: (row["object_type"], row["name"], row["object_id"]))
        self._page(
            "index", "index.html", "Access review",
            objects=told, totals=totals, users=first, bars=_bars(reach),
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
        """Write the pages of some people beside what is there; return their names.

        users     the people, in the order of their ids, as what follows is
        people    what each has access to, as in `write`, with the objects' names
        findings  what is found of them
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

    def _begin(self, administrators: Iterable[Row], roles: Iterable[Row]) -> None:
        rows = list(administrators)
        self.environment.globals |= {
            "charged": GLOBAL,
            "administrators": [_called(row) for row in rows[:MOST_NAMED]],
            "further_administrators": max(len(rows) - MOST_NAMED, 0),
            "roles": list(roles),
        }
        if self.beside.exists():
            shutil.rmtree(self.beside)
        self.beside.mkdir(parents=True)

    def _table(
        self, name: str, columns: dict[str, str], rows: Iterable[Row]
    ) -> tuple[list[Row], int]:
        """Write rows into a table; return what a page shows of them, and how many."""
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
        rows = map(_told_access, access)
        first, number = self._table(page, PEOPLE, rows)
        # Of the pack that is there: it may be of others, or none.
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

    def _objects(
        self, objects: Iterable[Row], people: Grouped, findings: Iterable[Row]
    ) -> Iterator[Row]:
        with Table(self.beside / "findings.csv", FINDINGS) as table:
            found = Grouped(self._counted(findings, table))
            for row in objects:
                key = _key(row)
                yield self._object(row, people.of(key), found.of(key))
            found.rest()
        first = [row for name in SEVERITIES for row in self.gravest[name]][:MOST_SHOWN]
        number = self.totals["findings"]
        self._page(
            "findings", "findings.html", "Findings", findings=first, number=number
        )

    def _counted(self, findings: Iterable[Row], table: Table) -> Iterator[Row]:
        for row in findings:
            table.add(row)
            self.totals["findings"] += 1
            if len(self.gravest[row["severity"]]) < MOST_SHOWN:
                self.gravest[row["severity"]].append(row)
            self.totals["excused" if row["is_excused"] else row["severity"]] += 1
            yield row

    def _object(self, row: Row, people: Iterable[Row], findings: Iterable[Row]) -> Row:
        page, name = _page_of(row), _name_of(row)
        told = row | {"page": page, "name": name, "findings": 0, "excused": 0}
        decided: Counter[str] = Counter()
        left: Counter[str] = Counter()

        def counted() -> Iterator[Row]:
            for person in people:
                of_object = {n: row[n] for n in ("object_name", "in_charge")}
                access = _told_access(person | of_object)
                decided[access["status"]] += 1
                left[_left_to(access)] += 1
                yield access

        first, told["people"] = self._table(page, PEOPLE, counted())
        self.statuses += decided
        told["to_decide"] = told["people"] - decided["certified"]
        told["urgent"] = sum(decided[status] for status in URGENT)
        told["left"] = {what: left[what] for what in LEFT}
        found = []
        for finding in findings:
            told["excused" if finding["is_excused"] else "findings"] += 1
            if len(found) < MOST_SHOWN:
                found.append(finding)
        self.totals["rows"] += told["people"]
        self._page(
            "object", f"{page}.html", name, object=told, people=first, findings=found
        )
        return told

    def _help(self, with_index: bool) -> None:
        title = "How to read this review"
        self._page("help", "help.html", title, with_index=with_index)

    def _page(self, template: str, name: str, title: str, **given: Any) -> None:
        stream = self.environment.get_template(f"{template}.html").stream(
            title=title, **given
        )
        stream.enable_buffering(64)
        with (self.beside / name).open("w", encoding="utf-8") as file:
            file.writelines(stream)


def _page_of(row: Row) -> str:
    return f"{row['object_type'].lower().replace(' ', '-')}-{row['object_id']}"


def _called(user: Row) -> str:
    """Return what a user is called, as the queries name who is in charge."""
    return f"{user['person']} ({user['login_name'] or user['user_id']})"


def _name_of(row: Row) -> str:
    return row["object_name"] or f"(no name) {row['object_id']}"


def _bars(reach: Counter[int]) -> list[Row]:
    """Return how many people have access to how much, as the bars of a picture.

    Each bar is of twice as many objects as the one before, so that many fit, too.
    """
    most = max(reach.values(), default=1)
    return [
        {
            "objects": _from_to(1 << (size - 1), (1 << size) - 1),
            "people": reach[size],
            "percent": round(100 * reach[size] / most, 1),
        }
        for size in range(1, max(reach, default=0) + 1)
    ]


def _from_to(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _told_user(row: Row) -> Row:
    return row | {"last_login": row["last_login"] or NO_LOGIN}


def _told_since(since: str | None, ways: Iterable[Row]) -> str:
    """Return since when there is access, as far as it is known."""
    if since is None:
        return NO_DATE
    is_known = all(way["since"] is not None for way in ways)
    return since if is_known else f"{since} or earlier"


def _told_access(row: Row) -> Row:
    """Return a person's access to an object, as pages and tables tell it."""
    ways = [_told_way(way, row["last_decided_on"]) for way in row["ways"] or ()]
    return row | {
        "page": _page_of(row),
        "object_name": _name_of(row),
        "ways": ways[:MOST_WAYS],
        "number_of_ways": len(ways),
        "through": "; ".join(ways),
        "since": _told_since(row["since"], row["ways"] or ()),
        "last_login": row["last_login"] or NO_LOGIN,
        "first": _told_first(row),
    }


def _told_first(row: Row) -> str:
    """Say which findings ask for something before the access is decided about."""
    rules = list(dict.fromkeys(filter(None, (row["asked_first"] or "").split(", "))))
    if not rules or row["status"] in ("certified", "to be removed"):
        return ""
    return " and ".join(rules)


def _left_to(access: Row) -> str | None:
    """Say what is left to be done about an access, if anything."""
    if access["status"] == "certified":
        return None
    if access["status"] == "to be removed":
        return "to be removed"
    if access["decides"]:
        return "for others to decide"
    return AFTER_FINDING if access["first"] else "to decide"


def _told_way(way: Row, decided_on: str | None) -> str:
    """Return a way to a right with its day; one after the last decision is new."""
    since = way["since"]
    is_new = since is not None and decided_on is not None and since > decided_on
    day = f", since {since}" if since else ""
    return f"{'new: ' if is_new else ''}{way['way']}{day}"


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
        """Yield the rows of an object; those of what comes before are passed over."""
        while self.next is not None and _place(self.key(self.next)) < _place(key):
            self._take()
        while self.next is not None and self.key(self.next) == key:
            yield self._take()

    def rest(self) -> None:
        """Pass over what is left."""
        while self.next is not None:
            self._take()

    def _take(self) -> Row:
        row = self.next
        assert row is not None
        self.next = next(self.rows, None)
        return row


def _key(row: Row) -> Key:
    return row["object_type"], row["object_id"]


def _place(key: tuple) -> tuple:
    # What is about no object comes first, as nulls do.
    return tuple((part is not None, part) for part in key)
