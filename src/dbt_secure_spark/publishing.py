"""Publish the versions and views of a run: the methods behind the macros."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from dbt import selected_resources
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt.flags import get_flags
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark import lineage
from dbt_secure_spark.catalogs import (
    check_catalogs,
    refuse_versions_elsewhere,
    table_of,
    without_its_catalog,
)
from dbt_secure_spark.folders import (
    AUTO,
    NAME,
    WHOLE_TYPES,
    Buckets,
    Folders,
    cases_of,
    key_of,
    number_for,
    with_folders,
)
from dbt_secure_spark.functions import may_read_tables
from dbt_secure_spark.in_time import (
    NOW,
    InTime,
    holds_in_time,
    without_shown,
)
from dbt_secure_spark.lineage import (
    STORED,
    may_name,
    relation_of,
    relation_of_version,
    staged_above,
    versions_shown,
)
from dbt_secure_spark.published_state import (
    StateFile,
    columns_of,
    fields_of,
    nodes_of,
    plain,
)
from dbt_secure_spark.queries import (
    functions_of_people,
    names,
    parts_of_narrowed,
    queries_of_python,
    reads_narrowed,
    relations_read,
    replaced,
    shows_rows_of_nobody,
    with_queries,
)
from dbt_secure_spark.raw_tables import has_changed, look_up
from dbt_secure_spark.read_back import refuse_what_was_not_switched
from dbt_secure_spark.run import RunLock, RunLost, RunRefused
from dbt_secure_spark.settings import OF_THE_PAST, as_of_text, check_vars
from dbt_secure_spark.settings_of_views import refuse_other_settings, set_for_views
from dbt_secure_spark.submission import session_parameters
from dbt_secure_spark.versions import (
    CONTRACT,
    KEPT_VERSIONS,
    NAMED_VERSION,
    NOTHING,
    RUN,
    SUFFIX,
    VERSION,
    Published,
    RawRead,
    decoded,
    definitions,
    definitions_of_versions,
    encoded,
    existing_schemas,
    is_published,
    named_versions,
    raw_reads,
    rows_of,
    shown,
    tables_in,
    versions_catalog,
    versions_kept,
    versions_read,
    written_on,
)
from dbt_secure_spark.warehouse import (
    claim_catalog,
    claim_folder,
    remove_folders,
    schema_properties,
    schemas_described_once,
    set_schema_property,
)
from secure_datasets.sql.expressions import sql_text

logger = AdapterLogger("Spark")
HOLDING = threading.Lock()
# One task must sort a file's rows, but fewer files are read faster.
ROWS_IN_A_FILE = 5_000_000
# In characters. Only views that name views twice, many layers deep, need more.
LONGEST_QUERY = 1_000_000
PAST_OF_SAMPLE = "build a past state of the sample, as if it were one of theirs"


class OldVersion(NamedTuple):
    """A version to read instead of the published one.

    version         the version's name
    published_rows  the query of its view when it was published
    """

    version: str
    published_rows: str


class Untested(NamedTuple):
    """A view that shows its new query only after data tests have passed.

    unique_id  the view's node
    relation   the view
    query      the new query
    waits_for  the unique_ids of the nodes whose tests must pass
    meanwhile  what the view shows until then, for a sentence that begins with its name
    is_narrowed  whether it shows no revoked right until then
    """

    unique_id: str
    relation: Any
    query: str
    waits_for: set[str]
    meanwhile: str
    is_narrowed: bool


class Run:
    """One dbt command that builds: its lock, and the published state meanwhile."""

    def __init__(
        self,
        adapter: SparkAdapter,
        name: str,
        seconds: float,
        schemas: list[str],
        stores: list[str],
        models: list[str],
        project: str | None = None,
        target: str | None = None,
    ) -> None:
        self.adapter = adapter
        self.catalog = versions_catalog(adapter)
        self.name = name
        self.project = project
        self.target = target
        existing = existing_schemas(adapter)
        self.schemas = sorted({schema.lower() for schema in schemas} & existing)
        self.stores = sorted({schema.lower() for schema in stores} & existing)
        self.version_schemas = [schema + SUFFIX for schema in self.stores]
        self.models = {model.lower() for model in models}
        self.model_schemas = sorted({m.split(".")[0] for m in self.models} & existing)
        # A schema of seeds alone may have the sample's raw tables, for several
        # projects.
        self.own_schemas = [
            store + SUFFIX for store in self.stores if store in self.model_schemas
        ]
        self.lock = RunLock(adapter, self.version_schemas, name, seconds)
        # Whether the run only holds the lock, without all the checks of begin_run.
        self.is_held = False
        self.published = Published()
        # A message for each node that did not switch to the new state whole, by id.
        self.stayed: dict[str, str] = {}
        # The definitions of the switched views before their switch.
        self.told_before: dict[str, str | None] = {}
        # The queries that views were switched to, by the views' names.
        self.switched: dict[str, str] = {}
        # The views that wait for their data tests, by the views' names.
        self.untested: dict[str, Untested] = {}
        # The texts of views before their switch; None of what is no view.
        self.texts: dict[str, str | None] = {}
        # The present states of raw tables; None without a source for the table.
        self.looked_up: dict[str, RawRead | None] = {}
        # Spark's descriptions of functions; None if a name is no function's.
        self.functions: dict[str, list[str] | None] = {}
        # The engine's versions and settings; None until they are needed.
        self.engine: list[Any] | None = None
        # The results of `reads_another`, by a view's name and definition.
        self.judged: dict[tuple[str, str], bool] = {}
        self.state = StateFile(self)
        # Each package's document about itself, to be kept with the state.
        self.documents: dict[str, Any] = {}

    def begin(self, partly: str | None, builds_models: bool = True) -> None:
        """Check that this run may build, and clear away the leftovers of dead runs.

        partly         the option that limits the run to some rows, if any
        builds_models  whether the run builds models, not seeds alone
        """
        refuse_other_settings(self.adapter)
        check_catalogs(self.adapter)
        for schema in self.version_schemas:
            self.adapter.execute(f"create schema if not exists {schema}")
            if self.catalog:
                tables = f"{self.catalog}.{schema}"
                self.adapter.execute(f"create schema if not exists {tables}")
        self.refuse_some_rows_over_all(partly)
        try:
            dead = self.lock.acquire()
            with schemas_described_once(self.adapter):
                self.refuse_what_other_targets_show()
                self.claim_schemas()
                for schema in self.version_schemas:
                    claim_folder(self.adapter, schema)
                    if self.catalog:
                        claim_catalog(self.adapter, self.catalog, schema)
                self.remember_schemas()
                self.drop_unnamed_versions()
                remove_folders(self.adapter, self.version_schemas, dead)
                self.lock.bury(dead)
                for schema in self.version_schemas:
                    self.published.load_reads(self.adapter, schema)
                    if builds_models:
                        self.note_rows(schema, "some" if partly else "all")
        except BaseException:
            self.lock.release()
            raise

    def note_rows(self, schema: str, rows: str) -> None:
        """Note whether a schema's versions hold all rows or only some."""
        if schema_properties(self.adapter, schema).get("rows") != rows:
            set_schema_property(self.adapter, schema, "rows", rows)

    def refuse_some_rows_over_all(self, partly: str | None) -> None:
        """Raise if a run with only some rows would publish them over all rows."""
        if not partly:
            return
        # A schema of seeds alone never stands in the way: no option limits seeds.
        of_some = {
            store + SUFFIX: store not in self.model_schemas
            or schema_properties(self.adapter, store + SUFFIX).get("rows") == "some"
            for store in self.stores
        }
        for schema in self.model_schemas:
            for name, told in definitions(self.adapter, schema).items():
                # Several targets may share a schema, so the versions that a relation
                # reads decide. If it reads none, all schemas of versions decide.
                read = {version.split(".")[0] for version in versions_read(told)}
                shows_some = bool(read or of_some) and all(
                    of_some.get(place) for place in read or of_some
                )
                if (
                    f"{schema}.{name}" in self.models
                    and is_published(told)
                    and not shows_some
                ):
                    raise DbtRuntimeError(
                        f"This run reads only some rows ({partly}) and would publish"
                        f" them over what is read in {schema}: give it a schema of its"
                        " own, by another output of profiles.yml."
                    )

    def refuse_what_other_targets_show(self) -> None:
        """Raise if a model's view shows versions that a different target has published.

        A run without a target, begun by an older package, refuses nothing.
        """
        if not self.target:
            return
        for relation, store in self.shown_of_other_stores():
            if noted_with(self.adapter, store, "target") != self.target:
                raise DbtRuntimeError(
                    f"What {relation} shows was published from"
                    f" {store.removesuffix(SUFFIX)}, and this run would put in its"
                    f" place what it publishes in {self.target}: let the name of its"
                    " schema begin with target.schema; or, if this output of"
                    " profiles.yml takes over for good, say so once: alter schema"
                    f" {store} set dbproperties ('target' = '{shown(self.target)}')."
                )

    def shown_of_other_stores(self) -> Iterator[tuple[str, str]]:
        """Yield the models' views that show versions of foreign stores, with the store.

        A store is a schema of versions, and the stores of this run are not foreign. A
        schema of models may have the same name for every target: the targets share it
        and its store.
        """
        existing, targets = None, self.noted("target")
        for schema in self.model_schemas:
            # This target published last here, so no view shows a foreign version.
            if targets.get(schema + SUFFIX) == self.target:
                continue
            for name, told in definitions(self.adapter, schema).items():
                read = {version.split(".")[0] for version in versions_read(told)}
                if f"{schema}.{name}" not in self.models:
                    continue
                existing = existing or existing_schemas(self.adapter)
                # The stores of seeds are this run's too: several targets may share
                # them.
                for store in sorted((read & existing) - set(self.version_schemas)):
                    yield f"{schema}.{name}", store

    def claim_schemas(self) -> None:
        """Claim the models' schemas of versions for this project and target.

        Raises DbtRuntimeError if a schema belongs to a different project. A schema with
        the sample's raw tables alone belongs to nobody. A run without a project, begun
        by an older package, claims none.
        """
        if not self.project:
            return
        for schema in self.version_schemas:
            project = noted_with(self.adapter, schema, "project")
            if project and project != self.project:
                raise DbtRuntimeError(
                    f"What {schema.removesuffix(SUFFIX)} shows was published by the"
                    f" project '{project}', and this is '{self.project}', whose"
                    " relations, config and policies would take the place of its own:"
                    " give this project a schema of its own, by another output of"
                    " profiles.yml; or, if it takes over for good, say so once: alter"
                    f" schema {schema} set dbproperties ('project' ="
                    f" '{shown(self.project)}')."
                )
        for schema, project in self.noted("project").items():
            if not project:
                value = encoded(self.project)
                set_schema_property(self.adapter, schema, "project", value)
        for schema, target in self.noted("target").items():
            if self.target and target != self.target:
                value = encoded(self.target)
                set_schema_property(self.adapter, schema, "target", value)

    def noted(self, name: str, with_present: bool = False) -> dict[str, str | None]:
        """Return the note `name` of each schema of this project's versions.

        With `with_present`, a past state's schema is returned together with the schema
        of the present state.
        """
        schemas = list(self.own_schemas)
        if with_present:
            stores = [schema.removesuffix(SUFFIX) for schema in schemas]
            present = {OF_THE_PAST.sub("", store) + SUFFIX for store in stores}
            schemas += sorted((present - set(schemas)) & existing_schemas(self.adapter))
        return {schema: noted_with(self.adapter, schema, name) for schema in schemas}

    def remember_schemas(self) -> None:
        """Note the schemas whose views may name these versions."""
        for schema in self.version_schemas:
            known = self.read_from(schema)
            names = sorted({*known, *self.schemas} & existing_schemas(self.adapter))
            if names != sorted(known):
                # A later run may have noted more while this run was suspended.
                self.lock.check()
                value = encoded(" ".join(names))
                set_schema_property(self.adapter, schema, "read_from", value)

    def read_from(self, schema: str) -> list[str]:
        """Return the schemas whose views may name versions of a schema."""
        return read_from(self.adapter, schema)

    def load_definitions(self) -> None:
        """Load the views of every schema whose views may name a version."""
        existing = existing_schemas(self.adapter)
        readers = {
            name for schema in self.version_schemas for name in self.read_from(schema)
        }
        switched = {name.split(".")[0] for name in self.switched}
        self.published.definitions.clear()
        for schema in sorted((readers | switched | set(self.schemas)) & existing):
            self.published.load(self.adapter, schema)
        told = self.published.definitions
        refuse_versions_elsewhere(self.adapter, told, self.version_schemas)

    def drop_unnamed_versions(self, graph: dict[str, Any] | None = None) -> None:
        """Drop every version that no view names: no longer kept, or never published.

        The versions are listed before the views are loaded, so a version published in
        between is not in the list. If a view does not show the query that this run
        switched it to, nothing is dropped. The lock is checked before each drop: a
        later run may have published while this run was suspended.

        With a `graph`, the published state is written before the drops. It names no
        version that is dropped.
        """
        listed = {
            schema: tables_in(self.adapter, schema) for schema in self.version_schemas
        }
        self.load_definitions()
        told = self.published.definitions
        refuse_what_was_not_switched(self.switched, told)
        if graph is not None:
            text_of = partial(without_its_catalog, self.adapter)
            self.state.end(nodes_of(graph), self.documents, text_of)
        named = {
            version
            for definition in told.values()
            for version in versions_read(definition) + versions_kept(definition)
        }
        for store, schema in zip(self.stores, self.version_schemas, strict=True):
            for name in listed[schema]:
                view = told.get(f"{store}.{VERSION.sub('', name)}")
                # If the catalog hides a view's text, its versions are unknown.
                is_told = view is None or versions_read(view)
                if VERSION.search(name) and f"{schema}.{name}" not in named and is_told:
                    self.lock.check()
                    purge = " purge" if self.catalog else ""
                    table = f"{schema}.{name}"
                    self.adapter.execute(f"drop table if exists {table}{purge}")

    def end(
        self, failed: Iterable[str] = (), graph: dict[str, Any] | None = None
    ) -> None:
        """Write the state, drop what is no longer kept, and let the next run begin.

        failed  the relations that dbt itself reports as not published
        graph   dbt's graph; without it, the state is not written
        """
        for name in failed:
            self.switched.pop(name, None)
        try:
            self.lock.check()
            with schemas_described_once(self.adapter):
                self.drop_unnamed_versions(graph)
                remove_folders(self.adapter, self.version_schemas, [self.name])
        except BaseException:
            # Without signs of life, the next run takes this run for dead, and clears
            # its leftovers away.
            self.lock.ended.set()
            raise
        self.lock.release()

    # The inputs of versions

    def parents(
        self, graph: dict[str, Any], node: dict[str, Any], pinned: tuple[str, ...] = ()
    ) -> Iterator[str]:
        """Yield the versions behind a node's rows, through views at any depth.

        A relation whose version or whose inputs are unknown is yielded by its own name.

        pinned  the versions that a view reads instead of the published ones
        """
        for unique_id in node["depends_on"].get("nodes", ()):
            parent = graph["nodes"].get(unique_id)
            if source := graph["sources"].get(unique_id):
                # A source may be a relation that this project publishes.
                if version := self.published.version_of(relation_of(source)):
                    yield version
                continue
            if parent is None or parent["resource_type"] == "seed":
                continue
            relation = relation_of(parent)
            kind = parent["config"]["materialized"]
            if deferred := self.deferred(parent):
                # The inputs of a relation in a different schema are unknown.
                yield deferred
            elif kind == "view":
                told = self.published.definitions.get(relation)
                read = tuple(versions_read(told))
                yield from read
                if self.reads_another(graph, parent, relation):
                    # Not all of the view's inputs are known.
                    yield relation
                yield from self.parents(graph, parent, read)
            elif kind == "ephemeral":
                yield from self.parents(graph, parent, pinned)
            elif kind not in STORED:
                # A relation of a different materialization, such as a table, does not
                # note its inputs.
                yield relation
            elif not names_version_of(parent, pinned):
                yield self.published.version_of(relation) or relation

    def reads_another(
        self, graph: dict[str, Any], node: dict[str, Any], relation: str
    ) -> bool:
        """Return whether a view may read something else than its model.

        The model was edited since its last run, the view's inputs can't be determined,
        or the view holds values that dbt queried while it rendered the model.
        """
        told = self.published.definitions.get(relation)
        if told is None:
            return False
        if (relation, told) not in self.judged:
            text = text_of_view(self.adapter, relation) or ""
            is_inlined = bool(node["config"].get("inline_views"))
            known = relations_of(graph, may_name(graph, node, is_inlined))
            self.judged[relation, told] = bool(
                self.unknown_reads(relation, text, known)
                or unnamed_parents(self.adapter, graph, node, text, is_inlined)
            )
        return self.judged[relation, told]

    def text_of(self, view: str) -> str | None:
        """Return a view's text as `text_of_view` does, read once before its switch.

        A switched view is read each time: nodes of different threads may ask for it
        before and after its switch. A view that waits for its tests gives its new
        query.
        """
        if untested := self.untested.get(view):
            return untested.query
        if view in self.switched:
            return text_of_view(self.adapter, view)
        if view not in self.texts:
            self.texts[view] = text_of_view(self.adapter, view)
        return self.texts[view]

    def text_to_read(self, view: str) -> str:
        """Return a view's text as `text_of` does; raise if the view does not exist."""
        text = self.text_of(view)
        if text is None:
            raise CompilationError(f"{view} is no view yet: run it first.")
        return text

    def unknown_reads(self, name: str, sql: str, known: set[str]) -> set[str]:
        """Return the inputs of a query that are neither known nor versions.

        If the inputs can't be determined, return the query's own name.
        """
        try:
            read = set(relations_read(name, sql))
            called = functions_of_people(name, sql)
        except CompilationError as why:
            logger.debug(str(why))
            return {name}
        return (read - known - set(named_versions(sql))) | {
            function
            for function, may_be_none in called.items()
            if may_read_tables(self.adapter, function, may_be_none)
        }

    def reads_of_its_own(
        self, graph: dict[str, Any], node: dict[str, Any], sql: str
    ) -> tuple[set[str], list[str]]:
        """Return a stored model's inputs unknown to dbt, and the versions it names.

        sql  the query as dbt sends it; for a Python model, its code is read instead
        """
        name = relation_of(node)
        # The model's own relation holds the previous rows, so it counts as unknown.
        may_be_named = may_name(graph, node, False) - {node["unique_id"]}
        queries, known = [sql], relations_of(graph, may_be_named)
        known |= {
            deferred
            for unique_id in may_be_named & graph["nodes"].keys()
            if (deferred := self.deferred(graph["nodes"][unique_id]))
        }
        if node.get("language") == "python":
            try:
                queries, known = queries_of_python(node["name"], node["raw_code"])
            except CompilationError as why:
                logger.warning(str(why.msg))
                return {name}, []
        unknown = [self.unknown_reads(name, query, known) for query in queries]
        return set().union(*unknown), named_versions(" ".join(queries))

    def deferred(self, parent: dict[str, Any]) -> str | None:
        """Return the relation that `--defer` reads in a node's place; None if none."""
        relation = relation_of(parent)
        deferred = deferred_of(parent)
        if not deferred or not getattr(get_flags(), "DEFER", False):
            return None
        if is_selected(parent):
            return None
        is_favoured = getattr(get_flags(), "FAVOR_STATE", False)
        is_there = relation in self.published.definitions
        return deferred if is_favoured or not is_there else None

    def reads_of(
        self, graph: dict[str, Any], node: dict[str, Any], own: Iterable[RawRead]
    ) -> frozenset[RawRead]:
        """Return the raw reads of a node's new version.

        own  the reads of the raw tables that the node reads itself
        """
        return self.published.reads_of(self.parents(graph, node)) | frozenset(own)

    def why_no_one_state(
        self, graph: dict[str, Any], reads: frozenset[RawRead]
    ) -> str | None:
        """Return why raw reads are not of one state of the raw tables, or None.

        The reads of one run are one state. The reads of several runs are one state if
        none of the tables has changed since it was read.
        """
        noted = all(is_noted(read.run) for read in reads)
        if noted and len({read.run for read in reads}) < 2:
            return None
        changed = sorted(
            {
                read.table
                for read in reads
                if not is_noted(read.run)
                or has_changed(read, self.now(graph, read.table))
            }
        )
        if not changed:
            return None
        names = ", ".join(changed[:3]) + (" and others" if len(changed) > 3 else "")
        if not noted:
            return f"{names} may change, and no run has noted what it holds"
        return (
            "its rows and rights were read by several runs, and"
            f" {names} changed between"
        )

    def now(self, graph: dict[str, Any], table: str) -> RawRead | None:
        """Return a raw table's state now, read once a run."""
        if table not in self.looked_up:
            self.looked_up[table] = look_up(self.adapter, graph, table)
        return self.looked_up[table]


def is_noted(run: str) -> bool:
    """Return whether a raw read is by a named run, or of a version, which is fixed."""
    return bool(RUN.fullmatch(run) or NAMED_VERSION.fullmatch(run))


def is_selected(node: dict[str, Any]) -> bool:
    """Return whether this command builds a node."""
    return node["unique_id"] in selected_resources.SELECTED_RESOURCES


def deferred_of(node: dict[str, Any]) -> str | None:
    """Return a node's relation in the schema of `--defer`, if it is a different one."""
    deferred = (node.get("defer_relation") or {}).get("relation_name")
    is_another = deferred and deferred.lower() != relation_of(node)
    return deferred.lower() if is_another else None


def noted_with(adapter: SparkAdapter, schema: str, name: str) -> str | None:
    """Return a note that runs left with a schema of versions; None if there is none."""
    text = decoded(schema_properties(adapter, schema).get(name, NOTHING))
    return None if text == NOTHING else text


def read_from(adapter: SparkAdapter, schema: str) -> list[str]:
    """Return the schemas whose views may name versions of a schema of versions."""
    return decoded(schema_properties(adapter, schema).get("read_from", "")).split()


def note_rules(adapter: SparkAdapter, relations: list[str]) -> None:
    """Note the relations that the rules of all secure datasets look up.

    Each secure dataset depends on all of them, even if its own rules read none.
    """
    adapter.read_by_rules = frozenset(relations)


def unnamed_parents(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    text: str | None,
    is_inlined: bool,
) -> list[str]:
    """Return the relations that a view's model reads and its query does not name.

    Their rows may be in the query as values that dbt queried while it rendered the
    model. Seeds are left out, since they come from no raw table. For a secure dataset,
    the relations of `note_rules` are left out too: rules of further datasets may read
    them.
    """
    versions = named_versions(text)
    is_secure = bool(node["config"].get("narrowing"))
    of_rules = getattr(adapter, "read_by_rules", frozenset()) if is_secure else ()
    found = []
    for unique_id in may_name(graph, node, is_inlined) - {node["unique_id"]}:
        parent = graph["nodes"].get(unique_id) or graph["sources"].get(unique_id) or {}
        relation = parent.get("relation_name")
        if not relation or parent["resource_type"] == "seed" or relation in of_rules:
            continue
        is_source = parent["resource_type"] == "source"
        kind = None if is_source else parent["config"]["materialized"]
        # The parent's query replaces its name.
        if kind == "ephemeral" or (kind == "view" and is_inlined):
            continue
        is_version_named = not is_source and names_version_of(parent, versions)
        if not names(text, relation) and not is_version_named:
            found.append(relation)
    return sorted(found)


def relations_of(graph: dict[str, Any], unique_ids: set[str]) -> set[str]:
    """Return the relations of nodes and sources, as the parser spells them."""
    return {
        relation_of(of_kind[unique_id])
        for of_kind in (graph["nodes"], graph["sources"])
        for unique_id in unique_ids & of_kind.keys()
    }


def names_version_of(node: dict[str, Any], versions: Iterable[str]) -> bool:
    """Return whether one of these versions is a version of a node's relation."""
    prefix = f"{node['schema']}{SUFFIX}.{node['alias']}__v".lower()
    return any(version.startswith(prefix) for version in versions)


def run_of(adapter: SparkAdapter) -> Run:
    """Return the run that this process has begun."""
    run = getattr(adapter, "dbt_run", None)
    if run is None or run.is_held:
        raise DbtRuntimeError(
            "Nothing can be published before begin_run() has run: add it to"
            " on-run-start of dbt_project.yml, and end_run(results) to on-run-end. If"
            " it is there, a hook before it has failed, and dbt has skipped it."
        )
    return run


# The methods that macros call; `adapter` is dbt's.


def begin_run(
    adapter: SparkAdapter,
    name: str,
    seconds: float,
    schemas: list[str],
    stores: list[str],
    models: list[str],
    project: str | None = None,
    target: str | None = None,
) -> None:
    """Begin a run: take the lock of its schemas, and clear away leftovers of dead runs.

    A second call for a begun run only checks the lock: the hooks of two projects may
    begin it. A run that only holds the lock is ended, and begun anew.

    name     the run's name: the names of its versions end with it
    seconds  how long the lock of an unfinished run is watched
    schemas  the schemas of the project's relations
    stores   the schemas whose relations are stored as versions
    models   the relations of the project's models
    project  the name of the root project
    target   the schema in the output of profiles.yml
    """
    begun = getattr(adapter, "dbt_run", None)
    if begun and begun.name == name:
        begun.lock.check()
        if not begun.is_held:
            return
        end_run(adapter)
    make_run(adapter, name, seconds, schemas, stores, models, project, target)
    builds_models = getattr(get_flags(), "WHICH", None) != "seed"
    try:
        adapter.dbt_run.begin(option_to_read_some_rows(), builds_models)
    except BaseException:
        adapter.dbt_run = None
        raise


def make_run(adapter: SparkAdapter, name: str, seconds: float, *parts: Any) -> None:
    """Make this process's run, and give up an earlier one that was not ended.

    Takes the arguments of `begin_run`.
    """
    # A project without the package has no hook that checks the variable.
    check_vars(adapter, {"run_lock_seconds": seconds})
    check_session(adapter)
    if before := getattr(adapter, "dbt_run", None):
        # The earlier run gives no further signs of life.
        before.lock.ended.set()
    adapter.dbt_run = Run(adapter, name, seconds, *parts)


def note_raw_schema(adapter: SparkAdapter, name: str, is_sample: bool) -> None:
    """Note the schema from which a run reads the raw tables.

    Raises CompilationError if the schema does not exist, or if the sample's rows would
    replace a replica's: a command without the variable `raw_schema` reads the sample.
    """
    run = run_of(adapter)
    catalog, _, schema = name.rpartition(".")
    if not is_sample and schema.lower() not in existing_schemas(adapter, catalog):
        end_run(adapter)
        where = (
            f"in the catalog {catalog}, if the profile has one, is" if catalog else ""
        )
        raise CompilationError(
            f"raw_schema names {name!r}, and {where or 'the metastore has'} no such"
            " schema: name that of the replica."
        )
    for schema, before in run.noted("raw_schema", with_present=is_sample).items():
        if is_sample and before:
            end_run(adapter)
            is_own = schema in run.own_schemas
            would = "put the sample in their place" if is_own else PAST_OF_SAMPLE
            raise CompilationError(
                f"What {schema.removesuffix(SUFFIX)} shows was read from the raw tables"
                f" in {before}, and this run would {would}: name"
                f" them, --vars '{{raw_schema: {before}}}', or give the sample a schema"
                " of its own, by another output of profiles.yml; or, if that is meant,"
                f" say so once: alter schema {schema} set dbproperties ('raw_schema' ="
                f" '{NOTHING}')."
            )
        if not is_sample and before != name:
            set_schema_property(adapter, schema, "raw_schema", encoded(name))


def check_raw_schema(adapter: SparkAdapter, schemas: list[str]) -> None:
    """Raise if a command reads the sample, and the published state is a replica's.

    schemas  the schemas of the project's models that are stored as versions
    """
    # A schema that no run has published into yet has no versions.
    stores = {schema.lower() + SUFFIX for schema in schemas} & existing_schemas(adapter)
    for store in sorted(stores):
        if before := noted_with(adapter, store, "raw_schema"):
            raise CompilationError(
                f"What {store.removesuffix(SUFFIX)} shows was read from the raw tables"
                f" in {before}, and this command would hold the sample against it: name"
                f" them, --vars '{{raw_schema: {before}}}'."
            )


def hold_run(adapter: SparkAdapter, *parts: Any) -> bool:
    """Take the lock outside of a run, and return whether this process now holds it.

    False if a different run is building. A run that this process has begun goes on.
    Takes the arguments of `begin_run`.
    """
    # If two nodes call this at once, one of them begins.
    with HOLDING:
        if run := getattr(adapter, "dbt_run", None):
            run.lock.check()
            return True
        try:
            make_run(adapter, *parts)
            adapter.dbt_run.is_held = True
            adapter.dbt_run.begin(None, builds_models=False)
        except BaseException as failure:
            # A further node must not find a run without the lock.
            adapter.dbt_run = None
            if isinstance(failure, RunRefused):
                return False
            raise
        return True


def option_to_read_some_rows() -> str | None:
    """Return the option that limits this command to some or no rows, if any."""
    flags = get_flags()
    for option in ("empty", "sample", "event_time_start", "event_time_end"):
        if getattr(flags, option.upper(), None):
            return f"--{option.replace('_', '-')}"
    return None


def check_session(adapter: SparkAdapter) -> None:
    """Raise if Python models have neither a session nor a cluster to run on."""
    credentials = adapter.config.credentials
    if not getattr(credentials, "cluster", None):
        session_parameters(credentials)


def end_run(
    adapter: SparkAdapter,
    failed: Iterable[str] = (),
    graph: dict[str, Any] | None = None,
) -> dict[str, str]:
    """End this process's run, if any; return a message for each view that stayed.

    failed  the relations whose nodes did not succeed
    graph   dbt's graph; without it nothing was published, and the state stays as it was
    """
    run = getattr(adapter, "dbt_run", None)
    if run is None:
        return {}
    try:
        names_of_failed = ((name or "").replace("`", "").lower() for name in failed)
        run.end(names_of_failed, graph)
    finally:
        adapter.dbt_run = None
    return run.stayed


def note_document(adapter: SparkAdapter, package: str, document: Any) -> None:
    """Keep a package's document about itself with the published state.

    Without the lock, nothing is published and nothing kept.
    """
    if run := getattr(adapter, "dbt_run", None):
        run.documents[package] = plain(document)


def leave_run(adapter: SparkAdapter) -> None:
    """Give up the run of a command that has ended without `end_run`.

    The process may live on, but gives no further signs of life: the next run takes this
    run for killed, and clears its leftovers away.
    """
    if run := getattr(adapter, "dbt_run", None):
        run.lock.ended.set()
        adapter.dbt_run = None


def raw_tables_of(
    adapter: SparkAdapter, graph: dict[str, Any], relations: list[Any]
) -> list[dict[str, Any]]:
    """Return the raw reads behind relations, as published now.

    Each raw table and read is one entry: `table`; `read_at` and `newest`, in
    microseconds since 1970; `read`, the `RawRead` itself.
    """
    published = published_by(adapter, graph)
    return readings_of(
        adapter, published, versions_shown(graph, published, names_of(relations))
    )


def changed_raw_tables(
    adapter: SparkAdapter, graph: dict[str, Any], relations: list[Any]
) -> list[dict[str, Any]]:
    """Return the raw reads of relations whose raw table has changed since.

    All versions of these relations that some view reads count, older versions too. For
    a plain view, the versions below it count. A view without the property
    `kept_versions` does not count: it names versions only to keep them.
    """
    published = published_by(adapter, graph)
    wanted = {f"{r.schema}{SUFFIX}.{r.identifier}".lower() for r in relations}
    wanted |= {
        VERSION.sub("", version)
        for version in versions_shown(graph, published, names_of(relations))
    }
    versions = {
        version
        for told in published.definitions.values()
        if KEPT_VERSIONS.search(told)
        for version in versions_read(told)
        if VERSION.sub("", version) in wanted
    }
    found = readings_of(adapter, published, versions)
    tables = sorted({reading["table"] for reading in found})
    now = {table: look_up(adapter, graph, table) for table in tables}
    return [
        reading
        for reading in found
        if has_changed(reading["read"], now[reading["table"]])
    ]


def made_since(
    adapter: SparkAdapter, graph: dict[str, Any], relations: list[Any]
) -> dict[str, list[str]]:
    """Return the inputs made anew since relations were made: `lineage.made_since`."""
    published = published_by(adapter, graph)
    names = names_of(relations)
    versions = {
        *staged_above(graph, published, names),
        *versions_shown(graph, published, names),
    }
    load_readings(adapter, published, versions)
    return lineage.made_since(graph, published, names)


def names_of(relations: list[Any]) -> set[str]:
    """Return the names of relations, as `relation_of` spells them."""
    return {f"{r.schema}.{r.identifier}".lower() for r in relations}


def published_by(adapter: SparkAdapter, graph: dict[str, Any]) -> Published:
    """Return the definitions of all views that may name versions.

    Views that the project no longer has are included: they still show their rows. A run
    has loaded them under its lock, and has noted its own switches since.
    """
    run = getattr(adapter, "dbt_run", None)
    if run is not None and not run.is_held:
        # Other threads note more meanwhile.
        return Published(dict(run.published.definitions))
    published = Published()
    existing = existing_schemas(adapter)
    own = {
        node["schema"].lower()
        for node in graph["nodes"].values()
        if node.get("relation_name")
    }
    stores = {schema + SUFFIX for schema in own} & existing
    named = {name for schema in stores for name in read_from(adapter, schema)}
    for schema in sorted((own | named) & existing):
        # By name: a listing of all views includes the session's temporary views, and
        # fails if a concurrent thread drops one.
        views = [
            name
            for _, name, is_of_session, *_ in rows_of(
                adapter, f"show views in {schema}"
            )
            if not is_of_session
        ]
        if views:
            published.load(adapter, schema, "|".join(views))
    return published


def views_without_model(adapter: SparkAdapter, graph: dict[str, Any]) -> list[str]:
    """Return the views that read versions and belong to no node of this project.

    Their models were renamed, removed or moved to a different schema, and the views
    still show the rows and rights of their last run. A schema outside of the project
    may belong to a different target: a view there counts only if it reads a version of
    this project's models. A view without the property `kept_versions` does not count:
    it names versions only to keep them.
    """
    nodes = [node for node in graph["nodes"].values() if node.get("relation_name")]
    own = {relation_of(node) for node in nodes}
    schemas = {node["schema"].lower() for node in nodes}
    # Without seeds: several targets may share those in a sample's schema.
    stores = {
        node["schema"].lower() + SUFFIX
        for node in nodes
        if node["resource_type"] == "model" and node["config"]["materialized"] in STORED
    }
    return sorted(
        name
        for name, told in published_by(adapter, graph).definitions.items()
        if KEPT_VERSIONS.search(told)
        and name not in own
        and (
            name.split(".")[0] in schemas
            or any(version.split(".")[0] in stores for version in versions_read(told))
        )
    )


def readings_of(
    adapter: SparkAdapter, published: Published, versions: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the raw reads of versions as entries, for a macro."""
    load_readings(adapter, published, versions)
    return [
        {"table": read.table, "read_at": read.read_at, "newest": read.newest}
        | {"read": read}
        for read in sorted(published.reads_of(versions), key=str)
    ]


def load_readings(
    adapter: SparkAdapter, published: Published, versions: Iterable[str]
) -> None:
    """Load the raw reads of versions from the metastore."""
    names: dict[str, list[str]] = {}
    for version in versions:
        schema, name = version.split(".")
        names.setdefault(schema, []).append(name)
    for schema, of_schema in names.items():
        published.load_reads(adapter, schema, "|".join(of_schema))


def record_version(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    version: str,
    own: list[RawRead],
    sql: str | None = None,
) -> None:
    """Note the raw reads of a version with it.

    An input that the query names and dbt does not know counts as a read by no known
    run.
    """
    run = run_of(adapter)
    # A seed has no query.
    unknown, versions = run.reads_of_its_own(graph, node, sql) if sql else (set(), [])
    if unknown:
        logger.warning(
            f"'{node['name']}' reads {', '.join(sorted(unknown))} by a text of its own,"
            " so that no secure dataset is switched to what it holds: read it by ref()"
            " or source()."
        )
    texts = [re.sub(r"[\s:]", "_", name) for name in unknown]
    reads = run.reads_of(graph, node, [*own, *(RawRead(text, text) for text in texts)])
    # A version that a view only keeps is read as a past state: it dates no rows.
    # The other thread may add a view meanwhile.
    told = list(run.published.definitions.values())
    before = {version for text in told for version in versions_kept(text)}
    reads |= run.published.reads_of(set(versions) - before)
    value = encoded(" ".join(sorted(map(str, reads)))) or NOTHING
    adapter.execute(
        f"alter table {version} set tblproperties ('raw_reads' = '{value}')"
    )
    run.published.reads[str(version).lower()] = reads


def folders_for(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], code: str
) -> Folders | Buckets | None:
    """Return the folders or buckets of a node's new version; None if it has none.

    With `folders: auto`, the number of rows of the previous version decides, so the
    first version has none. Raises CompilationError if a fixed number of folders is
    impossible.
    """
    key, number = key_of(node), node["config"].get("folders")
    if key is None:
        return None
    if number == AUTO:
        # If all raw tables have too few rows, the version's rows are not counted.
        raw = run_of(adapter).reads_of(graph, node, ())
        is_large = any(number_for(read.rows or 0) > 1 for read in raw)
        number = number_for((is_large and rows_before(adapter, node)) or 0)
    if number == 1:
        return None
    if catalog := run_of(adapter).catalog:
        return buckets_for(adapter, node, code, Buckets(key, number, catalog))
    if not leaves_out_columns(adapter):
        if node["config"]["folders"] == AUTO:
            return None
        raise CompilationError(f"'{node['name']}' has folders, which need Spark 4.")
    folders = Folders(key, number, cases_of(node))
    # For a different type, Spark takes several spellings for equal to one value.
    if folders.cases and kind_of(adapter, node, key, code) != "string":
        if node["config"]["folders"] == AUTO:
            return None
        raise CompilationError(
            f"'{node['name']}' has folders_by, and {key}, its first cluster_by, is no"
            " plain string, of whose values the cases are."
        )
    for each in folders.keys:
        if not has_whole_key(adapter, node, each, code):
            if node["config"]["folders"] == AUTO:
                return None
            called = "by its folders_by" if folders.cases else "its first cluster_by"
            raise CompilationError(
                f"'{node['name']}' has folders, and {each}, {called}, is no whole"
                " number, of which there is a remainder."
            )
    return folders


def buckets_for(
    adapter: SparkAdapter, node: dict[str, Any], code: str, buckets: Buckets
) -> Buckets | None:
    """Return the buckets of a node's new version in Iceberg; None if it has none.

    If buckets are impossible, `folders: auto` gives none, and a fixed number raises
    CompilationError.
    """
    why_not = None
    if cases_of(node):
        why_not = "folders_by, by which versions of Iceberg have no buckets"
    elif not has_whole_key(adapter, node, buckets.key, code):
        why_not = (
            f"folders, and {buckets.key}, its first cluster_by, is no whole number"
        )
    if why_not is None or node["config"]["folders"] == AUTO:
        return buckets if why_not is None else None
    raise CompilationError(f"'{node['name']}' has {why_not}.")


def leaves_out_columns(adapter: SparkAdapter) -> bool:
    """Return whether a view can leave out columns of its version: since Spark 4."""
    return not rows_of(adapter, "select version()")[0][0].startswith("3.")


def files_for(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return the number of files of a node's new version; None if any number will do.

    There is one file for each `ROWS_IN_A_FILE` rows of the previous version. The files
    are few, because a query for one value takes longer to open a file than to read its
    rows.
    """
    config = node["config"]
    columns = config.get("cluster_by")
    # Spark's hint for the number of files takes only names of columns.
    are_names = isinstance(columns, list) and all(map(NAME.fullmatch, columns))
    if not (config.get("statistics") and columns and are_names):
        return None
    rows = rows_before(adapter, node)
    return None if rows is None else 1 + rows // ROWS_IN_A_FILE


def rows_before(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return the number of rows of a node's published version; None if it has none.

    It stands for the number of the next version, which is known only after the write.
    """
    version = run_of(adapter).published.version_of(relation_of(node))
    return None if version is None else rows_in(adapter, version)


def rows_in(adapter: SparkAdapter, version: str) -> int:
    """Return the number of rows of a version, counted by Spark."""
    return int(rows_of(adapter, f"select count(*) from {version}")[0][0])


def has_whole_key(
    adapter: SparkAdapter, node: dict[str, Any], key: str, code: str
) -> bool:
    """Return whether a key is a whole number, so that it has a remainder."""
    return kind_of(adapter, node, key, code) in WHOLE_TYPES


def kind_of(adapter: SparkAdapter, node: dict[str, Any], column: str, code: str) -> str:
    """Return the type of a column of a node's query.

    For a Python model, return the documented type.
    """
    if node.get("language") == "python":
        return (node["columns"].get(column, {}).get("data_type") or "").lower()
    query = f"describe query select `{column}` from (\n{code}\n) as of_query"
    return str(rows_of(adapter, query)[0][1]).lower()


def definition_of(adapter: SparkAdapter, relation: Any) -> str | None:
    """Return a relation's definition in the metastore; None if it does not exist.

    Raises CompilationError if this project did not make the relation: it is neither
    replaced nor altered.
    """
    name = relation.identifier.lower()
    told = definitions(adapter, relation.schema, name).get(name)
    if told is not None and not is_published(told):
        raise CompilationError(
            f"{relation} exists and was not made by this project, which neither"
            " replaces nor alters it: drop it if it may go, or give this project"
            " another schema."
        )
    return told


def begin_switch(
    adapter: SparkAdapter, relation: Any, query: str, kept: list[str]
) -> str:
    """Note the query that a view shows from now on; raise if this run lost its lock.

    Returns the value of the view's property `kept_versions`.
    """
    run = run_of(adapter)
    # Before the check: over a server, this takes a second, and the lock may be lost.
    set_for_views(adapter)
    run.lock.check()
    run.state.begin()
    name = f"{relation.schema}.{relation.identifier}".lower()
    value = encoded(" ".join(kept)) or NOTHING
    definitions = run.published.definitions
    run.told_before.setdefault(name, definitions.get(name))
    definitions[name] = f"{query} kept_versions={value}]"
    run.switched[name] = query
    return value


def properties_to_set(
    adapter: SparkAdapter,
    definition: str,
    kept_versions: str,
    comment: str | None,
    contract: str | None = None,
) -> list[str]:
    """Return the properties of an existing view that its switch changes, as SQL.

    definition     the view's definition in the metastore
    kept_versions  the value that its property `kept_versions` must have
    comment        its description, as SQL text; None if it must have none
    contract       the digest of `contract_of`, once the contract has been checked
    """
    fields = fields_of(definition)
    kept = KEPT_VERSIONS.search(fields.get("Table Properties", ""))
    properties = []
    if kept is None or kept[1] != kept_versions:
        properties.append(f"'kept_versions' = '{kept_versions}'")
    # No clause sets the comment of an existing view, only this property.
    wanted = comment or sql_text("")
    if sql_text(fields.get("Comment", "")) != wanted:
        properties.append(f"'comment' = {wanted}")
    if contract and not fits_contract(adapter, definition, contract):
        properties.append(f"'contract' = '{contract}'")
    return properties


def fits_contract(
    adapter: SparkAdapter, definition: str | None, contract: str | None
) -> bool:
    """Return whether a view was checked against this contract: see `contract_of`."""
    told = fields_of(definition or "").get("Table Properties", "")
    noted = CONTRACT.search(told)
    return noted is not None and noted[1] == contract


def note_switch(adapter: SparkAdapter, relation: Any, query: str) -> None:
    """Note the new query of a readers' view, which the end of the run checks."""
    name = f"{relation.schema}.{relation.identifier}".lower()
    adapter.dbt_run.switched[name] = query


def check_lock(adapter: SparkAdapter) -> None:
    """Raise if this run has lost its lock."""
    run_of(adapter).lock.check()


def tell_of_lost_lock(adapter: SparkAdapter, failure: DbtRuntimeError) -> None:
    """Raise RunLost if a statement failed because this run has lost its lock.

    The later run drops the version that this run is writing.
    """
    lock = getattr(getattr(adapter, "dbt_run", None), "lock", None)
    # While the lock is being checked, it reports its own failures.
    if "NOT_FOUND" not in str(failure) or lock is None or lock.asking.locked():
        return
    try:
        lock.check()
    except RunLost as lost:
        raise lost from failure


def pin_versions(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    old: Mapping[str, OldVersion] | None = None,
) -> dict[str, Any]:
    """Replace the published relations that a view's query names by their versions.

    Returns a dictionary:

    sql        the query with versions
    why_not    why the view must not switch to it; None if it may
    is_pinned  whether the query reads versions
    read       the versions that must be of one state; None if that was not checked

    A view with `reads_latest` keeps the published names of its parents. Any view keeps
    the name of a parent with `reads_latest`: see `is_latest`. With `inline_views`, the
    queries of the views that the query names are part of it, so that a later change of
    a view changes nothing here.

    old  the versions to read instead of the published ones, by relation, if the view is
         narrowed
    """
    is_narrowed, old = old is not None, old or {}
    is_inlined = bool(node["config"].get("inline_views"))
    if is_inlined:
        sql = with_inlined_views(adapter, graph, node, sql, is_narrowed)
    if deferred := deferred_in(graph, sql, is_inlined):
        why_not = (
            f"it would read {deferred}, by --defer, and what is published in another"
            " schema may change under it"
        )
        return pinned(sql, why_not, is_pinned=False)
    if node["config"].get("reads_latest"):
        return pinned(sql, is_pinned=False)
    sql, read = with_versions(adapter, graph, node, sql, old)
    if is_inlined:
        refuse_what_changes(adapter, graph, node, sql)
    if is_inlined and (unnamed := unnamed_parents(adapter, graph, node, sql, True)):
        why_not = (
            f"its query does not name {', '.join(unnamed)}, which its model reads, and"
            " may hold values that dbt asked for while it rendered it"
        )
        return pinned(sql, why_not)
    if not is_narrowed and reads_narrowed(sql):
        why_not = (
            "it reads a secure dataset that shows the rows of before, to those who may"
            " see them both before and now"
        )
        return pinned(sql, why_not)
    run = run_of(adapter)
    return pinned(sql, run.why_no_one_state(graph, run.published.reads_of(read)), read)


def pinned(
    sql: str,
    why_not: str | None = None,
    read: list[str] | None = None,
    is_pinned: bool = True,
) -> dict[str, Any]:
    """Return a result of `pin_versions`."""
    return {"sql": sql, "why_not": why_not, "is_pinned": is_pinned, "read": read}


def deferred_in(graph: dict[str, Any], sql: str, is_inlined: bool) -> str | None:
    """Return a relation that a query reads by `--defer`; None if there is none."""
    for parent in graph["nodes"].values():
        deferred = deferred_of(parent)
        is_pinned = is_inlined or parent["config"]["materialized"] in STORED
        if is_pinned and deferred and names(sql, deferred):
            return deferred
    return None


def with_versions(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    old: Mapping[str, OldVersion],
) -> tuple[str, list[str]]:
    """Return a query with versions for published relations, and the versions it reads.

    A seed's version is left out of the list unless the query itself names it: seeds
    read no raw table. The sample's seeds are raw tables, but only staging reads them.
    """
    published = run_of(adapter).published
    is_inlined = bool(node["config"].get("inline_views"))
    read: list[str] = versions_read(sql)
    for parent in graph["nodes"].values():
        name = parent.get("relation_name")
        # An analysis has the config of a model, and no relation.
        if not name or parent["config"]["materialized"] not in STORED:
            continue
        if is_latest(parent, is_inlined) or not names(sql, name):
            continue
        version = published.version_of(name)
        told = published.definitions.get(name.lower())
        if relation_of(parent) in old:
            version, told = old[relation_of(parent)]
        if version is None:
            raise CompilationError(
                f"No published version of '{parent['name']}' was found, which"
                f" '{node['name']}' reads: run it first."
            )
        if parent["resource_type"] != "seed":
            read.append(version)
        if folders := Folders.read(told, cases_of(parent)):
            sql = with_folders(node["name"], sql, name, version, folders)
        elif in_time := InTime.read(told):
            rows = in_time.published_rows(version)
            sql = with_queries(node["name"], sql, {name.lower()}, lambda _, r=rows: r)
        sql = replaced(sql, name, version)
    # The versions in the queries of inlined views.
    for version in versions_read(sql):
        if relation_of_version(version) in old:
            sql = replaced(sql, version, old[relation_of_version(version)].version)
    refuse_without_time(graph, node, sql)
    return sql, read


def refuse_without_time(graph: dict[str, Any], node: dict[str, Any], sql: str) -> None:
    """Raise if a query would show rows that hold for a time without checking the time.

    Their version was published before the node had the setting `in_time`.
    """
    nodes = graph["nodes"]
    for parent in nodes.values():
        if not parent["config"].get("in_time") or not holds_in_time(nodes, parent):
            continue
        versions = map(relation_of_version, named_versions(without_shown(sql)))
        if relation_of(parent) in versions:
            raise CompilationError(
                f"'{node['name']}' would show the rows of '{parent['name']}'"
                f" outside their time: run '+{node['name']}'."
            )


def is_latest(node: dict[str, Any], is_inlined: bool) -> bool:
    """Return whether a node is read by its published name, as `reads_latest` asks.

    A view with `inline_views` is of one state, so it reads only seeds by this name:
    they come from no raw table.
    """
    of_raw = node["resource_type"] != "seed"
    return bool(node["config"].get("reads_latest")) and not (is_inlined and of_raw)


def with_inlined_views(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    is_narrowed: bool = False,
) -> str:
    """Replace the views that a node's query reads by their queries, at any depth.

    is_narrowed  whether the node is being narrowed: narrowed views that it reads are
                 then replaced by their current query alone
    """

    def text_of(view: str) -> str:
        text = run_of(adapter).text_to_read(view)
        identifier = view.split(".")[-1]
        return parts_of_narrowed(text, identifier)[1] if is_narrowed else text

    views = {
        relation_of(other)
        for other in graph["nodes"].values()
        if other["resource_type"] == "model"
        and other["config"]["materialized"] == "view"
        and other.get("relation_name")
    }
    return with_texts(node["name"], sql, views, text_of)


def with_texts(
    name: str, sql: str, views: set[str], text_of: Callable[[str], str]
) -> str:
    """Replace views by their queries at any depth, in the query of a node."""
    # Views are nested at most as deep as there are views.
    for _ in views:
        if not any(names(sql, view) for view in views):
            break
        before, sql = sql, with_queries(name, sql, views, text_of)
        if len(sql) > LONGEST_QUERY:
            raise CompilationError(
                f"With the queries of the views that '{name}' reads its query becomes"
                " too long: let one of them be a published_view."
            )
        if sql == before:
            break
    return sql


def text_of_view(adapter: SparkAdapter, view: str) -> str | None:
    """Return a view's query in the metastore; None if the relation is no view."""
    # Backwards: the columns come first, and a column may have this name.
    for row in reversed(rows_of(adapter, f"describe extended {view}")):
        if row[0] == "View Text":
            return without_its_catalog(adapter, row[1])
    return None


def shows_public_rows(adapter: SparkAdapter, relation: Any) -> bool | None:
    """Return whether a secure dataset shows rows to everyone; None if unknown."""
    return shows_rows_of_nobody(text_of_view(adapter, str(relation)))


def refuse_what_changes(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], sql: str
) -> None:
    """Raise if a view of one state reads anything but versions.

    Seeds with `reads_latest` are allowed. Functions that may read tables are not.
    """
    latest = {
        relation_of(parent)
        for parent in graph["nodes"].values()
        if is_latest(parent, True)
    }
    versions = set(versions_read(sql))
    for table in relations_read(node["name"], sql):
        if table not in versions and table not in latest:
            raise CompilationError(
                f"'{node['name']}' reads {table}, which is no version: its rows would"
                " change under rights that were read before. Let it be, or let what"
                " stands between them be, materialized: published_view."
            )
    for function, may_be_none in functions_of_people(node["name"], sql).items():
        if may_read_tables(adapter, function, may_be_none):
            raise CompilationError(
                f"'{node['name']}' calls {function}, which may read tables: their rows"
                " would change under rights that were read before."
            )


def stay(adapter: SparkAdapter, relation: Any, node: dict[str, Any], why: str) -> None:
    """Leave a view as it is and note why; raise if it does not exist yet."""
    name = node["name"]
    if definition_of(adapter, relation) is None:
        raise CompilationError(f"'{name}' is not created: {why}. Run '+{name}'.")
    run_of(adapter).stayed[node["unique_id"]] = (
        f"'{name}' stays as it was: {why}. Run '+{name}'."
    )


def versions_before(
    adapter: SparkAdapter, definition: str | None, to_keep: int | None = None
) -> list[str]:
    """Return the versions that stay when a view is switched.

    A stored relation keeps the newest `to_keep - 1` versions, besides the new one. A
    plain view has no versions of its own: the versions that it read stay.
    """
    read = versions_read(definition)
    if to_keep is None:
        return read
    return list(dict.fromkeys(read + versions_kept(definition)))[: to_keep - 1]


def version_before(
    adapter: SparkAdapter, schema: str, identifier: str
) -> dict[str, str] | None:
    """Return a view's previous version, and when the run of the present one began.

    None if there is none, or if the two can't be compared, since their columns or their
    raw tables differ.
    """
    name = identifier.lower()
    told = definitions(adapter, schema, name).get(name)
    now, kept = versions_read(told), versions_kept(told)
    if len(now) != 1 or not kept:
        return None
    store = now[0].partition(".")[0]
    names = [version.rpartition(".")[2] for version in (now[0], kept[0])]
    found = definitions_of_versions(adapter, store, "|".join(names))
    of_both = []
    for text in map(found.get, names):
        reads = raw_reads(text)
        if reads is None:
            return None
        columns = columns_of(fields_of(text)["Schema"])
        of_both.append((columns, {read.table for read in reads}))
    since = written_on(now[0])
    if of_both[0] != of_both[1] or since is None:
        return None
    return {"version": kept[0], "since": since}


def read_by(adapter: SparkAdapter, definition: str | None) -> list[str]:
    """Return the versions that a view's definition reads, for macros."""
    return versions_read(definition)


def in_time_of(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], as_of: Any
) -> InTime | None:
    """Return how a node's view checks the time of its rows; None if they always hold.

    as_of  the moment of a past state; None for the present
    """
    if not holds_in_time(graph["nodes"], node):
        return None
    if node["config"].get("folders"):
        raise CompilationError(
            f"'{node['name']}' has rows that hold for a time, and folders: leave out"
            " one of the two."
        )
    if not leaves_out_columns(adapter):
        raise CompilationError(
            f"'{node['name']}' has rows that hold for a time, which need Spark 4."
        )
    clock = NOW if as_of is None else f"timestamp '{as_of_text(adapter, as_of)}Z'"
    setting = node["config"]["in_time"]
    return InTime(setting if isinstance(setting, str) else None, clock)


def whole_versions(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any]
) -> dict[str, str]:
    """Return the versions that a node reads with the rows of all times, by relation."""
    if not node["config"].get("in_time"):
        return {}
    published, found = run_of(adapter).published, {}
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        if parent is None or not holds_in_time(graph["nodes"], parent):
            continue
        relation = relation_of(parent)
        version = published.version_of(relation)
        is_in_time = InTime.read(published.definitions.get(relation)) is not None
        if version is None or not is_in_time or run_of(adapter).deferred(parent):
            raise CompilationError(
                f"'{node['name']}' reads '{parent['name']}', whose rows hold for a"
                " time, and of which no version that says so is published here: run"
                f" '+{node['name']}'."
            )
        found[relation] = table_of(adapter, version)
    return found
