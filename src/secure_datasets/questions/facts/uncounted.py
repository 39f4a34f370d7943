"""The deliveries that do not count, in raw tables that give rights or lead to some."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from secure_datasets.config.tiers import in_one_order, linking_columns
from secure_datasets.questions.facts.built import Built, Macros, Ref, written
from secure_datasets.questions.notes import Facts
from secure_datasets.render.staging.deliveries import (
    Raw,
    delivery_as_json,
    read_deliveries,
)
from secure_datasets.render.staging.order import (
    columns_beside,
    delivery_order_key,
    recency_keys,
    was_delivered,
)
from secure_datasets.render.staging.reading import (
    ascii_lower,
    delivered_text,
    delivered_value,
    read_value,
    trimmed_text,
    utc_text,
)
from secure_datasets.sql.writing import indented, union

Linking = dict[str, list[str]]
NO_ID, NO_TEXT = "cast(null as bigint)", "cast(null as string)"
# Whether a raw row counts, apart from its time, and what decides which one is newest.
STAGED = ("is_deleted", "deleted_on", "date_modified", "modified_by")
NEWEST = ("is_later", "is_active", "is_conflict")
CONDITIONS = ("is_deleted", "not is_active")


def uncounted_deliveries(
    adapter: Any, macros: Macros, ref: Ref, given: Facts, table: str | None = None
) -> str:
    """Return the query of the deliveries that do not count: a method for macros.

    One row per delivery, with the reason. For one raw table, the query reads only this
    table, and leaves out its live rows that name something not live.

    given  `config`, `tables` and `as_of`, the variable
    """
    built = Built(macros, ref, given)
    linking = linking_columns(built.config, built.tables)
    names = [table] if table else [*linking]
    queries = [Deliveries(built, names, linking, given["as_of"]).uncounted()]
    for name in names:
        if before := built.undelivered_rows(name):
            rows = selected(
                built.tables[name], linking, "'undelivered'", "undelivered_since"
            )
            queries.append(f"{rows}\nfrom (\n    {indented(before)}\n) as undelivered")
    return union(queries if table else [*queries, _not_live_rows(built, linking)])


def selected(table: Facts, linking: Linking, reason: str, detail: str = NO_TEXT) -> str:
    """Return the columns of a query of staged rows: the columns of all raw tables."""
    return f"""select
    '{table["name"]}' as table_name,
    {table["key"]} as row_id,
    cast({table["key"]} as string) as raw_id,
    {indented(_in_all(linking, linking[table["name"]]))},
    date_created,
    created_by,
    {reason} as reason,
    {detail} as detail,
    cast(null as timestamp) as since,
    {NO_TEXT} as changed_by,
    {NO_TEXT} as raw_row,
    true as is_current"""


def _in_all(linking: Linking, has: Iterable[str]) -> str:
    """Return the linking columns of all tables; a table lacks those not in `has`."""
    columns = dict.fromkeys(column for each in linking.values() for column in each)
    columns.pop("role_name", None)
    return _or_null([*columns, "role_name"], has)


def _or_null(columns: Iterable[str], has: Iterable[str], prefix: str = "") -> str:
    """Return columns, each null if the relation lacks it."""
    nulls = {"role_name": NO_TEXT}
    return ",\n".join(
        f"{column if column in has else nulls.get(column, NO_ID)} as {prefix}{column}"
        for column in columns
    )


class Deliveries:
    """The deliveries of some raw tables, read together in one form.

    Spark plans each further query over deliveries for seconds.
    """

    def __init__(
        self, built: Built, names: list[str], linking: Linking, as_of: Any
    ) -> None:
        self.built, self.macros, self.as_of = built, built.macros, as_of
        self.linking = linking
        self.tables = [built.tables[name] for name in names]
        # Empty if nothing is declared.
        self.feeds = {name: self.macros["feed_of"](name) or {} for name in names}
        self.columns = in_one_order(linking[name] for name in names)
        positions = any(feed.get("positions") for feed in self.feeds.values())
        self.order_type = "decimal(38, 0)" if positions else "bigint"

    def uncounted(self) -> str:
        """Return the query of the delivered rows that do not count.

        It compares each delivery with the staged row of its id: the row may be
        rejected, deleted, switched off or different. A delivery may also be later than
        the run of staging; the next run takes the newest of these.
        """
        query = written(
            self.built,
            "uncounted",
            all_dated=self._all_dated(),
            all_staged=self._all_staged(),
            staged_columns=",\n".join(
                f"all_staged.staged_{column}" for column in (*STAGED, *self.columns)
            ),
            newest_columns=",\n".join(
                f"first_value({column}) over newest_first as newest_{column}"
                for column in (*NEWEST, *self.columns)
            ),
            staged_says=self._differences("staged_"),
            newest_says=self._differences("newest_"),
            linking_columns=_in_all(self.linking, self.columns),
        )
        return f"(\n    {indented(query)}\n)"

    def _differences(self, other: str) -> str:
        """Return the columns that differ from a second row's, with its values."""

        def difference(column: str) -> str:
            forms = [column, other + column]
            if column == "role_name":
                forms = [ascii_lower(form) for form in forms]
            return (
                f",\n    case when not {' <=> '.join(forms)} then '{column} ' ||"
                f" coalesce(cast({other}{column} as string), 'null') end"
            )

        found = "".join(map(difference, self.columns))
        return f"nullif(concat_ws(\n    ', '{found}\n), '')"

    def _by_table(self, expression_of: Callable[[Facts], str], table_name: str) -> str:
        """Return an expression that differs by the feed of a raw table."""
        tables: dict[str, list[str]] = {}
        for name, feed in self.feeds.items():
            tables.setdefault(expression_of(feed), []).append(name)
        if len(tables) == 1:
            return next(iter(tables))
        cases = "".join(
            f"\n    when {table_name} in ('{quoted}') then {expression}"
            for expression, names in tables.items()
            for quoted in ["', '".join(names)]
        )
        return f"case{cases}\nend"

    def _moment(self, feed: Facts) -> str:
        """Return what compares a delivery with the staged row, the newest greatest."""
        if feed.get("has_moment"):
            return self._as_array(["loaded_order"])
        return self._as_array(recency_keys(feed))

    def _as_array(self, keys: Iterable[str]) -> str:
        """Return ascending keys of an order as one array."""
        values = (
            f"case when {key} then 1 else 0 end" if key in CONDITIONS else key
            for key in keys
        )
        casts = (f"    cast({value} as {self.order_type})" for value in values)
        return "array(\n" + ",\n".join(casts) + "\n)"

    # As they are delivered

    def _all_dated(self) -> str:
        """Return the query of the deliveries in the common form.

        `recency` orders the deliveries of one id, the greatest first. `moment` compares
        a delivery with its staged row, which keeps the moment but not the position. The
        texts are put together before anything is read: Spark plans each reading of all
        columns for seconds.
        """
        feed = self._feed_of_all()
        types = {c: kind for t in self.tables for c, kind in t["columns"].items()}
        texts = self._texts_of_all(feed, [*types])
        types |= {"table_name": "string", "as_delivered": "string"}
        steps = read_deliveries(
            Raw({"columns": types}, feed, dict.fromkeys(types, "trimmed"), texts),
            [*self.columns, "date_created", "created_by"],
        )
        until, name = "", "delivery.table_name"
        if self.as_of is not None:
            loaded = ("sf_date_created", self.as_of)
            until = self._by_table(lambda feed: was_delivered(feed, *loaded), name)
            until = f"\nwhere {until}"
        return written(
            self.built,
            "all_dated",
            columns=",\n".join(self.columns),
            recency=self._by_table(
                lambda feed: self._as_array(recency_keys(feed)), name
            ),
            moment=self._by_table(self._moment, name),
            steps=f"with {steps}",
            until=until,
        )

    def _feed_of_all(self) -> Facts:
        """Return a feed that stands for the feeds of all raw tables."""
        feeds = self.feeds.values()
        positions = max(len(feed.get("positions", [])) for feed in feeds)
        return {
            "deletes": any(feed.get("deletes") for feed in feeds),
            "positions": [*range(positions)],
            "clocked": [n for n, feed in self.feeds.items() if feed.get("has_clock")],
        }

    def _texts_of_all(self, feed: Facts, columns: list[str]) -> str:
        """Return the deliveries of all raw tables as texts without white space around.

        The hint keeps Spark from pushing the later steps into the query of each table.

        feed  stands for the feeds of all
        """
        texts = [f"{trimmed_text(column)} as {column}" for column in columns]
        return written(
            self.built,
            "texts_of_all",
            texts=",\n".join([*texts, *columns_beside(feed)]),
            tables=union(
                self._texts_of(table, columns, columns_beside(feed))
                for table in self.tables
            ),
        )

    def _texts_of(self, table: Facts, columns: list[str], beside: list[str]) -> str:
        """Return the deliveries of a raw table as texts, in the columns of all."""
        name, has = table["name"], columns_beside(self.feeds[table["name"]])
        readings = self.macros["raw_readings"](name)
        no_text, no_number = f"{NO_TEXT} as ", "cast(null as decimal(38, 0)) as "
        values = [
            ("delivery." if column in table["columns"] else no_text) + column
            for column in columns
        ]
        for column in beside:
            null = "false as " if column == "feed_is_deleted" else no_number
            values.append(column if column in has else null + column)
        return written(
            self.built,
            "texts_of_table",
            name=name,
            as_delivered=delivery_as_json(Raw(table)),
            values=",\n".join(values),
            fields=",\n".join(
                f"{delivered_text(column, kind, readings.get(column))} as {column}"
                for column, kind in table["columns"].items()
            ),
            beside="".join(f",\n    {column}" for column in has),
            raw_rows=self.macros["raw_relation"](name, readings),
        )

    # As they are staged

    def _all_staged(self) -> str:
        """Return the query of the staged row of each id, with its delivery's order.

        The values of a rejected row are only in the delivered text.
        """
        staged = ("is_live", "is_live_in_its_time", "time", *STAGED, *self.columns)
        return written(
            self.built,
            "all_staged",
            moment=self._by_table(self._moment, "table_name"),
            modified_order=delivery_order_key(
                "date_modified", "date_modified_text is not null"
            ),
            loaded_order=delivery_order_key(
                "sf_date_created",
                "not has_clock and sf_date_created_text is not null",
            ),
            staged_columns=",\n".join(f"staged_{column}" for column in staged),
            date_modified=read_value("date_modified_delivered", "timestamp"),
            sf_date_created=read_value("sf_date_created_delivered", "timestamp"),
            is_active=read_value("is_active_delivered", "boolean"),
            date_modified_text=delivered_value("date_modified"),
            sf_date_created_text=delivered_value("sf_date_created"),
            is_active_text=delivered_value("is_active"),
            tables=union(map(self._staged_of, self.tables)),
        )

    def _staged_of(self, table: Facts) -> str:
        """Return the staged rows of a raw table, in the common form."""
        name, in_time = table["name"], table.get("holds_for_a_time")
        return written(
            self.built,
            "staged_of_table",
            name=name,
            key=table["key"],
            is_active="is_live_in_its_time" if in_time else "is_live",
            time=self._time_of(table) if in_time else NO_TEXT,
            staged_columns=_or_null(self.columns, self.linking[name], "staged_"),
            has_clock="true" if self.feeds[name].get("has_clock") else "false",
            staged=self.built.ref(f"stg_{name}"),
        )

    def _time_of(self, table: Facts) -> str:
        """Return the beginning and end of a staged row's time, as text."""
        limits = {"valid_from": "from", "valid_until": "until"}
        times = "".join(
            f",\n    case when {limit} is not null then '{word} ' ||"
            f" left({utc_text(limit)}, 19) end"
            for limit, word in limits.items()
            if limit in table["columns"]
        )
        return f"concat_ws(\n    ' '{times}\n)"


def _not_live_rows(built: Built, linking: Linking) -> str:
    """Return the live rows of raw tables that name somebody or something not live.

    All tables get one form first: Spark plans a join for seconds.
    """
    columns = in_one_order(linking.values())
    most = max(len(built.tables[name]["references"]) for name in linking)
    places = range(1, most + 1)
    objects = indented(_live_objects(built, linking))
    named = (
        f",\n    case when named_{place} is not null and of_{place}.id is null then"
        f" column_{place} || ' ' || cast(named_{place} as string) end"
        for place in places
    )
    joins = (
        f"left join (\n    {objects}\n) as of_{place}\n"
        f"    on parent_{place} = of_{place}.of_table and named_{place} = of_{place}.id"
        for place in places
    )
    return written(
        built,
        "not_live_rows",
        linking_columns=_in_all(linking, columns),
        not_live=f"nullif(concat_ws(\n    ', '{''.join(named)}\n), '')",
        rows=union(
            _naming_rows(built, built.tables[name], _or_null(columns, has), most)
            for name, has in linking.items()
        ),
        joins="\n".join(joins),
    )


def _naming_rows(built: Built, table: Facts, columns: str, places: int) -> str:
    """Return the live rows of a raw table: each reference's column, table and id."""
    named = [(f"'{c}'", f"'{parent}'", c) for c, parent in table["references"].items()]
    missing = [(NO_TEXT, NO_TEXT, NO_ID)] * (places - len(named))
    references = "".join(
        f",\n    {column} as column_{place},\n    {parent} as parent_{place},\n"
        f"    {value} as named_{place}"
        for place, (column, parent, value) in enumerate([*named, *missing], 1)
    )
    return f"""select
    '{table["name"]}' as table_name,
    {table["key"]} as id,
    {indented(columns)},
    date_created,
    created_by{references}
from {built.ref("stg_" + table["name"])}
where is_live"""


def _live_objects(built: Built, linking: Iterable[str]) -> str:
    """Return the ids of all that is live and that raw tables name."""
    parents = dict.fromkeys(
        parent
        for name in linking
        for parent in built.tables[name]["references"].values()
    )
    return union(
        f"select '{parent}' as of_table, {built.tables[parent]['key']} as id"
        f" from {built.ref(f'stg_{parent}')} where is_live"
        for parent in parents
    )
