"""The operation of a review: checks its options, and writes its pack.

The module knows no engine: a subclass provides the rows of queries and the folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from secure_datasets.config.steering import printable, without_steering
from secure_datasets.questions.facts.built import Built, Macros
from secure_datasets.questions.text import not_built
from secure_datasets.review.made import days_of_review, history_of, made_of, of_before
from secure_datasets.review.pack import Campaign, Pack, Row
from secure_datasets.review.queries import review_queries
from secure_datasets.review.queries.users import users_called

FOLDER = "review"
# Ten years; the rows of all months are computed side by side.
MOST_MONTHS = 120
# The relations that must be built before anything is asked.
NEEDED = ("access_freshness", "access_findings", "review_status")


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

    def review(
        self, given: Row, macros: Macros, warn: Callable[[str], Any]
    ) -> list[str]:
        """Write what is asked for, print tables of totals, and return texts to print.

        given  the arguments of the operation; the variables dormant_days and
               review_days; `timelines`, what the macro `timeline_parts` takes
        warn   warns with a sentence
        """
        owner, user = (_trimmed(given[name]) for name in ("owner", "user"))
        months, built = self.months(given["months"]), Built(macros)
        if owner and user:
            self.stop(
                "ask for what an owner is in charge of, or for the page of a user, and"
                " not for both."
            )
        if user and months:
            self.stop("the page of a user tells no months: ask for them with a pack.")
        if missing := macros["not_built"](NEEDED):
            self.stop(f"{not_built(missing, 'dbt build --select tag:review')}.")
        ids = None
        if asked := owner or user:
            ids = self.users(asked, built.rows(users_called(built, asked)))
        told = of_before(built)
        (days,) = built.rows(days_of_review(built))
        made = made_of(days, given, owner, told)
        campaign = self.campaign(
            given["campaign"], given["deadline"], days["judged_on"]
        )
        if told:
            warn(f"review: {told}")
        if user:
            queries = review_queries(built, people=ids)
            paths = self.write_people(queries, made, campaign)
            return [f"Open {printable(path)}" for path in paths]
        history = history_of(built, months, days, given["timelines"])
        if history and history["not_told"]:
            warn(
                "review: access over the months is not told, as the past of these tiers"
                f" can't be: {', '.join(history['not_told'])}."
            )
        queries = review_queries(built, ids)
        totals = self.write(queries, made, ids is None, history, campaign)
        return print_totals(totals, owner, macros)

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


def _trimmed(name: Any) -> str:
    """Return a name as a trimmed text; an empty one for None."""
    return "" if name is None else str(name).strip()


def print_totals(totals: Row, owner: str, macros: Macros) -> list[str]:
    """Print the tables of a written pack's totals, and return the texts below them.

    owner  the owner of the pack; empty for the pack of everything
    """
    found = totals["severities"] | {"excused": totals["excused"]}
    for head, numbers in (("findings", found), ("status", totals["statuses"])):
        rows = [[name, str(number)] for name, number in numbers.items()]
        macros["print_table"]([head, "number"], rows)
    texts = [
        f"{totals['objects']} data sources and projects, {totals['rows']} accesses of"
        f" {totals['users']} people."
    ]
    if number := totals["rejected"]:
        rows_that_decide = "row that decides" if number == 1 else "rows that decide"
        texts.append(
            f"{number} {rows_that_decide} about rights could not be used: see"
            " findings.html."
        )
    if owner and not totals["objects"]:
        texts.append(
            f"{printable(owner)} is in charge of nothing. What has nobody in charge is"
            " in the pack of everything, from which global administrators decide."
        )
    return [*texts, f"Open {printable(totals['folder'])}/index.html"]


def first_days(last: date, months: int) -> list[date]:
    """Return the first days of a number of months, up to the month of a day."""
    count = last.year * 12 + last.month - 1
    return [
        date(each // 12, each % 12 + 1, 1)
        for each in range(count - months + 1, count + 1)
    ]
