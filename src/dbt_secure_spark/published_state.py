"""Write the published state as a file: `published.json`, beside the versions.

A run writes it after its last switch, under its lock, from the definitions of the views
in the metastore. With this file, a reader of the warehouse can answer questions without
a metastore.

While a run is building, `published.run.json` lies beside it. If the run is killed, that
file stays: until the next run, views may show newer versions than the state names.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from jinja2 import Undefined
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from dbt_secure_spark.catalogs import AT_ONCE, snapshots_of
from dbt_secure_spark.formats import ICEBERG
from dbt_secure_spark.lineage import digest_of_code, relation_of
from dbt_secure_spark.lock import RunLost
from dbt_secure_spark.session import start_session
from dbt_secure_spark.submission import session_parameters
from dbt_secure_spark.versions import (
    SUFFIX,
    VERSION,
    RawRead,
    definitions,
    definitions_of_versions,
    is_data,
    raw_reads,
    rows_of,
    versions_kept,
    versions_read,
)
from dbt_secure_spark.warehouse import CLAIM, described, schema_properties

if TYPE_CHECKING:
    from dbt_secure_spark.run import Run

FORMAT = 1
STATE = "published.json"
BUILDING = "published.run.json"
# File systems that show a file only once it is closed, and have no atomic rename.
OBJECT_STORES = ("s3a", "s3", "gs", "wasb", "wasbs", "oss")
SPARK_TYPES = {
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
}
COLUMN = re.compile(
    r" \|(?P<depth>(?:    \|)*)-- (?P<name>.*): (?P<type>[^:]*?|\w+<.*>)"
    r"(?: \((?:nullable|containsNull|valueContainsNull) = (?:true|false)\))?"
)
# The errors of a file system that can't be read or written, by Python or by Spark.
FAILURES = (OSError, Py4JError, PySparkException)
logger = AdapterLogger("Spark")


class NotWritten(Exception):
    """The state could not be written; the message has the reason."""


# Reading a relation's definition in the metastore


def fields_of(told: str) -> dict[str, str]:
    """Return the fields of a relation's definition in the metastore, by name.

    A view's text may have several lines. The definition has it twice in a row, which
    shows where it ends.
    """
    text, view = told, None
    first, second = "\nView Text: ", "\nView Original Text: "
    start = told.find(first)
    end = told.find(second, start + 1) if start >= 0 else -1
    while end >= 0 and view is None:
        found, after = told[start + len(first) : end], end + len(second)
        if told.startswith(f"{found}\n", after):
            view, text = found, told[:start] + told[after + len(found) :]
        end = told.find(second, end + 1)
    # The schema comes last, and its names may look like fields.
    head, _, schema = text.partition("\nSchema: root\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    return fields | {"Schema": schema} | ({"View Text": view} if view else {})


def columns_of(schema: str) -> list[list[str]]:
    """Return the columns of a schema that is printed as a tree, with Spark's types."""
    lines = []
    for line in schema.splitlines():
        if found := COLUMN.fullmatch(line):
            lines.append((len(found["depth"]) // 5, found["name"], found["type"]))
    return _columns(lines, 0, 0)[0]


def _columns(
    lines: list[tuple[int, str, str]], place: int, depth: int
) -> tuple[list[list[str]], int]:
    found = []
    while place < len(lines) and lines[place][0] == depth:
        _, name, kind = lines[place]
        inner, place = _columns(lines, place + 1, depth + 1)
        if kind == "struct":
            kind = f"struct<{', '.join(': '.join(each) for each in inner)}>"
        elif kind in ("array", "map"):
            kind = f"{kind}<{', '.join(each for _, each in inner)}>"
        found.append([name, SPARK_TYPES.get(kind, kind)])
    return found, place


# The state that a run writes


class StateFile:
    """The published state of a run's schema, as a file."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.adapter = run.adapter
        self.writing = threading.Lock()
        self.is_begun = False

    @property
    def store(self) -> str | None:
        """The schema of versions whose folder has the state; None if there is none."""
        stores, own = self.run.own_schemas, f"{self.run.target}{SUFFIX}".lower()
        return own if own in stores else min(stores, default=None)

    def begin(self) -> None:
        """Note that from now on the views may differ from the state.

        Called before each switch: a run that switches nothing leaves the state as it
        is.
        """
        with self.writing:
            if self.is_begun or self.store is None:
                return
            self.is_begun = True
            began = {"format": FORMAT, "run": self.run.name, "began_at": _now()}
            try:
                self._put(self._folder(), BUILDING, began)
            except NotWritten as why:
                # Most likely, no state could be written here either, so nobody is
                # misled.
                logger.debug(f"No sign of this run beside the state: {why}")

    def end(
        self,
        graph: Mapping[str, Any],
        documents: Mapping[str, Any],
        text_of: Callable[[str], str],
    ) -> None:
        """Write the present state; warn if that is not possible.

        graph      the names and inputs of the project's relations
        documents  each package's document about itself, by the package's name
        text_of    removes the catalogs from a query's names: the keys of the state have
                   none
        """
        if self.store is None:
            return
        try:
            folder = self._folder()
            state = self.state(folder, graph, documents, text_of)
            self.run.lock.check()
            self._put(folder, STATE, state)
            self._take_back_if_lost(folder)
            folder.remove(BUILDING)
        except (NotWritten, *FAILURES) as why:
            logger.warning(
                f"The published state of {self.store.removesuffix(SUFFIX)} is not"
                f" written as a file: {_reason(why)}. The command secure-datasets can't"
                " answer from it; dbt run-operation can."
            )

    def _take_back_if_lost(self, folder: Folder) -> None:
        """Remove the written state and raise RunLost if a later run has taken the lock.

        A run that was suspended may have overwritten the later run's state.
        """
        try:
            self.run.lock.check()
        except RunLost:
            if self.run.name in (folder.read(STATE) or ""):
                folder.remove(STATE)
            raise

    def _folder(self) -> Folder:
        location = described(self.adapter, self.store).get("Location")
        claim = schema_properties(self.adapter, self.store).get("claim")
        return folder_at(self.adapter, location or "", claim)

    def _put(self, folder: Folder, name: str, document: Mapping[str, Any]) -> None:
        try:
            text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
            folder.write(name, text, f"_{name}.{self.run.name}")
        except FAILURES as failure:
            raise NotWritten(f"{folder.location}: {_reason(failure)}") from failure

    def state(
        self,
        folder: Folder,
        graph: Mapping[str, Any],
        documents: Mapping[str, Any],
        text_of: Callable[[str], str],
    ) -> dict[str, Any]:
        """Return the present state, from the definitions of the views."""
        published = self.run.published
        told = published.definitions
        shown = {name: versions_read(text) for name, text in told.items()}
        before = (
            replaced["version"]
            for document in documents.values()
            if isinstance(document, Mapping)
            for replaced in (document.get("versions_before") or {}).values()
        )
        versions = {*before}.union(*shown.values())
        tables = tables_of(self.adapter, versions, definitions_of_versions)
        snapshots = files_of_snapshots(self.adapter, tables)
        relations = {}
        for name, text in sorted(told.items()):
            fields = fields_of(text)
            query = fields.get("View Text")
            relations[name] = {
                "version": published.version_of(name),
                "reads": shown[name],
                "kept": versions_kept(text),
                "query": query and text_of(query),
                "columns": columns_of(fields["Schema"]),
            }
        return {
            "format": FORMAT,
            "run": self.run.name,
            "written_at": _now(),
            "project": self.run.project,
            "schema": self.store.removesuffix(SUFFIX),
            "schemas": self.run.schemas,
            "relations": relations,
            "raw": raw_tables(
                self.adapter, graph, {n for n, r in relations.items() if r["query"]}
            ),
            "versions": {
                name: version_of(
                    folder,
                    name,
                    text,
                    published.reads.get(name, raw_reads(text)),
                    snapshots.get(name),
                )
                for name, text in sorted(tables.items())
            },
            "graph": graph,
            "documents": documents,
        }


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def _reason(failure: Exception) -> str:
    """Return the first line of an error, without Java's stack."""
    java = getattr(failure, "java_exception", None)
    told = str(java.toString() if java is not None else failure)
    return told.strip().splitlines()[0] if told.strip() else type(failure).__name__


def plain(document: Any) -> Any:
    """Return a value from a macro as JSON has it, without undefined entries."""
    if isinstance(document, Mapping):
        values = ((str(key), value) for key, value in document.items())
        return {k: plain(v) for k, v in values if not isinstance(v, Undefined)}
    if isinstance(document, (list, tuple)):
        return [plain(value) for value in document]
    return document


def nodes_of(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of dbt's graph that describes the relations and their inputs."""
    kinds = ("model", "seed", "snapshot", "source")
    return {
        part: {
            unique_id: _node(unique_id, node)
            for unique_id, node in graph[part].items()
            if node["resource_type"] in kinds
        }
        for part in ("nodes", "sources")
    }


def _node(unique_id: str, node: Mapping[str, Any]) -> dict[str, Any]:
    config = node.get("config") or {}
    columns = node.get("columns") or {}
    kept = {
        name: node.get(name)
        for name in (
            *("name", "resource_type", "package_name", "database", "schema"),
            *("alias", "identifier", "source_name", "relation_name"),
        )
    }
    if node["resource_type"] == "model":
        kept |= _code(node)
    return kept | {
        "unique_id": unique_id,
        "config": {
            name: config.get(name)
            for name in ("materialized", "inline_views", "reads_latest", "in_time")
        }
        | {"meta": config.get("meta") or {}},
        "depends_on": {
            "nodes": list((node.get("depends_on") or {}).get("nodes") or ())
        },
        "columns": {
            name: {
                "name": name,
                "data_type": column.get("data_type"),
                "config": {"meta": (column.get("config") or {}).get("meta") or {}},
                "tags": sorted(column.get("tags") or ()),
            }
            for name, column in columns.items()
        },
    }


def _code(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's code, for computing a different state without dbt.

    The state has no Python code, only its digest: a person who may write to the
    warehouse must not make a reader run code. The code is read from the project.
    """
    code = {name: node.get(name) for name in ("language", "original_file_path")}
    if code["language"] == "sql":
        return code | {"raw_code": node.get("raw_code")}
    return code | {"sha256": digest_of_code(node.get("raw_code") or "")}


def tables_of(
    adapter: SparkAdapter,
    names_of_tables: Iterable[str],
    definitions: Callable[..., dict[str, str]] = definitions,
) -> dict[str, str]:
    """Return tables' definitions in the metastore, loaded with `definitions`."""
    by_schema: dict[str, list[str]] = {}
    for table in sorted(names_of_tables):
        schema, _, name = table.partition(".")
        by_schema.setdefault(schema, []).append(name)
    found = {}
    for schema, names in by_schema.items():
        for start in range(0, len(names), AT_ONCE):
            pattern = "|".join(names[start : start + AT_ONCE])
            for name, told in definitions(adapter, schema, pattern).items():
                found[f"{schema}.{name}"] = told
    return found


def raw_tables(
    adapter: SparkAdapter, graph: Mapping[str, Any], known: Container[str]
) -> dict[str, dict[str, Any]]:
    """Return the locations of the sources and seeds that are none of the known views.

    Some are in the project's own schema, but made by a different program. Their files
    are not listed: loaders add files, and the added files count for past states too.
    Tables of further catalogs are left out.
    """
    seeds = [n for n in graph["nodes"].values() if n["resource_type"] == "seed"]
    plain_names = map(relation_of, [*graph["sources"].values(), *seeds])
    raw = {name for name in plain_names if name.count(".") == 1 and name not in known}
    try:
        tables = tables_of(adapter, raw)
    except DbtRuntimeError as failure:
        logger.warning(
            "The published state does not say where the raw tables lie, so the command"
            f" secure-datasets asks Spark about the past: {failure}"
        )
        return {}
    found = {}
    for name, told in tables.items():
        fields = fields_of(told)
        if fields.get("Location") and fields.get("Type") != "VIEW":
            found[name] = {
                "format": fields.get("Provider"),
                "partitioned_by": fields.get("Partition Columns"),
                "columns": columns_of(fields["Schema"]),
                "location": fields["Location"],
            }
    return found


class Snapshot(NamedTuple):
    """The one snapshot of a version in Iceberg, and its files with their sizes."""

    id: int
    files: list[list[Any]]


def files_of_snapshots(
    adapter: SparkAdapter, versions: Mapping[str, str]
) -> dict[str, Snapshot]:
    """Return the snapshots that versions in Iceberg were written as, with their files.

    A version's folder may have further files, of failed tasks and later snapshots.

    versions  the versions' definitions in the metastore
    """
    of_iceberg = {
        name: fields
        for name, told in versions.items()
        if (fields := fields_of(told)).get("Provider") == ICEBERG
    }
    files: dict[str, list[list[Any]]] = {name: [] for name in of_iceberg}
    names = list(of_iceberg)
    if not names:
        return {}
    try:
        ids = snapshots_of(adapter, names)
    except DbtRuntimeError as failure:
        raise NotWritten(f"snapshots of versions: {failure}") from failure
    if lost := [name for name in names if name not in ids]:
        raise NotWritten(f"the catalog shows no snapshot of {lost[0]}")
    for start in range(0, len(names), AT_ONCE):
        queries = (
            f"select '{name}' as version, file_path, file_size_in_bytes"
            f" from {name}.files version as of {ids[name]}"
            for name in names[start : start + AT_ONCE]
        )
        try:
            listed = rows_of(adapter, " union all ".join(queries))
        except DbtRuntimeError as failure:
            raise NotWritten(f"files of versions: {failure}") from failure
        for name, path, size in listed:
            location = of_iceberg[name].get("Location")
            if not path.startswith(f"{location}/"):
                raise NotWritten(f"{path} is outside of {location}")
            files[name].append([path.removeprefix(f"{location}/"), int(size)])
    return {name: Snapshot(ids[name], sorted(files[name])) for name in names}


def version_of(
    folder: Folder,
    name: str,
    told: str,
    reads: frozenset[RawRead] | None,
    snapshot: Snapshot | None = None,
) -> dict[str, Any]:
    """Return a version's entry: its location and files, its columns, its raw reads."""
    fields, run = fields_of(told), VERSION.search(name)
    location = fields.get("Location")
    if location is None:
        raise NotWritten(f"the metastore does not say where {name} lies")
    files = folder.files(location) if snapshot is None else snapshot.files
    return {
        "run": run and run["run"],
        "format": fields.get("Provider"),
        **({"snapshot": snapshot.id} if snapshot else {}),
        "partitioned_by": re.findall(r"`([^`]*)`", fields.get("Partition Columns", "")),
        "columns": columns_of(fields["Schema"]),
        "location": location,
        "files": files,
        "read": None if reads is None else sorted(map(str, reads)),
    }


# The folder of the state


def folder_at(adapter: SparkAdapter, location: str, claim: str | None) -> Folder:
    """Return a folder of the warehouse; raise `NotWritten` if it is out of reach.

    claim  the claim on the folder that the metastore notes
    """
    if not location:
        raise NotWritten("the metastore does not name its folder")
    credentials = adapter.config.credentials
    path = local_path(location)
    if credentials.method == "session":
        parameters = session_parameters(credentials)
        if "spark.remote" not in parameters:
            if path is not None:
                return Disk(path)
            return Hadoop(start_session(parameters), location)
    # A server's disk may be this machine's: then the folder here has the claim.
    if path is not None and claim and claim in claims_in(path):
        return Disk(path)
    raise NotWritten(f"{location} is a server's, out of dbt's reach")


def claims_in(folder: Path) -> set[str]:
    """Return the claims in a folder of this machine."""
    texts = (part.read_text() for part in (folder / CLAIM).glob("part-*"))
    return {line.split(" ")[0] for text in texts for line in text.splitlines()}


def local_path(location: str) -> Path | None:
    """Return a location as a path on a disk; None if it is not on one."""
    parts = urlsplit(location)
    if not location or parts.scheme not in ("", "file"):
        return None
    return Path(unquote(parts.path) if parts.scheme else location)


class Folder(Protocol):
    """A folder that can take a file in one step."""

    location: str

    def write(self, name: str, text: str, temporary: str) -> None:
        """Write a file, in one step even if it replaces a file."""

    def read(self, name: str) -> str | None:
        """Return a file's text; None if there is none."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def files(self, location: str) -> list[list[Any]]:
        """Return the files of rows below a location, with their sizes."""


class Disk:
    """A folder on a disk of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.location = str(folder)

    def write(self, name: str, text: str, temporary: str) -> None:
        """Write a temporary file, and rename it once it is on the disk."""
        beside = self.folder / temporary
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.folder / name)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, name: str) -> str | None:
        """Return a file's text; None if there is none."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def files(self, location: str) -> list[list[Any]]:
        """Return the files of rows below a location, with their sizes."""
        folder = local_path(location)
        if folder is None or not folder.is_dir():
            raise NotWritten(f"{location} is no folder of the disk of {self.location}")
        found = []
        for place, folders, names in os.walk(folder):
            folders[:] = filter(is_data, folders)
            for path in (Path(place, name) for name in names if is_data(name)):
                relative = path.relative_to(folder).as_posix()
                found.append([relative, path.stat().st_size])
        return sorted(found)


class Hadoop:
    """A folder on a file system that the Spark session reaches."""

    def __init__(self, spark: Any, location: str) -> None:
        self.gateway, self.location = spark._sc._gateway, location
        self.hadoop = spark._jvm.org.apache.hadoop.fs
        self.settings = spark._jsc.hadoopConfiguration()
        self.folder = self.hadoop.Path(location)
        self.system = self.folder.getFileSystem(self.settings)
        self.is_store = urlsplit(location).scheme in OBJECT_STORES

    def _path(self, name: str) -> Any:
        return self.system.makeQualified(self.hadoop.Path(self.folder, name))

    def write(self, name: str, text: str, temporary: str) -> None:
        """Write a temporary file, and rename it over the previous file.

        An object store shows an object only once it is whole, and copies instead of
        renaming: there the file is written directly.
        """
        beside = self._path(name if self.is_store else temporary)
        stream = self.system.create(beside, True)
        try:
            stream.write(bytearray(text.encode()))
            if not self.is_store:
                stream.hsync()
        finally:
            stream.close()
        if not self.is_store:
            kind = self.hadoop.Options.Rename
            options = self.gateway.new_array(kind, 1)
            options[0] = kind.OVERWRITE
            context = self.hadoop.FileContext.getFileContext(
                self.system.getUri(), self.settings
            )
            context.rename(beside, self._path(name), options)

    def read(self, name: str) -> str | None:
        """Return a file's text; None if there is none."""
        path = self._path(name)
        if not self.system.exists(path):
            return None
        stream = self.system.open(path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self.system.delete(self._path(name), False)

    def files(self, location: str) -> list[list[Any]]:
        """Return the files of rows below a location, with their sizes."""
        folder = self.system.makeQualified(self.hadoop.Path(location))
        found, every = [], self.system.listFiles(folder, True)
        while every.hasNext():
            status = every.next()
            relative = folder.toUri().relativize(status.getPath().toUri()).getPath()
            if all(map(is_data, relative.split("/"))):
                found.append([relative, status.getLen()])
        return sorted(found)
