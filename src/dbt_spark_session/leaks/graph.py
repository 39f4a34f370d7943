"""Takes the models from dbt, compiled, and hands the findings to its macros.

Compiled SQL is in dbt's graph for selected nodes only, and after their turn. So every
model that is looked at is compiled here, from the manifest that dbt itself uses.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt.compilation import Compiler
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import ManifestSQLNode
from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions import DbtRuntimeError
from jinja2 import TemplateError, nodes

from dbt_spark_session.leaks.audience import ADMINISTRATORS, PACKAGE, RAW_SOURCE
from dbt_spark_session.leaks.detector import Detector, Finding, Model, Protected
from dbt_spark_session.leaks.proof import USER, Name, is_upkeep
from dbt_spark_session.settings import OF_CHANGES, OF_THE_PAST
from dbt_spark_session.versions import SUFFIX, named_versions

SECURE = "vw_secure_dataset_"
# Those that store or publish the rows of the compiled query, and no others. What a data
# test finds is stored where its config says so.
KNOWN_MATERIALIZATIONS = (
    *("published_view", "view", "table", "incremental", "snapshot"),
    "test",
)
ROWS_IN_TEXT = "its text is made of rows that are read while it is compiled"
_compiling = threading.local()
_lock = threading.Lock()


def leaks_of_project(adapter: SparkAdapter, config: dict[str, Any]) -> list[list[str]]:
    """Return the findings of the project as rows, once for all who ask in a run."""
    # A model that asks for the leaks is compiled without them while they are found.
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
                findings = Graph(manifest, config, Compiler(adapter.config)).findings()
            finally:
                _compiling.is_on = False
            found = adapter.found_leaks = (manifest, config, findings)
    return [
        [f.model, f.rule, f.dataset, " > ".join(f.path), _plain(f.problem)]
        for f in found[2]
    ]


def _plain(text: str) -> str:
    """Return a text that any engine reads alike as a literal."""
    return " ".join(text.replace("'", "`").replace("\\", "/").split())


class Graph:
    """dbt's nodes as the detector's models."""

    def __init__(
        self, manifest: Manifest, config: dict[str, Any], compiler: Compiler
    ) -> None:
        self.manifest = manifest
        self.config = config
        self.compiler = compiler

    def findings(self) -> list[Finding]:
        """Return what the detector finds."""
        protected = self.protected()
        models = {
            key: self.model(node, key in protected.ruled)
            for key, node in self.manifest.nodes.items()
            if (
                node.resource_type in ("model", "seed", "snapshot")
                and not node.is_ephemeral_model
            )
            or (node.resource_type == "test" and node.config.store_failures)
        }
        for key, source in self.manifest.sources.items():
            relation = _relation(source.schema, source.identifier)
            if not self.is_of_no_model(relation):
                models[key] = Model(source.name, relation)
        return Detector(models, protected).findings()

    def is_of_no_model(self, relation: Name) -> bool:
        """Whether the product makes a relation of protected rows that no model is.

        To declare it as a source makes it no open one: readers' views, versions, past
        states, and what changes between two states.
        """
        schema, _ = relation
        target = self.compiler.config.credentials.schema
        own = {f"{target}_readers".lower()} | {
            f"{node.schema}{SUFFIX}".lower() for node in self.manifest.nodes.values()
        }
        return (
            schema in own
            or bool(named_versions(".".join(relation)))
            or bool(OF_THE_PAST.search(schema) or OF_CHANGES.search(schema))
        )

    def protected(self) -> Protected:
        """Return what is protected, and what has rules of its own."""
        datasets = self.config["datasets"]
        own = {dataset["base"] for dataset in datasets.values() if "base" in dataset}
        # Row security restricts the relation that it is tied to, not what leads there.
        own |= {
            relationship["from"]["dataset"]
            for relationship in self.config.get("relationships") or []
            if "row_security" in relationship["to"]
        }
        access_views = {tier["access_view"] for tier in self.config["tiers"].values()}
        per_user: dict[str, tuple[str, ...] | None] = {}
        for_all, ruled = set(), set()
        for key, node in self.manifest.nodes.items():
            if node.resource_type not in ("model", "seed", "snapshot"):
                continue
            name = node.name
            is_products = node.package_name == PACKAGE and name in ADMINISTRATORS
            if name.removeprefix(SECURE) in datasets and name.startswith(SECURE):
                is_ruled = _is_rendered(node)
                columns = self.secure_columns(name.removeprefix(SECURE))
                per_user[key] = columns if is_ruled else None
            elif name in access_views and name not in own:
                per_user[key] = None
                is_ruled = is_products or node.resource_type == "seed"
            else:
                is_ruled = is_products or name in own
                if is_ruled:
                    for_all.add(key)
            if is_ruled:
                ruled.add(key)
        for key, source in self.manifest.sources.items():
            if (source.package_name, source.source_name) == (PACKAGE, RAW_SOURCE):
                for_all.add(key)
        return Protected(per_user, frozenset(for_all), frozenset(ruled))

    def secure_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a secure dataset as the macro renders them."""
        return (*self.config["datasets"][name]["columns"], USER, *self.carried(name))

    def carried(self, name: str) -> list[str]:
        """Return what a secure dataset hands on after user_id."""
        dataset = self.config["datasets"][name]
        below = (dataset.get("base") or "").removeprefix(SECURE)
        if "tier" in dataset:
            return self.config["tiers"][dataset["tier"]]["carries"]
        if "switch" in dataset:
            cases = dataset["switch"]["cases"].values()
            tiers = [case["tier"] for case in cases if "tier" in case]
            return self.config["tiers"][tiers[0]]["carries"] if tiers else []
        is_layered = below != dataset.get("base") and below in self.config["datasets"]
        return self.carried(below) if is_layered else []

    def model(self, node: ManifestSQLNode, is_ruled: bool) -> Model:
        """Return a node with its compiled queries, unless nobody looks at it."""
        model = Model(
            node.name,
            _relation(node.schema, node.alias),
            reads=tuple(self.reads(node.unique_id)),
        )
        if is_ruled or node.resource_type == "seed":
            # Its rows have rules, or come from a file: not so what a hook writes.
            return replace(model, unproven=self.why_hooks_are_unproven(node))
        if node.config.materialized not in KNOWN_MATERIALIZATIONS:
            reason = f"its materialization {node.config.materialized} is not known here"
            return replace(model, unproven=reason)
        if node.config.get("sql_header"):
            return replace(model, unproven="its sql_header may change what names mean")
        if node.language == "python":
            return replace(model, unproven="it is a Python model")
        contexts: list[dict[str, Any]] = [{}]
        if node.config.materialized == "incremental":
            contexts = [
                {"is_incremental": lambda is_on=b: is_on} for b in (False, True)
            ]
        if reason := self.why_hooks_are_unproven(node):
            return replace(model, unproven=reason)
        try:
            queries = tuple(self.compiled(node, context) for context in contexts)
        except Exception as error:
            # Whatever a macro does wrong, its model is a finding and not the end.
            return replace(model, unproven=_why_not_compiled(error))
        return replace(
            model,
            queries=queries,
            is_as_made=_is_as_made(node),
            replaces=_replaced_together(node),
        )

    def reads(self, key: str) -> Iterator[str]:
        """Yield what a node reads; what an ephemeral model reads, its readers read."""
        for parent in self.manifest.nodes[key].depends_on_nodes:
            node = self.manifest.nodes.get(parent)
            if node is not None and node.is_ephemeral_model:
                yield from self.reads(parent)
            else:
                yield parent

    def compiled(self, node: ManifestSQLNode, context: dict[str, Any]) -> str:
        """Compile a copy of a node, which dbt compiles itself when its turn comes."""
        node = copy.deepcopy(node)
        refused = {"run_query": _refuse, "statement": _refuse}
        if "adapter" in context:
            refused["adapter"] = _WithoutRows(context["adapter"])
        context = context | refused
        node = self.compiler.compile_node(node, self.manifest, context, write=False)
        return node.compiled_code or ""

    def why_hooks_are_unproven(self, node: ManifestSQLNode) -> str | None:
        """Say which hook of a node may do more than look after the table, if any."""
        # A data test has none.
        is_test = node.resource_type == "test"
        hooks = () if is_test else (*node.config.pre_hook, *node.config.post_hook)
        for hook in hooks:
            asked = copy.deepcopy(node)
            asked.raw_code = hook.sql
            # That of a Python model; a seed's is not to be set.
            if asked.language != "sql":
                asked.language = "sql"
            try:
                text = self.compiled(asked, {}).strip()
            except Exception as error:
                return _why_not_compiled(error)
            if text and not is_upkeep(text):
                return f"its hook may write rows: {text.splitlines()[0]}"
        return None


class _WithoutRows:
    """The adapter of a context, which runs no query."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return _refuse if name == "execute" else getattr(self._adapter, name)


def _refuse(*_: Any, **__: Any) -> None:
    """Stand for what would read rows: the text is another one with other rows."""
    raise DbtRuntimeError(ROWS_IN_TEXT)


def _why_not_compiled(error: Exception) -> str:
    """Say why the text of a model, or of a hook, is not known."""
    lines = [line.strip() for line in str(error).splitlines()]
    if ROWS_IN_TEXT in lines:
        return ROWS_IN_TEXT
    return f"it can not be compiled: {' '.join(lines[:2])}"


def _is_as_made(node: ManifestSQLNode) -> bool:
    """Whether a relation has the columns of its query, in their order.

    An older table keeps the order that it has, and a contract brings its own.
    """
    kind = node.config.materialized
    return kind == "view" or (
        kind in ("published_view", "table") and not node.config.contract.enforced
    )


def _replaced_together(node: ManifestSQLNode) -> str | None:
    """Say by what rows are replaced, if not within those of one user."""
    if node.config.materialized not in ("incremental", "snapshot"):
        return None
    by = [node.config.unique_key]
    if node.config.get("incremental_strategy") == "insert_overwrite":
        by.append(node.config.get("partition_by") or "")
    for columns in by:
        names = [columns] if isinstance(columns, str) else columns
        if names is not None and USER not in [str(name).lower() for name in names]:
            told = ", ".join(map(str, names)) or "nothing"
            return f"rows are replaced by {told}, without user_id"
    return None


def _relation(schema: str, name: str) -> Name:
    return schema.lower(), name.lower()


def _is_rendered(node: ManifestSQLNode) -> bool:
    """Whether a secure dataset is nothing but what the macro renders for it."""
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
            if name is None:
                return False
            if name != "config":
                arguments = [getattr(argument, "value", None) for argument in item.args]
                rendered.append((name, arguments))
    return rendered == [("secure_dataset", [node.name.removeprefix(SECURE)])]


def _called(item: nodes.Node) -> str | None:
    """Return the macro of the product's package that is called, or dbt's config()."""
    if not isinstance(item, nodes.Call):
        return None
    if isinstance(item.node, nodes.Name) and item.node.name == "config":
        return item.node.name
    is_products = isinstance(item.node, nodes.Getattr) and (
        isinstance(item.node.node, nodes.Name) and item.node.node.name == PACKAGE
    )
    return item.node.attr if is_products else None
