"""Switch views to new versions, and note what each version was made of."""

from __future__ import annotations

import re
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.lock import RunLost
from dbt_secure_spark.published_state import (
    fields_of,
)
from dbt_secure_spark.run import run_of
from dbt_secure_spark.settings_of_views import set_for_views
from dbt_secure_spark.unchanged import MadeOf, properties_of_made
from dbt_secure_spark.versions import (
    CONTRACT,
    KEPT_VERSIONS,
    NOTHING,
    RawRead,
    definitions,
    encoded,
    is_published,
    run_of_all,
    set_properties,
    versions_kept,
)
from secure_datasets.sql.expressions import sql_text

logger = AdapterLogger("Spark")


def record_version(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    version: str,
    own: list[RawRead],
    sql: str | None = None,
    made: MadeOf | None = None,
) -> None:
    """Note the raw reads of a version with it, and what a new version is made of.

    It is called when the version has its rows. An input that the query names and dbt
    does not know counts as a read by no known run.
    """
    run = run_of(adapter)
    if own:
        run.forget_present()
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
    name = str(version).lower()
    noted = run.published.reads.get(name)
    is_found_again = {r.found for r in noted or ()} == {r.found for r in reads}
    # The end of the run notes with the schema what one run has found again.
    if reads != noted and not (is_found_again and run_of_all(reads)):
        value = encoded(" ".join(sorted(map(str, reads)))) or NOTHING
        properties = [f"'raw_reads' = '{value}'"]
        properties += properties_of_made(adapter, graph, node, version, made)
        set_properties(adapter, version, properties)
    run.published.reads[name] = reads


def definition_of(adapter: SparkAdapter, relation: Any) -> str | None:
    """Return a relation's definition in the metastore; None if it does not exist.

    A run has listed the definitions under its lock, and alters a view only by its
    switch. Raises CompilationError if this project did not make the relation: it is
    neither replaced nor altered.
    """
    run, name = getattr(adapter, "dbt_run", None), relation.identifier.lower()
    view = f"{relation.schema}.{name}".lower()
    if run and relation.schema.lower() in run.listed and view not in run.switched:
        told = run.published.definitions.get(view)
    else:
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


def stay(adapter: SparkAdapter, relation: Any, node: dict[str, Any], why: str) -> None:
    """Leave a view as it is and note why; raise if it does not exist yet."""
    name = node["name"]
    if definition_of(adapter, relation) is None:
        raise CompilationError(f"'{name}' is not created: {why}. Run '+{name}'.")
    run_of(adapter).stayed[node["unique_id"]] = (
        f"'{name}' stays as it was: {why}. Run '+{name}'."
    )
