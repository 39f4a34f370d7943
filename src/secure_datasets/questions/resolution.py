"""Access in a state other than the published one, without building it.

    then = resolved(state, folders, engine, schema="past_state", as_of="2026-05-01")
    then.engine.ask("select * from past_state.vw_secure_user_project_access")

The project's own models run over the raw rows of a moment, or over staged rows with
some rows removed or added. Nothing is built: a relation is computed when a question
first reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from dbt_secure_spark.in_time import NOW
from dbt_secure_spark.lineage import digest_of_code
from dbt_secure_spark.moments import moment
from secure_datasets.config.plan import PACKAGE, PREFIX
from secure_datasets.config.references import raw_tables_of
from secure_datasets.engines.compiled import in_time, whole
from secure_datasets.engines.duckdb import (
    DuckDB,
    Files,
    Made,
    Relation,
    Rows,
    View,
    as_json,
)
from secure_datasets.engines.frames import Dbt, Session, loaded
from secure_datasets.engines.published import NoState, State
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.configs import Edited
from secure_datasets.questions.kept import Kept
from secure_datasets.questions.macros import Package

Folders = Callable[[str], Path | None]


def resolved(
    state: State,
    folders: Folders,
    engine: DuckDB,
    schema: str,
    as_of: str | None = None,
    queries: Mapping[str, str] | None = None,
    config: Edited | None = None,
    warn: Callable[[str], Any] = lambda text: None,
    kept: Kept | None = None,
) -> Package:
    """Return the macros over another state, whose relations lie in a schema.

    folders  returns the folder of a package of the project, which has its Python models
    engine   has the published relations, which the other state reads where equal
    as_of    the last load time of the raw rows
    queries  the queries that replace staged relations
    config   the config that replaces the run's
    kept     past states that are already computed
    """
    if as_of:
        return Past(state, folders, engine, schema, warn).at(as_of, kept)
    package, relations = _laid(
        state, folders, engine, schema, queries or {}, warn, config
    )
    for name, relation in relations.items():
        engine.put(name, relation)
    return package


class Past:
    """Past states in one schema: each replaces the one before.

    The queries read the moment from a row, so that they are made once. `queries` may
    replace staged relations; `{moment}` in them is the moment in microseconds.
    """

    def __init__(
        self,
        state: State,
        folders: Folders,
        engine: DuckDB,
        schema: str,
        warn: Callable[[str], Any] = lambda text: None,
        queries: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.clock = engine, f"{schema}.moment"
        at = f"(select unix_micros(at) from {self.clock})"
        given = queries and {n: q.format(moment=at) for n, q in queries.items()}
        laid = _laid(state, folders, engine, schema, given, warn, clock=self._clock())
        self.package, self.relations = laid
        if not queries:
            self.package.vars["as_of"] = self.clock
            self.package["readers_clock"] = self._clock

    def _clock(self) -> str:
        first = "timestamp '0001-01-01 00:00:00Z'"
        return f"coalesce((select at from {self.clock}), {first})"

    def at(self, as_of: str | datetime | None, kept: Kept | None = None) -> Package:
        """Return the macros over the state as of a moment in UTC; None: the beginning.

        At the beginning only rows without a load time exist.
        """
        at = None if as_of is None else moment(as_of)
        day = [at and at.replace(tzinfo=timezone.utc)]
        self.engine.put(self.clock, Rows({"at": "timestamp"}, [day]))
        files = kept.files(at) if kept and at else {}
        for name, relation in self.relations.items():
            file = files.get(name.partition(".")[2])
            self.engine.put(name, Files([file]) if file else relation)
        return self.package


def _laid(
    state: State,
    folders: Folders,
    engine: DuckDB,
    schema: str,
    queries: Mapping[str, str] | None,
    warn: Callable[[str], Any],
    config: Edited | None = None,
    clock: str = NOW,
) -> tuple[Package, dict[str, Relation]]:
    """Return the macros over another state, and its relations by name.

    queries  the queries that replace staged relations, if only these differ
    config   the config that replaces the run's
    clock    SQL for the moment at which rows with a time are read
    """
    given = dict(queries or {})
    nodes = state.values["graph"]["nodes"]
    edited = {f"{PREFIX}{name}" for name in config.touched} if config else set()
    needed = _moved(nodes, None if queries is None else {*given, *edited})
    values = {**state.values, "graph": deepcopy(state.values["graph"])}
    if config:
        document = {**state.document, "config": config.config}
        values["documents"] = {**state.values["documents"], PACKAGE: document}
    for key in needed:
        node = values["graph"]["nodes"][key]
        if "language" not in node:
            raise NoState(
                f"{state.path} was written without the models' code: run dbt once more"
            )
        node |= {"schema": schema, "relation_name": f"{schema}.{node['alias']}"}
    # The versions of runs have no meaning here.
    then = replace(state, values=values)
    package = Package(then, engine, as_json, warn, is_resolved=True)
    relations: dict[str, Relation] = {}
    for key in needed:
        node = values["graph"]["nodes"][key]
        name = node["name"]
        if name in given:
            made = Made(partial(given.__getitem__, name))
        elif node["language"] == "sql":
            is_view = node["config"]["materialized"] == "view"
            made = Made(cache(partial(_rendered, package, node)), is_view)
        else:
            # It stores intermediate rows, which belong to one moment.
            made = Made(partial(_framed, package, node, folders))
        place = f"{schema}.{node['alias']}"
        relations |= in_time(engine, place, made, _setting(node), clock)
    for key, node in nodes.items():
        if node["resource_type"] == "model" and key not in needed:
            # Equal in both states.
            same = View(f"select * from {_plain(node['relation_name'])}")
            relations[f"{schema}.{node['alias']}"] = same
    return package, relations


def _setting(node: Mapping[str, Any]) -> bool | str | None:
    """Return the setting in a node's config about the time of its rows."""
    return node["config"].get("in_time")


def _plain(relation: str) -> str:
    return relation.replace("`", "")


def _moved(nodes: Mapping[str, Any], changed: set[str] | None) -> list[str]:
    """Return the models that read a changed relation, or all models."""
    models = {k: n for k, n in nodes.items() if n["resource_type"] == "model"}
    if changed is None:
        return list(models)
    found = {k for k, n in models.items() if n["name"] in changed}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {
            key
            for key, node in models.items()
            if not found.isdisjoint(node["depends_on"]["nodes"])
        }
    return list(found)


def staged_by(state: State, names: Iterable[str]) -> list[str]:
    """Return the raw tables that are staged for relations."""
    nodes, tables = state.values["graph"]["nodes"], state.document["raw_tables"]
    return raw_tables_of(names, nodes, tables)


def _rendered(package: Package, node: Mapping[str, Any]) -> str:
    """Return the SQL of a model, with the relations of the other state."""
    try:
        return package.rendered(node)
    except TemplateError as failure:
        raise QuestionError(
            f"the model {node['name']} can't be worked out without dbt: {failure};"
            " build the state, secure-datasets as-of <day>, and ask it by --schema."
        ) from None


def _framed(package: Package, node: Mapping[str, Any], folders: Folders) -> str:
    """Return the rows of a Python model, as a query."""
    name, folder = node["name"], folders(node["package_name"])
    place = folder and folder / node["original_file_path"]
    if place is None or not place.is_file():
        raise NoState(
            f"the model {name} is Python, and its file is in no project: name the"
            " project, --project-dir <path>"
        )
    code = place.read_text(encoding="utf-8")
    if digest_of_code(code) != node["sha256"]:
        raise NoState(f"{place} was edited since the last run: run dbt once more")
    module = loaded(name, code, str(place))
    # The same names each time, so that the queries of two moments have the same text.
    session = Session(package.engine, f"{node['schema']}__{name}")
    ref = package["ref_of_model"]

    def read(name: str) -> str:
        place = ref(name)
        # The other state shows its rows at its own moment.
        is_own = place.startswith(f"{node['schema']}.")
        return whole(package.engine, place, _setting(node)) if is_own else place

    return module.model(Dbt(session, read), session).sql()
