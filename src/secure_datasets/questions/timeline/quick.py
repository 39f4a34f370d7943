"""The timeline in the quick engine, which works out the state at each load time.

It holds two past states, before and after a load. A difference between them is a
change; both states give its ways and rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NoReturn

from secure_datasets.config.steering import without_steering
from secure_datasets.engines.duckdb import View
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.lookups import Lookups
from secure_datasets.questions.macros import Package
from secure_datasets.questions.near_misses import ascii_lower
from secure_datasets.questions.resolution import Folders, Past, staged_by
from secure_datasets.questions.timeline.changes import (
    BEGINNING,
    Evidence,
    Way,
    change_of,
    keys_of,
)
from secure_datasets.questions.timeline.models import LOADED
from secure_datasets.questions.timeline.questions import (
    CALLED,
    EXPLAINED,
    AccessTimelines,
    columns_named,
    parts_of_tiers,
)
from secure_datasets.questions.timeline.selection import (
    GROUPS,
    MEMBERS,
    NAME,
    USER,
    USERS,
    Delivery,
    Facts,
    Rows,
    Selection,
    Table,
    Wanted,
    meant,
    object_tables,
    tables_of,
)

SCHEMAS = ("timeline_before", "timeline_after")
# The successive versions of rows.
HISTORY = "timeline_history"
# Each range adds to the parsing of the query. A later step drops their surplus rows.
MOST_RANGES = 100
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


class QuickTimelines(AccessTimelines):
    """Reads questions about the past of access, and answers them without Spark."""

    def __init__(self, package: Package, folders: Folders) -> None:
        """Set the macros over the state, and the function to dbt packages' folders."""
        self.package, self.folders = package, folders

    def stop(self, sentence: str) -> NoReturn:
        """Raise with one sentence."""
        raise QuestionError(without_steering(f"timeline: {sentence}"))

    def answer(self, question: Facts, parts: Facts, raw_tables: Facts) -> Facts:
        """Return the timeline: the rows of the question, and the changes in order."""
        tiers = parts_of_tiers(self.package.state.document["config"], raw_tables)
        views = [tier["view"] for tier in tiers.values()]
        staged = staged_by(self.package.state, [*views, EXPLAINED])
        parts = {"tiers": tiers, "raw_tables": raw_tables, "staged": staged}
        found = self._found(question, parts)
        return self.completed(question, found, tiers, not_told=[])

    def _found(self, question: Facts, parts: Facts) -> Facts:
        replica = Replica(self, parts)
        # A row that ever had exactly this name comes before words of names.
        asked = meant(replica, question, replica.types) or self._named(
            question, replica.types
        )
        selection = Selection(replica.lookup, replica.tables, replica.objects)
        if question["kind"] == "user":
            needed = selection.of_users(asked[USERS])
        else:
            needed = selection.of_objects(asked)
        return Loads(self, parts, replica, asked, needed).told(question["limit"])

    def _named(self, question: Facts, types: Mapping[str, str]) -> Rows:
        """Return the one row whose name has the question's words; raise otherwise."""
        names = Lookups(self.package)
        if question["kind"] == "user":
            return {USERS: {int(names.user(question["asked"]).key)}}
        found = names.object(question["asked"])
        tables = {kind.lower(): table for kind, table in types.items()}
        return {tables[found.kind]: {int(found.key)}}


class Replica:
    """The deliveries of the raw tables, by the rows that they name."""

    def __init__(self, timelines: QuickTimelines, parts: Facts) -> None:
        """Read the deliveries."""
        package = timelines.package
        self.tables = tables_of(parts["raw_tables"], parts["staged"])
        self.types = object_tables(parts["raw_tables"])
        self.objects = list(self.types.values())
        self.deliveries: dict[str, list[Facts]] = {}
        for name in self.tables:
            columns = columns_named(parts["raw_tables"][name])
            query = package["delivered_values"](name, columns)
            # Without the load time: few of many deliveries name different rows.
            named = ", ".join(column for column in columns if column != LOADED)
            self.deliveries[name] = package.engine.ask(
                f"select distinct {named} from ({query}) as rows where id is not null"
            )

    def called(self, tables: Iterable[str], asked: str, by_id: bool) -> Rows:
        """Return the rows with this id, or that ever had this name, by table."""
        found: Rows = {}
        for table in tables:
            for row in self.deliveries.get(table, ()):
                names = {ascii_lower(row[c]) for c in CALLED if row.get(c)}
                is_it = by_id and str(row["id"]) == asked
                if is_it or ascii_lower(asked) in names:
                    found.setdefault(table, set()).add(row["id"])
        return found

    def lookup(self, wanted: list[Wanted]) -> Iterator[Delivery]:
        """Yield the wanted deliveries."""
        for each in wanted:
            for name in each.tables:
                for row in self.deliveries.get(name, ()):
                    value = row.get(each.column)
                    if value is None or (
                        each.ids is not None and value not in each.ids
                    ):
                        continue
                    references = self.tables[name].references
                    named = {c: row[c] for c in references if row[c] is not None}
                    yield Delivery(name, row["id"], named)


class Loads:
    """The moments when some rows had something new, and the state after each.

    Staging is queried once for the successive versions of each row; the last version at
    a moment counts.
    """

    def __init__(
        self,
        timelines: QuickTimelines,
        parts: Facts,
        replica: Replica,
        asked: Rows,
        needed: Rows,
    ) -> None:
        """Read the versions of the rows."""
        package = timelines.package
        self.parts, self.asked, self.needed = parts, asked, needed
        self.tables: Mapping[str, Table] = replica.tables
        self.types = {table: kind for kind, table in replica.types.items()}
        self.engine: Any = package.engine
        queries = {}
        for table in self.tables:
            queries[f"stg_{table}"] = self._staged(package, table)
        said = {table: self._said(table) for table in self.tables}
        self.times = sorted({row["since"] for rows in said.values() for row in rows})
        self.deletions: set[tuple[str, int, int]] = set()
        self.names: dict[tuple[str, int], str | None] = {}
        self.moved: dict[tuple[str, int], frozenset[int]] = {}
        for table, rows in said.items():
            self._learn(self.tables[table], rows)
        self.pasts = [
            Past(package.state, timelines.folders, self.engine, schema, queries=queries)
            for schema in SCHEMAS
        ]

    def _staged(self, package: Package, table: str) -> str:
        """Keep the versions of a table's rows; return the query of them at a moment."""
        history, raw = f"{HISTORY}.{table}", f"{HISTORY}.raw_{table}"
        key = self.tables[table].key
        self.engine.put(raw, View(f"select * from {package['raw_relation'](table)}"))
        query = package["stage_raw_table"](table, raw)
        ranges = _ranges(self.needed.get(table, set()))
        terms = [f"{key} between {first} and {last}" for first, last in ranges]
        is_needed = " or ".join(terms) or "false"
        self.engine.store(history, f"select * from ({query}) as rows where {is_needed}")
        return (
            "select * except (since, place) from (select *, row_number() over"
            f" (partition by {key} order by since desc) as place from {history} where"
            f" since <= coalesce({{moment}}, {BEGINNING})) as rows where place = 1"
        )

    def _said(self, table: str) -> list[Facts]:
        """Return the versions of the needed rows of a table, in order."""
        key, history = self.tables[table].key, f"{HISTORY}.{table}"
        needed = self.needed.get(table, ())
        said = self.engine.ask(f"select * from {history} order by {key}, since")
        return [row for row in said if row[key] in needed]

    def _learn(self, table: Table, rows: list[Facts]) -> None:
        """Note the names of rows, and when they began or ceased to count."""
        role = ["role_name"] if table.has_roles else []
        deciding = [*table.references, *role]
        name, before = NAME.get(table.name, "name"), None
        moved: dict[tuple[str, int], set[int]] = {}
        for row in rows:
            place = (table.name, row[table.key])
            # All versions that do not count are equal.
            now = [row[c] for c in deciding] if row["is_live"] else None
            if place not in moved or now != before:
                at = bisect_left(self.times, row["since"])
                moved.setdefault(place, set()).add(at)
                if row["is_deleted"]:
                    self.deletions.add((*place, at))
            before = now
            if row.get(name) is not None or place not in self.names:
                self.names[place] = row.get(name)
        self.moved |= {place: frozenset(at) for place, at in moved.items()}

    def id_of(self, number: int) -> int:
        """Return an id: here it is the number itself."""
        return number

    def told(self, limit: int) -> Facts:
        """Return the question's rows, and the changes with the rows that made each."""
        changes: list[tuple[Facts, Evidence]] = []
        before: dict[tuple, str | None] = {}
        left_out = 0
        for place, time in enumerate(self.times):
            at = None if time == BEGINNING else EPOCH + time * MICROSECOND
            after = self._access(self.pasts[place % 2].at(at))
            lines = list(self._lines(before, after, place))
            told = lines[: limit - len(changes)]
            left_out += len(lines) - len(told)
            if told:
                evidence = self._evidence(told, place)
                changes += [(line, evidence) for line in told]
            before = after
        return {
            "asked": [
                {"type": self.types.get(t, "User"), "id": i, "name": self.names[t, i]}
                for t, ids in self.asked.items()
                for i in sorted(ids)
                if (t, i) in self.names
            ],
            "changes": [
                change_of(line, self, self.parts, self.names, evidence)
                for line, evidence in changes
            ],
            "left_out": left_out,
        }

    def _access(self, state: Package) -> dict[tuple, str | None]:
        """Return the carried value of each access that the question is about."""
        found: dict[tuple, str | None] = {}
        asked = {self.tables[t].key: ids for t, ids in self.asked.items()}
        for place, tier in enumerate(self.parts["tiers"].values()):
            keys = [USER, *tier["keys"]]
            terms = [
                f"{key} in ({', '.join(map(str, sorted(asked[key])))})"
                for key in keys
                if key in asked
            ]
            if not terms:
                continue
            carries = tier["carries"]
            carried = f"concat_ws(', ', {', '.join(carries)})" if carries else "null"
            for row in self.engine.ask(
                f"select {', '.join(keys)}, cast({carried} as string) as carried"
                f" from {state['relation_named'](tier['view'])}"
                f" where {' or '.join(terms)}"
            ):
                objects = (row.get(key) for key in keys_of(self.parts))
                found[(row[USER], *objects, place)] = row["carried"]
        return found

    def _lines(
        self,
        before: Mapping[tuple, str | None],
        after: Mapping[tuple, str | None],
        place: int,
    ) -> Iterator[Facts]:
        """Yield the changes from one moment to the next, in order."""
        names = [USER, *keys_of(self.parts), "tier"]
        for access in sorted({*before, *after}, key=_nulls_first):
            had, has = access in before, access in after
            if had and has and before[access] == after[access]:
                continue
            yield {
                **dict(zip(names, access, strict=True)),
                **{"moment": place, "had": had, "has": has},
                **{"carried_before": before.get(access), "carried": after.get(access)},
            }

    def _evidence(self, lines: list[Facts], place: int) -> Evidence:
        """Return the ways to the changed access, and their rows that moved."""
        ways: dict[tuple, list[Way]] = {}
        for at in (place - 1, place) if place else (place,):
            state = self.pasts[at % 2].package
            for part, kind, rows in (*self._paths(lines, state),
                                     *self._links(lines, state)):  # fmt: skip
                ways.setdefault(part, []).append(Way(kind, at, at, rows))
        # Groups that moved may have opened or closed a ring.
        return Evidence(ways, self.moved, {row: row[1] for row in self.moved})

    def _paths(self, lines: list[Facts], state: Package) -> Iterator[tuple]:
        """Yield the paths to the changed access: the right, the kind and the rows."""
        tiers = list(self.parts["tiers"].values())
        rights = {
            (line[USER], right["object_type"], line[right["key"]], right["permission"])
            for line in lines
            for right in tiers[line["tier"]]["rights"]
        }
        users = ", ".join(map(str, sorted({right[0] for right in rights})))
        tables = {kind: table for table, kind in self.types.items()}
        for row in self.engine.ask(
            f"select * from {state['relation_named'](EXPLAINED)}"
            f" where user_id in ({users})"
        ) if rights else ():  # fmt: skip
            right = (row[USER], row["object_type"], row["object_id"])
            right += (row["permission_name"],)
            if right not in rights:
                continue
            rows = [
                (USERS, row[USER]),
                (tables[row["object_type"]], row["object_id"]),
                (row["grant_table"], row["grant_id"]),
            ]
            if row["user_group_member_id"] is not None:
                rows.append((MEMBERS, row["user_group_member_id"]))
                rows += [(GROUPS, group) for group in row["group_ids"]]
            yield right, row["path_kind"], tuple(dict.fromkeys(rows))

    def _links(self, lines: list[Facts], state: Package) -> Iterator[tuple]:
        """Yield the live rows that link the changed objects."""
        for place, tier in enumerate(self.parts["tiers"].values()):
            keys = tier["keys"]
            wanted = {
                tuple(line[key] for key in keys)
                for line in lines
                if line["tier"] == place
            }
            for link in tier["links"] if wanted else ():
                table, key = link["table"], link["key"]
                for row in self.engine.ask(
                    f"select {key} as id, {', '.join(keys)} from"
                    f" {state['relation_named'](f'stg_{table}')} where is_live"
                ):
                    linked = tuple(row[key] for key in keys)
                    if linked in wanted:
                        yield (table, *linked), "", ((table, row["id"]),)


def _ranges(ids: set[int]) -> list[tuple[int, int]]:
    """Return at most MOST_RANGES ranges with the ids and the fewest further ids."""
    places = sorted(ids)
    gaps = sorted(pairwise(places), key=lambda gap: gap[0] - gap[1])
    ends = sorted(gap for gap in gaps[: MOST_RANGES - 1] if gap[1] - gap[0] > 1)
    firsts = [*places[:1], *(after for _, after in ends)]
    return list(zip(firsts, [*(last for last, _ in ends), *places[-1:]], strict=True))


def _nulls_first(access: tuple) -> list[tuple]:
    return [(value is not None, value or 0) for value in access]
