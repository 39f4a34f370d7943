"""One run that publishes: what it reads, what it has switched, and what it refuses."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt import selected_resources
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt.flags import get_flags
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.catalogs import (
    check_catalogs,
    refuse_versions_elsewhere,
    text_of_view,
    without_its_catalog,
)
from dbt_secure_spark.functions import may_read_tables
from dbt_secure_spark.lineage import (
    STORED,
    may_name,
    relation_of,
)
from dbt_secure_spark.lock import RunLock
from dbt_secure_spark.published_state import (
    StateFile,
    nodes_of,
)
from dbt_secure_spark.queries import (
    functions_of_people,
    names,
    queries_of_python,
    relations_read,
)
from dbt_secure_spark.raw_files import RawFiles, read_files, read_unless_known
from dbt_secure_spark.raw_tables import has_changed, source_of
from dbt_secure_spark.read_back import refuse_what_was_not_switched
from dbt_secure_spark.settings import OF_THE_PAST
from dbt_secure_spark.settings_of_views import refuse_other_settings
from dbt_secure_spark.versions import (
    NAMED_VERSION,
    NOTHING,
    RUN,
    SUFFIX,
    VERSION,
    Published,
    RawRead,
    decoded,
    definitions,
    encoded,
    existing_schemas,
    found_again,
    is_published,
    named_versions,
    shown,
    tables_in,
    told_again,
    versions_catalog,
    versions_kept,
    versions_read,
)
from dbt_secure_spark.warehouse import (
    claim_catalog,
    claim_folder,
    remove_folders,
    schema_properties,
    schemas_described_once,
    set_schema_property,
)

if TYPE_CHECKING:
    from dbt_secure_spark.appended import Key

logger = AdapterLogger("Spark")
# The property of a schema of versions for `found_again`.
FOUND_AGAIN = "found_again"
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
        # The schemas whose views are loaded.
        self.listed: set[str] = set()
        # The definitions of the switched views before their switch.
        self.told_before: dict[str, str | None] = {}
        # The queries that views were switched to, by the views' names.
        self.switched: dict[str, str] = {}
        # The views that wait for their data tests, by the views' names.
        self.untested: dict[str, Untested] = {}
        # The texts of views before their switch; None of what is no view.
        self.texts: dict[str, str | None] = {}
        # The present states of raw tables, as they were last looked up.
        self.now: dict[str, RawRead | None] = {}
        self.looking_up = Lock()
        # What is asked at once for all models (`ahead`); None until it is needed.
        self.files_ahead: dict[str, RawFiles | None] | None = None
        self.rows_ahead: dict[str, int] | None = None
        self.asking_ahead = Lock()
        # The readings of raw tables by their files; None until they are needed.
        self.noted_readings: dict[tuple[str, str], RawRead] | None = None
        # Spark's descriptions of functions; None if a name is no function's.
        self.functions: dict[str, list[str] | None] = {}
        # The engine's versions and settings; None until they are needed.
        self.engine: list[Any] | None = None
        # The keys that models note while they are compiled, by their unique ids.
        self.keys: dict[str, Key] = {}
        # The raw files whose rows are copied from a version, by the model's unique id:
        # the latest time of a file, and the files' digest.
        self.copied: dict[str, tuple[int, str]] = {}
        # The texts of views whose versions stay.
        self.kept: dict[str, str] = {}
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
                    found = found_by(self.adapter, schema)
                    self.published.load_reads(self.adapter, schema, found)
                    if builds_models:
                        self.note_rows(schema, "some" if partly else "all")
        except BaseException:
            self.lock.release()
            raise

    def note_rows(self, schema: str, rows: str) -> None:
        """Note whether a schema's versions hold all rows or only some."""
        if schema_properties(self.adapter, schema).get("rows") != rows:
            set_schema_property(self.adapter, schema, "rows", rows)

    def note_found(self) -> None:
        """Note what runs found again of what the versions that stay note."""
        for schema in self.version_schemas:
            text = told_again(self.published.found_since(schema)) or NOTHING
            noted = schema_properties(self.adapter, schema).get(FOUND_AGAIN, NOTHING)
            if text != noted:
                set_schema_property(self.adapter, schema, FOUND_AGAIN, text)

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
        self.listed = (readers | switched | set(self.schemas)) & existing
        for schema in sorted(self.listed):
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
        if switched := self.kept | self.switched:
            # If a later run has switched the views, the catalog is not to blame.
            self.lock.check()
            refuse_what_was_not_switched(switched, told)
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
                self.note_found()
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
        tables = {read.table for read in reads if is_noted(read.run)}
        now = self.look_up(graph, tables)
        changed = sorted(
            {
                read.table
                for read in reads
                if not is_noted(read.run) or has_changed(read, now[read.table])
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

    def look_up(
        self, graph: dict[str, Any], tables: set[str]
    ) -> dict[str, RawRead | None]:
        """Return the present states of raw tables; None of what can't be read.

        Each is read once, until a model has read raw tables: `forget_present`.
        """
        with self.looking_up:
            found = {
                table: source_of(graph, table) for table in tables - self.now.keys()
            }
            files = self._present_files([*filter(None, found.values())])
            for table, source in found.items():
                self.now[table] = source and self._present(source, files)
            return {table: self.now[table] for table in tables}

    def _present(
        self, source: dict[str, Any], files: Mapping[str, RawFiles | None]
    ) -> RawRead | None:
        """Return a raw table's state; None if it is lost: rights end all the same."""
        try:
            of_table = files.get(relation_of(source))
            return read_unless_known(self, source, of_table, "now")
        except DbtRuntimeError as failure:
            logger.warning(
                f"{relation_of(source)} can't be read and counts as changed: {failure}"
            )
            return None

    def _present_files(
        self, sources: list[dict[str, Any]]
    ) -> Mapping[str, RawFiles | None]:
        """Return the states of raw tables' files, without those of a lost table."""
        if not sources or getattr(get_flags(), "FULL_REFRESH", False):
            return {}
        try:
            return read_files(self, sources)
        except DbtRuntimeError:
            each = [[source] for source in sources if sources[1:]]
            return ChainMap(*map(self._present_files, each))

    def forget_present(self) -> None:
        """Read the states of raw tables anew when they are needed next.

        A state from before a model read its own tables says nothing of later: rows that
        were delivered meanwhile would be joined with rights that were revoked.
        """
        with self.looking_up:
            self.now.clear()


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


def found_by(adapter: SparkAdapter, schema: str) -> dict[str, set[str]]:
    """Return what runs found again in the raw tables behind a schema's versions."""
    try:
        noted = schema_properties(adapter, schema)
    except DbtRuntimeError as failure:
        # Somebody may have dropped a schema that a view names.
        if "SCHEMA_NOT_FOUND" not in str(failure):
            raise
        return {}
    return found_again(noted.get(FOUND_AGAIN, ""))


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
