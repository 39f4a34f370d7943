"""Checks the options of a review, and writes its pack.

The module knows no engine: a subclass provides the rows of queries and the folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from secure_datasets.config.steering import without_steering
from secure_datasets.review.pack import Campaign, Pack, Row

FOLDER = "review"
# Ten years; the rows of all months are computed side by side.
MOST_MONTHS = 120


class Reviews(ABC):
    """Writes the pack of a review."""

    folder: Path

    @abstractmethod
    def rows(self, query: str) -> Iterable[Row]:
        """Return the rows of a query."""

    @abstractmethod
    def access_over(
        self, history: dict[str, Any], objects: list[Row], is_whole: bool
    ) -> Iterable[Any]:
        """Return the amount of access at the beginning of each month."""

    @abstractmethod
    def stopped(self, sentence: str) -> NoReturn:
        """Stop with one sentence, by the engine's own error."""

    def stop(self, sentence: str) -> NoReturn:
        """Stop with one sentence, without characters that steer the terminal."""
        self.stopped(without_steering(f"review: {sentence}"))

    def users(self, asked: Any, users: list[Row]) -> list[int]:
        """Return the ids of the users found for a name; stop if there is none.

        asked  the name, for the message
        """
        if not users:
            self.stop(
                f"there is no live user with the id, login name or e-mail address"
                f" '{asked}'."
            )
        return [user["user_id"] for user in users]

    def months(self, asked: Any) -> int:
        """Return the number of months in the access history, checked."""
        if isinstance(asked, bool) or not str(asked).isdecimal():
            self.stop(f"'months' is '{asked}', which is no whole number.")
        if int(asked) > MOST_MONTHS:
            self.stop(f"'months' is {int(asked)}: {MOST_MONTHS} are told at most.")
        return int(asked)

    def campaign(self, name: Any, deadline: Any, day: str) -> Campaign:
        """Return the campaign of a pack, checked; stop if the deadline is no day.

        day  the day of the pack's judgement
        """
        until = str(deadline).strip() if deadline else ""
        try:
            last = date.fromisoformat(until) if until else None
        except ValueError:
            self.stop(f"'deadline' is '{until}', which is no day: write 2026-09-30.")
        return Campaign(str(name or "").strip(), last, date.fromisoformat(day))

    def write(
        self,
        queries: dict[str, str],
        made: str,
        is_whole: bool,
        history: dict[str, Any] | None = None,
        campaign: Campaign | None = None,
    ) -> Row:
        """Write the pack, row by row, and return its totals and its folder.

        queries   the queries for objects, people and findings, each in the order of the
                  objects, and for users; further names as in `Pack.write`
        made      the time and the source of the pack
        is_whole  whether the pack covers everything
        history   the source of the access history, if there is one: months, their
                  number; last, the last day; parts, the input of a timeline from
                  macros; not_told, tiers of the pack without a known past
        campaign  the campaign's name and deadline, and the day of the pack
        """
        rows = self._rows(queries)
        pack = Pack(self.folder, made, is_whole, campaign)
        # All objects stay in memory, with their totals: each has a page.
        objects = list(rows.pop("objects"))
        months: Iterable[Any] = []
        if history and not history["not_told"]:
            months = self.access_over(history, objects, is_whole)
        not_told = history["not_told"] if history else []
        return pack.write(objects, **rows, months=months, months_not_told=not_told) | {
            "folder": str(pack.folder)
        }

    def write_people(
        self, queries: dict[str, str], made: str, campaign: Campaign | None = None
    ) -> list[str]:
        """Write the pages of some people, and return their paths.

        queries  the queries for users, people and findings, each in the order of the
                 users; further names as in `Pack.write_people`
        made     the time and the source of the pages
        """
        pack = Pack(self.folder, made, campaign=campaign)
        pages = pack.write_people(**self._rows(queries))
        return [f"{pack.folder}/{page}.html" for page in pages]

    def _rows(self, queries: dict[str, str]) -> dict[str, Iterator[Row]]:
        return {name: iter(self.rows(query)) for name, query in queries.items()}


def first_days(last: date, months: int) -> list[date]:
    """Return the first days of a number of months, up to the month of a day."""
    count = last.year * 12 + last.month - 1
    return [
        date(each // 12, each % 12 + 1, 1)
        for each in range(count - months + 1, count + 1)
    ]
