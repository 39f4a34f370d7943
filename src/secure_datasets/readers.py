"""The readers' views and functions in the catalogue: what is made, altered, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from dbt.adapters.base import BaseAdapter
from dbt_common.exceptions import CompilationError
from dbt_common.utils import md5

from dbt_secure_spark.versions import rows_of
from secure_datasets.config.plan import PACKAGE
from secure_datasets.config.tiers import has_public_rows
from secure_datasets.render.readers import (
    function_body,
    users_of_readers,
    view_query,
)
from secure_datasets.sql.expressions import schema_and_name, sql_text

Sources = Mapping[str, Mapping[str, Any]]

# The access views whose users stay live, though a bad load has lost them.
RIGHTS = ("vw_secure_user_data_source_access", "vw_secure_user_project_access")
KINDS = ("readers_views", "readers_functions")
VARIABLES = (*KINDS, "reader_accounts", "reader_applications")
OF_VIEWS = "rendered_by=secure_datasets"
# The beginning of the comment of a function.
OF_FUNCTIONS = "Rendered by secure_datasets, columns "
# It came with the path of function names that each view and function keeps.
OF_PATHS = "current_path"
# The commands before which the catalogue is checked.
CHECKED = ("build", "clone", "retry", "run", "run-operation")
# A session remembers the files of a table in these, and does not see rows that are
# loaded later, such as a second user of an account. Formats such as Delta are read anew
# each time, and a relation that this project publishes gets a new version name.
IN_FILES = ("avro", "csv", "hive", "json", "orc", "parquet", "text")


class ReadersObjects:
    """Publishes the readers' views and functions, and checks the variables about them.

    macros  the product's macros, by their names
    var     dbt's function of that name
    nodes   dbt's nodes of all projects, by id
    dbt     dbt's `command`, the `database` and the project's `schema`; its functions
            `hold_run`, `apply_grants`, `warn`, and `relation`, which makes a relation
    """

    def __init__(
        self,
        adapter: BaseAdapter,
        macros: Mapping[str, Callable[..., Any]],
        var: Callable[..., Any],
        nodes: Mapping[str, Any],
        dbt: Mapping[str, Any],
    ) -> None:
        self.adapter, self.macros, self.var, self.nodes = adapter, macros, var, nodes
        self.dbt = SimpleNamespace(**dbt)

    @property
    def schema(self) -> str:
        """The schema of the readers' views: apart from the datasets, granted alone."""
        return f"{self.dbt.schema}_readers"

    def functions(self) -> dict[str, list[str]]:
        """Return the functions by name, with the roles that may execute each."""
        names = self.macros["readers_names"]()
        return {self._function(name): self.var("reader_applications") for name in names}

    def have_views(self) -> bool:
        """Whether readers have views, or are to have them."""
        if self.var("readers_views"):
            return True
        found = self.adapter.definitions(self.schema)
        return any(OF_VIEWS in (told or "") for told in found.values())

    def sources(self) -> dict[str, dict[str, Any]]:
        """Return the sources of the readers' own rows, by the names of their views.

        The secure datasets and the access views of their tiers, as they are in the
        catalogue now: without those that were never built, or that the project no
        longer has. Each has its name; the `relation` with everybody's rows, named with
        its catalog, and the same as `view`, for dbt's macros about grants; its
        `columns` with their types; and whether it has public rows.
        """
        models = {
            node["name"]: node
            for node in self.nodes.values()
            if node["resource_type"] == "model"
        }
        found = {}
        for name, model in self.macros["readers_names"]().items():
            node = models.get(model)
            if node is None or not self._is_there(node):
                continue
            view = self.dbt.relation(
                schema=node["schema"], identifier=node["alias"], type="view"
            )
            columns = self.adapter.get_columns_in_relation(view)
            found[name] = {
                "name": name,
                "relation": self.adapter.with_catalog(node["relation_name"]),
                "view": view,
                "columns": {column.column: column.dtype for column in columns},
                "has_public_rows": self._has_public_rows(name, view),
            }
        return found

    def users(self) -> str:
        """Return SQL for the users: user_id and is_live, one row for each."""
        rights = [
            self.adapter.with_catalog(node["relation_name"])
            for node in self.nodes.values()
            if node["package_name"] == PACKAGE
            and node["name"] in RIGHTS
            and self._is_there(node)
        ]
        staged = self.adapter.with_catalog(self.macros["relation_named"]("stg_users"))
        return users_of_readers(staged, rights)

    def _is_there(self, node: Mapping[str, Any]) -> bool:
        """Whether the catalogue has a relation.

        dbt's cache does not always know: a drop in a schema while the cache fills
        empties it for that schema.
        """
        name = node["alias"].lower()
        return name in self.adapter.definitions(node["schema"], name)

    def _has_public_rows(self, name: str, view: Any) -> bool:
        """Whether a published relation has rows for everybody.

        The config may be newer than the relation, so it decides only if the catalogue
        has no query. All rows of an access view have a user.
        """
        config = self.macros["secure_datasets_config"]()
        if name not in config["datasets"]:
            return False
        is_shown = self.adapter.shows_public_rows(view)
        return has_public_rows(name, config) if is_shown is None else is_shown

    def check(self, asks_catalogue: bool) -> None:
        """Stop dbt at the first invalid variable, which the catalogue may show."""
        given = {name: self.var(name) for name in VARIABLES}
        self.adapter.secure_datasets().check_readers_vars(given)
        asked = [name for name in KINDS if given[name]]
        if asked:
            self.macros["readers_names"]()
        if not asks_catalogue:
            return
        if asked and self.dbt.command in CHECKED:
            self._check_engine(asked[0])
        if not given["readers_views"]:
            self._check_that_views_are_not_forgotten()
        elif self.dbt.command in CHECKED:
            self._check_columns_of_accounts(given["reader_accounts"])
            self._check_grants_of_plain_datasets()

    def hold(self) -> None:
        """Hold the lock, or stop dbt if a different run holds it."""
        if not self.dbt.hold_run():
            raise CompilationError(
                "publish_readers_objects: another dbt run is building: wait for it to"
                " end, then run this again."
            )

    def publish(self) -> None:
        """Make the objects that the variables require, and drop the obsolete ones.

        Only the operation drops all views, or all functions: a run warns of those that
        its variables do not require.
        """
        views, functions = (self.var(name) for name in KINDS)
        sources, users = {}, ""
        if views or functions:
            sources, users = self.sources(), self.users()
        is_operation = self.dbt.command == "run-operation"
        self._warn_of_sources_without_path(sources)
        if views or is_operation:
            self._publish_views(sources if views else {}, users)
        else:
            found = self.adapter.definitions(self.schema)
            self._warn_of_those_that_stay("readers_views", OF_VIEWS, found)
        if functions or is_operation:
            self._publish_functions(sources if functions else {}, users)
        else:
            found = self._functions()
            self._warn_of_those_that_stay("readers_functions", OF_FUNCTIONS, found)

    def _publish_views(self, sources: Sources, users: str) -> None:
        """Create, alter and drop views; a change by hand of one does not stay."""
        schema, accounts = self.schema, self.var("reader_accounts")
        readers = self.var("readers", [])
        if sources:
            self._warn_of_accounts_in_files(accounts)
            self._run(f"create schema if not exists {schema}")
            accounts = self.adapter.with_catalog(accounts)
        if readers:
            # First: nobody reads both in between.
            self.macros["_revoke_plain_datasets"](sources)
        # Without the session's temporary views, of which one may have such a name.
        found = self.adapter.definitions(schema)
        for name, source in sources.items():
            view = self.dbt.relation(schema=schema, identifier=name, type="view")
            query = view_query(source, accounts, users)
            if name in found:
                _check_made_by_us(view, OF_VIEWS in found[name])
                # In one step of the metastore.
                self._run(f"alter view {view} as\n{query}")
            else:
                mark = "tblproperties ('rendered_by' = 'secure_datasets')"
                self._run(f"create view {view}\n{mark}\nas\n{query}")
            self.adapter.note_switch(view, query)
            if readers:
                self.dbt.apply_grants(view, {"select": readers}, should_revoke=True)
        for name, definition in found.items():
            if name not in sources and OF_VIEWS in definition:
                self._run(f"drop view if exists {schema}.{name}")

    def _publish_functions(self, sources: Sources, users: str) -> None:
        """Create, replace and drop the readers' functions."""
        found, has_paths = self._functions(), self._engine_has(OF_PATHS)
        for name, source in sources.items():
            function = self._function(name)
            self._publish_function(function, source, users, found.get(name), has_paths)
            for role in self.var("reader_applications"):
                self._run(f"grant execute on function {function} to `{role}`")
        for name, told in found.items():
            if name not in sources and OF_FUNCTIONS in told:
                self._run(f"drop function if exists {self._function(name)}")

    def _publish_function(
        self,
        name: str,
        source: Mapping[str, Any],
        users: str,
        told: str | None,
        has_paths: bool,
    ) -> None:
        """Create a function, or replace it if it differs.

        A function can't be altered: plain Spark drops it and creates it again. If the
        list of applications changed, it is dropped first, and the grants with it.

        told  the catalogue's description of the function that is there
        """
        body = function_body(source, users)
        columns = ", ".join(f"{each} {of}" for each, of in source["columns"].items())
        roles = ", ".join(self.var("reader_applications")) or "nobody by name"
        mark, granted = f"{OF_FUNCTIONS}{md5(columns)}. ", f"For {roles}."
        if told is not None:
            _check_made_by_us(name, OF_FUNCTIONS in told)
            if granted not in told:
                self._run(f"drop function if exists {name}")
            # Without a path of its own a function resolves functions by its reader's.
            has_path = not has_paths or "\nSQL Path:" in told
            if mark + granted in told and body in told and has_path:
                return
        self._run(
            f"create or replace function {name}(reader string)\nreturns table"
            f" ({columns})\ncomment {sql_text(mark + granted)}\nreturn\n{body}"
        )
        if body not in self._told_of_function(name):
            raise CompilationError(
                "publish_readers_objects: the catalog took the statement, and"
                f" {name} is not what it was made as."
            )

    def _run(self, statement: str) -> None:
        """Run a statement if this run was not suspended, and may publish now."""
        self.hold()
        self.adapter.execute(statement)

    def _function(self, name: str) -> str:
        return f"{self.dbt.schema}.{name}_of"

    def _functions(self) -> dict[str, str]:
        """Return the description of each function, by its name without the `_of`."""
        schema = self.dbt.schema
        # dbt makes the target's schema only where a model is in it.
        if not self.adapter.check_schema_exists(self.dbt.database, schema):
            return {}
        listed = rows_of(self.adapter, f"show user functions in {schema}")
        names = [row[0].split(".") for row in listed]
        return {
            name.removesuffix("_of"): self._told_of_function(f"{schema}.{name}")
            for *place, name in names
            if place and name.endswith("_of")
        }

    def _told_of_function(self, name: str) -> str:
        rows = rows_of(self.adapter, f"describe function extended {name}")
        return "\n".join(str(row[0]) for row in rows)

    def _engine_has(self, functions: str) -> bool:
        """Whether the engine has a built-in function whose name matches a pattern."""
        return bool(rows_of(self.adapter, f"show system functions like '{functions}'"))

    def _warn_of_those_that_stay(
        self, name: str, mark: str, found: Mapping[str, str]
    ) -> None:
        """Warn of existing objects if the variable of a run does not require them."""
        if there := sum(mark in told for told in found.values()):
            self.dbt.warn(
                f"This run was not asked for {name}, of which there are {there}: they"
                " stay as they are. If they are to go, dbt run-operation"
                " publish_readers_objects drops them."
            )

    def _warn_of_sources_without_path(self, sources: Sources) -> None:
        """Warn of datasets that an earlier version built without a path of their own.

        They resolve functions by the path of the reader, whatever stands over them.
        """
        if not sources or not self._engine_has(OF_PATHS):
            return
        without = [
            source["view"].identifier
            for source in sources.values()
            if "\nSQL Path: " not in self.adapter.definition_of(source["view"])
        ]
        if without:
            self.dbt.warn(
                "In these a reader's own functions may stand before Spark's, since an"
                " earlier version made them: run"
                f" {', '.join(sorted(without, key=str.lower))}."
            )

    def _warn_of_accounts_in_files(self, accounts: str) -> None:
        schema, name = schema_and_name(accounts.lower())
        told = self.adapter.definitions(schema, name).get(name, "").lower()
        for _ in filter(lambda each: f"provider: {each}" in told, IN_FILES):
            self.dbt.warn(
                f"reader_accounts names {accounts}, a table in files: a session that"
                " has read it goes on reading the files that it knew. Let it be a"
                " published_view, or of a format that is read anew, such as Delta or"
                " Iceberg."
            )

    def _check_engine(self, name: str) -> None:
        """Stop dbt where a reader's own temporary function stands before Spark's.

        Views do so before Spark 4.2, which brought the first of these functions.
        Databricks has the second.
        """
        if not self._engine_has("current_path|current_metastore"):
            _stop(
                name,
                "needs Spark 4.2 or newer: in views of this one a reader's own"
                " temporary function stands before Spark's of the same name, and shows"
                " hidden rows. Leave it out, and let nobody but an application ask the"
                " datasets, by a filter on user_id",
            )

    def _check_columns_of_accounts(self, accounts: str) -> None:
        schema, name = schema_and_name(accounts)
        relation = self.adapter.get_relation(self.dbt.database, schema, name)
        if relation is None:
            # A relation of the project's own may be built by this very run.
            built = {node.get("relation_name") for node in self.nodes.values()}
            if accounts not in built:
                _stop("reader_accounts", f"names {accounts}, which does not exist")
            return
        columns = self.adapter.get_columns_in_relation(relation)
        types = {column.column.lower(): column.dtype for column in columns}
        is_user = types.get("user_id") in ("bigint", "int")
        if types.get("account") != "string" or not is_user:
            _stop(
                "reader_accounts",
                f"names {accounts}, which needs the columns account, a string, and"
                " user_id, a bigint",
            )

    def _check_grants_of_plain_datasets(self) -> None:
        """Stop dbt if the roles of the views, or others, would get plain datasets.

        dbt_project.yml, which has the grants, can't see its own variables.
        """
        readers = self.var("readers", []) or []
        for node in self._plain_datasets_granted():
            relation, others = node["relation_name"], {}
            for roles in node["config"]["grants"].values():
                for role in roles:
                    if role not in readers:
                        others.setdefault(role.lower(), role)
            if others:
                names = "', '".join(others.values())
                _stop(
                    "readers_views",
                    "gives readers their views, and by `grants` in dbt_project.yml"
                    f" '{names}' would be granted {relation}"
                    " beside them, which filters nothing: take these grants away",
                )
            _stop(
                "readers_views",
                "must stand in `--vars` beside `readers`, and `grants` in"
                f" dbt_project.yml ask for both: else these would be granted {relation}"
                " too, which filters nothing",
            )

    def _check_that_views_are_not_forgotten(self) -> None:
        """Stop a run without the variable that would grant plain datasets beside views.

        Such a run keeps the views.
        """
        if self.dbt.command not in ("build", "run"):
            return
        first = next(self._plain_datasets_granted(), None)
        if first and self.have_views():
            _stop(
                "readers_views",
                "is not true, and readers' views are there:"
                f" {first['relation_name']}, which filters nothing, would be granted"
                " beside them. Give `readers_views: true` in `--vars` too, or, if the"
                " views are to go, drop them first by dbt run-operation"
                " publish_readers_objects",
            )

    def _plain_datasets_granted(self) -> Iterator[Mapping[str, Any]]:
        """Yield the plain datasets that a run would grant, by whichever privilege.

        The engine knows more of them that let one read, in any letters.
        """
        for node in self.nodes.values():
            # Most projects grant nothing, so the names of datasets are not needed.
            if (
                any((node["config"].get("grants") or {}).values())
                and node["name"] in self.macros["readers_names"]().values()
            ):
                yield node


def readers_objects(adapter: BaseAdapter, *given: Any) -> ReadersObjects:
    """Return what publishes the readers' objects: a method for macros."""
    return ReadersObjects(adapter, *given)


def _stop(name: str, problem: str) -> None:
    """Stop dbt with a sentence about one of the variables."""
    raise CompilationError(f"vars: {name} {problem}.")


def _check_made_by_us(name: Any, is_ours: bool) -> None:
    """Stop dbt at a relation or function that this project did not make."""
    if not is_ours:
        raise CompilationError(
            f"publish_readers_objects: {name} exists, and was not made by this project:"
            " rename it, or drop it."
        )
