"""Compiles a node to the text that runs, or refuses a text that differs between runs.

A text is judged once, for all runs. So it must not depend on the command, the clock or
the database's content: the text that runs would differ from the text that was judged.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from dbt.compilation import Compiler
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import BatchContext, ManifestSQLNode
from dbt_common.exceptions import DbtRuntimeError

from secure_datasets.config.plan import PACKAGE
from secure_datasets.leaks.spines import WITH_SPINES, Spines, are_of_dbt

OF_ROWS = "its text is made of rows that are read while it is compiled"
OF_RELATIONS = "its text depends on which relations are there"
OF_THE_COMMAND = "its text depends on the command"
OF_THE_ADAPTER = "its text calls adapter."
# dbt's names for the command that started it.
COMMAND = (
    *("flags", "invocation_args_dict", "invocation_id", "run_started_at"),
    *("selected_resources", "thread_id"),
)
# What dbt knows only while a model runs, or by `--defer`: else it is none.
OF_RUNNING = ("_sql_results", "compiled_code", "defer_relation", "sql")
# What is known of a run only at its end.
OF_THE_END = ("database_schemas", "results", "schemas")
# The beginnings of adapter methods that query a database.
ASKS_FOR_ROWS = ("execute", "add_query", "run_sql", "submit_python_job", "get_catalog")
ASKS_FOR_RELATIONS = (
    *("get_relation", "list_", "check_schema_exists", "get_partitions"),
    *("already_exists", "get_missing_columns", "valid_snapshot_target"),
)
# The adapter's attributes that a text may use: they write nothing, and return the same
# in every run over the same relations.
OF_TEXTS = {
    *("Column", "Relation", "convert_type", "dispatch", "get_columns_in_relation"),
    *("quote", "quote_as_configured", "quote_seed_column", "type"),
    # The product's own attributes.
    *("as_of_text", "expected_access", "names_of_vars", "product_version"),
    *("schema_name", "secure_datasets", "staging"),
}
# The beginning and the end of a batch. Any will do.
A_BATCH = (datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2))
# The product's nodes with a text made of the leaks.
OF_THE_LEAKS = ("leaks", "assert_nothing_leaks")
# The attributes of `config` that lead to its node.
OF_THE_NODE = ("context_config", "model")
# A node's attributes that differ between runs.
OF_A_RUN = (
    *("batch", "build_path", "compiled", "compiled_code", "compiled_path"),
    *("compiled_sql", "created_at", "defer_relation", "deferred", "extra_ctes"),
    *("extra_ctes_injected", "previous_batch_results"),
)
# The methods that reveal something about a value.
LOOKS = (
    *("__str__", "__repr__", "__format__", "__html__", "__bool__", "__len__"),
    *("__iter__", "__next__", "__getitem__", "__contains__", "__reversed__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"),
    *("__call__", "__int__", "__float__", "__index__", "__neg__", "__pos__", "__abs__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"),
    *("__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__"),
    *("__mod__", "__rmod__", "__pow__", "__rpow__"),
)


class Refusal:
    """A value that a text must not depend on: every look at it is refused."""

    def __init__(self, refuse: Callable[[], NoReturn]) -> None:
        self._refuse = refuse

    def __getattr__(self, name: str) -> Any:
        self._refuse()


def _look(self: Refusal, *_: Any, **__: Any) -> NoReturn:
    self._refuse()


for method in LOOKS:
    setattr(Refusal, method, _look)


class _Adapter:
    """The adapter of a context: it writes nothing, and hides the command."""

    def __init__(
        self, adapter: Any, allowed: set[str], refuse: Callable[[str], NoReturn]
    ) -> None:
        self._adapter = adapter
        self._allowed = allowed
        self._refuse = refuse

    def __getattr__(self, name: str) -> Any:
        for reason, beginnings in (
            (OF_ROWS, ASKS_FOR_ROWS),
            (OF_RELATIONS, ASKS_FOR_RELATIONS),
            (OF_THE_COMMAND, ("config", "dbt_flag")),
        ):
            if name.startswith(beginnings):
                self._refuse(reason)
        if name not in self._allowed:
            self._refuse(f"{OF_THE_ADAPTER}{name}")
        return getattr(self._adapter, name)


class _Var:
    """The variables of a context, without the configuration behind them."""

    def __init__(self, var: Any) -> None:
        self._var = var

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._var(*arguments, **options)

    def has_var(self, name: str) -> bool:
        """Whether a variable has a value."""
        return self._var.has_var(name)


class _Hidden(Mapping[str, Any]):
    """A mapping of a context that hides some names, and whether they are there."""

    def __init__(
        self,
        values: Mapping[str, Any],
        said: str,
        hidden: tuple[str, ...],
        refuse: Callable[[str], NoReturn],
    ) -> None:
        self._values = values
        self._said = said
        self._hidden = hidden
        self._refuse = refuse

    def __getitem__(self, name: str) -> Any:
        if name in self._hidden:
            self._refuse(f"{OF_THE_COMMAND}: {self._said}.{name}")
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        if name in self._hidden:
            self._refuse(f"{OF_THE_COMMAND}: {self._said}.{name}")
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        if self._hidden == OF_A_RUN:
            # dbt leaves out what is none.
            self._refuse(f"{OF_THE_COMMAND}: {self._said}")
        return (name for name in self._values if name not in self._hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        self._refuse(f"{OF_THE_COMMAND}: {self._said}")


class _Config:
    """The configuration of a context, without the node behind it."""

    def __init__(self, config: Any, refuse: Callable[[str], NoReturn]) -> None:
        self._config = config
        self._refuse = refuse

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._config(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name in OF_THE_NODE:
            self._refuse(f"{OF_THE_COMMAND}: config.{name}")
        return getattr(self._config, name)


class Texts(Compiler):
    """Compiles copies of nodes; dbt compiles the originals itself, when they run."""

    def __init__(self, config: Any, manifest: Manifest) -> None:
        super().__init__(config)
        # A shallow copy: copy() does not suit dbt's manifest.
        self.manifest = Manifest.__new__(Manifest)
        self.manifest.__dict__.update(manifest.__dict__)
        # The compiled text of an ephemeral model may depend on this command.
        self.manifest.nodes = {
            key: _uncompiled(node) if node.is_ephemeral_model else node
            for key, node in manifest.nodes.items()
        }
        self.refused: str | None = None
        self.graph: tuple[Any, dict[str, Any]] | None = None
        self.has_known_spines = are_of_dbt(manifest)

    def text(self, node: ManifestSQLNode, is_incremental: bool, **context: Any) -> str:
        """Return the compiled text of a node.

        Raises DbtRuntimeError with the reason if a text is refused.
        """
        self.refused = None
        context["is_incremental"] = lambda: is_incremental
        node = _uncompiled(node)
        if node.config.get("incremental_strategy") == "microbatch":
            # dbt puts a query of the batch's rows in the place of what it reads.
            node.batch = BatchContext("a_batch", *A_BATCH)
        made = self.compile_node(node, self.manifest, context, write=False)
        # A macro may have caught the error of the refusal.
        if self.refused:
            raise DbtRuntimeError(self.refused)
        return made.compiled_code or ""

    def refuse(self, reason: str) -> NoReturn:
        """Stop a text that depends on anything that differs between runs."""
        self.refused = self.refused or reason
        raise DbtRuntimeError(reason)

    def _create_node_context(
        self, node: ManifestSQLNode, manifest: Manifest, extra_context: dict[str, Any]
    ) -> dict[str, Any]:
        context = super()._create_node_context(node, manifest, extra_context)
        is_of_leaks = node.package_name == PACKAGE and node.name in OF_THE_LEAKS
        allowed = OF_TEXTS | ({"find_leaks"} if is_of_leaks else set())
        for names in (context, context["builtins"]):
            names.update(self._guarded(names, context["builtins"], allowed))
        context |= {
            name: self._refusing(OF_ROWS) for name in ("run_query", "statement")
        }
        for name in ("context", "builtins"):
            context[name] = _Hidden(context[name], name, OF_RUNNING, self.refuse)
        if isinstance(context.get("dbt"), Mapping):
            context["dbt"] = {**context["dbt"], **extra_context}
        if self.has_known_spines:
            spines = Spines(context, node.raw_code)
            for package in WITH_SPINES:
                if isinstance(context.get(package), Mapping):
                    context[package] = {**context[package]}
                    spines.replace_in(context[package])
            spines.replace_in(context)
        return context

    def _write_node(self, node: ManifestSQLNode, *_: Any, **__: Any) -> ManifestSQLNode:
        return node

    def _guarded(
        self,
        names: Mapping[str, Any],
        builtins: Mapping[str, Any],
        allowed: set[str],
    ) -> dict[str, Any]:
        """Return the replacements for dbt's own names; a macro's names stay."""
        guarded = {
            name: Refusal(self._refusing(f"{OF_THE_COMMAND}: {name}"))
            for name in COMMAND
        }
        for name in ("ref", "source", "metric", "function"):
            if name in builtins:
                guarded[name] = _only_called(builtins[name])
        # A spine leaves its length there when it runs.
        guarded["load_result"] = self._refusing(OF_ROWS)
        guarded["var"] = _Var(builtins["var"])
        if "config" in builtins:
            guarded["config"] = _Config(builtins["config"], self.refuse)
        for name in ("env", "target"):
            # `--threads` sets it.
            threads = self._hiding("threads", f"{name}.threads")
            guarded[name] = {**builtins[name], **threads}
        guarded["graph"] = self._graph(builtins["graph"])
        guarded["adapter"] = _Adapter(builtins["adapter"], allowed, self.refuse)
        guarded["modules"] = self._modules(builtins["modules"])
        for name in ("tojson", "toyaml"):
            guarded[name] = _looking(builtins[name])
        guarded["model"] = _Hidden(builtins["model"], "model", OF_A_RUN, self.refuse)
        return {
            name: value
            for name, value in guarded.items()
            if names.get(name) is builtins.get(name)
        }

    def _hiding(self, name: str, said: str) -> dict[str, Refusal]:
        """Return a value that refuses every look, by its name."""
        return {name: Refusal(self._refusing(f"{OF_THE_COMMAND}: {said}"))}

    def _graph(self, graph: dict[str, Any]) -> dict[str, Any]:
        """Return dbt's graph without what differs between runs."""
        if self.graph is None or self.graph[0] is not graph:
            self.graph = (
                graph,
                {
                    kind: {
                        key: _Hidden(node, "graph", OF_A_RUN, self.refuse)
                        for key, node in nodes.items()
                    }
                    for kind, nodes in graph.items()
                },
            )
        return self.graph[1]

    def _modules(self, modules: Mapping[str, Any]) -> dict[str, Any]:
        """Return dbt's modules without a clock."""
        refuse = self._refusing(f"{OF_THE_COMMAND}: the time at which it is compiled")
        clockless = {name: staticmethod(refuse) for name in ("now", "utcnow", "today")}
        day = type("date", (datetime.date,), clockless)
        moment = type("datetime", (datetime.datetime,), clockless)

        def date_of(self: datetime.datetime) -> datetime.date:
            return day(self.year, self.month, self.day)

        def in_zone(
            self: datetime.datetime, zone: datetime.tzinfo | None = None
        ) -> datetime.datetime:
            of = datetime.datetime.astimezone(self, zone)
            return moment.combine(of.date(), of.timetz())

        # Python's own values would lead back to its clock.
        for kind in (day, moment):
            kind.min = kind(1, 1, 1)
            kind.max = moment.combine(datetime.date.max, datetime.time.max)
        day.max = day(9999, 12, 31)
        moment.date, moment.astimezone = date_of, in_zone
        clocks = {"date": day, "datetime": moment}
        return {**modules, "datetime": {**modules["datetime"], **clocks}}

    def of_the_end(self) -> dict[str, Refusal]:
        """Return the values of hooks after a run, which refuse every look."""
        found: dict[str, Refusal] = {}
        for name in OF_THE_END:
            found |= self._hiding(name, name)
        return found

    def _refusing(self, reason: str) -> Callable[..., NoReturn]:
        """Return a function that refuses every call."""

        def refuse(*_: Any, **__: Any) -> NoReturn:
            self.refuse(reason)

        return refuse


def _uncompiled(node: ManifestSQLNode) -> ManifestSQLNode:
    """Return a copy of a node as it was before dbt compiled it."""
    node = copy.deepcopy(node)
    if node.resource_type != "seed":
        node.compiled, node.compiled_code = False, None
        node.extra_ctes, node.extra_ctes_injected = [], False
    return node


def _only_called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that can only be called: its object's attributes are hidden."""

    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    return call


def _looking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that refuses an argument with a `Refusal` in it.

    dbt's function would pass over a value that it can't write.
    """

    def call(value: Any, *arguments: Any, **options: Any) -> Any:
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Refusal):
                str(part)
            elif isinstance(part, Mapping):
                waiting += part.values()
            elif isinstance(part, list | tuple | set):
                waiting += part
        return function(value, *arguments, **options)

    return call
