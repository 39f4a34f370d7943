"""Decide whether a version can stay: nothing that its rows come from has changed.

A version's property ``made_of`` holds a digest of its inputs and its number of rows. It
is set only if no raw table was written to while the version was written. A view's
property ``contract`` holds a digest of what its columns come from: they are compared
with its contract only once.
"""

from __future__ import annotations

import ast
import re
import sys
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.ahead import files_ahead, rows_ahead
from dbt_secure_spark.catalogs import (
    columns_and_text,
    has_its_snapshot,
    names_snapshots,
    rows_with_snapshot,
    without_its_catalog,
)
from dbt_secure_spark.functions import may_be_of_people
from dbt_secure_spark.hidden_reads import LIBRARIES
from dbt_secure_spark.hooks import option_to_read_some_rows
from dbt_secure_spark.lineage import STORED, relation_of, run_of_version, sources_of
from dbt_secure_spark.one_state import whole_versions
from dbt_secure_spark.published_state import fields_of
from dbt_secure_spark.queries import (
    functions_of_people,
    queries_of_python,
    reads_narrowed,
    relations_read,
    words_and_texts,
)
from dbt_secure_spark.raw_files import (
    RawFiles,
    digest_of,
    engine_of,
    files_of,
    is_by_the_time,
    read_unless_known,
    settled,
    shows,
)
from dbt_secure_spark.raw_tables import table_of
from dbt_secure_spark.run import run_of
from dbt_secure_spark.versions import (
    MADE_OF,
    RawRead,
    encoded,
    named_versions,
    raw_files,
    rows_of,
    set_properties,
)
from secure_datasets.sql.clock_texts import is_clock
from secure_datasets.sql.functions import CHANCE, CLOCK, FOREIGN, SESSION

logger = AdapterLogger("Spark")

# Names whose value may differ at each evaluation.
OF_THE_MOMENT = CHANCE | CLOCK | FOREIGN | SESSION - {"version", "current_timezone"}
OF_THE_MOMENT |= {"unix_timestamp", "tablesample", "_metadata"}
# The same in Python: chance, the clock, a session's state beside its settings, and
# libraries of any release.
OF_PYTHON = OF_THE_MOMENT | {"randomsplit", "sample", "sampleby", "hash", "utcnow"}
OF_PYTHON |= {"catalog", "conf", "inputfiles", *LIBRARIES}
OF_PYTHON |= {"topandas", "applyinpandas", "mapinpandas", "pandas_api", "pandas_udf"}
# In a query, the clock's day in UTC, as whole days since 1970.
DAY_OF_CLOCK = (
    "(unix_micros(current_timestamp()) - pmod(unix_micros(current_timestamp()),"
    " 86400000000)) div 86400000000"
)
READS_THE_DAY = re.compile(re.escape(DAY_OF_CLOCK).replace(r"\ ", r"\s+"))
# In parentheses, so that what stands before is still called; a comment ends before it.
A_DAY = "(0)\n"


class ViewShown(NamedTuple):
    """A view, its columns with their types, and its text in the metastore."""

    view: str
    columns: tuple[tuple[str, str], ...]
    text: str | None


@dataclass(frozen=True)
class MadeOf:
    """The inputs of a new version.

    `digest` covers all inputs of its rows, `beside` those beside the raw tables.
    `files` holds the state of each raw table's files, by relation; `raw` holds each raw
    table's reading, in the order of `sources_of`; `views` holds what its parents that
    are views show.
    """

    digest: str
    files: dict[str, RawFiles]
    raw: tuple[RawRead, ...] = ()
    views: tuple[ViewShown, ...] = ()
    beside: str = ""


def made_of(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    code: str,
    begun: dict[str, Any],
    files: dict[str, RawFiles] | None,
) -> MadeOf | None:
    """Return the inputs of a node's next version; None if it is made anew.

    It is made anew if the node's config does not keep unchanged versions, or if the
    inputs can't be known. `begun` has the readings of the node's raw tables (`raw`) and
    the folders of the version (`folders`). `files` is the state of the raw tables'
    files before the tables were read.
    """
    if files is None:
        return None
    raw, parents = begun["raw"], None
    timeless = code if is_python(node) else READS_THE_DAY.sub(A_DAY, code)
    unknown, versions = run_of(adapter).reads_of_its_own(graph, node, code)
    if unknown or versions:
        why = (
            f"it reads {', '.join([*sorted(unknown), *versions])} by a text of its own"
        )
    elif any(read.content is None for read in raw):
        why = "not all rows of a raw table are read"
    elif is_prepared(node):
        why = "it has a sql_header or a pre_hook"
    elif may_vary(adapter, node, timeless):
        why = (
            "its text may give other rows each time: it reads the clock, uses chance,"
            " a library, or a function that is not Spark's own"
        )
    elif (parents := versions_of_parents(adapter, graph, node, code)) is None:
        why = "it reads what is no published version as it was written"
    if parents is None:
        logger.debug(f"'{node['name']}' is made anew: {why}.")
        return None
    parts = {
        "code": code,
        "model": [node["config"], node["columns"], node["description"]],
        "parents": parents,
        "engine": engine_of(run_of(adapter)),
        "python": [sys.version, time.tzname] if is_python(node) else None,
    }
    if timeless != code:
        parts["day"] = day_of(adapter)
    beside = digest_of(parts)
    # Sources of several projects may have the same name.
    raw_ids = sources_of(graph, node)
    read = sorted(
        (unique_id, each.rows, each.content)
        for unique_id, each in zip(raw_ids, raw, strict=True)
    )
    digest = digest_of([beside, read, begun["folders"]])
    views = tuple(each for each in parents if isinstance(each, ViewShown))
    return MadeOf(digest, files, tuple(raw), views, beside)


def read_raw_tables(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    files: dict[str, RawFiles] | None,
) -> list[RawRead]:
    """Return the readings of the raw tables that a model reads itself.

    `files` is the state of the tables' files; None if it must not count.
    """
    run = run_of(adapter)
    sources = sources_of(graph, node).values()
    if option_to_read_some_rows():
        # Only some rows are read, so the reading must equal no reading of a table.
        return [RawRead(table_of(source), run.name) for source in sources]
    of_table = (files or {}).get
    return [
        read_unless_known(run, each, of_table(relation_of(each)), run.name)
        for each in sources
    ]


def versions_of_parents(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], code: str
) -> list[str | ViewShown] | None:
    """Return the versions that a node reads; None if it reads anything else.

    A view that shows versions alone is in the result as it is now. A parent that the
    query does not name does not count: it may have been queried for
    values that the query contains. A Python model reads all its parents by ref() and
    source().
    """
    run = run_of(adapter)
    raw = {relation_of(source) for source in sources_of(graph, node).values()}
    named = [] if is_python(node) else relations_read(node["name"], code)
    read, found = set(named) - raw, []
    whole = whole_versions(adapter, graph, node) if is_python(node) else {}
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        # The sample's seeds are raw tables, too.
        if parent is None or relation_of(parent) in raw:
            continue
        kind = parent["config"]["materialized"]
        if kind == "ephemeral":
            return None
        name = run.deferred(parent) or relation_of(parent)
        if not is_python(node) and name not in read:
            continue
        read.discard(relation_of(parent))
        if kind == "view" and not run.deferred(parent):
            view = shown_by(adapter, relation_of(parent))
            if not is_fixed(adapter, view):
                return None
            found.append(view)
            continue
        version = run.published.version_of(relation_of(parent))
        if kind not in STORED or version is None or run.deferred(parent):
            return None
        # A parent that shows rows by the time shows different rows each time, unless
        # the node reads its whole version.
        is_by_itself = relation_of(parent) in whole
        if is_by_the_time(run, parent) and not is_by_itself:
            return None
        # This run has switched the parent, and reads its switches back.
        is_of_this_run = run_of_version(version) == run.name
        if not (is_by_itself or is_of_this_run or shows(run, parent, version)):
            return None
        found.append(version)
    return sorted(found, key=str) if not read else None


def shown_by(adapter: SparkAdapter, view: str) -> ViewShown:
    """Return what a view shows now, unlike `text_of` of the run."""
    columns, text = columns_and_text(adapter, view)
    return ViewShown(view, tuple(columns), text)


def is_python(node: dict[str, Any]) -> bool:
    """Return whether a node is a Python model."""
    return node.get("language") == "python"


def is_prepared(node: dict[str, Any]) -> bool:
    """Return whether a node's query follows statements, which may set variables."""
    config = node["config"]
    return any(config.get(key) for key in ("sql_header", "pre-hook", "pre_hook"))


def may_vary(adapter: SparkAdapter, node: dict[str, Any], code: str) -> bool:
    """Return whether a query may give different rows from the same inputs.

    The names and functions in it decide. A function that is not Spark's own may have a
    different definition the next time, and a library may behave differently.
    """
    queries = [code]
    if is_python(node):
        queries, _ = queries_of_python(node["name"], node["raw_code"])
        words = words_of_python(node["raw_code"])
        if OF_PYTHON & words or any(map(is_clock, words)):
            return True
    return any(_may_vary(adapter, node["name"], query) for query in queries)


def _may_vary(adapter: SparkAdapter, name: str, query: str) -> bool:
    words, texts = words_and_texts(name, query)
    called = functions_of_people(name, query)
    return (
        bool(OF_THE_MOMENT & words)
        or any(map(is_clock, texts))
        or any(may_be_of_people(adapter, *each) for each in called.items())
    )


def is_fixed(adapter: SparkAdapter, view: ViewShown) -> bool:
    """Return whether a view reads versions alone, and the same rows each time."""
    if view.text is None or not names_snapshots(adapter, view.text):
        return False
    text = without_its_catalog(adapter, view.text)
    return reads_versions_alone(adapter, view.view, text) and not _may_vary(
        adapter, view.view, text
    )


def reads_versions_alone(adapter: SparkAdapter, name: str, query: str) -> bool:
    """Return whether a query reads only versions, and calls only Spark's functions."""
    try:
        read = set(relations_read(name, query))
        called = functions_of_people(name, query)
    except CompilationError as why:
        logger.debug(str(why))
        return False
    return read <= set(named_versions(query)) and not any(
        may_be_of_people(adapter, *each) for each in called.items()
    )


def words_of_python(code: str) -> set[str]:
    """Return the names of Python's code and the words of its texts, in lower case.

    Docstrings are left out, and so is the word user in a text: a kind of path or grant
    has this name.
    """
    tree = ast.parse(code)
    said = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id.lower())
        elif isinstance(node, ast.Attribute):
            found.add(node.attr.lower())
        elif isinstance(node, ast.alias):
            found.add(node.name.lower())
        elif isinstance(node, ast.Constant) and node not in said:
            found |= set(re.findall(r"\w+", str(node.value).lower())) - {"user"}
    return found


def day_of(adapter: SparkAdapter) -> int:
    """Return the day of Spark's clock in UTC, in days since 1970.

    A query that reads the day later may find the next one, and is then made anew once
    more.
    """
    return int(rows_of(adapter, f"select {DAY_OF_CLOCK}")[0][0])


def files_of_sources(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    is_ahead: bool = False,
) -> dict[str, RawFiles] | None:
    """Return the state of the files of a node's raw tables.

    None if one table's state is unknown, or if the node's config does not keep
    unchanged versions.

    is_ahead  whether the state of before the run's first model is enough
    """
    if not node["config"].get("keep_unchanged"):
        return None
    found, run = {}, run_of(adapter)
    for source in sources_of(graph, node).values():
        files = files_ahead(run, graph, source) if is_ahead else files_of(run, source)
        if files is None:
            logger.debug(
                f"'{node['name']}' is made anew: the files of"
                f" {relation_of(source)} do not tell whether it has changed."
            )
            return None
        found[relation_of(source)] = files
    return found


def contract_of(
    adapter: SparkAdapter, node: dict[str, Any], sql: str, query: str
) -> str | None:
    """Return a digest of all that decides whether a view fits its contract.

    None if the columns may change while the digest stays. A version's never do.

    sql    the view's query as dbt compiled it, which is held against the contract
    query  the query that the view switches to, with versions
    """
    # A narrowed query reads former versions of the rows, and `sql` the present ones.
    if is_prepared(node) or reads_narrowed(query) or "${" in query:
        return None
    if not reads_versions_alone(adapter, node["name"], query):
        return None
    engine = engine_of(run_of(adapter))
    return digest_of([sql, query, node["config"], node["columns"], engine])


def version_to_keep(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    begun: dict[str, Any],
) -> str | None:
    """Return the published version, if the next one would be the same; None if not.

    `begun` has the inputs of the next version (`made_of`), and how its view would show
    it (`in_time` or `folders`).
    """
    published = run_of(adapter).published
    version = published.version_of(relation_of(node))
    of_next, shape = begun["made_of"], begun["in_time"] or begun["folders"]
    if of_next is None or version is None:
        return None
    noted = MADE_OF.search(published.versions.get(version, ""))
    if noted is None or noted["digest"] != of_next.digest:
        return None
    if not has_its_rows(adapter, graph, version):
        return None
    # A view that somebody had put in its place before the run is replaced, too.
    query = shape.published_rows(version) if shape else f"select * from {version}"
    definition = published.definitions.get(relation_of(node))
    told = fields_of(definition or "").get("View Text", "")
    text = without_its_catalog(adapter, told)
    is_shown = text.strip().lower() == query.lower()
    if not is_shown or not names_snapshots(adapter, told):
        return None
    # For the nodes that read it, and for the end of the run.
    run_of(adapter).texts[relation_of(node)] = text
    run_of(adapter).kept[relation_of(node)] = told
    return version


def has_its_rows(adapter: SparkAdapter, graph: dict[str, Any], version: str) -> bool:
    """Return whether a published version has all the rows that it was written with."""
    run = run_of(adapter)
    noted = MADE_OF.search(run.published.versions.get(version, ""))
    if noted is None:
        return False
    rows = int(noted["rows"])
    is_counted = rows_ahead(run, graph, version) == rows
    return is_counted or is_whole(adapter, version, rows)


def is_whole(adapter: SparkAdapter, version: str, rows: int) -> bool:
    """Return whether a version has all its rows; if not, it must be written again."""
    try:
        has_all = rows_with_snapshot(adapter, version) == rows
        return has_all and has_its_snapshot(adapter, version)
    except DbtRuntimeError as failure:
        # A file is damaged, or the version's entry in the metastore.
        logger.debug(str(failure))
        return False


def properties_of_made(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    version: str,
    made: MadeOf | None,
) -> list[str]:
    """Return the properties that note what a version was made of, as SQL.

    There are none if a raw table was written to meanwhile, or a view. Files that were
    new when the run began are left out: the next run reads their contents. Raises
    DbtRuntimeError if raw rows went that a copied row was made of.
    """
    now = files_of_sources(adapter, graph, node) if made else None
    _refuse_lost_files(run_of(adapter), node, now)
    if made is None or now != made.files:
        return []
    if any(shown_by(adapter, each.view) != each for each in made.views):
        return []
    before = settled(run_of(adapter))
    states = [
        made.files[relation_of(each)] for each in sources_of(graph, node).values()
    ]
    read = {
        state: reading
        for state, reading in zip(states, made.raw, strict=True)
        if state.newest < before
    }
    files = " ".join(f"{state.digest}:{reading}" for state, reading in read.items())
    properties = [f"'made_of' = '{made.digest}_{rows_with_snapshot(adapter, version)}'"]
    (of_raw,) = read if len(read) == len(made.raw) == 1 else (None,)
    if of_raw and of_raw.listed and node["unique_id"] in run_of(adapter).keys:
        # By it a later version may copy rows from this one.
        until = f"{of_raw.newest}_{of_raw.digest}"
        properties.append(f"'appended' = '{made.beside}_{until}'")
    return properties + ([f"'raw_files' = '{encoded(files)}'"] if files else [])


def _refuse_lost_files(
    run: Any, node: dict[str, Any], now: dict[str, RawFiles] | None
) -> None:
    """Raise if the raw files that copied rows were read from are there no longer."""
    if (copied := run.copied.pop(node["unique_id"], None)) is None:
        return
    until, digest = copied
    there = [files.until(until) for files in (now or {}).values()]
    if [files and files.digest for files in there] != [digest]:
        raise DbtRuntimeError(
            f"'{node['name']}' is not published: its raw table was replaced while rows"
            " were copied from the version before. Run it again."
        )


def note_files(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    version: str,
    made: MadeOf,
) -> None:
    """Note the raw tables' new files with a version that stays."""
    if not made.files:
        return
    told = run_of(adapter).published.versions.get(version)
    noted = {digest for _, digest in raw_files(told)}
    if {files.digest for files in made.files.values()} <= noted:
        return
    properties = properties_of_made(adapter, graph, node, version, made)
    set_properties(adapter, version, properties)
