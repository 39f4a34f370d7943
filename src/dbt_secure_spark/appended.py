"""Write anew only the rows whose keys new raw rows have, and copy the others.

A model whose rows depend on the raw rows of their own key alone notes this key while it
is compiled. If the files of its raw table are those that its published version was read
from, and further ones, its query reads the raw rows with a key of the further files.
All other rows are copied from the published version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.adapters.spark import SparkAdapter

from dbt_secure_spark.folders import Folders
from dbt_secure_spark.lineage import relation_of, sources_of
from dbt_secure_spark.queries import relations_read, with_queries
from dbt_secure_spark.run import run_of
from dbt_secure_spark.versions import APPENDED

if TYPE_CHECKING:
    from dbt_secure_spark.raw_files import RawFiles

# A table of fewer bytes is written whole in less time than the further joins take.
LEAST = 4 * 2**20
# The keys of the new rows must fit into the memory of each task.
MOST_NEW = 32 * 2**20
LEAST_SHARE = 8


class Key(NamedTuple):
    """What identifies a model's row, and the raw rows that it depends on.

    `column` is the model's column. `of_raw` is SQL over the raw table's columns, which
    is null for a raw row without a readable key: each such row is read again.
    """

    column: str
    of_raw: str


def note_key(adapter: SparkAdapter, unique_id: str, column: str, of_raw: str) -> None:
    """Note that a model's rows depend on the raw rows of their own key alone.

    Without a run nothing is noted.
    """
    run = getattr(adapter, "dbt_run", None)
    if run is not None:
        run.keys[unique_id] = Key(column, of_raw)


def properties_of_appended(
    adapter: SparkAdapter, node: dict[str, Any], beside: str, files: RawFiles
) -> list[str]:
    """Return the property by which a later version may copy from this one, as SQL.

    beside  the digest of all inputs beside the raw table
    files   the state of its raw table's files
    """
    if not files.listed or node["unique_id"] not in run_of(adapter).keys:
        return []
    return [f"'appended' = '{beside}_{files.newest}_{files.digest}'"]


def query_of_appended(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    code: str,
    made: Any,
) -> str | None:
    """Return the query that reads new raw rows only; None if all are to be read.

    made  the inputs of the next version, a `MadeOf`
    """
    run = run_of(adapter)
    key = run.keys.get(node["unique_id"])
    version = run.published.version_of(relation_of(node))
    if key is None or made is None or version is None or len(made.files) != 1:
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
    if not (is_table and is_read and is_worth(files, until)):
        return None
    (source,) = sources_of(graph, node).values()
    folders = Folders.read(run.published.definitions.get(relation_of(node)))
    return with_new_rows(
        node["name"],
        code,
        raw,
        key,
        f"select * from {source['relation_name']}"
        f" where _metadata.file_modification_time > timestamp_micros({until})",
        folders.published_rows(version) if folders else f"select * from {version}",
    )


def is_worth(files: RawFiles, until: int) -> bool:
    """Return whether a table's files after a moment are few of many."""
    of_all = sum(file.size for file in files.listed)
    new = sum(file.size for file in files.listed if file.written > until)
    return of_all >= LEAST and 0 < new <= min(MOST_NEW, of_all // LEAST_SHARE)


def with_new_rows(
    name: str, code: str, raw: str, key: Key, new_rows: str, former: str
) -> str:
    """Return the query of a model's rows, of which only those of new rows are made.

    name      the model's name
    code      its query over all raw rows
    raw       the raw table
    new_rows  a query of the raw rows that are new
    former    a query of the model's rows before
    """
    delivered = f"""(
    select distinct {key.of_raw} as delivered_key from (
        {new_rows}
    ) as new_rows
) as delivered"""
    of_their_keys = f"""select /*+ broadcast(delivered) */ raw_rows.*
from {raw} as raw_rows
left join {delivered}
    on {key.of_raw} = delivered.delivered_key
where {key.of_raw} is null or delivered.delivered_key is not null"""
    made = with_queries(name, code, {raw}, lambda _: of_their_keys)
    return f"""select * from (
{made}
) as of_new_rows
union all
select /*+ broadcast(delivered) */ former.* from (
    {former}
) as former
left join {delivered}
    on former.{key.column} = delivered.delivered_key
where former.{key.column} is not null and delivered.delivered_key is null"""
