"""The pack of a review from the quick engine, by the macros that dbt asks too."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from secure_datasets.engines.duckdb import Rows
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.macros import Package
from secure_datasets.questions.resolution import Folders, Past, staged_by
from secure_datasets.review.pack import Row
from secure_datasets.review.reviews import Reviews, first_days

PAST, OBJECTS = "past_state", "objects_of_the_review"
LOADED = "sf_date_created"


class QuickReviews(Reviews):
    """Writes the pack of a review from the published state."""

    def __init__(self, package: Package, folder: Path, folders: Folders) -> None:
        """Take the folder of the pack, and what says where packages of dbt lie."""
        self.package, self.folder, self.folders = package, folder, folders
        self.engine: Any = package.engine

    def rows(self, query: str) -> Iterable[Row]:
        """Return the rows of a query."""
        return self.engine.stream(query)

    def stopped(self, sentence: str) -> NoReturn:
        """Stop with one sentence."""
        raise QuestionError(sentence)

    def access_over(
        self, history: dict[str, Any], objects: list[Row], is_whole: bool
    ) -> list[Row]:
        """Return how much access there was when months began, from the raw rows."""
        days = first_days(date.fromisoformat(history["last"]), history["months"])
        columns = {"object_type": "string", "object_id": "bigint"}
        told = [[row[name] for name in columns] for row in objects]
        self.engine.put(OBJECTS, Rows(columns, told))
        days = [day for day in days if self._begins <= str(day)]
        if self.package["rights_in_time"]():
            return [self._access_on(day) for day in days]
        known: dict[tuple[int, ...], Row] = {}
        found = []
        for day, came in zip(days, self._delivered_by(days), strict=True):
            # Without a new delivery there is the access of the month before.
            known[came] = known.get(came) or self._access_on(day)
            found.append(known[came] | {"day": day})
        return found

    def _delivered_by(self, days: list[date]) -> list[tuple[int, ...]]:
        """Return how many deliveries of each raw table had come by each day."""
        counts = ", ".join(
            f"count_if({LOADED} <= timestamp '{day} 00:00:00Z') as by_{number}"
            for number, day in enumerate(days)
        )
        tables = [
            self.package["rows_of"](
                f"select {counts} from"
                f" ({self.package['delivered_values'](table, ['id', LOADED])})"
                " as delivered where id is not null"
            )[0]
            for table in (staged_by(self.package.state, self._views) if days else [])
        ]
        return [
            tuple(row[f"by_{number}"] for row in tables) for number in range(len(days))
        ]

    @cached_property
    def _begins(self) -> str:
        """The moment of the first load; what has no load time tells of none."""
        firsts = [
            row["first"]
            for table in staged_by(self.package.state, self._views)
            for row in self.package["rows_of"](
                f"select min({LOADED}) as first from"
                f" ({self.package['delivered_values'](table, ['id', LOADED])})"
                f" as delivered where id is not null"
            )
            if row["first"]
        ]
        return min(firsts, default="9999")

    @cached_property
    def _past(self) -> Past:
        return Past(self.package.state, self.folders, self.engine, PAST)

    @cached_property
    def _tiers(self) -> dict[str, Any]:
        return {
            name: tier
            for name, tier in self.package.state.document["config"]["tiers"].items()
            if tier.get("right")
        }

    @property
    def _views(self) -> list[str]:
        return [tier["access_view"] for tier in self._tiers.values()]

    def _access_on(self, day: date) -> Row:
        past = self._past.at(str(day))
        parts = []
        for tier in self._tiers.values():
            right = tier["right"]
            key = right.get("key") or tier["object_keys"][0]
            view = past["relation_named"](tier["access_view"])
            parts.append(
                f"select user_id, object_type, object_id from {view} as access"
                f" inner join {OBJECTS} as objects on access.{key} = objects.object_id"
                f" where objects.object_type = '{right['object_type']}'"
            )
        # A user may see tables and results of a data source.
        (found,) = self.engine.ask(
            "select count(*) as accesses, count(distinct user_id) as people from"
            f" ({' union '.join(parts)}) as access"
        )
        return {"day": day, **found}
