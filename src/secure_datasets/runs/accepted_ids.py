"""The versions of staged tables that have passed the data test `keeps_most_ids`.

The note is the text of a view, because a version that a view reads is not dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbt.adapters.base import BaseAdapter
from dbt_common.exceptions import CompilationError

from secure_datasets.config.plan import PACKAGE
from secure_datasets.config.references import STAGED

TEST = "keeps_most_ids"
OTHER_RUN = (
    "Another dbt run is building, so it is not noted which raw tables have kept their"
    " ids: run dbt test again when that run has ended."
)


class AcceptedIds:
    """The versions that passed last, and the published ones.

    nodes      dbt's nodes of all projects, by id
    relation   dbt's function that makes a relation
    schema     the project's schema
    is_sample  whether the raw tables are the sample's. The sample has a view of its
               own: the first build from a replica has lost nothing of it
    """

    def __init__(
        self,
        adapter: BaseAdapter,
        nodes: Mapping[str, Mapping[str, Any]],
        relation: Callable[..., Any],
        schema: str,
        is_sample: bool,
    ) -> None:
        self.adapter = adapter
        self.models = [n for n in nodes.values() if n["resource_type"] == "model"]
        name = "accepted_ids" + "_of_sample" * is_sample
        self.view = relation(schema=schema, identifier=name, type="view")

    def published(self, name: str) -> str | None:
        """Return the version that a staging model's view reads; None without one."""
        node = next(model for model in self.models if model["name"] == name)
        told = self.adapter.definitions(node["schema"], node["alias"])
        versions = self.adapter.read_by(told.get(node["alias"].lower()))
        return next(iter(versions), None)

    def accepted(self) -> dict[str, str]:
        """Return the version that passed last, by staging model."""
        # Another package's model may have the alias of a staging model, in a schema of
        # its own.
        names = {
            model["alias"].lower(): model["name"]
            for model in self.models
            if model["package_name"] == PACKAGE
        }
        view = self.view.identifier
        told = self.adapter.definitions(self.view.schema, view).get(view)
        found = {}
        for version in self.adapter.read_by(told):
            alias = version.split(".")[1].rpartition("__v")[0]
            found[names.get(alias, alias)] = version
        return found

    def to_compare(self, name: str, command: str) -> dict[str, str | None]:
        """Return the `published` version, and the `accepted` one, which passed last.

        None before the first one passes.
        """
        published = self.published(name)
        if not published and command in ("build", "test"):
            raise CompilationError(
                f"{TEST}: '{name}' has no published version to compare: run it first,"
                " and let it be a published_view."
            )
        return {"published": published, "accepted": self.accepted().get(name)}

    def accept(
        self,
        results: Iterable[Any],
        tables: Mapping[str, Mapping[str, Any]],
        hold_run: Callable[[], Any],
        run_query: Callable[[str], Any],
        warn: Callable[[str], Any],
    ) -> None:
        """Note the versions that have passed, before any version is dropped.

        results  the results of on-run-end
        """
        passed = {
            f"{STAGED}{result.node.test_metadata.kwargs['table']}": (
                self.adapter.read_by(result.node.compiled_code)
            )
            for result in results
            if result.status == "pass" and _is_of_ids(result.node)
        }
        if not self._new(passed):
            return
        if not hold_run():
            warn(OTHER_RUN)
            return
        # Again: a concurrent run may have published, and dropped the version that
        # passed.
        versions = self.accepted() | self._new(passed)
        query = " union all ".join(
            f"select '{name}' as table_name, {table['key']} as id from"
            f" {versions[STAGED + name]}"
            for name, table in tables.items()
            if STAGED + name in versions
        )
        # It alters no foreign relation, and never drops its own view, so that the view
        # always exists.
        verb = "alter" if self.adapter.definition_of(self.view) else "create"
        # dbt makes the target's schema only where a model of the run is in it.
        if verb == "create" and not self.adapter.check_schema_exists(
            self.view.database, self.view.schema
        ):
            run_query(f"create schema if not exists {self.view.schema}")
        run_query(f"{verb} view {self.view} as {query}")

    def _new(self, passed: Mapping[str, list[str]]) -> dict[str, str]:
        """Return the published versions that passed and were not accepted before.

        passed  the versions that the test of each model has read
        """
        accepted = self.accepted() if passed else {}
        found = {}
        for name, versions in passed.items():
            published = self.published(name)
            if published in versions and published != accepted.get(name):
                found[name] = published
        return found


def _is_of_ids(node: Any) -> bool:
    """Whether a node is the data test that compares ids."""
    test = getattr(node, "test_metadata", None)
    return test is not None and test.name == TEST


def accepted_ids(adapter: BaseAdapter, *given: Any) -> AcceptedIds:
    """Return the versions that have passed: a method for macros."""
    return AcceptedIds(adapter, *given)
