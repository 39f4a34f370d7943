"""Random lives of an application, delivered in each kind of feed.

A life has the rows at the end of each day: users, groups, memberships and grants that
come, change, are switched off, go and return. Each kind of feed delivers the same life
in its own form, with random faults: wrong clocks of rows, several changes within one
moment, and unfinished loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from oracle.contract import TABLES

DAYS = 7
# Lives share no ids.
APART = 1000
TABLES_OF_LIVES = (
    *("users", "user_groups", "user_group_members", "data_source_permissions"),
    *("project_permissions", "user_global_roles"),
)
Values = dict[str, str | None]
# A row at the end of each day: None while it does not exist.
Course = list[Values | None]
Life = dict[str, dict[int, Course]]


def day(number: int) -> datetime:
    """Return when a day's changes became true."""
    return datetime(2026, 3, 1) + timedelta(days=number)


def _values(random: Random, table: str, first: int) -> Values:
    """Return a row's values, without its id and its times."""

    def some_id() -> str:
        return str(first + random.randint(1, 6))

    values: Values = {"is_active": random.choice(["true"] * 5 + ["false", None])}
    if table == "users":
        values |= {
            "login_name": random.choice("abc"),
            "email": random.choice(["a@b", None]),
        }
    elif table == "user_groups":
        values |= {"name": random.choice("xyz")}
        values |= {"parent_user_group_id": random.choice([None, some_id()])}
    elif table == "user_group_members":
        values |= {"user_id": some_id(), "user_group_id": some_id()}
    elif table == "user_global_roles":
        values |= {"user_id": some_id(), "role_name": "Global.Admin"}
    else:
        holder = random.choice(["user_id", "user_group_id"])
        on = (
            "meta_data_source_id"
            if table == "data_source_permissions"
            else "project_id"
        )
        role = (
            "Viewer"
            if table == "data_source_permissions"
            else random.choice(["Admin", None])
        )
        values |= {holder: some_id(), on: some_id(), "role_name": role}
    return values


def random_life(seed: int) -> Life:
    """Return a life whose ids no other seed has."""
    random = Random(seed)
    first = seed * APART
    life: Life = {}
    for table in TABLES_OF_LIVES:
        rows: dict[int, Course] = {}
        for number in range(random.randint(1, 5)):
            course: Course = []
            now = None
            for _ in range(DAYS):
                event = random.random()
                if now is None:
                    now = _values(random, table, first) if event < 0.4 else None
                elif event < 0.2:
                    now = None
                elif event < 0.45:
                    now = _values(random, table, first)
                course.append(now)
            rows[first + number + 1] = course
        life[table] = rows
    return life


@dataclass
class Told:
    """The lives in one kind of feed: its declaration, its columns and its rows."""

    feed: dict[str, Any]
    columns: dict[str, str]
    rows: dict[str, list[dict[str, Any]]]
    has_history: bool = True


def _columns(table: str, **more: str) -> dict[str, str]:
    return dict.fromkeys(TABLES[table], "varchar") | more


def _changes(course: Course) -> Iterator[tuple[int, Values | None]]:
    """Yield the days on which a row changed, and its new values."""
    before: Values | None = None
    for number, now in enumerate(course):
        if now != before:
            yield number, now
        before = now


class Tellers:
    """Each method delivers lives in one kind of feed."""

    def __init__(self, lives: list[Life], seed: int) -> None:
        self.random = Random(seed)
        self.rows: dict[str, dict[int, Course]] = {
            table: {} for table in TABLES_OF_LIVES
        }
        for life in lives:
            for table, rows in life.items():
                self.rows[table] |= rows

    def row(self, key: int, values: Values, **more: Any) -> dict[str, Any]:
        """Return a row whose own clock is useless."""
        wrong = [None, "soon?"[:0], "1999-01-01 00:00:00", "2099-01-01 00:00:00"]
        text = self.random.choice(["{}", " {}", "+{}", "00{}"]).format(key)
        return {"id": text, "date_modified": self.random.choice(wrong)} | values | more

    def _told(self, tell: Any) -> dict[str, list[dict[str, Any]]]:
        found = {}
        for table, rows in self.rows.items():
            told = [each for key, course in rows.items() for each in tell(key, course)]
            self.random.shuffle(told)
            found[table] = told
        return found

    def states(self, number: int) -> dict[str, dict[int, Values]]:
        """Return the rows at the end of a day, by table and id."""
        return {
            table: {k: c[number] for k, c in rows.items() if c[number] is not None}
            for table, rows in self.rows.items()
        }

    def appended(self) -> Told:
        """Changed rows are appended; deleted rows have a flag."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            before: Values = {}
            for number, now in _changes(course):
                at = str(day(number))
                said = before if now is None else now
                yield self.row(key, said, date_modified=at, sf_date_created=at) | {
                    "gone": "false"
                    if now is not None
                    else self.random.choice(["true", None, "?"])
                }
                before = said

        feed = {"kind": "appended", "deleted_when": "gone"}
        return Told(feed, {"gone": "varchar"}, self._told(tell))

    def log(self) -> Told:
        """A log whose deletions have the key alone."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            for number, now in _changes(course):
                at = day(number).isoformat() + self.random.choice(
                    ["Z", ".000000Z", "+00:00"]
                )
                if now is None:
                    yield {"id": str(key), "op": "d", "at": at}
                else:
                    yield self.row(key, now, op=self.random.choice("cur"), at=at)

        feed = {"kind": "log", "moment": "at", "deleted_when": "op = 'd'"}
        return Told(feed, {"op": "varchar", "at": "varchar"}, self._told(tell))

    def log_with_positions(self) -> Told:
        """A log with several changes in one moment: an update is often two."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            for number, now in _changes(course):
                steps: list[Values | None] = [now]
                while self.random.random() < 0.5:
                    steps.insert(0, self.random.choice([None, {"is_active": "true"}]))
                for place, step in enumerate(steps):
                    more = {"at": str(day(number)), "pos": str(8 + place)}
                    if step is None:
                        yield {"id": str(key), "op": "D"} | more
                    else:
                        yield self.row(key, step, op="I") | more

        feed = {"kind": "log", "moment": ["at", "pos"], "deleted_when": "op = 'D'"}
        columns = {"op": "varchar", "at": "varchar", "pos": "varchar"}
        return Told(feed, columns, self._told(tell))

    def log_of_pairs(self) -> Told:
        """A log that writes an update as the row before it and the row after it."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            before: Values = {}
            for number, now in _changes(course):
                at = str(day(number))
                if before or now is None:
                    yield self.row(
                        key, before, action="DELETE", pair=now is not None, at=at
                    )
                if now is not None:
                    yield self.row(key, now, action="INSERT", pair=bool(before), at=at)
                before = now or {}

        feed = {
            "kind": "log",
            "moment": "at",
            "deleted_when": "action = 'DELETE'",
            "before_when": "action = 'DELETE' and pair",
        }
        columns = {"action": "varchar", "pair": "boolean", "at": "varchar"}
        return Told(feed, columns, self._told(tell))

    def snapshots(self) -> Told:
        """Every day brings the whole table, and some loads were never finished."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            for number, now in enumerate(course):
                at = str(day(number))
                if now is not None:
                    yield self.row(key, now, sf_date_created=at, state="finished")
                if now is not None and self.random.random() < 0.5:
                    broken = str(day(number) + timedelta(hours=1))
                    yield self.row(key, now, sf_date_created=broken, state="begun")

        feed = {
            "kind": "snapshots",
            "moment": "sf_date_created",
            "complete_when": "state = 'finished'",
        }
        return Told(feed, {"state": "varchar"}, self._told(tell))

    def current(self) -> Told:
        """The rows at the end, without deleted ones."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            if course[-1] is not None:
                yield self.row(key, course[-1])

        return Told({"kind": "current"}, {}, self._told(tell), has_history=False)

    def current_with_flags(self) -> Told:
        """The rows at the end, and deleted ones with a flag."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            last = [values for values in course if values is not None]
            if last:
                yield self.row(key, last[-1], gone=course[-1] is None)

        feed = {"kind": "current", "deleted_when": "gone"}
        return Told(feed, {"gone": "boolean"}, self._told(tell), has_history=False)

    def periods(self) -> Told:
        """Each version of a row has its period."""

        def tell(key: int, course: Course) -> Iterator[dict]:
            ended = [*_changes(course)]
            for place, (number, now) in enumerate(ended):
                after = ended[place + 1] if place + 1 < len(ended) else None
                if now is None:
                    continue
                until = self.random.choice([None, "9999-12-31 23:59:59.999"])
                if after:
                    # Some loaders let a period end just before the next one.
                    early = self.random.choice([0, 1]) if after[1] is not None else 0
                    until = str(day(after[0]) - timedelta(milliseconds=early))
                yield self.row(key, now, since=str(day(number)), until=until)

        feed = {"kind": "periods", "valid_from": "since", "valid_to": "until"}
        return Told(feed, {"since": "varchar", "until": "varchar"}, self._told(tell))


KINDS = [
    name for name in vars(Tellers) if name not in ("row", "states") and name[0] != "_"
]
