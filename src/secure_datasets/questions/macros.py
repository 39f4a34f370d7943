"""The product's macros without dbt: an engine answers their queries.

The published state has the macros of the run. Each is a function that macros find by
its name, as in dbt; `return` ends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, NoReturn, Protocol

from jinja2.sandbox import SandboxedEnvironment

from dbt_secure_spark import lineage
from dbt_secure_spark.moments import moment
from secure_datasets.config.plan import PACKAGE
from secure_datasets.config.planner import Planner
from secure_datasets.config.tiers import linking_columns
from secure_datasets.engines.published import State
from secure_datasets.questions.asked import AccessQuestions, QuestionError
from secure_datasets.questions.changes.macro_methods import AccessChanges
from secure_datasets.questions.facts.uncounted import uncounted_deliveries
from secure_datasets.questions.timeline.questions import AccessTimelines
from secure_datasets.render.by_exists import rules_by_exists
from secure_datasets.render.laws import law_of_roles
from secure_datasets.render.staging import staging
from secure_datasets.review.models import query_of_review
from secure_datasets.review.reviews import Reviews

Row = dict[str, Any]
UNCOUNTED = "uncounted_deliveries"
# The methods of a review that macros may call.
OF_REVIEWS = ("review",)
OF_TIMELINES = ("answer", "document", "headers", "lines", "question")


class Engine(Protocol):
    """Answers queries in Spark's SQL."""

    def ask(self, query: str) -> list[Row]:
        """Return the rows of a query, by the names of their columns."""

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns of a relation with their types."""


class _Returned(BaseException):
    """Raised by `return` in a macro."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _return(value: Any) -> NoReturn:
    raise _Returned(value)


def _var(known: dict[str, Any], name: str, *default: Any) -> Any:
    """Return a variable of the run, or the default if it is not set."""
    if name not in known and not default:
        raise QuestionError(f"the variable {name} is not set in the published state.")
    return known.get(name, *default)


def _stop(sentence: str) -> NoReturn:
    raise QuestionError(sentence)


class Package:
    """The macros of the product: `package.who("hpark")`.

    `printed` has the printed texts, and `tables` the printed tables. `seen` has, for
    each user in an answer of `why`, whether that user sees the row or object.
    """

    def __init__(
        self,
        state: State,
        engine: Engine,
        as_json: Callable[[Iterable[Row]], list[Row]] | None,
        warn: Callable[[str], Any] = lambda text: None,
        is_resolved: bool = False,
    ) -> None:
        document = state.document
        self.is_resolved = is_resolved
        replaced = document.get("versions_before", {})
        self.state, self.engine = state, engine
        self.vars: dict[str, Any] = dict(document["vars"])
        # Relations that no node of the project names.
        self.relations: dict[str, str] = {}
        self.printed: list[str] = []
        self.seen: list[bool] = []
        self.tables: list[tuple[str, list[str], list[list[str]]]] = []
        self._sources: dict[str, str] = document["macros"]
        self._called: dict[str, Callable[..., Any]] = {
            "secure_datasets_config": lambda: document["config"],
            "repository_tables": lambda: document["raw_tables"],
            "feed_of": document["feeds"].get,
            # A computed state has no version before it.
            "version_before": ({} if is_resolved else replaced).get,
            # The state has the schema of the raw rows.
            "check_raw_schema": lambda: "",
            "check_adapter": lambda: "",
            "print_table": self._print_table,
            # This engine can compute the past of any model.
            "timeline_parts": lambda *_: {"tiers_not_told": []},
            "ref_of_model": self._ref,
            "uncounted_deliveries_query": self._uncounted,
        }
        # They write the pack of a review, and a timeline, if macros ask for one.
        self.reviews: Any = None
        self.timelines: Any = None
        # Without it the rows come as JSON from the engine itself.
        if as_json is not None:
            self._called["rows_of"] = lambda query: as_json(engine.ask(query))
        self._print = partial(self._compiled, "print_table")
        graph = SimpleNamespace(**state.values["graph"])
        # Names that macros have in a model only.
        of_models = {"config": _Config(), "this": PACKAGE} if is_resolved else {}
        self.context: dict[str, Any] = of_models | {
            "adapter": _Adapter(state, self, is_resolved),
            "api": SimpleNamespace(
                Relation=SimpleNamespace(
                    create=lambda **parts: SimpleNamespace(**parts)
                )
            ),
            "exceptions": SimpleNamespace(raise_compiler_error=_stop, warn=warn),
            "execute": True,
            "flags": SimpleNamespace(WHICH="run-operation", INTROSPECT=True),
            "fromjson": json.loads,
            "graph": graph,
            "modules": SimpleNamespace(re=SimpleNamespace(findall=re.findall)),
            "print": lambda text: self.printed.append(str(text)) or "",
            "project_name": state.values["project"],
            "ref": self._ref,
            "return": _return,
            "run_query": self._run_query,
            "secure_datasets": self,
            "source": self._source,
            "tojson": json.dumps,
            "var": partial(_var, self.vars),
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or "_sources" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a macro; KeyError for any other name, also of an attribute."""
        if name not in self._called and name in self._sources:
            self._called[name] = partial(self._compiled, name)
        return self._called[name]

    def __setitem__(self, name: str, macro: Callable[..., Any]) -> None:
        self._called[name] = macro

    def _compiled(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return the value that a macro returns, or else its rendered text."""
        key = f"macro {name}"
        if key not in self.__dict__:
            # Under another name, so that calls go through the context.
            source = self._sources[name].replace(f"macro {name}(", "macro called(", 1)
            template = ENVIRONMENT.from_string(source, globals=self.context)
            self.__dict__[key] = template.module.called
        try:
            return self.__dict__[key](*arguments, **named)
        except _Returned as returned:
            return returned.value

    def _uncounted(self, table: str | None = None) -> str:
        """Return the query of the deliveries that do not count, of a raw table or all.

        The run stored them; if staging has run since, the query computes them.
        """
        if table is None or not self._has_uncounted:
            return self._compiled("uncounted_deliveries_query", table)
        return (
            f"select * from {self['relation_named'](UNCOUNTED)}"
            f" where table_name = '{table}' and reason <> 'not live'"
        )

    @cached_property
    def _has_uncounted(self) -> bool:
        config, tables = self["secure_datasets_config"](), self["repository_tables"]()
        staged = [f"stg_{table}" for table in linking_columns(config, tables)]
        nodes = self.state.values["graph"]["nodes"].values()
        is_known = any(node["name"] == UNCOUNTED for node in nodes)
        ahead = self["staged_since"]([UNCOUNTED, *staged])
        return is_known and not self.is_resolved and not any(ahead.values())

    def rendered(self, node: Row) -> str:
        """Return a model's SQL, with the relations of this state."""
        context = {**self.context, "model": node}
        return ENVIRONMENT.from_string(node["raw_code"], globals=context).render()

    def _print_table(
        self, headers: list[str], rows: list[list[str]], align: str = "right"
    ) -> Any:
        people = (line for line in reversed(self.printed) if line.startswith("User "))
        self.tables.append((next(people, ""), headers, rows))
        return self._print(headers, rows, align=align)

    def _run_query(self, query: str) -> Any:
        # An engine without a session has no settings of a session.
        if query.startswith("set "):
            return SimpleNamespace(rows=[])
        return SimpleNamespace(rows=[tuple(r.values()) for r in self.engine.ask(query)])

    def _ref(self, *names: str) -> str:
        """Return a relation by its model, named alone or after its package."""
        *packages, name = names
        if name in self.relations:
            return self.relations[name]
        found = [
            node
            for node in self.state.values["graph"]["nodes"].values()
            if node["name"] == name
            and node["relation_name"]
            and packages in ([], [node["package_name"]])
        ]
        if not found:
            raise QuestionError(f"the project has no relation {'.'.join(names)}")
        # dbt looks for the product's own first.
        found.sort(key=lambda node: node["package_name"] != PACKAGE)
        return found[0]["relation_name"]

    def _source(self, source: str, name: str) -> str:
        for node in self.state.values["graph"]["sources"].values():
            if (node["source_name"], node["name"]) == (source, name):
                return node["relation_name"]
        raise QuestionError(f"the project has no raw table {name}")


class _Questions(AccessQuestions):
    """The same, and whether what was asked about is seen, for each user."""

    def __init__(self, seen: list[bool]) -> None:
        self.seen = seen

    def told(self, question: Row, found: list[tuple[Row, Row]], form: str) -> list[str]:
        """Return the answers about each user as texts to print."""
        self.seen += [answer["seen"] for _, answer in found]
        return super().told(question, found, form)


class _Planner(Planner):
    """The same, and the columns that the documentation of the models describes."""

    stop = staticmethod(_stop)

    def __init__(self, nodes: list[Row]) -> None:
        # If two projects have the model, the root project's model counts.
        self.nodes = sorted(nodes, key=lambda node: node["package_name"] == PACKAGE)

    def checked(self, document: Row, is_parsing: bool) -> Row:
        """Return the config, which the run has checked."""
        return document

    def check_references(self, *_: Any) -> None:
        """Check nothing: the run has."""

    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by its model's documentation; none without one."""
        for node in self.nodes:
            if node["name"] == model and node["resource_type"] in ("model", "seed"):
                documented = node.get("columns", {}).get(column) or {}
                if documented.get("data_type"):
                    return documented["data_type"]
        return None


class _Adapter:
    """The methods of dbt's adapter that the macros of a question call."""

    query_of_review = query_of_review
    uncounted_deliveries = uncounted_deliveries
    law_of_roles = law_of_roles
    staging = staging
    rules_by_exists = rules_by_exists

    def __init__(
        self, state: State, package: Package, is_resolved: bool = False
    ) -> None:
        self.state, self.package = state, package
        self.questions = _Questions(package.seen)
        self.is_resolved = is_resolved
        self.relations = state.values["relations"]
        self.planner = _Planner(list(state.values["graph"]["nodes"].values()))

    def secure_datasets(self) -> Planner:
        """Return the planner of the datasets."""
        return self.planner

    def access_questions(self) -> AccessQuestions:
        """Return the reader of questions, which also makes answers."""
        return self.questions

    def access_reviews(self) -> Any:
        """Return the writer of a review's pack."""
        return self.package.reviews

    def access_timelines(self) -> Any:
        """Return the writer of timelines."""
        return self.package.timelines

    def made_since(self, graph: Any, relations: list[Any]) -> dict[str, list[str]]:
        """Return what was made anew since relations were made."""
        if self.is_resolved:
            # All relations are computed at once.
            return {key: [] for key in ("tables", "stored", "of_before", "not_built")}
        names = {f"{r.schema}.{r.identifier}".lower() for r in relations}
        return lineage.made_since(
            self.state.values["graph"], self.state.published, names
        )

    def get_relation(self, database: str | None, schema: str, alias: str) -> str | None:
        """Return a relation's name, if the relation exists."""
        name = f"{schema}.{alias}".lower()
        return name if name in self.relations else None

    def check_schema_exists(self, database: str | None, schema: str) -> bool:
        """Return whether a schema has a relation."""
        return self.is_resolved or any(
            name.startswith(f"{schema.lower()}.") for name in self.relations
        )

    def raw_columns(self, relation: str) -> dict[str, str]:
        """Return the columns of a raw table with their types."""
        found = self.relations.get(relation.replace("`", "").lower())
        if found is None:
            # The state knows the project's relations, such as the sample's raw tables.
            return self.package.engine.columns(relation)
        return {name: kind.lower() for name, kind in found["columns"]}

    def raw_rows_as_of(self, name: str, relation: str, as_of: Any) -> str | None:
        """Return the name of a raw table as it was then; None if nobody knows."""
        elsewhere = getattr(self.package.engine, "elsewhere", lambda: None)()
        return elsewhere and elsewhere.as_of(name, relation.replace("`", ""))

    def raw_snapshots(self, name: str, relation: str, as_of: Any) -> None:
        """No snapshots are read here."""

    def note_rules(self, relations: list[str]) -> None:
        """Nothing is published here."""

    def as_of_text(self, value: Any) -> str:
        """Return a moment as the text of a timestamp, without zone."""
        return str(moment(value))

    def access_changes(self) -> AccessChanges:
        """Return the comparison of states."""
        return AccessChanges()

    def product_version(self) -> str:
        """Return the version of the product that has written the state."""
        return self.state.document["version"]


class _Config:
    """Stands for `config` in a model: here nothing is stored."""

    def __call__(self, *_: Any, **__: Any) -> str:
        return ""

    def get(self, name: str, default: Any = None) -> Any:
        """Return nothing: a model has no config here."""
        return default


class _Sandbox(SandboxedEnvironment):
    """Renders the macros of a state, a file from an untrusted author.

    The macros reach each other, the methods of the adapter and plain values; nothing
    that reads or writes files or runs programs.
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what `obj.attribute` is to a macro: of a package, a macro."""
        return self._macro_of(obj, attribute, super().getattr)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return what `obj[argument]` is to a macro: of a package, a macro."""
        return self._macro_of(obj, argument, super().getitem)

    def _macro_of(self, obj: Any, name: Any, otherwise: Callable[..., Any]) -> Any:
        if not isinstance(obj, Package):
            return otherwise(obj, name)
        try:
            return obj[name]
        except (KeyError, TypeError):
            return self.undefined(obj=obj, name=str(name))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a macro may look up an attribute."""
        if isinstance(obj, Package):
            return False
        if isinstance(obj, Reviews):
            return attr in OF_REVIEWS
        if isinstance(obj, AccessTimelines):
            return attr in OF_TIMELINES
        if isinstance(obj, _Adapter):
            return callable(value) and not attr.startswith("_")
        return super().is_safe_attribute(obj, attr, value)


ENVIRONMENT = _Sandbox(extensions=["jinja2.ext.do"])
