"""What a run may publish, and from what: the methods that the materializations call."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
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

logger = AdapterLogger("Spark")
HOLDING = threading.Lock()
# One task must sort them; fewer files are read faster.
ROWS_IN_A_FILE = 5_000_000
# Of characters; what is longer has views that name others twice, many layers deep.
LONGEST_QUERY = 1_000_000
PAST_OF_SAMPLE = "build a past state of the sample, as if it were one of theirs"


class OldVersion(NamedTuple):
    """A version that is read in the place of the published one.

    And the query by which its view showed it.
    """

    version: str
    published_rows: str


class Run:
    """One dbt command that builds: its lock, and what is published meanwhile."""

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
        # The raw tables of a sample, which are seeds, may be several projects'.
        self.own_schemas = [
            store + SUFFIX for store in self.stores if store in self.model_schemas
        ]
        self.lock = RunLock(adapter, self.version_schemas, name, seconds)
        # Whether the lock is all that it is for: what begin_run checks was not checked.
        self.is_held = False
        self.published = Published()
        # What was not switched to the new state whole: a sentence for each node.
        self.stayed: dict[str, str] = {}
        # What the metastore told of the switched views before their switch.
        self.told_before: dict[str, str | None] = {}
        # The queries that views were switched to, by the views' names.
        self.switched: dict[str, str] = {}
        # What was found when a raw table's rows were asked for once more.
        self.looked_up: dict[str, RawRead | None] = {}
        # What Spark tells of functions; None of what is no function.
        self.functions: dict[str, list[str] | None] = {}
        # The versions and settings of what reads the rows, once somebody has asked.
        self.engine: list[Any] | None = None
        # Which views, as they are told, were found to read what their models do not.
        self.judged: dict[tuple[str, str], bool] = {}
        self.state = StateFile(self)
        # What each package hands in about itself, to be kept with the state.
        self.documents: dict[str, Any] = {}

    def begin(self, partly: str | None, builds_models: bool = True) -> None:
        """Make sure that this run may build, and clear away what dead runs left.

        `partly` names the option by which the run reads only some rows, if any.
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
        """Note whether the versions of a schema hold some of the rows or all."""
        if schema_properties(self.adapter, schema).get("rows") != rows:
            set_schema_property(self.adapter, schema, "rows", rows)

    def refuse_some_rows_over_all(self, partly: str | None) -> None:
        """Raise if a run that reads only some rows would publish over all of them."""
        if not partly:
            return
        # Seeds are read whole, whatever the option.
        of_some = {
            store + SUFFIX: store not in self.model_schemas
            or schema_properties(self.adapter, store + SUFFIX).get("rows") == "some"
            for store in self.stores
        }
        for schema in self.model_schemas:
            for name, told in definitions(self.adapter, schema).items():
                # A schema may be another target's as well, so what counts is which
                # versions a relation reads; of one that reads none, all that is stored.
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
        """Raise if a model's view shows what another target has published.

        A run without a target, as of an older package, refuses nothing.
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
        """Yield the models' views that show versions of other stores, and whose.

        A schema may be called the same whatever the target. One that holds models'
        versions too is shared with them; what its views show of others is not.
        """
        existing, targets = None, self.noted("target")
        for schema in self.model_schemas:
            # What this very target has published last shows nothing of another's.
            if targets.get(schema + SUFFIX) == self.target:
                continue
            for name, told in definitions(self.adapter, schema).items():
                read = {version.split(".")[0] for version in versions_read(told)}
                if f"{schema}.{name}" not in self.models:
                    continue
                existing = existing or existing_schemas(self.adapter)
                # Seeds alone may be several targets'.
                for store in sorted((read & existing) - set(self.version_schemas)):
                    yield f"{schema}.{name}", store

    def claim_schemas(self) -> None:
        """Claim the schemas of the models for this project, or raise if one is not its.

        That of the sample's raw tables is nobody's, unless a project has models there.
        A run without a project, as of an older package, claims none.
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
        """Return what runs have noted with each schema of this project's versions.

        With `with_present`, of past states also with those of the present.
        """
        schemas = list(self.own_schemas)
        if with_present:
            stores = [schema.removesuffix(SUFFIX) for schema in schemas]
            present = {OF_THE_PAST.sub("", store) + SUFFIX for store in stores}
            schemas += sorted((present - set(schemas)) & existing_schemas(self.adapter))
        return {schema: noted_with(self.adapter, schema, name) for schema in schemas}

    def remember_schemas(self) -> None:
        """Note which schemas may have views that name these versions."""
        for schema in self.version_schemas:
            known = self.read_from(schema)
            names = sorted({*known, *self.schemas} & existing_schemas(self.adapter))
            if names != sorted(known):
                # While it was suspended, another run may have noted more.
                self.lock.check()
                value = encoded(" ".join(names))
                set_schema_property(self.adapter, schema, "read_from", value)

    def read_from(self, schema: str) -> list[str]:
        """Return the schemas whose views may name versions of a schema."""
        return read_from(self.adapter, schema)

    def load_definitions(self) -> None:
        """Ask for every view of every schema that may name a version."""
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

        What is listed is older than what is known of the views. None is dropped if a
        view does not show what this run has switched it to. And before each drop the
        run asks: while it was suspended, another one may have published. With a
        `graph` the state is written between: it names nothing that is dropped.
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
                # A catalogue that does not tell a view's text can't say what it names.
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

        `failed` are relations that dbt has told of by itself, as not published.
        """
        for name in failed:
            self.switched.pop(name, None)
        try:
            self.lock.check()
            with schemas_described_once(self.adapter):
                self.drop_unnamed_versions(graph)
                remove_folders(self.adapter, self.version_schemas, [self.name])
        except BaseException:
            # Without signs of life the next run takes this one for dead, and clears
            # away what it left.
            self.lock.ended.set()
            raise
        self.lock.release()

    # What versions are read from

    def parents(
        self, graph: dict[str, Any], node: dict[str, Any], pinned: tuple[str, ...] = ()
    ) -> Iterator[str]:
        """Yield the versions that a node's rows come from, at any distance of views.

        Those that are `pinned` stand in the place of what is published now.
        """
        for unique_id in node["depends_on"].get("nodes", ()):
            parent = graph["nodes"].get(unique_id)
            if source := graph["sources"].get(unique_id):
                # It may be called a source, and be what this project has published.
                if version := self.published.version_of(relation_of(source)):
                    yield version
                continue
            if parent is None or parent["resource_type"] == "seed":
                continue
            relation = relation_of(parent)
            kind = parent["config"]["materialized"]
            if deferred := self.deferred(parent):
                # What is read in another schema is not known here.
                yield deferred
            elif kind == "view":
                told = self.published.definitions.get(relation)
                read = tuple(versions_read(told))
                yield from read
                if self.reads_another(graph, parent, relation):
                    # It was not run since it was edited.
                    yield relation
                yield from self.parents(graph, parent, read)
            elif kind == "ephemeral":
                yield from self.parents(graph, parent, pinned)
            elif kind not in STORED:
                # What another run has made, or what keeps older rows, says not of what.
                yield relation
            elif not names_version_of(parent, pinned):
                yield self.published.version_of(relation) or relation

    def reads_another(
        self, graph: dict[str, Any], node: dict[str, Any], relation: str
    ) -> bool:
        """Say whether a view reads something else than its model, or may.

        It may have been edited since it was run, read what can't be found out, or hold
        values that dbt asked for while it rendered it.
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

    def unknown_reads(self, name: str, sql: str, known: set[str]) -> set[str]:
        """Return what a query reads that is neither known nor a version.

        Where that can't be found out, the query's own name.
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
        """Return what a stored model reads that dbt knows nothing of, and versions.

        `sql` is its query as dbt sends it; of a Python model the code is read.
        """
        name = relation_of(node)
        # Its own relation holds rows of before.
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
        """Return what dbt reads in another schema in a node's place, if it does."""
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
        """Return what a node's new version is read from."""
        return self.published.reads_of(self.parents(graph, node)) | frozenset(own)

    def why_no_one_state(
        self, graph: dict[str, Any], reads: frozenset[RawRead]
    ) -> str | None:
        """Say why no moment's raw tables would give what these readings give; or None.

        What one run has read is one state. What several have read is one if every table
        still holds what was read of it.
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
        """Return what a raw table holds now, asked once a run."""
        if table not in self.looked_up:
            self.looked_up[table] = look_up(self.adapter, graph, table)
        return self.looked_up[table]


def is_noted(run: str) -> bool:
    """Say whether a reading is a run's, or that of a version, which never changes."""
    return bool(RUN.fullmatch(run) or NAMED_VERSION.fullmatch(run))


def is_selected(node: dict[str, Any]) -> bool:
    """Say whether this command builds a node."""
    return node["unique_id"] in selected_resources.SELECTED_RESOURCES


def deferred_of(node: dict[str, Any]) -> str | None:
    """Return a node's relation in another schema, by --defer, if it has one."""
    deferred = (node.get("defer_relation") or {}).get("relation_name")
    is_another = deferred and deferred.lower() != relation_of(node)
    return deferred.lower() if is_another else None


def noted_with(adapter: SparkAdapter, schema: str, name: str) -> str | None:
    """Return what runs have noted with a schema of versions; None if nothing."""
    text = decoded(schema_properties(adapter, schema).get(name, NOTHING))
    return None if text == NOTHING else text


def read_from(adapter: SparkAdapter, schema: str) -> list[str]:
    """Return the schemas whose views may name versions of a schema of versions."""
    return decoded(schema_properties(adapter, schema).get("read_from", "")).split()


def note_rules(adapter: SparkAdapter, relations: list[str]) -> None:
    """Note what the rules of all secure datasets look up, as the graph names it.

    Each of these depends on it, whether its own rules do or not.
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

    Their rows may stand in the query as values, asked for while dbt rendered it. Seeds
    are not looked at: they come from no raw table. A secure dataset names nothing of
    other datasets' rules.
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
        # Its query stands in its place.
        if kind == "ephemeral" or (kind == "view" and is_inlined):
            continue
        is_version_named = not is_source and names_version_of(parent, versions)
        if not names(text, relation) and not is_version_named:
            found.append(relation)
    return sorted(found)


def relations_of(graph: dict[str, Any], unique_ids: set[str]) -> set[str]:
    """Return the relations of nodes and sources, as the parser gives their names."""
    return {
        relation_of(of_kind[unique_id])
        for of_kind in (graph["nodes"], graph["sources"])
        for unique_id in unique_ids & of_kind.keys()
    }


def names_version_of(node: dict[str, Any], versions: Iterable[str]) -> bool:
    """Say whether one of these versions is of a node's relation."""
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


# What macros call; `adapter` is dbt's.


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
    """Hold the lock of the schemas that this process builds, and make room.

    A run that has begun goes on: the hooks of two projects may begin it.

    name     the run's, as the names of its versions end
    seconds  how long a run is watched that has not ended
    schemas  those of the project's relations
    stores   those of them whose relations are stored as versions
    models   the relations of the project's models
    project  the name of the root project
    target   the schema that the output of profiles.yml names
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
    """Make this process's run, in the place of one that came to no end.

    Takes what `begin_run` takes.
    """
    # A project without the package has no hook that asks before.
    check_vars(adapter, {"run_lock_seconds": seconds})
    check_session(adapter)
    if before := getattr(adapter, "dbt_run", None):
        # A run of this very process that came to no end gives no further signs.
        before.lock.ended.set()
    adapter.dbt_run = Run(adapter, name, seconds, *parts)


def note_raw_schema(adapter: SparkAdapter, name: str, is_sample: bool) -> None:
    """Note from which schema a run reads the raw tables; raise if it is not there.

    Or if a replica's rows would be replaced: a command in which the variable was
    forgotten reads the sample.
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
    """Raise if a command that reads the sample asks of what a replica's rows made.

    schemas  those of the project's models that are stored as versions
    """
    # A schema may be there that no run has published into yet.
    stores = {schema.lower() + SUFFIX for schema in schemas} & existing_schemas(adapter)
    for store in sorted(stores):
        if before := noted_with(adapter, store, "raw_schema"):
            raise CompilationError(
                f"What {store.removesuffix(SUFFIX)} shows was read from the raw tables"
                f" in {before}, and this command would hold the sample against it: name"
                f" them, --vars '{{raw_schema: {before}}}'."
            )


def hold_run(adapter: SparkAdapter, *parts: Any) -> bool:
    """Say whether what follows may be published: hold the lock, as a run or as if one.

    False where another run is building. Takes what `begin_run` takes.
    """
    # Of two nodes that ask at once, one begins.
    with HOLDING:
        if run := getattr(adapter, "dbt_run", None):
            run.lock.check()
            return True
        try:
            make_run(adapter, *parts)
            adapter.dbt_run.is_held = True
            adapter.dbt_run.begin(None, builds_models=False)
        except BaseException as failure:
            # Another node may ask, and would take it for a run that holds the lock.
            adapter.dbt_run = None
            if isinstance(failure, RunRefused):
                return False
            raise
        return True


def option_to_read_some_rows() -> str | None:
    """Return the option by which this command reads none or only some of the rows."""
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
    """Release the lock, if this process holds it; return why which views stayed.

    `failed` are the relations whose nodes came to no good end. Without a `graph`
    nothing was published, and the state stays as it was.
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
    """Keep with the published state what a package hands in about itself.

    Where this process holds no lock, nothing is published.
    """
    if run := getattr(adapter, "dbt_run", None):
        run.documents[package] = plain(document)


def leave_run(adapter: SparkAdapter) -> None:
    """Give no further signs of a run whose command has ended without `end_run`.

    Its process may live on. The next run takes it for killed, and clears away.
    """
    if run := getattr(adapter, "dbt_run", None):
        run.lock.ended.set()
        adapter.dbt_run = None


def raw_tables_of(
    adapter: SparkAdapter, graph: dict[str, Any], relations: list[Any]
) -> list[dict[str, Any]]:
    """Return the raw readings behind some stored relations, as published now.

    One row for each raw table and reading: `table`; `read_at` and `newest`, in
    microseconds since 1970; `read`, the `RawRead` itself.
    """
    published = published_by(adapter, graph)
    return readings_of(
        adapter, published, versions_shown(graph, published, names_of(relations))
    )


def changed_raw_tables(
    adapter: SparkAdapter, graph: dict[str, Any], relations: list[Any]
) -> list[dict[str, Any]]:
    """Return which raw tables hold something else than some relations were read from.

    What counts is each version of the relations that any view of a model reads, an
    older one too, and of what one that is a plain view is made of. What only keeps
    versions, as those that passed a test, shows none.
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
    """Return what was made anew since relations were made: see `lineage.made_since`."""
    published = published_by(adapter, graph)
    names = names_of(relations)
    versions = {
        *staged_above(graph, published, names),
        *versions_shown(graph, published, names),
    }
    load_readings(adapter, published, versions)
    return lineage.made_since(graph, published, names)


def names_of(relations: list[Any]) -> set[str]:
    """Return relations as `relation_of` calls them."""
    return {f"{r.schema}.{r.identifier}".lower() for r in relations}


def published_by(adapter: SparkAdapter, graph: dict[str, Any]) -> Published:
    """Return what the metastore tells of all schemas that may name versions.

    Also of views that the project has no longer, and that show what they showed.
    """
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
        # By their names: Spark lists the session's temporary views too, and fails where
        # another thread drops one meanwhile.
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
    """Return the views that read versions and are no relation of this project.

    They were renamed, removed or given another schema, and go on showing the rows and
    rights of their last run. A schema that is none of the project's may be another
    target's: there, what counts is what reads a version of this project's models.
    The versions that passed a test are named by a view of the project's own.
    """
    nodes = [node for node in graph["nodes"].values() if node.get("relation_name")]
    own = {relation_of(node) for node in nodes}
    schemas = {node["schema"].lower() for node in nodes}
    # Seeds, as those of a sample, may be several targets'.
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
    """Return the readings of raw tables that versions come from, for a macro."""
    load_readings(adapter, published, versions)
    return [
        {"table": read.table, "read_at": read.read_at, "newest": read.newest}
        | {"read": read}
        for read in sorted(published.reads_of(versions), key=str)
    ]


def load_readings(
    adapter: SparkAdapter, published: Published, versions: Iterable[str]
) -> None:
    """Ask the metastore what versions were read from."""
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
    """Note with a new version which raw rows it was read from.

    What its query names and dbt does not know of is of no known state.
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
    # A version that a view showed before is read as what it was, and dates nothing.
    told = run.published.definitions.values()
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
    """Return the folders that a node's new version lies in; None if in one.

    With `folders: auto`, by the rows of the version before: the first lies in one.
    """
    key, number = key_of(node), node["config"].get("folders")
    if key is None:
        return None
    if number == AUTO:
        # Where the raw tables have too few rows, none is counted.
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
    # What Spark finds equal to a value of another type is written in other ways, too.
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
    """Return the buckets that a node's new version of Iceberg lies in.

    Raises CompilationError where it can't; with `folders: auto` it lies in none.
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
    """Say whether a view can leave out columns of its version: since Spark 4."""
    return not rows_of(adapter, "select version()")[0][0].startswith("3.")


def files_for(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return of how many files a node's new version is made; None of any number.

    By the rows of the version before, and of few, where each query looks up the rows of
    one value: opening a file takes longer than reading what one value has in it.
    """
    config = node["config"]
    columns = config.get("cluster_by")
    # Spark repartitions by names of columns alone.
    are_names = isinstance(columns, list) and all(map(NAME.fullmatch, columns))
    if not (config.get("statistics") and columns and are_names):
        return None
    rows = rows_before(adapter, node)
    return None if rows is None else 1 + rows // ROWS_IN_A_FILE


def rows_before(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return how many rows a node's published version has; None if there is none.

    What the next one has is known only when it is written.
    """
    version = run_of(adapter).published.version_of(relation_of(node))
    return None if version is None else rows_in(adapter, version)


def rows_in(adapter: SparkAdapter, version: str) -> int:
    """Return how many rows a version has, as Spark counts them."""
    return int(rows_of(adapter, f"select count(*) from {version}")[0][0])


def has_whole_key(
    adapter: SparkAdapter, node: dict[str, Any], key: str, code: str
) -> bool:
    """Say whether a key is a whole number, of which there is a remainder."""
    return kind_of(adapter, node, key, code) in WHOLE_TYPES


def kind_of(adapter: SparkAdapter, node: dict[str, Any], column: str, code: str) -> str:
    """Return the type of a column that a node's query gives.

    Of a Python model as its documentation says.
    """
    if node.get("language") == "python":
        return (node["columns"].get(column, {}).get("data_type") or "").lower()
    query = f"describe query select `{column}` from (\n{code}\n) as of_query"
    return str(rows_of(adapter, query)[0][1]).lower()


def definition_of(adapter: SparkAdapter, relation: Any) -> str | None:
    """Return what the metastore tells of a relation; raise if it is not this project's.

    A relation that something else made is neither replaced nor altered.
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
    """Note what a view reads from now on; raise if this run may not switch it.

    Return the value of the view's property `kept_versions`.
    """
    run = run_of(adapter)
    # First: over a server it takes a second, in which this run may lose its lock.
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


def note_switch(adapter: SparkAdapter, relation: Any, query: str) -> None:
    """Note what a readers' view was switched to, which is read back at the end."""
    name = f"{relation.schema}.{relation.identifier}".lower()
    adapter.dbt_run.switched[name] = query


def check_lock(adapter: SparkAdapter) -> None:
    """Raise if this run has lost its lock."""
    run_of(adapter).lock.check()


def tell_of_lost_lock(adapter: SparkAdapter, failure: DbtRuntimeError) -> None:
    """Raise what is behind a statement's failure, if this run has lost its lock.

    Another run drops the version that it was writing.
    """
    lock = getattr(getattr(adapter, "dbt_run", None), "lock", None)
    # Where the lock itself asks, it tells of its own failures.
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
    """Put versions in the place of the published relations that a view's query names.

    Returns `sql`; `why_not`, why the view may not be switched to it, or none;
    `is_pinned`, whether it reads versions; and `read`, the versions that would have to
    be of one state, if that is why not. A view with `reads_latest` reads its parents by
    their published names, and a parent with it is read so by all. With `inline_views`
    the queries of the views that it names stand in their place, so that these don't
    change under it.

    old  by relation, the versions that stand in the place of what is published now,
         where the view is narrowed
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
    """Return what `pin_versions` returns."""
    return {"sql": sql, "why_not": why_not, "is_pinned": is_pinned, "read": read}


def deferred_in(graph: dict[str, Any], sql: str, is_inlined: bool) -> str | None:
    """Return a relation of another schema that a query reads by --defer."""
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

    A seed's version is not among these, unless the query names it: it is no reading of
    raw tables, but for the sample's seeds, which staging reads.
    """
    published = run_of(adapter).published
    is_inlined = bool(node["config"].get("inline_views"))
    read: list[str] = versions_read(sql)
    for parent in graph["nodes"].values():
        name = parent.get("relation_name")
        # An analysis bears the config of a model, and has no relation.
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
    # Of the views that stand in its place.
    for version in versions_read(sql):
        if relation_of_version(version) in old:
            sql = replaced(sql, version, old[relation_of_version(version)].version)
    refuse_without_time(graph, node, sql)
    return sql, read


def refuse_without_time(graph: dict[str, Any], node: dict[str, Any], sql: str) -> None:
    """Raise if a query shows rows that hold for a time, and not by the time.

    They were published before a time was declared of them.
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
    """Say whether what a node publishes is read as it is latest.

    By a view of one state only a seed's, which comes from no raw table.
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
    """Put the queries of views in the place of the views that a node's query reads.

    A query that stands there now may read views itself, until none does. Where the
    result is narrowed to what was shown before, so is what it reads: there it is the
    query of now.
    """

    def text_of(view: str) -> str:
        text = text_of_view(adapter, view)
        if text is None:
            raise CompilationError(f"{view} is no view yet: run it first.")
        identifier = view.split(".")[-1]
        return parts_of_narrowed(text, identifier)[1] if is_narrowed else text

    views = {
        relation_of(other)
        for other in graph["nodes"].values()
        if other["resource_type"] == "model"
        and other["config"]["materialized"] == "view"
        and other.get("relation_name")
    }
    # As deep as there are views.
    for _ in views:
        if not any(names(sql, view) for view in views):
            break
        before, sql = sql, with_queries(node["name"], sql, views, text_of)
        if len(sql) > LONGEST_QUERY:
            raise CompilationError(
                f"With the queries of the views that '{node['name']}' reads its query"
                " becomes too long: let one of them be a published_view."
            )
        if sql == before:
            break
    return sql


def text_of_view(adapter: SparkAdapter, view: str) -> str | None:
    """Return the query of a view as the metastore has it; None if it is no view."""
    # After the columns, one of which may be called so.
    for row in reversed(rows_of(adapter, f"describe extended {view}")):
        if row[0] == "View Text":
            return without_its_catalog(adapter, row[1])
    return None


def shows_public_rows(adapter: SparkAdapter, relation: Any) -> bool | None:
    """Say whether a secure dataset, as it is published, has rows for everyone.

    None where the metastore does not tell.
    """
    return shows_rows_of_nobody(text_of_view(adapter, str(relation)))


def refuse_what_changes(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], sql: str
) -> None:
    """Raise if a view of one state reads what is no version.

    What is meant to be read as it is now is called so, by `reads_latest`.
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
    """Leave a view as it was and note why; raise if there is none yet."""
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

    Of a stored relation as many as are left of `to_keep` beside the new one; of another
    view, which has none of its own, those that it read.
    """
    read = versions_read(definition)
    if to_keep is None:
        return read
    return list(dict.fromkeys(read + versions_kept(definition)))[: to_keep - 1]


def version_before(
    adapter: SparkAdapter, schema: str, identifier: str
) -> dict[str, str] | None:
    """Return the version that a view showed before this one, and when it was replaced.

    None without one, or where it can't be compared: it has other columns, or its rows
    come from other raw tables.
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
    """Return the versions that a text names and reads, for macros."""
    return versions_read(definition)


def in_time_of(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], as_of: Any
) -> InTime | None:
    """Return how the view of a node shows its rows; None where they hold always.

    as_of  the moment of a past state, if it is one
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
    """Return the versions that a node reads whole, whatever holds now, by relation."""
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
        found[relation] = version
    return found
