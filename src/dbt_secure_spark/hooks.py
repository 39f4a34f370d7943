"""What the hooks at the start and at the end of a run do."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt.artifacts.schemas.results import RunStatus, TestStatus
from dbt.flags import get_flags
from dbt_common.exceptions import CompilationError

from dbt_secure_spark import lineage
from dbt_secure_spark.lineage import (
    STORED,
    relation_of,
    staged_above,
    versions_shown,
)
from dbt_secure_spark.lock import RunRefused
from dbt_secure_spark.published_state import (
    plain,
)
from dbt_secure_spark.raw_tables import has_changed, look_up
from dbt_secure_spark.read_back import NotSwitched
from dbt_secure_spark.run import (
    PAST_OF_SAMPLE,
    Run,
    found_by,
    noted_with,
    read_from,
    run_of,
)
from dbt_secure_spark.settings import check_vars
from dbt_secure_spark.submission import session_parameters
from dbt_secure_spark.versions import (
    KEPT_VERSIONS,
    NOTHING,
    SUFFIX,
    VERSION,
    Published,
    encoded,
    existing_schemas,
    rows_of,
    versions_read,
)
from dbt_secure_spark.warehouse import (
    set_schema_property,
)

HOLDING = threading.Lock()


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
    results: Iterable[Any] = (),
    graph: dict[str, Any] | None = None,
) -> None:
    """End this process's run, if any.

    Raises DbtRuntimeError, and makes the results of these nodes errors, if views do not
    show what they were switched to.

    results  the results that dbt hands to on-run-end
    graph    dbt's graph; without it nothing was published, and the state stays as it
             was
    """
    run = getattr(adapter, "dbt_run", None)
    if run is None:
        return
    # A hook has a result too, and no relation.
    by_name = {
        lineage.in_metastore(getattr(each.node, "relation_name", None) or ""): each
        for each in results
    }
    # A node that stayed was narrowed by a switch, whatever its status is.
    failed = [
        name
        for name, result in by_name.items()
        if result.status not in (RunStatus.Success, TestStatus.Warn)
        and result.node.unique_id not in run.stayed
    ]
    try:
        run.end(failed, graph)
    except NotSwitched as refused:
        for name in refused.views & by_name.keys():
            by_name[name].status = RunStatus.Error
            by_name[name].message = refused.msg
        raise
    finally:
        adapter.dbt_run = None


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
        reads = dict(run.published.reads)
        return Published(dict(run.published.definitions), reads=reads)
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
    """Load the raw reads of versions from the metastore, if they are not known yet.

    A run notes at its end what it has found again.
    """
    names: dict[str, list[str]] = {}
    for version in set(versions) - published.reads.keys():
        schema, name = version.split(".")
        names.setdefault(schema, []).append(name)
    for schema, of_schema in names.items():
        found = found_by(adapter, schema)
        published.load_reads(adapter, schema, found, "|".join(of_schema))
