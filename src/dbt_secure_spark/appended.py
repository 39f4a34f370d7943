"""Write anew only the rows whose keys new raw rows have, and copy the others.

A model whose rows depend on the raw rows of their own key alone notes this key while it
is compiled. If the files of its raw table are those that its published version was read
from, and further ones, its query reads the raw rows with a key of the further files.
All other rows are copied from the published version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter

from dbt_secure_spark.catalogs import columns_and_text, snapshots_of
from dbt_secure_spark.folders import Folders
from dbt_secure_spark.lineage import in_metastore, relation_of, sources_of
from dbt_secure_spark.queries import (
    quoted,
    relations_read,
    with_queries,
    with_snapshots,
)
from dbt_secure_spark.run import run_of
from dbt_secure_spark.unchanged import MadeOf, has_its_rows
from dbt_secure_spark.versions import APPENDED, versions_catalog

if TYPE_CHECKING:
    from dbt_secure_spark.raw_files import RawFiles

logger = AdapterLogger("Spark")

# A table of fewer bytes is written whole in less time than the further joins take.
LEAST = 4 * 2**20
# The keys of the new rows must fit into the memory of each task.
MOST_NEW = 32 * 2**20
LEAST_SHARE = 8


class Key(NamedTuple):
    """What identifies a query's row, and the raw rows that it depends on.

    `column` is the query's column. `of_raw` is SQL over the columns of `raw_rows`,
    which is null for a raw row without a readable key: each such row is read again.
    """

    column: str
    of_raw: str
    query: str


def note_key(
    adapter: SparkAdapter, unique_id: str, column: str, of_raw: str, query: str
) -> None:
    """Note that the rows of a query depend on the raw rows of their own key alone.

    A model that has more than this query has no key. Without a run nothing is noted.
    """
    run = getattr(adapter, "dbt_run", None)
    if run is not None:
        run.keys[unique_id] = Key(column, of_raw, query)


def query_of_appended(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    code: str,
    made: MadeOf | None,
) -> str | None:
    """Return the query that reads new raw rows only; None if all are to be read.

    made  the inputs of the next version
    """
    run = run_of(adapter)
    key, sources = run.keys.get(node["unique_id"]), sources_of(graph, node)
    version = run.published.version_of(relation_of(node))
    if key is None or made is None or version is None or len(sources) != 1:
        return None
    noted = APPENDED.search(run.published.versions.get(version, ""))
    ((raw, files),) = made.files.items()
    if noted is None or noted["beside"] != made.beside:
        return None
    until = int(noted["until"])
    of_then = files.until(until)
    if of_then is None or of_then.digest != noted["files"]:
        return None
    # The sample's raw tables are views.
    is_table = run.published.version_of(raw) is None
    is_read = raw in relations_read(node["name"], code)
    is_whole = key.query.strip() == code.strip()
    if not (is_table and is_read and is_whole and is_worth(files, until)):
        return None
    if not has_its_rows(adapter, graph, version):
        return None
    logger.debug(
        f"'{node['name']}' reads what its raw table has in new files, and copies its"
        f" other rows from {version}."
    )
    (source,) = sources.values()
    run.copied[node["unique_id"]] = until, of_then.digest
    folders = Folders.read(run.published.definitions.get(relation_of(node)))
    columns, _ = columns_and_text(adapter, version)
    return with_new_rows(
        node["name"],
        key,
        source["relation_name"],
        f"select * from {source['relation_name']}"
        f" where _metadata.file_modification_time > timestamp_micros({until})",
        _as_it_was_written(adapter, version),
        [name for name, _ in columns if not folders or name != folders.column],
    )


def _as_it_was_written(adapter: SparkAdapter, version: str) -> str:
    """Return a version as its view names it."""
    if versions_catalog(adapter) is None:
        return version
    return with_snapshots(version, snapshots_of(adapter, [version]))


def is_worth(files: RawFiles, until: int) -> bool:
    """Return whether a table's files after a moment are few of many."""
    of_all = sum(file.size for file in files.listed)
    new = sum(file.size for file in files.listed if file.written > until)
    return of_all >= LEAST and 0 < new <= min(MOST_NEW, of_all // LEAST_SHARE)


def with_new_rows(
    name: str, key: Key, raw: str, new_rows: str, former: str, columns: Iterable[str]
) -> str:
    """Return the query of a model's rows, of which only those of new rows are made.

    name      the model's name
    raw       the raw table, as SQL names it
    new_rows  a query of the raw rows that are new
    former    the model's rows before, as SQL names them
    columns   the columns of these rows, whose order may differ from the query's
    """
    delivered = f"""(
    select distinct {key.of_raw} as delivered_key from (
        {new_rows}
    ) as raw_rows
) as delivered"""
    of_their_keys = f"""select /*+ broadcast(delivered) */ raw_rows.*
from {raw} as raw_rows
left join {delivered}
    on {key.of_raw} = delivered.delivered_key
where {key.of_raw} is null or delivered.delivered_key is not null"""
    made = with_queries(name, key.query, {in_metastore(raw)}, lambda _: of_their_keys)
    listed = [quoted([column]) for column in columns]
    return f"""select {", ".join(listed)} from (
{made}
) as of_new_rows
union all
select /*+ broadcast(delivered) */ {", ".join(f"former.{each}" for each in listed)}
from {former} as former
left join {delivered}
    on former.{key.column} = delivered.delivered_key
where former.{key.column} is not null and delivered.delivered_key is null"""
