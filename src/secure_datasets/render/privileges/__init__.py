"""Privileges on stored tables: what each operation asks for, and who holds it.

The queries are no models, because the check before a run needs them before any model is
built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from secure_datasets.config.relations import (
    STORED,
    GraphObject,
    graph_objects,
    nodes_read,
    stored_tables,
    upstream,
)
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import template, values_query

Ref = Callable[[str], Any]
Needs = list[list[str | None]]


class Privileges:
    """The privileges of a project.

    ref      dbt's function; the graph is dbt's, and empty while it parses
    compute  what fills a stored table whose `meta` names no other
    """

    def __init__(
        self,
        ref: Ref,
        nodes: Mapping[str, Any] | None,
        sources: Mapping[str, Any] | None,
        compute: str,
    ) -> None:
        self.ref, self.nodes, self.compute = ref, nodes or {}, compute
        self.objects = graph_objects(self.nodes, sources or {})

    def needs(self, only: Iterable[str] | None = None) -> Needs:
        """Return the objects on which an operation on a stored table can need anything.

        Rows of the stored table's name, the place by its name in the matrix
        (`needed_on`), and type and name of the object in that place.

        only  the unique ids of the stored tables; none for all
        """
        rows: Needs = []
        for key, table in stored_tables(self.objects):
            if only is None or key in only:
                rows += ([table.name, *need] for need in self._needs_of(key, table))
        return rows

    def _needs_of(self, key: str, table: GraphObject) -> Iterator[tuple[Any, ...]]:
        yield "itself", table.object_type, table.name
        yield "compute", "COMPUTE", self._compute_of(table)
        yield from _places(table)
        for parent in table.reads:
            if parent in self.objects:
                read = self.objects[parent]
                place = "stored table" if read.object_type == STORED else "table"
                yield f"{place} read", read.object_type, read.name
                yield from _places(read, " read")
        for read in upstream(key, self.objects):
            yield "stored table upstream", STORED, read.name

    def _compute_of(self, table: GraphObject) -> str:
        return table.node["config"].get("meta", {}).get("compute", self.compute)

    def ctes(self, role: str | None = None, only: Iterable[str] | None = None) -> str:
        """Return the CTEs of what each role holds, and what each operation requires.

        A row of `role_paths` has a role, a role whose privileges it holds, and whether
        only by a secondary role. Roles inherit at any depth.

        role  a role to judge even if no seed names it
        """
        return template(
            __package__,
            "privileges",
            self.ref,
            needs=values_query(self.needs(only), 4),
            role_to_judge=f"union\nselect {sql_text(role)}" if role else "",
        )

    def permitted_operations(
        self, role: str | None = None, only: Iterable[str] | None = None
    ) -> str:
        """Return the query of what each role may do with each stored table."""
        return template(
            __package__,
            "permitted_operations",
            self.ref,
            privileges=self.ctes(role, only),
            is_needed=self.object_is_needed("held", "required"),
        )

    @staticmethod
    def object_is_needed(granted: str, needed: str) -> str:
        """Return whether a granted object is the one needed; `*` is any of the type."""
        return f"""{granted}.object_type = {needed}.needed_type
    and {granted}.object_name in ({needed}.needed_name, '*')"""

    def of_role(self, role: str) -> str:
        """Return the query of what the operations of a role ask for."""
        return template(
            __package__,
            "of_role",
            self.ref,
            privileges=self.ctes(),
            role=sql_text(role),
        )

    def metadata(self) -> list[list[str | None]]:
        """Return what an engine's catalogue would have for each stored table.

        Rows of name, description, inputs, text, compute, state (ACTIVE or SUSPENDED),
        and the day and the reason of the suspension.
        """
        rows = []
        for _, table in stored_tables(self.objects):
            meta = table.node["config"].get("meta", {})
            reason = meta.get("suspend_reason_code")
            known = (self.objects[key] for key in table.reads if key in self.objects)
            read = sorted(str(each.name) for each in known)
            rows.append(
                [
                    table.name,
                    table.node["description"].strip(),
                    ", ".join(read) or None,
                    table.node["raw_code"],
                    self._compute_of(table),
                    "SUSPENDED" if reason else "ACTIVE",
                    meta.get("last_suspended_on"),
                    reason,
                ]
            )
        return rows

    def lacking(
        self,
        role: str,
        selected: Iterable[str],
        command: str,
        run_query: Callable[[str], Any],
    ) -> str:
        """Return in lines what a role lacks for a run, each with what needs it.

        selected  unique ids; `dbt retry` does not show them, so that every node counts
        """
        planned = self._planned(sorted(selected or self.nodes), command)
        only = [key for keys in planned.values() for key in keys]
        found = run_query(
            "select operation, object_name, permitted, missing from"
            f" (\n{self.permitted_operations(role, only)}\n) as permitted_operations"
            f" where role_name = {sql_text(role)}"
        )
        missing = {
            f"{operation} {name}": "" if is_permitted else lacks
            for operation, name, is_permitted, lacks in found.rows
        }
        lacking: dict[str, list[str]] = {}
        for operation, keys in planned.items():
            for key in dict.fromkeys(keys):
                if self.objects[key].object_type == STORED:
                    purpose = f"{operation} {self.objects[key].name}"
                    unknown = f"the operation '{operation}' in the matrix"
                    for one in filter(None, missing.get(purpose, unknown).split(", ")):
                        lacking.setdefault(one, []).append(purpose)
        return "\n".join(
            sorted(
                f"  - {one}, to {first}"
                + (f" and {len(others)} more" if others else "")
                for one, (first, *others) in lacking.items()
            )
        )

    def _planned(self, selected: Iterable[str], command: str) -> dict[str, list[str]]:
        """Return the planned operations, each with the unique ids of stored tables.

        A run creates and fills selected ones, and queries what a selected test reads.
        """
        planned: dict[str, list[str]] = {"create and fill": [], "query": []}
        may_test = command in ("test", "build")
        for key in selected:
            node = self.nodes.get(key)
            if key in self.objects and command != "test":
                planned["create and fill"].append(key)
            elif node and node["resource_type"] == "test" and may_test:
                planned["query"] += nodes_read(key, self.nodes)
        return planned


def _places(found: GraphObject, suffix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield database and schema of a relation, as places."""
    database = found.node.get("database") or "spark_catalog"
    yield f"database{suffix}", "DATABASE", database
    yield f"schema{suffix}", "SCHEMA", found.node["schema"]


def privileges(
    adapter: Any, ref: Ref, nodes: Any, sources: Any, compute: str
) -> Privileges:
    """Return the privileges of a project: a method that macros call."""
    return Privileges(ref, nodes, sources, compute)
