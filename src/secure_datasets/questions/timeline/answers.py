"""The timeline of a user or an object, from the raw deliveries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from dbt_secure_spark.session import with_settings
from secure_datasets.questions.timeline.changes import (
    Evidence,
    Way,
    change_of,
    keys_of,
    table_of,
)
from secure_datasets.questions.timeline.models import LOADED, PREFIX, Models
from secure_datasets.questions.timeline.moments import (
    COMPARED,
    Moments,
    local_rows,
    no_rows_of,
    relation,
    versions_query,
)
from secure_datasets.questions.timeline.questions import CALLED, EXPLAINED
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

PATHS = "int_access_paths"
RIGHT = (USER, "object_type", "object_id", "permission_name")
CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
# The tables are read in parallel: planning each takes longer than reading it.
AT_ONCE = 4
# A small question spends most of its time in planning wide reads, and most of that in
# inferring conditions from conditions.
SETTINGS = {"spark.sql.constraintPropagation.enabled": "false"}
# For so few ids and rows one partition is best, and interpreting a plan costs less than
# generating code.
FEW_IDS, FEW_ROWS = 10_000, 100_000
SETTINGS_OF_FEW = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Replica:
    """The raw tables, read as staging reads them."""

    def __init__(
        self,
        spark: SparkSession,
        queries: Mapping[str, Facts],
        tables: Mapping[str, Table],
    ) -> None:
        self.spark = spark
        self.queries = queries
        self.tables = tables
        references = {
            column for table in tables.values() for column in table.references
        }
        self.references = sorted(references)
        # Deliveries are looked up several times, by the ids that they name.
        self.deliveries = reduce(
            DataFrame.union, [self._deliveries(table) for table in tables]
        ).localCheckpoint()

    def _deliveries(self, table: str) -> DataFrame:
        """Return the ids that deliveries name, in columns common to all tables."""
        frame = self.spark.sql(self.queries[table]["deliveries"])
        types = dict.fromkeys(self.references, "bigint") | dict.fromkeys(
            CALLED, "string"
        )
        columns = [
            (F.col(name) if name in frame.columns else F.lit(None))
            .cast(kind)
            .alias(name)
            for name, kind in types.items()
        ]
        loaded = F.unix_micros(LOADED).alias("loaded")
        # A delivery with an unreadable id belongs to no question.
        return frame.where(F.col("id").isNotNull()).select(
            F.lit(table).alias("raw_table"), "id", loaded, *columns
        )

    def lookup(self, wanted: Iterable[Wanted]) -> list[Delivery]:
        """Return the wanted deliveries."""
        found = [self._wanted(each) for each in wanted]
        return [
            Delivery(
                row["raw_table"],
                row["id"],
                {
                    column: row[column]
                    for column in self.references
                    if row[column] is not None
                },
            )
            for row in reduce(DataFrame.union, found).distinct().collect()
        ]

    def _wanted(self, wanted: Wanted) -> DataFrame:
        of_tables = F.col("raw_table").isin(*wanted.tables)
        found = self.deliveries.select("raw_table", "id", *self.references)
        if wanted.ids is None:
            return found.where(of_tables & F.col(wanted.column).isNotNull())
        ids = local_rows(self.spark, {"wanted_id": "bigint"}, [[i] for i in wanted.ids])
        is_wanted = F.col(wanted.column) == F.col("wanted_id")
        return found.where(of_tables).join(F.broadcast(ids), on=is_wanted, how="semi")

    def first_load(self) -> int | None:
        """Return when the first delivery was loaded, in microseconds of UTC, if known.

        Deliveries without a load time exist from the beginning, and are ignored here.
        """
        (line,) = self.deliveries.agg(F.min("loaded").alias("first")).collect()
        return line["first"]

    def ids(self) -> Rows:
        """Return all ids that were ever delivered, by table."""
        found: Rows = {}
        for line in self.deliveries.select("raw_table", "id").distinct().collect():
            found.setdefault(line["raw_table"], set()).add(line["id"])
        return found

    def called(self, tables: Collection[str], asked: str, by_id: bool) -> Rows:
        """Return the rows that have this id, or ever had this name, by table."""
        is_meant = F.lit(False)
        for column in CALLED:
            is_called = ascii_lower(F.col(column)) == ascii_lower(F.lit(asked))
            is_meant |= F.coalesce(is_called, F.lit(False))
        if by_id:
            is_meant |= F.col("id").cast("string") == asked
        of_tables = F.col("raw_table").isin(*tables)
        found: Rows = {}
        lines = self.deliveries.where(of_tables & is_meant).select("raw_table", "id")
        for line in lines.distinct().collect():
            found.setdefault(line["raw_table"], set()).add(line["id"])
        return found

    def versions(self, needed: Rows) -> dict[str, DataFrame]:
        """Return the rows of each table with these ids, over time."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(
                lambda table: self._versions(table, needed.get(table, set())),
                self.tables,
            )
            return dict(zip(self.tables, found, strict=True))

    def _versions(self, table: str, ids: set[int]) -> DataFrame:
        raw = self.spark.sql(self.queries[table]["raw"])
        if ids:
            wanted = local_rows(
                self.spark, {"timeline_id": "bigint"}, [[i] for i in ids]
            )
            raw = raw.join(F.broadcast(wanted), on="timeline_id", how="semi")
            # A choice within the staging of a table makes Spark plan endlessly.
            raw = raw.localCheckpoint()
        query = versions_query(self.queries[table]["history"], self.tables[table])
        with relation(f"timeline_{table}", raw.drop("timeline_id")):
            found = self.spark.sql(query).drop(*COMPARED)
            # Later steps read the same rows again.
            return found.localCheckpoint() if ids else no_rows_of(found)


def answer(spark: SparkSession, question: Facts, parts: Facts) -> Facts:
    """Return the timeline of the subject of a question.

    question  kind, asked and limit
    parts     facts from macros: models, staged, tiers, seeds, queries, raw_tables,
              known_since

    Output: asked, what was found; changes, the first of them in order; left_out, how
    many more there are.
    """
    with with_settings(spark, SETTINGS):
        tables = tables_of(parts["raw_tables"], parts["staged"])
        objects = object_tables(parts["raw_tables"])
        replica = Replica(spark, parts["queries"], tables)
        asked = meant(replica, question, objects)
        if not asked:
            return {"asked": [], "changes": [], "left_out": 0}
        selection = Selection(replica.lookup, tables, list(objects.values()))
        if question["kind"] == "user":
            needed = selection.of_users(asked[USERS])
        else:
            needed = selection.of_objects(asked)
        return told(replica, needed, parts, asked, question["limit"])


# ---------------------------------------------------------------------------
# The subject of a question
# ---------------------------------------------------------------------------


def ascii_lower(column: Column) -> Column:
    """Return a text in lower case, of ASCII letters only, as names are compared."""
    return F.translate(column, CAPITALS, SMALL)


# ---------------------------------------------------------------------------
# The models' rows at all moments
# ---------------------------------------------------------------------------


def worked_out(models: Models, moments: Moments, parts: Facts) -> dict[str, DataFrame]:
    """Run the models over all moments; return the rows of models and staging."""
    frames: dict[str, DataFrame] = {}
    with moments.numbered(), ThreadPoolExecutor(AT_ONCE) as pool:
        staged = pool.map(moments.staged, moments.rows)
        for table, frame in zip(moments.rows, staged, strict=True):
            frames[PREFIX + table] = frame
            models.put(PREFIX + table, frame)
    views = {tier["view"]: (USER, *tier["keys"]) for tier in parts["tiers"].values()}
    of_one_moment = {PATHS: (USER, "object_id")} | views
    # Paths of many are more than each of their readers takes, who knows which.
    unstored = {EXPLAINED} | (set() if moments.size <= FEW_ROWS else {PATHS})
    for model in parts["models"]:
        name = model["name"]
        frame = models.result(model)
        if name in of_one_moment:
            frame = moments.of_one_moment(frame, *of_one_moment[name])
        if name not in unstored:
            frame = frame.localCheckpoint()
        frames[name] = frame
        models.put(name, frame)
    return frames


def beginnings(parts: Facts) -> dict[str, int]:
    """Return the beginning of each past that has one, by table, in microseconds.

    Only the tables that decide about a tier.
    """
    raw_tables = parts["raw_tables"]
    tiers = parts["tiers"].values()
    told = {right["object_type"] for tier in tiers for right in tier["rights"]}
    objects = object_tables(raw_tables)
    not_told = {table for kind, table in objects.items() if kind not in told}
    return {
        table: since
        for table, since in sorted(parts["known_since"].items())
        if table not in not_told
        and not not_told & {*raw_tables[table]["references"].values()}
    }


def told_since(parts: Facts) -> int | None:
    """Return the latest beginning, when all tables have a past; None if there is none.

    Before it, some tables would be empty.
    """
    return max(beginnings(parts).values(), default=None)


def known_from(rows: DataFrame, begins: int | None) -> DataFrame:
    """Return the versions of rows since a moment: the ones at that moment begin there.

    rows    all versions of the rows, from `versions_query`
    begins  the moment in microseconds; None takes all versions
    """
    if begins is None:
        return rows
    decides = F.col("decides") | (F.col("since") <= begins)
    return (
        rows.where(f"until is null or until > {begins}")
        .withColumn("decides", decides)
        .withColumn("since", F.greatest("since", F.lit(begins).cast("bigint")))
    )


@contextmanager
def side_by_side(
    replica: Replica,
    needed: Rows,
    parts: Facts,
    chosen: Callable[[DataFrame, Table], DataFrame] = lambda rows, _: rows,
) -> Iterator[tuple[Moments, dict[str, DataFrame]]]:
    """Lay all moments side by side, and yield the rows of models and staging.

    needed  the ids of the rows, by table; at least one
    parts   as answer() has them
    chosen  returns which rows of a table are laid there, of what it ever said
    """
    spark, tables = replica.spark, replica.tables
    ids = sum(map(len, needed.values()))
    begins = told_since(parts)
    with with_settings(spark, SETTINGS_OF_FEW if ids <= FEW_IDS else {}):
        versions = replica.versions(needed)
        rows = {
            name: chosen(known_from(frame, begins), tables[name])
            for name, frame in versions.items()
        }
        moments = Moments(spark, rows, needed, tables, versions)
    are_few = moments.size <= FEW_ROWS
    with (
        with_settings(spark, SETTINGS_OF_FEW if are_few else {}),
        Models(spark, parts["seeds"]) as models,
    ):
        yield moments, worked_out(models, moments, parts)


def seen(frames: Mapping[str, DataFrame], moments: Moments, parts: Facts) -> DataFrame:
    """Return the accesses of all tiers at each moment.

    Output: tier, its place in the config; user_id and the keys of all tiers, as
    numbers; carried, the further columns of the access view; moment.
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
    """Return every path at each moment, with the rows that make it.

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
# Over moments
# ---------------------------------------------------------------------------


def runs(held: DataFrame, by: Sequence[str]) -> DataFrame:
    """Return the first and last moment of each fact that holds.

    held  a row for each `moment` at which a fact holds

    Output: the columns that identify the fact, and its first and last moment.
    """
    in_order = Window.partitionBy(*by).orderBy("moment")
    return (
        held.select(*by, "moment")
        # Several ways may give the same access.
        .distinct()
        .withColumn("run", F.col("moment") - F.row_number().over(in_order))
        .groupBy(*by, "run")
        .agg(F.min("moment").alias("first"), F.max("moment").alias("last"))
        .drop("run")
    )


def changes(seen: DataFrame, by: Sequence[str], last: int) -> DataFrame:
    """Return the moments when access began, ended or changed.

    seen  a row for each `moment` at which access is held, with its `carried` columns
    last  the last moment: access at it goes on

    Output: the columns that identify access, moment, had, has, carried_before, carried.
    """
    held = runs(seen, [*by, "carried"])
    begun = held.withColumn("moment", F.col("first")).withColumn("is_on", F.lit(True))
    ended = (
        held.where(F.col("last") < last)
        .withColumn("moment", F.col("last") + 1)
        .withColumn("is_on", F.lit(False))
    )
    # One carried value may end and the next begin at the same moment.
    return (
        begun.unionByName(ended)
        .groupBy(*by, "moment")
        .agg(
            F.bool_or(~F.col("is_on")).alias("had"),
            F.bool_or("is_on").alias("has"),
            F.max(F.when(~F.col("is_on"), F.col("carried"))).alias("carried_before"),
            F.max(F.when(F.col("is_on"), F.col("carried"))).alias("carried"),
        )
    )


# ---------------------------------------------------------------------------
# The answer
# ---------------------------------------------------------------------------


def told(
    replica: Replica,
    needed: Rows,
    parts: Facts,
    asked: Rows,
    limit: int,
) -> Facts:
    """Return the subject, and its changes with the rows that made each."""
    with side_by_side(replica, needed, parts) as (moments, frames):
        found = changes_of(frames, moments, parts, asked).localCheckpoint()
        in_order = ["moment", USER, *keys_of(parts), "tier"]
        first = found.orderBy(*in_order).limit(limit).collect()
        lines = [row.asDict() for row in first]
        left_out = found.count() - limit if len(lines) == limit else 0
        evidence = evidence_of(lines, frames, moments, parts)
        names = names_of(lines, moments, parts, asked)
    types = {table: kind for kind, table in object_tables(parts["raw_tables"]).items()}
    return {
        "asked": [
            {"type": types.get(table, "User"), "id": each, "name": names[table, each]}
            for table, ids in asked.items()
            for each in sorted(ids)
            # At a moment of the past there may be no delivery yet.
            if (table, each) in names
        ],
        "changes": [change_of(line, moments, parts, names, evidence) for line in lines],
        "left_out": left_out,
    }


def changes_of(
    frames: Mapping[str, DataFrame], moments: Moments, parts: Facts, asked: Rows
) -> DataFrame:
    """Return the changes of the subject."""
    keys = keys_of(parts)
    is_asked = F.lit(False)
    for table, ids in asked.items():
        column = moments.tables[table].key
        if column in (USER, *keys):
            is_asked |= F.col(column).isin([moments.number_of(each) for each in ids])
    access = seen(frames, moments, parts).where(is_asked)
    return changes(access, [USER, *keys, "tier"], moments.last)


def evidence_of(
    lines: list[Facts],
    frames: Mapping[str, DataFrame],
    moments: Moments,
    parts: Facts,
) -> Evidence:
    """Return the ways to the changed access, and the moments when their rows moved."""
    ways: dict[tuple, list[Way]] = {}
    # Groups that moved may have opened or closed a ring.
    wanted: Rows = {GROUPS: set(moments.ids.get(GROUPS, ()))}
    held = paths_to(lines, paths(frames, moments, parts), parts)
    for of_parts, by in [(held, RIGHT), *links_to(lines, frames, moments, parts)]:
        for line in runs(of_parts, [*by, "kind", "rows"]).collect():
            made_of = tuple((row["raw_table"], row["number"]) for row in line["rows"])
            way = Way(line["kind"], line["first"], line["last"], made_of)
            ways.setdefault(tuple(line[column] for column in by), []).append(way)
            for table, number in made_of:
                wanted.setdefault(table, set()).add(moments.id_of(number))
    ids = {
        (table, moments.number_of(each)): each
        for table, of_table in wanted.items()
        for each in of_table
    }
    moved = {
        (table, moments.number_of(each)): frozenset(at)
        for (table, each), at in moments.moved(wanted).items()
    }
    return Evidence(ways, moved, ids)


def paths_to(lines: list[Facts], found: DataFrame, parts: Facts) -> DataFrame:
    """Return the paths to the changed access."""
    tiers = list(parts["tiers"].values())
    wanted = {
        (line[USER], right["object_type"], line[right["key"]], right["permission"])
        for line in lines
        for right in tiers[line["tier"]]["rights"]
    }
    types = ("bigint", "string", "bigint", "string")
    columns = dict(zip(RIGHT, types, strict=True))
    rights = local_rows(found.sparkSession, columns, sorted(wanted))
    return found.join(F.broadcast(rights), on=list(RIGHT), how="semi")


def links_to(
    lines: list[Facts],
    frames: Mapping[str, DataFrame],
    moments: Moments,
    parts: Facts,
) -> Iterator[tuple[DataFrame, list[str]]]:
    """Return the rows that link the changed objects, and their columns."""
    for place, tier in enumerate(parts["tiers"].values()):
        keys = tier["keys"]
        wanted = {
            tuple(line[key] for key in keys) for line in lines if line["tier"] == place
        }
        for link in tier["links"] if wanted else ():
            table = link["table"]
            live = frames[PREFIX + table].where("is_live")
            row = F.struct(
                F.lit(table).alias("raw_table"),
                moments.number(link["key"]).alias("number"),
            )
            found = live.select(
                F.lit(table).alias("link_table"),
                *(moments.number(key).alias(key) for key in keys),
                F.lit("").alias("kind"),
                F.array(row).alias("rows"),
                moments.moment(link["key"]).alias("moment"),
            )
            columns = dict.fromkeys(keys, "bigint")
            of_lines = local_rows(live.sparkSession, columns, sorted(wanted))
            linked = found.join(F.broadcast(of_lines), on=list(keys), how="semi")
            yield linked, ["link_table", *keys]


def names_of(
    lines: list[Facts], moments: Moments, parts: Facts, asked: Rows
) -> dict[tuple[str, int], str | None]:
    """Return the names of the subject and of everything in its changes."""
    wanted = {table: set(ids) for table, ids in asked.items()}
    for column in (USER, *keys_of(parts)):
        numbers = {line[column] for line in lines if line[column] is not None}
        ids = {moments.id_of(number) for number in numbers}
        wanted.setdefault(table_of(column, moments.tables), set()).update(ids)
    return moments.names(wanted, {table: NAME.get(table, "name") for table in wanted})
