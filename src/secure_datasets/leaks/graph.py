"""Takes the models from dbt, compiled, and hands the findings to its macros.

dbt's graph has compiled SQL only for selected nodes, and only after they have run. So
every judged model is compiled here, from dbt's own manifest.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import ManifestSQLNode
from dbt.flags import get_flags
from dbt_common.clients.jinja import get_environment
from jinja2 import TemplateError, meta, nodes

from dbt_secure_spark.settings import OF_CHANGES, OF_THE_PAST
from dbt_secure_spark.versions import SUFFIX, named_versions
from secure_datasets.config.plan import PACKAGE, PREFIX, restrictions_on, star_query
from secure_datasets.leaks.audience import RAW_SOURCE, is_for_administrators
from secure_datasets.leaks.detector import Detector, Finding, Model, Protected
from secure_datasets.leaks.proof import USER
from secure_datasets.leaks.python import (
    over_relations,
    what_python_asks,
    what_python_writes_by,
)
from secure_datasets.leaks.settings import (
    NAME_OF_COLUMN,
    is_of_one_row,
    sql_in_config,
    texts_of,
)
from secure_datasets.leaks.spines import TRUSTED
from secure_datasets.leaks.texts import (
    COMMAND,
    OF_RELATIONS,
    OF_ROWS,
    OF_RUNNING,
    OF_TEXTS,
    OF_THE_ADAPTER,
    OF_THE_COMMAND,
    Texts,
)
from secure_datasets.leaks.understood import Name, deletes_from, is_upkeep
from secure_datasets.leaks.writers import RUNS_A_QUERY, calls_java, may_write
from secure_datasets.sql.expressions import FILE_FORMATS
from secure_datasets.sql.statements import NotUnderstood

CONFIG = "secure_datasets_config"
# The materializations that store or publish exactly the rows of the compiled query. A
# data test stores its failing rows if `store_failures` is set.
KNOWN_MATERIALIZATIONS = (
    *("published_view", "view", "table", "incremental", "snapshot"),
    "test",
)
KNOWN_STRATEGIES = ("timestamp", "check")
BY_COMMAND = "its configuration depends on the command"
SQL_IN_CONFIG = "the SQL of its configuration {} may look at more than a row"
REFUSALS = (OF_ROWS, OF_RELATIONS, OF_THE_ADAPTER, OF_THE_COMMAND)
PREFIXES = (
    *("default__", "spark__", "secure_spark__"),
    *("databricks__", "secure_databricks__"),
)
# The keys of an entry in a YAML file that make further nodes.
OF_TESTS = {"data_tests", "tests"}
# The names of what is known only while a node runs; `render` may hide one in a text.
RUNNING = {*OF_RUNNING, "render"}
# The modules of a template without a clock.
CLOCKLESS = {"itertools", "pytz", "re"}
_compiling = threading.local()
_lock = threading.Lock()


def leaks_of_project(adapter: SparkAdapter, config: dict[str, Any]) -> list[list[str]]:
    """Return the findings of the project as rows, computed once for all calls of a run.

    Raises TypeError while dbt parses.
    """
    # While leaks are searched, a model that asks for them is compiled with none.
    if getattr(_compiling, "is_on", False):
        return []
    manifest = adapter.get_macro_resolver()
    if not isinstance(manifest, Manifest):
        raise TypeError("dbt has no manifest while it parses: ask when it executes")
    with _lock:
        found = getattr(adapter, "found_leaks", None)
        if found is None or found[0] is not manifest or found[1] != config:
            _compiling.is_on = True
            try:
                texts = Texts(adapter.config, manifest)
                findings = Graph(manifest, config, texts).findings()
            finally:
                _compiling.is_on = False
            found = adapter.found_leaks = (manifest, config, findings)
    return [
        [f.model, f.rule, f.dataset, " > ".join(f.path), _plain(f.problem)]
        for f in found[2]
    ]


def _plain(text: str) -> str:
    """Return a text that every engine reads alike as a literal."""
    return " ".join(text.replace("'", "`").replace("\\", "/").split())


class Graph:
    """dbt's nodes as the detector's models."""

    def __init__(
        self, manifest: Manifest, config: dict[str, Any], texts: Texts
    ) -> None:
        self.manifest = manifest
        self.config = config
        self.texts = texts
        self.relations = {
            _relation(node.schema, node.alias)
            for node in manifest.nodes.values()
            if node.resource_type in ("model", "seed", "snapshot")
        }

        # The raw tables by the parts of their names, which may begin with a catalog.
        self.raw = [
            ".".join(_relation(source.schema, source.identifier)).split(".")
            for source in manifest.sources.values()
            if (source.package_name, source.source_name) == (PACKAGE, RAW_SOURCE)
        ]

    def findings(self) -> list[Finding]:
        """Return the detector's findings."""
        protected = self.protected()
        models = {
            key: self.model(node, key in protected.ruled)
            for key, node in self.manifest.nodes.items()
            if (
                node.resource_type in ("model", "seed", "snapshot")
                and not node.is_ephemeral_model
            )
            or (node.resource_type == "test" and _is_stored(node))
        }
        for key, source in self.manifest.sources.items():
            relation = _relation(source.schema, source.identifier)
            if not self.is_of_no_model(relation):
                names = self.commands_asked(_named_in(self.entries_of_source(source)))
                told = f"{BY_COMMAND}: {', '.join(names)}" if names else None
                if not is_of_one_row(source.config.event_time):
                    told = told or SQL_IN_CONFIG.format("event_time")
                models[key] = Model(source.name, relation, unproven=told)
        models |= {node.unique_id: self.function(node) for node in self.functions()}
        models |= dict(self.only_texts(protected))
        models |= dict(self.hooks_of_runs())
        models |= dict(self.disabled())
        models |= dict(self.config_by_command())
        return Detector(models, protected).findings()

    def is_of_no_model(self, relation: Name) -> bool:
        """Whether a relation of protected rows is the product's, but no model's.

        A source over such a relation is not open. The relations: readers' views,
        versions, past states, comparisons of two states, the files of a relation, and
        the parts of a relation, such as its history.
        """
        schema, name = relation
        target = self.texts.config.credentials.schema
        parts = ".".join(relation).replace("`", "").split(".")
        if schema.replace("`", "") in FILE_FORMATS or "/" in name:
            return True
        # Three parts or more: a relation, and a part such as its history.
        if any(pair in self.relations for pair in pairwise(parts[:-1])):
            return True
        if any(parts[: len(raw)] == raw and parts != raw for raw in self.raw):
            return True
        own = {f"{target}_readers".lower()} | {
            f"{node.schema}{SUFFIX}".lower() for node in self.manifest.nodes.values()
        }
        return (
            schema in own
            or bool(named_versions(".".join(relation)))
            or bool(OF_THE_PAST.search(schema) or OF_CHANGES.search(schema))
        )

    def protected(self) -> Protected:
        """Return the protected relations, and the relations with their own rules."""
        datasets = self.config["datasets"]
        own = {dataset["base"] for dataset in datasets.values() if "base" in dataset}
        # Row security restricts the relation that it is tied to, not those on the way.
        own |= {
            relationship["from"]["dataset"]
            for relationship in self.config.get("relationships") or []
            if "row_security" in relationship["to"]
        }
        # The root relation of a query has its rules if they restrict the query's rows.
        for dataset in datasets.values():
            star = star_query(dataset, self.config) if "query" in dataset else None
            if star and star["root"] and restrictions_on(dataset, self.config):
                own.add(star["root"])
        # A further version or package may have a model of the same name.
        meant = self.meant(own)
        access_views = {tier["access_view"] for tier in self.config["tiers"].values()}
        per_user: dict[str, tuple[str, ...] | None] = {}
        for_all, ruled = set(), set()
        for key, node in self.manifest.nodes.items():
            if node.resource_type not in ("model", "seed", "snapshot"):
                continue
            name = node.name
            is_products = is_for_administrators(node)
            if name.removeprefix(PREFIX) in datasets and name.startswith(PREFIX):
                is_ruled = self.is_rendered(node)
                columns = self.secure_columns(name.removeprefix(PREFIX))
                per_user[key] = columns if is_ruled else None
            elif name in access_views and name not in own:
                per_user[key] = None
                is_ruled = is_products or node.resource_type == "seed"
            else:
                is_ruled = is_products or key in meant
                if is_ruled:
                    for_all.add(key)
            if is_ruled:
                ruled.add(key)
        for key, source in self.manifest.sources.items():
            if (source.package_name, source.source_name) == (PACKAGE, RAW_SOURCE):
                for_all.add(key)
        return Protected(per_user, frozenset(for_all), frozenset(ruled))

    def meant(self, names: Iterable[str]) -> set[str]:
        """Return the keys of the nodes that the config names, in all versions."""
        root = self.texts.config.project_name
        packages = {root} | {
            node.package_name
            for node in self.manifest.nodes.values()
            if node.name.startswith(PREFIX)
        }
        found = set()
        for name in names:
            for package in packages:
                node = self.manifest.resolve_ref(None, name, None, None, root, package)
                # All versions of a node have its rows.
                found |= {
                    key
                    for key, same in self.manifest.nodes.items()
                    if hasattr(node, "unique_id")
                    and (same.package_name, same.name) == (node.package_name, node.name)
                }
        return found

    def secure_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a secure dataset, in the macro's order."""
        return (*self.config["datasets"][name]["columns"], USER, *self.carried(name))

    def carried(self, name: str) -> list[str]:
        """Return the columns of a secure dataset after user_id."""
        dataset = self.config["datasets"][name]
        below = (dataset.get("base") or "").removeprefix(PREFIX)
        if "tier" in dataset:
            return self.config["tiers"][dataset["tier"]]["carries"]
        if "switch" in dataset:
            cases = dataset["switch"]["cases"].values()
            tiers = [case["tier"] for case in cases if "tier" in case]
            return self.config["tiers"][tiers[0]]["carries"] if tiers else []
        is_layered = below != dataset.get("base") and below in self.config["datasets"]
        return self.carried(below) if is_layered else []

    def model(self, node: ManifestSQLNode, is_ruled: bool) -> Model:
        """Return a node as a model, with compiled queries if it is to be judged."""
        model = Model(
            _name(node),
            _relation(node.schema, node.alias),
            reads=tuple(self.reads(node.unique_id)),
        )
        if reason := self.why_unproven(node):
            return replace(model, unproven=reason)
        if is_ruled or node.resource_type == "seed":
            # Its rows have rules, or come from a file.
            return replace(model, unproven=self.why_it_may_write(node))
        if node.config.get("sql_header"):
            return replace(model, unproven="its sql_header may change what names mean")
        if node.language == "python":
            asks = what_python_asks(node.raw_code)
            return replace(model, unproven="it is a Python model", asks=asks)
        if name := self.running(node):
            return replace(model, unproven=f"{OF_THE_COMMAND}: {name}")
        try:
            queries = tuple(
                self.texts.text(node, is_incremental)
                for is_incremental in self.ways(node)
            )
        except Exception as error:
            # An error in a macro makes its model a finding; the search goes on.
            return replace(model, unproven=_why_not_compiled(error))
        if node.resource_type == "test" and node.config.limit is not None:
            # The limit stores rows of arbitrary users.
            queries = tuple(f"{query}\nlimit {node.config.limit}" for query in queries)
        return replace(
            model,
            queries=queries,
            is_as_made=_is_as_made(node),
            replaces=_replaced_together(node),
        )

    def why_it_may_write(self, node: ManifestSQLNode) -> str | None:
        """Return why a node with its own rules may write further rows; none if not."""
        is_products = is_for_administrators(node)
        if is_products or node.resource_type == "seed" or self.is_rendered(node):
            return None
        if node.language == "python":
            name = what_python_writes_by(node.raw_code)
            return f"it may write rows elsewhere: {name}" if name else None
        if (name := self.running(node)) and self.may_write(node):
            return f"{OF_THE_COMMAND}: {name}"
        for is_incremental in self.ways(node):
            try:
                text = self.texts.text(node, is_incremental)
            except Exception as error:
                # Errors that are no refusals do not concern rows.
                reason = _why_not_compiled(error)
                if reason.startswith(REFUSALS) and self.may_write(node):
                    return reason
            else:
                if called := calls_java(text):
                    return f"it may write rows elsewhere: {called}"
        return None

    def may_write(self, node: ManifestSQLNode) -> bool:
        """Whether the text of a node may write rows, by whatever command it runs."""
        macros: dict[str, list[str]] = {}
        for macro in self.manifest.macros.values():
            if (macro.package_name, macro.name) == ("dbt", RUNS_A_QUERY):
                continue
            for name in (macro.name, _without_prefix(macro.name)):
                macros.setdefault(name, []).append(macro.macro_sql)
        packages = {macro.package_name for macro in self.manifest.macros.values()}
        return may_write(node.raw_code, macros, packages)

    def ways(self, node: ManifestSQLNode) -> tuple[bool, ...]:
        """Return the possible results of is_incremental() for a node."""
        is_own = any(
            macro.name == "is_incremental" and macro.package_name not in TRUSTED
            for macro in self.manifest.macros.values()
        )
        may_be = is_own or node.config.get("materialized") == "incremental"
        return (False, True) if may_be else (False,)

    def why_unproven(self, node: ManifestSQLNode) -> str | None:
        """Return why a node's rows may differ from its text's; none if they can't."""
        if names := self.commands_in_config(node):
            return f"{BY_COMMAND}: {', '.join(names)}"
        materialized = node.config.materialized
        if node.resource_type != "seed" and materialized not in KNOWN_MATERIALIZATIONS:
            return f"its materialization {materialized} is not known here"
        if name := sql_in_config(node, self.is_rendered(node)):
            return SQL_IN_CONFIG.format(name)
        if name := self.chance(node):
            return f"its text is made by chance: {name}"
        if reason := self.why_materialization_is_unproven(materialized, node):
            return reason
        return self.why_hooks_are_unproven(node)

    def why_materialization_is_unproven(
        self, name: str, node: ManifestSQLNode
    ) -> str | None:
        """Return a reason if a project's macro may make the relation of a text.

        name  the materialization
        """
        root = self.texts.config.project_name
        macros = self.manifest.macros
        made_by = self.manifest.find_materialization_macro_by_name(
            root, name, self.texts.config.credentials.type
        )
        waiting, seen = [made_by.unique_id] if made_by else [], set()
        if name == "snapshot":
            # A snapshot looks this macro up when it runs.
            strategy = f"snapshot_{node.config.strategy}_strategy"
            if node.config.strategy not in KNOWN_STRATEGIES:
                return f"its strategy {node.config.strategy} is not known here"
            waiting += [key for key, macro in macros.items() if macro.name == strategy]
        while waiting:
            key = waiting.pop()
            if key in seen or key not in macros:
                continue
            seen.add(key)
            waiting += macros[key].depends_on.macros
        called = {_without_prefix(macros[key].name) for key in seen}
        # A macro of the root project, or of the model's package, overrides dbt's own.
        for key, macro in macros.items():
            if macro.package_name in TRUSTED:
                continue
            is_called = _without_prefix(macro.name) in called
            if key in seen or (
                is_called and macro.package_name in self.searched(node.package_name)
            ):
                return (
                    f"its materialization calls {macro.name} of the project"
                    f" {macro.package_name}"
                )
        return None

    def searched(self, package: str) -> set[str]:
        """Return the packages with macros that override dbt's own."""
        config = self.texts.config
        order = config.get_macro_search_order("dbt") or ()
        return {config.project_name, package, *order}

    def functions(self) -> Iterable[Any]:
        """Return dbt's functions, which any reader may call."""
        return getattr(self.manifest, "functions", {}).values()

    def function(self, node: Any) -> Model:
        """Return a function as a model: it shows the rows that its text reads."""
        unproven = "it is a function, which its readers call with what they like"
        reads = tuple(self.reads_of(node.depends_on.nodes))
        if names := self.commands_in_config(node):
            told = f"{BY_COMMAND}: {', '.join(names)}"
            return Model(node.name, None, (), reads, told)
        if reason := self.why_hooks_are_unproven(node):
            return Model(node.name, None, (), reads, reason)
        try:
            text = self.texts.text(node, False) if node.language == "sql" else None
        except Exception as error:
            return Model(node.name, None, (), reads, _why_not_compiled(error))
        try:
            asks = None if text is None else (over_relations(text),)
        except NotUnderstood:
            asks = None
        return Model(node.name, None, (), reads, unproven, asks=asks)

    def hooks_of_runs(self) -> Iterator[tuple[str, Model]]:
        """Yield the unproven hooks of projects at the start or the end of a run."""
        for key, node in self.manifest.nodes.items():
            if node.resource_type != "operation" or node.package_name == PACKAGE:
                continue
            known = self.texts.of_the_end() if "on-run-end" in node.tags else {}
            if reason := self.why_hook_is_unproven(node, (False,), **known):
                reads = tuple(self.reads(key))
                yield key, Model(node.name, None, (), reads, reason)

    def only_texts(self, protected: Protected) -> Iterator[tuple[str, Model]]:
        """Yield the protected ephemeral models, which exist only in readers' SQL."""
        told = (
            "it is ephemeral: no relation holds its rows, and its readers are not known"
        )
        for key in (*protected.per_user, *protected.for_all):
            node = self.manifest.nodes.get(key)
            if node is not None and node.is_ephemeral_model:
                yield key, Model(_name(node), None, unproven=told)

    def disabled(self) -> Iterator[tuple[str, Model]]:
        """Yield the nodes that a different command might enable."""
        for key, same in self.manifest.disabled.items():
            for node in same:
                if node.resource_type not in ("model", "snapshot", "seed"):
                    continue
                if names := self.commands_in_config(node):
                    told = f"it depends on the command whether it is made: {names[0]}"
                    yield f"disabled {key}", Model(_name(node), None, unproven=told)

    def chance(self, node: ManifestSQLNode) -> str | None:
        """Return the Jinja name that makes a node's text random, if there is one."""
        waiting, seen = [*node.depends_on.macros], set()
        codes = [] if node.resource_type == "seed" else [node.raw_code]
        while waiting:
            key = waiting.pop()
            macro = self.manifest.macros.get(key)
            if key in seen or macro is None or macro.package_name in TRUSTED:
                continue
            seen.add(key)
            waiting += macro.depends_on.macros
            codes.append(macro.macro_sql)
        return next(filter(None, map(_chance_in, codes)), None)

    def running(self, node: ManifestSQLNode) -> str | None:
        """Return the name of what is known only while a node runs, if it is used.

        Whether such a value is none, a template asks without a look at it.
        """
        waiting, seen = [node.raw_code], set()
        while waiting:
            code = waiting.pop()
            if named := _undeclared_in(code) & RUNNING:
                return min(named)
            called = _named_in(code) - seen
            seen |= called
            waiting += [macro.macro_sql for macro in self.macros_of(called)]
        return None

    def macros_of(self, names: set[str]) -> Iterator[Any]:
        """Yield the macros of the project and its packages with one of these names."""
        for macro in self.manifest.macros.values():
            is_named = {macro.name, _without_prefix(macro.name)} & names
            if is_named and macro.package_name not in TRUSTED:
                yield macro

    def is_rendered(self, node: ManifestSQLNode) -> bool:
        """Whether the code of a secure dataset is only the call of its macro."""
        # A macro of a project that is called so may print anything.
        is_own = any(self.macros_of({"config"}))
        return _is_rendered(node, () if is_own else ("config",))

    def commands_in_config(self, node: ManifestSQLNode) -> list[str]:
        """Return the names of the command in the configuration of a node."""
        # Hooks are rendered when they run, and checked separately.
        names = _named_in(_without_hooks(node.unrendered_config))
        for entry in self.entries_of(_kind_of(node), node.name):
            names |= _named_in(_without_hooks(entry))
        if node.resource_type != "seed" and node.language == "sql":
            names |= _named_in_configs(node.raw_code)
        return self.commands_asked(names)

    def entries_of(self, kind: str, name: str) -> Iterator[dict[str, Any]]:
        """Yield the entries of a name in the YAML files, as they are written."""
        # dbt keeps no other trace of the names in them.
        for file in self.manifest.files.values():
            written = getattr(file, "dict_from_yaml", None) or {}
            for entry in written.get(kind) or []:
                if entry.get("name") == name:
                    yield entry

    def entries_of_source(self, source: Any) -> list[Any]:
        """Return the entries of a source and of its table in the YAML files."""
        found: list[Any] = []
        for entry in self.entries_of("sources", source.source_name):
            found.append({**_without_hooks(entry), "tables": None})
            tables = entry.get("tables") or []
            found += [_without_hooks(t) for t in tables if t.get("name") == source.name]
        return found

    def commands_asked(self, names: set[str]) -> list[str]:
        """Return the names of the command among names, or in macros that they call."""
        names, called, known = set(names), set(names), set()
        while called - known:
            known |= called
            called = set().union(
                *(_named_in(macro.macro_sql) for macro in self.macros_of(called))
            )
            names |= called
        return sorted(names & {*COMMAND, "adapter", "builtins", "context", "modules"})

    def config_by_command(self) -> Iterator[tuple[str, Model]]:
        """Yield the config itself, if the protected rows depend on the command."""
        if names := self.commands_asked({CONFIG}):
            told = f"what is protected depends on the command: {', '.join(names)}"
            yield CONFIG, Model(CONFIG, None, unproven=told)

    def reads(self, key: str) -> Iterator[str]:
        """Yield the parents of a node; parents of an ephemeral parent replace it."""
        yield from self.reads_of(self.manifest.nodes[key].depends_on_nodes)

    def reads_of(self, parents: Iterable[str]) -> Iterator[str]:
        """Yield these parents; parents of an ephemeral parent replace it."""
        for parent in parents:
            node = self.manifest.nodes.get(parent)
            if node is not None and node.is_ephemeral_model:
                yield from self.reads(parent)
            else:
                yield parent

    def why_hooks_are_unproven(self, node: ManifestSQLNode) -> str | None:
        """Return a reason if a hook of a node may do more than maintain its table.

        The rules protect the rows of a model, but not the rows that its hook writes.
        """
        # A data test has none.
        is_test = node.resource_type == "test"
        hooks = () if is_test else (*node.config.pre_hook, *node.config.post_hook)
        for hook in hooks:
            asked = copy.deepcopy(node)
            asked.raw_code = hook.sql
            # The hook of a Python model is SQL. The language of a seed can't be set.
            if asked.language != "sql":
                asked.language = "sql"
            if reason := self.why_hook_is_unproven(asked, self.ways(node)):
                return reason
        return None

    def why_hook_is_unproven(
        self, node: ManifestSQLNode, ways: Iterable[bool], **context: Any
    ) -> str | None:
        """Return a reason if the text of a hook may do more than maintain a table."""
        if name := self.running(node):
            return f"its hook may write rows: {OF_THE_COMMAND}: {name}"
        for is_incremental in ways:
            try:
                text = self.texts.text(node, is_incremental, **context).strip()
            except Exception as error:
                return f"its hook may write rows: {_why_not_compiled(error)}"
            own = _relation(node.schema, node.alias)
            if text and not is_upkeep(text) and not deletes_from(text, own):
                return f"its hook may write rows: {text.splitlines()[0]}"
        return None


def _kind_of(node: ManifestSQLNode) -> str:
    """Return the key of a YAML file with the entries of nodes like this one."""
    return "data_tests" if node.resource_type == "test" else f"{node.resource_type}s"


def _without_hooks(entry: Any) -> Any:
    """Return a configuration without its hooks and tests.

    Hooks are rendered when they run, and tests are nodes: both are checked separately.
    """
    if isinstance(entry, list):
        return [_without_hooks(part) for part in entry]
    if not isinstance(entry, dict):
        return entry
    without = {"pre_hook", "post_hook", *OF_TESTS}
    return {
        key: _without_hooks(value)
        for key, value in entry.items()
        if str(key).replace("-", "_") not in without
    }


def _why_not_compiled(error: Exception) -> str:
    """Return the reason why the text of a model or hook is unknown."""
    lines = [line.strip() for line in str(error).splitlines()]
    for line in lines:
        if line.startswith(REFUSALS):
            return line
    return f"it can not be compiled: {' '.join(lines[:2])}"


def _without_prefix(name: str) -> str:
    """Return a macro's name without the prefix that `dispatch` adds."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _undeclared_in(code: str) -> set[str]:
    """Return the names that a template takes from dbt's context."""
    try:
        return meta.find_undeclared_variables(get_environment(None).parse(code))
    except TemplateError:
        return set()


def _named_in(value: Any) -> set[str]:
    """Return the names in the templates of a configuration."""
    if isinstance(value, str):
        try:
            tree = get_environment(None).parse(value)
        except TemplateError:
            return set()
        return meta.find_undeclared_variables(tree) & _names(tree) | _parts(tree)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return set()
    return {name for part in value for name in _named_in(part)}


def _names(part: nodes.Node) -> set[str]:
    """Return the names in a template.

    `adapter` only if more than its text is used, `modules` only if one has a clock.
    """
    harmless = {"adapter": OF_TEXTS, "modules": CLOCKLESS}
    asked = _all(part, nodes.Getattr)
    attributes = {id(each.node): each.attr for each in asked}
    return {
        name.name
        for name in _all(part, nodes.Name)
        if attributes.get(id(name)) not in harmless.get(name.name, ())
    }


def _parts(part: nodes.Node) -> set[str]:
    """Return the attributes of names in a template, such as macros of packages."""
    asked = {
        attribute.attr
        for attribute in _all(part, nodes.Getattr)
        if isinstance(attribute.node, nodes.Name)
    }
    if "dispatch" in asked:
        texts = (constant.value for constant in _all(part, nodes.Const))
        asked |= {text for text in texts if isinstance(text, str)}
    return asked


def _all(part: nodes.Node, kind: type[nodes.Node]) -> list[Any]:
    """Return the nodes of one kind in a template, its root included."""
    return [*([part] if isinstance(part, kind) else []), *part.find_all(kind)]


def _chance_in(code: str) -> str | None:
    """Return the name in a template that gives random results, if there is one."""
    try:
        tree = get_environment(None).parse(code)
    except TemplateError:
        return None
    filters = {node.name for node in tree.find_all(nodes.Filter)}
    names = {node.name for node in tree.find_all(nodes.Name)}
    # A set has no fixed order.
    by_names = names & {"lipsum", "set", "set_strict"}
    return next(iter((filters & {"random"}) | by_names), None)


def _named_in_configs(code: str) -> set[str]:
    """Return the names that a model's config() depends on, through variables too."""
    try:
        tree = get_environment(None).parse(code)
    except TemplateError:
        return set()

    def names_of(part: nodes.Node) -> set[str]:
        return _names(part) | _parts(part)

    def is_config(call: nodes.Call) -> bool:
        return "config" in names_of(call.node)

    names: set[str] = set()
    for call in filter(is_config, tree.find_all(nodes.Call)):
        names |= names_of(call)
    for block in tree.find_all((nodes.If, nodes.For)):
        if any(map(is_config, block.find_all(nodes.Call))):
            asked = block.test if isinstance(block, nodes.If) else block.iter
            names |= names_of(asked)
    size = -1
    while size != len(names):
        size = len(names)
        for block in tree.find_all((nodes.Assign, nodes.AssignBlock)):
            if names_of(block.target) & names:
                names |= names_of(block)
    return names


def _is_as_made(node: ManifestSQLNode) -> bool:
    """Whether a relation has the columns of its query, in their order.

    An incremental table keeps its old order, a contract imposes its own, partition
    columns stand last, and so does the flag of rows that are shown in time.
    """
    kind = node.config.materialized
    return kind == "view" or (
        kind in ("published_view", "table")
        and not node.config.contract.enforced
        and not (node.config.get("partition_by") or node.config.get("in_time"))
    )


def _is_stored(test: ManifestSQLNode) -> bool:
    """Whether the failing rows of a data test are stored."""
    is_asked = test.config.store_failures
    return bool(get_flags().STORE_FAILURES) if is_asked is None else bool(is_asked)


def _replaced_together(node: ManifestSQLNode) -> str | None:
    """Return how a node replaces rows, if a replacement may cross users."""
    if node.config.materialized not in ("incremental", "snapshot"):
        return None
    by = [node.config.unique_key]
    # `microbatch` also rewrites whole partitions.
    strategies = ("insert_overwrite", "microbatch")
    if node.config.get("incremental_strategy") in strategies:
        by.append(node.config.get("partition_by") or "")
    for columns in by:
        names = texts_of(columns)
        told = f"rows are replaced by {', '.join(names) or 'nothing'}"
        if columns is not None and USER not in [name.lower() for name in names]:
            return f"{told}, without user_id"
        if not all(map(NAME_OF_COLUMN.fullmatch, names)):
            return f"{told}, which are no names of columns"
    return None


def _name(node: ManifestSQLNode) -> str:
    """Return a node's name, with its version if it has one."""
    version = getattr(node, "version", None)
    return node.name if version is None else f"{node.name}.v{version}"


def _relation(schema: str, name: str) -> Name:
    """Return a schema and a name; the session's own catalog is not named.

    Spark reads a name without the spaces around its parts, and without their quotes.
    """
    schema, name = (
        ".".join(part.strip().strip("`").strip() for part in parts.lower().split("."))
        for parts in (schema, name)
    )
    return schema.removeprefix("spark_catalog."), name


def _is_rendered(node: ManifestSQLNode, beside: Container[str]) -> bool:
    """Whether a code only calls its dataset's macro, and what prints nothing.

    beside  the functions that print nothing
    """
    try:
        tree = get_environment(None).parse(node.raw_code)
    except TemplateError:
        return False
    rendered = []
    for part in tree.body:
        for item in part.nodes if isinstance(part, nodes.Output) else [part]:
            if isinstance(item, nodes.TemplateData) and not item.data.strip():
                continue
            name = _called(item)
            if name in beside:
                continue
            if name is None:
                return False
            arguments = [getattr(argument, "value", None) for argument in item.args]
            rendered.append((name, arguments))
    return rendered == [("secure_dataset", [node.name.removeprefix(PREFIX)])]


def _called(item: nodes.Node) -> str | None:
    """Return the called macro of the product's package, or `config`; else none."""
    if not isinstance(item, nodes.Call):
        return None
    if isinstance(item.node, nodes.Name) and item.node.name == "config":
        return item.node.name
    is_products = isinstance(item.node, nodes.Getattr) and (
        isinstance(item.node.node, nodes.Name) and item.node.node.name == PACKAGE
    )
    return item.node.attr if is_products else None
