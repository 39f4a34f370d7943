"""Renders the project's macros as dbt does while it compiles, without dbt.

Each macro is a function that others find by its name, as in dbt; `return` ends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, NoReturn

from jinja2 import Environment, Template
from projects import ROOT

from dbt_secure_spark.appended import Key
from dbt_secure_spark.settings import as_of_text
from secure_datasets.config.models import Models
from secure_datasets.macro_methods import SecureDatasets
from secure_datasets.questions.asked import AccessQuestions
from secure_datasets.questions.changes import AccessChanges
from secure_datasets.questions.facts.uncounted import uncounted_deliveries
from secure_datasets.questions.shown import Shown
from secure_datasets.render import gates
from secure_datasets.render.by_exists import ByExists, rules_by_exists
from secure_datasets.render.laws import QUERIES, law_of_roles
from secure_datasets.render.privileges import privileges
from secure_datasets.render.staging import staging
from secure_datasets.review.adapter import finding_rules
from secure_datasets.review.models import query_of_review

# The files with the macros of a secure dataset.
FILES = (
    *(
        path
        for folder in (
            *("sql", "staging", "plan", "predicate", "render"),
            *("readers", "changes", "review"),
        )
        for path in sorted((ROOT / "macros" / folder).glob("*.sql"))
    ),
    *(
        ROOT / f"macros/operations/{name}.sql"
        for name in (
            *("print_predicate", "render_grants", "render_policies"),
            *("why", "not_built"),
            *("check_feeds", "check_replica", "uncounted_deliveries_query"),
        )
    ),
    *(
        ROOT / f"macros/audit/{name}.sql"
        for name in (
            "check_privileges",
            "privileges",
        )
    ),
    ROOT / "macros/config/config_error.sql",
    ROOT / "macros/config/secure_datasets_config.sql",
    ROOT / "macros/config/repository_tables.sql",
    ROOT / "macros/config/absent_tables.sql",
    ROOT / "macros/config/rights_in_time.sql",
    ROOT / "macros/config/refuse_rights_in_time.sql",
    ROOT / "src/dbt/include/secure_spark/macros/end_run.sql",
)
VARS = {
    "reader_accounts": "security.accounts",
    "before": "before",
    "after": "after",
    "compute": "default",
    "feeds": {},
    "absent_tables": [],
}
# The tags of columns for the random cases and the mistakes in the config.
TAGS = {
    "all_runs": {
        "amount": ["money", "audited"],
        "unit": ["place"],
        "run_id": ["key"],
        "run_name": ["person"],
    }
}
# What takes the rules, a dataset and more: `macros.gates_query("jobs", config, users)`.
OF_RULES = {
    "gates_query": gates.gates_query,
    "gate_cases": gates.gate_cases,
    "rules_on": ByExists.rules_on,
    "masked_value": ByExists.masked_value,
    "rule_counts": gates.rule_counts,
}
OF_DIALECTS = ("row_predicate", "answer_predicate", "mask_by_itself")
MACRO = re.compile(r"{%-?\s*macro (\w+)\(.*?{%-?\s*endmacro\s*-?%}", re.S)


ENVIRONMENT = Environment(extensions=["jinja2.ext.do"])


@cache
def _codes() -> dict[str, CodeType]:
    """Return the code of each macro, by its name.

    Under another name, so that calls go through the context.
    """
    return {
        name: ENVIRONMENT.compile(text.replace(f"macro {name}(", "macro called(", 1))
        for path in FILES
        for text, name in (
            found.group(0, 1)
            for found in MACRO.finditer(path.read_text(encoding="utf-8"))
        )
    }


class Stopped(Exception):
    """Raised by `exceptions.raise_compiler_error` here."""


class _Settings(dict):
    """The config of the model: parsing and compiling are one step here."""

    def __call__(self, **settings: Any) -> str:
        self.update(settings)
        return ""


class _Datasets(SecureDatasets):
    """The reader and planner of the config, which stops as macros do."""

    def stop(self, sentence: str) -> NoReturn:
        """Stop the rendering."""
        raise Stopped(sentence)


class _Returned(BaseException):
    """Raised by `return` in a macro."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _stop(message: str) -> None:
    raise Stopped(message)


def _return(value: Any) -> None:
    raise _Returned(value)


class Macros:
    """The macros as functions: `Macros().secure_dataset("jobs")`.

    - `ref` returns the relation of a model.
    - `types` has the documented type of each column, by model.
    - `references` has the object of each column, by model; without it no macro checks
      references.
    - `root` is the root project's folder.
    - `clock` is the moment of rules; without it they read the reader's clock.
    - `tags` has the tags of each column, by model.

    Operations print to `printed`, and their queries take the next of `answers`.
    """

    def __init__(
        self,
        document: str,
        ref: Callable[[str], str] = str,
        types: dict[str, dict[str, str]] | None = None,
        references: dict[str, dict[str, dict]] | None = None,
        root: Path | None = None,
        clock: str | None = None,
        tags: dict[str, dict[str, list[str]]] | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._ref = ref
        # The printed texts of operations, and the answers to their queries, in order.
        self.printed: list[str] = []
        self.answers: list[list[tuple[str, ...]]] = []
        if references is not None:
            types = {
                model: dict.fromkeys(said, "") for model, said in references.items()
            }
        nodes = {
            name: {
                "name": name,
                "resource_type": "model",
                "columns": {
                    column: {
                        "data_type": data_type,
                        "config": {
                            "meta": (references or {}).get(name, {}).get(column, {})
                        },
                    }
                    for column, data_type in columns.items()
                },
            }
            for name, columns in (types or {}).items()
        }
        tagged = {
            model: {column: frozenset(said) for column, said in columns.items()}
            for model, columns in (TAGS if tags is None else tags).items()
        }
        datasets = _Datasets(Models(types or {}, tags=tagged), root=root)
        # The reader and planner of the config, as the adapter has it.
        self.secure_datasets = lambda: datasets
        text = ENVIRONMENT.from_string(document).render(ref=ref)
        # The noted rules of each secure dataset.
        self.noted_rules: list[list[str]] = []
        # The noted keys of staged tables.
        self.noted_keys: list[Key] = []
        self.graph = SimpleNamespace(nodes=nodes, sources={})
        self.adapter = SimpleNamespace(
            secure_datasets=self.secure_datasets,
            access_questions=AccessQuestions,
            access_changes=AccessChanges,
            finding_rules=partial(finding_rules, None),
            query_of_review=partial(query_of_review, None),
            uncounted_deliveries=partial(uncounted_deliveries, None),
            law_of_roles=partial(law_of_roles, None),
            privileges=partial(privileges, None),
            staging=partial(staging, None),
            rules_by_exists=partial(rules_by_exists, None),
            # Queries of a metastore have their own tests.
            limits_about_nothing=lambda *given: [],
            product_version=lambda: "1.0.0",
            note_rules=lambda relations: self.noted_rules.append(relations),
            as_of_text=partial(as_of_text, None),
            # No table here keeps its snapshots.
            raw_rows_as_of=lambda *_: None,
            raw_snapshots=lambda *_: None,
            note_key=lambda _, *key: self.noted_keys.append(Key(*key)),
        )
        context: dict[str, Any] = {
            "adapter": self.adapter,
            "exceptions": SimpleNamespace(
                raise_compiler_error=_stop, warn=self.warnings.append
            ),
            "config": _Settings(),
            "model": SimpleNamespace(unique_id="a model"),
            "graph": self.graph,
            "var": lambda name, *default: (
                VARS.get(name, *default) if default else VARS[name]
            ),
            "print": lambda text: self.printed.append(text) or "",
            "run_query": lambda query: SimpleNamespace(rows=self.answers.pop(0)),
            "execute": types is not None,
            "flags": SimpleNamespace(WHICH="compile"),
            "ref": ref,
            "return": _return,
            "tojson": json.dumps,
        }
        codes = _codes()
        # A template copies its context, so each name must be there before the first.
        self._called = {name: partial(self._call, name) for name in codes}
        self._called["secure_datasets_config"] = lambda: datasets.read(text)
        # There is no profile, so no adapter to check.
        self._called["check_adapter"] = lambda: ""
        if clock:
            self._called["readers_clock"] = lambda: f"timestamp '{clock}Z'"
        if references is None:
            datasets.check_references = lambda *given: None
        # Macros of the package call each other by its name.
        context["secure_datasets"] = self._called
        known = ENVIRONMENT.globals | context | self._called
        self._templates = {
            name: Template.from_code(ENVIRONMENT, code, {**known})
            for name, code in codes.items()
        }

    def rules(self, config: dict[str, Any]) -> ByExists:
        """Return the rules of a config's datasets."""
        return ByExists(self._called, self._ref, config)

    def shown(self, user: int) -> Shown:
        """Return what a user is shown."""
        return Shown(self._called, self._ref, user, {})

    def stand_in(self, **others: Any) -> None:
        """Replace macros, or names in their context."""
        self._called.update(others)
        for template in self._templates.values():
            template.globals.update(others)

    def rendered(self, text: str) -> str:
        """Return a file of the project that calls macros, such as a data test's."""
        template = ENVIRONMENT.from_string(text)
        some = next(iter(self._templates.values()))
        return template.render({**some.globals, **self._called})

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return the value that a macro returns, or else its rendered text."""
        try:
            return self._templates[name].module.called(*arguments, **named)
        except _Returned as returned:
            return returned.value

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a macro, a law of roles, or a method of the rules of a config."""
        if name in OF_RULES:
            return lambda dataset, config, *given: OF_RULES[name](
                self.rules(config), dataset, *given
            )
        if name in OF_DIALECTS:
            printed = getattr(self.secure_datasets(), name)
            return lambda dataset, config, *given: printed(
                self.rules(config), dataset, *given
            )
        if name in QUERIES:
            return partial(QUERIES[name], self._called, self._ref)
        return self._called[name]
