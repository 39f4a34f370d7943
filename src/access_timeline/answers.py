"""The timeline of a user or an object, from the raw deliveries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from access_timeline.changes import Evidence, Way, changes, parts_of, runs
from access_timeline.models import PREFIX, Models
from access_timeline.moments import BEGINNING, Moments, Table, versions
from access_timeline.selection import GROUPS, MEMBERS, USER, USERS, Selection

Facts = dict[str, Any]
PATHS, EXPLAINED = "int_access_paths", "explained_access_paths"
# What a row is called by, where it is no name; and what a right is found by.
NAME = {USERS: "login_name"}
RIGHT = (USER, "object_type", "object_id", "permission_name")
ROW = ("raw_table", "number")
OBJECT = ("key", "id", "name")
CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


class Replica:
    """The raw tables, read as staging reads them."""

    def __init__(self, spark: SparkSession, queries: Mapping[str, Facts]) -> None:
        self.spark = spark
        self.queries = queries
        # They are looked up several times, by what they name alone.
        self.deliveries = {
            table: spark.sql(of_table["deliveries"]).localCheckpoint()
            for table, of_table in queries.items()
        }

    def history(self, table: str, ids: DataFrame) -> DataFrame:
        """Return the rows of a table with these ids, over time."""
        wanted = ids.select(F.col("id").alias("timeline_id")).distinct()
        rows = (
            self.spark.sql(self.queries[table]["raw"])
            .join(wanted, on="timeline_id", how="left_semi")
            .drop("timeline_id")
        )
        with self._relation(f"timeline_{table}", rows.localCheckpoint()):
            frame = self.spark.sql(self.queries[table]["history"])
            # What is read once is the same for all that follows.
            return frame.localCheckpoint()

    @contextmanager
    def _relation(self, name: str, frame: DataFrame) -> Iterator[None]:
        frame.createOrReplaceTempView(name)
        try:
            yield
        finally:
            self.spark.catalog.dropTempView(name)


def answer(spark: SparkSession, question: Facts, parts: Facts) -> Facts:
    """Return the timeline of what is asked about.

    question  kind, asked and limit
    parts     what macros tell: models, staged, tiers, seeds, queries, raw_tables

    Output: asked, what was found; changes, the first of them in order; left_out, how
    many more there are.
    """
    tables = tables_of(parts["raw_tables"], parts["staged"])
    objects = object_tables(parts["raw_tables"])
    replica = Replica(spark, parts["queries"])
    selection = Selection(replica.deliveries, tables, list(objects.values()))
    if question["kind"] == "user":
        asked = {USERS: ids_called(replica.deliveries[USERS], question["asked"])}
    else:
        asked = objects_called(replica.deliveries, objects, question["asked"])
    asked = {table: ids for table, ids in asked.items() if not ids.isEmpty()}
    if not asked:
        return {"asked": [], "changes": [], "left_out": 0}
    if question["kind"] == "user":
        needed = selection.of_users(asked[USERS])
    else:
        needed = selection.of_objects(asked)
    moments = moments_of(replica, tables, needed)
    return told(spark, moments, parts, asked, question["limit"])


def tables_of(
    raw_tables: Mapping[str, Facts], staged: Collection[str]
) -> dict[str, Table]:
    """Return the raw tables that are staged."""
    return {
        name: Table(name, entry["key"], entry["references"], bool(entry["object_type"]))
        for name, entry in raw_tables.items()
        if name in staged
    }


def object_tables(raw_tables: Mapping[str, Facts]) -> dict[str, str]:
    """Return the raw table of each type of object that permissions are given on."""
    return {
        table["object_type"]: table["references"][table["required"][0]]
        for table in raw_tables.values()
        if table["holder"]
    }


def moments_of(
    replica: Replica, tables: Mapping[str, Table], needed: Mapping[str, DataFrame]
) -> Moments:
    """Return the rows that are needed at all their moments."""
    rows = {
        name: versions(replica.history(name, ids), tables[name]).localCheckpoint()
        for name, ids in needed.items()
    }
    return Moments(rows, tables)


# ---------------------------------------------------------------------------
# Who and what is meant
# ---------------------------------------------------------------------------


def ascii_lower(column: Column) -> Column:
    """Return a text in lower case, of ASCII letters only, as names are compared."""
    return F.translate(column, CAPITALS, SMALL)


def ids_called(deliveries: DataFrame, asked: str) -> DataFrame:
    """Return the rows that have this id, or were ever called so."""
    is_meant = F.col("id").cast("string") == asked
    for column in ("login_name", "email", "name"):
        if column in deliveries.columns:
            is_meant |= ascii_lower(F.col(column)) == ascii_lower(F.lit(asked))
    found = deliveries.where(is_meant & F.col("id").isNotNull())
    return found.select("id").distinct().localCheckpoint()


def objects_called(
    deliveries: Mapping[str, DataFrame], object_tables: Mapping[str, str], asked: str
) -> dict[str, DataFrame]:
    """Return the objects that are meant, by table.

    They are meant by a type and an id or a name, or by a name alone.
    """
    found = {}
    for object_type, table in object_tables.items():
        frame = deliveries[table]
        is_called = ascii_lower(F.col("name")) == ascii_lower(F.lit(asked))
        ids = frame.where(is_called & F.col("id").isNotNull()).select("id")
        kind, rest = asked[: len(object_type)], asked[len(object_type) :]
        if kind.lower() == object_type.lower() and rest != rest.lstrip():
            ids = ids.union(ids_called(frame, rest.strip()))
        found[table] = ids.distinct().localCheckpoint()
    return found


# ---------------------------------------------------------------------------
# What the models make of all moments
# ---------------------------------------------------------------------------


def worked_out(models: Models, moments: Moments, parts: Facts) -> dict[str, DataFrame]:
    """Run the models over all moments; return what they and staging have."""
    frames: dict[str, DataFrame] = {}
    for table in moments.rows:
        name = PREFIX + table
        frames[name] = moments.staged(table).localCheckpoint()
        models.put(name, frames[name])
    of_one_moment = {PATHS: (USER, "object_id")} | {
        tier["view"]: (USER, *tier["keys"]) for tier in parts["tiers"].values()
    }
    for model in parts["models"]:
        name = model["name"]
        frame = models.result(model)
        if name in of_one_moment:
            frame = moments.of_one_moment(frame, *of_one_moment[name])
        if name not in (PATHS, EXPLAINED):
            # Paths are many, and each reader takes a few of them.
            frame = frame.localCheckpoint()
        frames[name] = frame
        models.put(name, frame)
    return frames


def keys_of(parts: Facts) -> list[str]:
    """Return the keys of all tiers."""
    return list(
        dict.fromkeys(key for tier in parts["tiers"].values() for key in tier["keys"])
    )


def seen(frames: Mapping[str, DataFrame], moments: Moments, parts: Facts) -> DataFrame:
    """Return who has access to what at which moment, of all tiers.

    Output: tier, its place in the config; user_id and the keys of all tiers, as
    numbers; carried, what the access view tells beside them; moment.
    """
    of_tiers = []
    for place, tier in enumerate(parts["tiers"].values()):
        nothing = F.lit(None)
        carried = F.concat_ws(", ", *tier["carries"]) if tier["carries"] else nothing
        keys = [
            (
                moments.number(key) if key in tier["keys"] else nothing.cast("bigint")
            ).alias(key)
            for key in keys_of(parts)
        ]
        of_tiers.append(
            frames[tier["view"]].select(
                F.lit(place).alias("tier"),
                moments.number(USER).alias(USER),
                *keys,
                carried.cast("string").alias("carried"),
                moments.moment(USER).alias("moment"),
            )
        )
    return reduce(DataFrame.unionByName, of_tiers)


def paths(frames: Mapping[str, DataFrame], moments: Moments, parts: Facts) -> DataFrame:
    """Return every path at each moment, with the rows that it is made of.

    Output: user_id, object_type, object_id, permission_name, kind, rows (structs of a
    raw table and a number), moment.
    """
    number = moments.number
    object_type = F.col("object_type")
    of_object = F.coalesce(
        *[
            F.when(object_type == known, F.lit(table))
            for known, table in object_tables(parts["raw_tables"]).items()
        ]
    )

    def row(table: Column, id_number: Column) -> Column:
        return F.struct(table.alias("raw_table"), id_number.alias("number"))

    rows = F.array(
        row(F.lit(USERS), number(USER)),
        row(of_object, number("object_id")),
        row(F.col("grant_table"), number("grant_id")),
    )
    by_group = F.concat(
        F.array(row(F.lit(MEMBERS), number("user_group_member_id"))),
        F.transform("group_ids", lambda group: row(F.lit(GROUPS), number(group))),
    )
    return frames[EXPLAINED].select(
        number(USER).alias(USER),
        "object_type",
        number("object_id").alias("object_id"),
        "permission_name",
        F.col("path_kind").alias("kind"),
        # An owner's grant is the object's own row.
        F.array_distinct(
            F.concat(rows, F.coalesce(by_group, F.slice(rows, 1, 0)))
        ).alias("rows"),
        moments.moment(USER).alias("moment"),
    )


# ---------------------------------------------------------------------------
# What is told
# ---------------------------------------------------------------------------


def told(
    spark: SparkSession,
    moments: Moments,
    parts: Facts,
    asked: Mapping[str, DataFrame],
    limit: int,
) -> Facts:
    """Return what was asked about, and its changes with the rows that made each."""
    known = {table: rows_called(moments, table, ids) for table, ids in asked.items()}
    with Models(spark, parts["seeds"]) as models:
        frames = worked_out(models, moments, parts)
        found = changes_of(frames, moments, parts, known).localCheckpoint()
        in_order = ["moment", USER, *keys_of(parts), "tier"]
        first = found.orderBy(*in_order).limit(limit).localCheckpoint()
        evidence = evidence_of(first, frames, moments, parts)
    lines = [row.asDict() for row in first.orderBy(*in_order).collect()]
    types = {table: kind for kind, table in object_tables(parts["raw_tables"]).items()}
    names = {
        column: names_of(moments, first, column) for column in (USER, *keys_of(parts))
    }
    return {
        "asked": [
            {"type": types.get(table, "User"), "id": row["id"], "name": row["name"]}
            for table, rows in known.items()
            for row in rows
        ],
        "changes": [change_of(line, moments, parts, names, evidence) for line in lines],
        "left_out": found.count() - len(lines),
    }


def rows_called(moments: Moments, table: str, ids: DataFrame) -> list[Facts]:
    """Return the number, id and name of rows of a table."""
    numbers = moments.numbers(ids, "id", "number").select("number")
    found = moments.called(numbers, table, NAME.get(table, "name"))
    return [row.asDict() for row in found.orderBy("id").collect()]


def changes_of(
    frames: Mapping[str, DataFrame],
    moments: Moments,
    parts: Facts,
    known: Mapping[str, list[Facts]],
) -> DataFrame:
    """Return the changes of what was asked about."""
    keys = keys_of(parts)
    is_asked = F.lit(False)
    for table, rows in known.items():
        column = moments.tables[table].key
        if column in (USER, *keys):
            is_asked |= F.col(column).isin([row["number"] for row in rows])
    access = seen(frames, moments, parts).where(is_asked)
    return changes(access, [USER, *keys, "tier"], moments.last)


def evidence_of(
    first: DataFrame,
    frames: Mapping[str, DataFrame],
    moments: Moments,
    parts: Facts,
) -> Evidence:
    """Return the ways to what these changes are about, and when their rows moved."""
    ways: dict[tuple, list[Way]] = {}
    moved = moments.moved().localCheckpoint()
    rows = [moved.where(F.col("raw_table") == GROUPS).select(*ROW)]
    held = paths_to(first, paths(frames, moments, parts), parts)
    for of_parts, by in [(held, RIGHT), *links_to(first, frames, moments, parts)]:
        found = runs(of_parts, [*by, "kind", "rows"]).localCheckpoint()
        rows.append(found.select(F.explode("rows").alias("row")).select("row.*"))
        for line in found.collect():
            made_of = tuple((row["raw_table"], row["number"]) for row in line["rows"])
            way = Way(line["kind"], line["first"], line["last"], made_of)
            ways.setdefault(tuple(line[column] for column in by), []).append(way)
    wanted = reduce(DataFrame.unionByName, rows).distinct()
    found = moved.join(wanted, on=list(ROW), how="left_semi").collect()
    return Evidence(
        ways,
        {(row["raw_table"], row["number"]): frozenset(row["moments"]) for row in found},
        {(row["raw_table"], row["number"]): row["raw_id"] for row in found},
    )


def paths_to(first: DataFrame, found: DataFrame, parts: Facts) -> DataFrame:
    """Return the paths to what the changes are about."""
    wanted = [
        first.where(F.col("tier") == place).select(
            USER,
            F.lit(right["object_type"]).alias("object_type"),
            F.col(right["key"]).alias("object_id"),
            F.lit(right["permission"]).alias("permission_name"),
        )
        for place, tier in enumerate(parts["tiers"].values())
        for right in tier["rights"]
    ]
    rights = reduce(DataFrame.unionByName, wanted).distinct()
    return found.join(F.broadcast(rights), on=list(RIGHT), how="left_semi")


def links_to(
    first: DataFrame,
    frames: Mapping[str, DataFrame],
    moments: Moments,
    parts: Facts,
) -> Iterator[tuple[DataFrame, list[str]]]:
    """Return the rows that link what changes are about, and what they are told by."""
    for place, tier in enumerate(parts["tiers"].values()):
        wanted = first.where(F.col("tier") == place).select(*tier["keys"]).distinct()
        for link in tier["links"]:
            table = link["table"]
            live = frames[PREFIX + table].where("is_live")
            row = F.struct(
                F.lit(table).alias("raw_table"),
                moments.number(link["key"]).alias("number"),
            )
            found = live.select(
                F.lit(table).alias("link_table"),
                *(moments.number(key).alias(key) for key in tier["keys"]),
                F.lit("").alias("kind"),
                F.array(row).alias("rows"),
                moments.moment(link["key"]).alias("moment"),
            )
            linked = found.join(
                F.broadcast(wanted), on=list(tier["keys"]), how="left_semi"
            )
            yield linked, ["link_table", *tier["keys"]]


def names_of(moments: Moments, first: DataFrame, column: str) -> dict[int, Facts]:
    """Return the ids and names of what stands in a column of the changes."""
    numbers = first.select(F.col(column).alias("number")).where("number is not null")
    of_table = [name for name, table in moments.tables.items() if table.key == column]
    table = of_table[0]
    found = moments.called(numbers, table, NAME.get(table, "name"))
    return {row["number"]: row.asDict() for row in found.collect()}


def change_of(
    line: Facts,
    moments: Moments,
    parts: Facts,
    names: Mapping[str, Mapping[int, Facts]],
    evidence: Evidence,
) -> Facts:
    """Return a change as it is told."""
    name, tier = list(parts["tiers"].items())[line["tier"]]
    change = "changed"
    if line["had"] != line["has"]:
        change = "gained" if line["has"] else "lost"
    made = evidence.made(
        parts_of(tier, line[USER], line),
        line["moment"],
        line["had"],
        line["has"],
        by_kind=bool(tier["carries"]),
    )
    user = names[USER][line[USER]]
    objects = [{"key": key, **names[key][line[key]]} for key in tier["keys"]]
    return {
        "at": moment_text(moments.times[line["moment"]]),
        "change": change,
        "tier": name,
        "user_id": user["id"],
        "login_name": user["name"],
        "objects": [{part: one[part] for part in OBJECT} for one in objects],
        "carried_before": line["carried_before"],
        "carried": line["carried"],
        "rows": [
            {"table": table, "id": evidence.ids[table, number], "effect": effect}
            for (table, number), effect in made
        ],
    }


def moment_text(micros: int) -> str | None:
    """Return a moment as the text of a timestamp in UTC; none for the beginning."""
    if micros == BEGINNING:
        return None
    return str(datetime(1970, 1, 1) + timedelta(microseconds=micros))
