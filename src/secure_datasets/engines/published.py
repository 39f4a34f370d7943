"""The published state that a run has written: `published.json`, beside the versions.

    state = read_state(Path("/warehouse/secure_datasets_versions.db/published.json"))
    engine = DuckDB(relations_of(state))
    ...
    state.check_unmoved()

It is read before and after an answer: an answer over a state that moved is given up.
Knows neither dbt nor Spark.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dbt_secure_spark.formats import format_of
from dbt_secure_spark.versions import Published, RawRead, is_data
from secure_datasets import digest
from secure_datasets.config.plan import PACKAGE

if TYPE_CHECKING:
    from secure_datasets.engines.duckdb import Relation

FORMAT = 1
STATE = "published.json"
BUILDING = "published.run.json"
# The keys of a state, with the types of their values.
SHAPE: dict[str, Any] = {
    **{"run": str, "written_at": str, "project": str, "schema": str},
    **{"relations": dict, "versions": dict, "graph": dict, "documents": dict},
    **{"raw": dict},
}
SHAPE_OF_DOCUMENT: dict[str, Any] = {
    **{"config": dict, "raw_tables": dict, "feeds": dict, "vars": dict},
    **{"macros": dict, "config_files": list},
}
SHAPE_OF_VERSION: dict[str, Any] = {
    **{"location": str, "format": str | None, "partitioned_by": list, "columns": list},
    **{"files": list, "read": list | None},
}
SHAPE_OF_RAW: dict[str, Any] = {
    **{"location": str, "format": str | None, "columns": list},
    **{"partitioned_by": str | None},
}
SHAPE_OF_RELATION: dict[str, Any] = {
    **{"query": str | None, "version": str | None, "reads": list},
}
REMAINDER = re.compile(r"(?P<key>\w+)__mod_(?P<number>[0-9]+)")


class NoState(Exception):
    """There is no state that can be asked; the message is one sentence, the reason."""


class Elsewhere(NoState):
    """The state lies on no folder of this machine; the message names its place."""


class Moved(Exception):
    """A run has published while a question was answered."""


@dataclass(frozen=True)
class State:
    """The relations that readers saw when a run ended."""

    path: Path
    text: bytes
    values: dict[str, Any]
    # The run that has begun since and not ended, if there is one.
    unfinished: str | None
    # The files of raw tables, as they were when somebody asked for them.
    seen: dict[Path, list[tuple[str, int, int]]] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """The product's part: the config, the raw tables, the macros."""
        return self.values["documents"][PACKAGE]

    @property
    def about(self) -> dict[str, Any]:
        """The schema, run and time that identify this state."""
        names = ("schema", "run", "written_at")
        return {name: self.values[name] for name in names}

    @cached_property
    def published(self) -> Published:
        """The published relations, as the metastore had them in the run."""
        versions = self.values["versions"].items()
        return Published(
            {n: " ".join(r["reads"]) for n, r in self.values["relations"].items()},
            reads={
                name: None
                if version["read"] is None
                else frozenset(map(RawRead.parse, version["read"]))
                for name, version in versions
            },
        )

    def check_unmoved(self) -> None:
        """Raise `Moved` if the file, or one of a raw table, has been replaced."""
        try:
            text = self.path.read_bytes()
        except OSError:
            text = b""
        is_moved = any(files_in(folder) != seen for folder, seen in self.seen.items())
        if text != self.text or is_moved:
            raise Moved


def read_state(path: Path, version: str) -> State:
    """Return the state in a file; raise `NoState` if it can't be asked.

    version  the product's, which reads no state of a different version
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise NoState(
            f"there is no published state at {path}: no run of this target has finished"
            " there. Run dbt first, or name the target that has run: --target"
        ) from None
    except OSError as failure:
        raise NoState(f"{path} can't be read: {failure.strerror}") from None
    try:
        values = json.loads(text)
        found = values["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NoState(f"{path} is no published state: run dbt once more") from None
    if found != FORMAT:
        raise NoState(
            f"{path} is of format {found}, and this command reads {FORMAT}: run dbt"
            " with the version that is installed"
        )
    documents = values.get("documents")
    document = documents.get(PACKAGE) if isinstance(documents, dict) else None
    if document is None:
        raise NoState(f"{path} was written by a run without the secure datasets")
    written_by = document.get("version") if isinstance(document, dict) else None
    if written_by != version:
        raise NoState(
            f"{path} was written by version {written_by}, and this command is"
            f" of version {version}: run dbt with the version that is installed"
        )
    if document.get("python_part") != digest.python_part():
        raise NoState(
            f"{path} was written by version {version} with different Python code: run"
            " dbt once more"
        )
    _check_shape(path, values)
    return State(path, text, values, _unfinished(path, values["run"]))


def _check_shape(path: Path, values: dict[str, Any]) -> None:
    """Raise `NoState` if a state has not what each state has."""
    parts: list[tuple[str, Any, Mapping[str, Any]]] = [("", values, SHAPE)]
    parts.append(
        (f"documents.{PACKAGE}.", values["documents"][PACKAGE], SHAPE_OF_DOCUMENT)
    )
    parts.append(("graph.", values.get("graph"), {"nodes": dict, "sources": dict}))
    for part, shape in (
        ("relations", SHAPE_OF_RELATION),
        ("versions", SHAPE_OF_VERSION),
        ("raw", SHAPE_OF_RAW),
    ):
        found = values.get(part)
        of_part = found.items() if isinstance(found, dict) else ()
        parts += [(f"{part}.{name}.", each, shape) for name, each in of_part]
    for place, found, shape in parts:
        for key, kind in shape.items():
            is_there = isinstance(found, dict) and key in found
            if not is_there or not isinstance(found[key], kind):
                raise NoState(
                    f"{path} is damaged, '{place}{key}' is not what runs write: run dbt"
                    " once more"
                )


def _unfinished(path: Path, run: str) -> str | None:
    """Return the run that has begun to switch views since a state was written."""
    sign = path.parent / BUILDING
    try:
        began = json.loads(sign.read_bytes())["run"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise NoState(
            f"{sign} can't be read, so nobody knows whether the last run has ended: run"
            " dbt once more"
        ) from None
    return str(began) if began != run else None


def local_path(location: str) -> Path | None:
    """Return a location as a path of this machine; None if it is elsewhere."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        return None
    return Path(unquote(parts.path) if parts.scheme else location)


def relations_of(state: State) -> dict[str, Relation]:
    """Return the relations of a state, for the quick engine.

    Whatever is stored otherwise than in Parquet files of this machine is left out. A
    version of Iceberg is such files: it is written once.
    """
    from secure_datasets.engines.duckdb import Files, View

    found: dict[str, Relation] = {}
    for name, version in state.values["versions"].items():
        folder = local_path(version["location"])
        if folder is None or not format_of(version["format"]).is_listed:
            continue
        parts = version["partitioned_by"]
        columns = {n: t for n, t in version["columns"] if n not in parts}
        files = Files([folder / file for file, _ in version["files"]], columns)
        if not parts:
            found[name] = files
        elif remainder := len(parts) == 1 and REMAINDER.fullmatch(parts[0]):
            key, number = remainder["key"], remainder["number"]
            if key in columns:
                found[f"{name}__rows"] = files
                found[name] = View(
                    f"select *, pmod(cast(`{key}` as bigint), {number}) as `{parts[0]}`"
                    f" from {name}__rows"
                )
    for name, table in state.values["raw"].items():
        folder = local_path(table["location"])
        is_parquet = str(table["format"]).lower() == "parquet"
        if not folder or not is_parquet or table["partitioned_by"]:
            continue
        files = files_in(folder)
        if files is not None:
            state.seen[folder] = files
            paths = [folder / file for file, *_ in files]
            found[name] = Files(paths, dict(table["columns"]), is_foreign=True)
    for name, relation in state.values["relations"].items():
        query, version = relation["query"], relation["version"]
        if query == f"select * from {version}" and version in found:
            found[name] = found[version]
        elif query:
            found[name] = View(query)
    return found


def files_in(folder: Path) -> list[tuple[str, int, int]] | None:
    """Return the files of rows in a folder: names, sizes, and when they were written.

    In nanoseconds since 1970. None if it can't be read, or has folders.
    """
    try:
        files = [file for file in os.scandir(folder) if is_data(file.name)]
        told = [(file.name, file.stat()) for file in files]
    except OSError:
        return None
    if any(file.is_dir() for file in files):
        return None
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in told)


AGAIN = "another run has replaced it, or it was deleted, so run dbt once more"


def check_files(state: State) -> None:
    """Raise `NoState` if files of the state are gone, or have been replaced."""
    for version in state.values["versions"].values():
        folder = local_path(version["location"])
        for file, size in version["files"] if folder else ():
            path = folder / file
            try:
                with path.open("rb"):
                    now = path.stat().st_size
            except OSError as failure:
                if isinstance(failure, FileNotFoundError):
                    raise NoState(f"{path} is no longer there: {AGAIN}") from None
                raise NoState(f"{path} can't be read: {failure.strerror}") from None
            if now != size:
                raise NoState(
                    f"{path} is another file than the run has written: {AGAIN}"
                )
