"""The config in a project's files now, beside the config of the published state.

edited = edited_config(package, project.folder)
then = resolved(state, folders, engine, schema="then", config=edited)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, TemplateError

from secure_datasets.config import plan
from secure_datasets.questions.asked import QuestionError
from secure_datasets.render.laws import law_of_roles
from secure_datasets.sql import spelling

if TYPE_CHECKING:
    from secure_datasets.config.models import Models
    from secure_datasets.questions.macros import Package

ADDED = "default__secure_datasets_config"
MACRO = re.compile(rf"{{%-?\s*macro\s+{ADDED}\s*\(.*?{{%-?\s*endmacro\s*-?%}}", re.S)


@dataclass(frozen=True)
class Edited:
    """A config that differs from the config of a published state.

    before  the config of the state
    """

    before: dict[str, Any]
    config: dict[str, Any]

    @property
    def touched(self) -> list[str]:
        """Return the datasets of both configs whose rules may differ."""
        parts = (self.before.keys() | self.config.keys()) - {"policies"}
        both = [n for n in self.config["datasets"] if n in self.before["datasets"]]
        if any(self.before.get(part) != self.config.get(part) for part in parts):
            return both
        one, other = (c.get("policies", []) for c in (self.before, self.config))
        moved = [p for p in one if p not in other] + [p for p in other if p not in one]
        found = {plan.parts_of(policy["resource"])[0] for policy in moved}
        # Masks apply in the order of their lines.
        if not moved and one != other:
            return both
        for name in both:
            if plan.parent_dataset(self.config["datasets"][name]) in found:
                found.add(name)
        return [name for name in both if name in found]

    @property
    def not_compared(self) -> list[str]:
        """Return the datasets that exist in one of the configs only."""
        one, other = (c["datasets"].keys() for c in (self.before, self.config))
        return sorted(one ^ other)

    def masked_columns(self) -> dict[str, list[str]]:
        """Return by touched dataset the columns that any mask may be put on."""
        found = {}
        for name in self.touched:
            one, other = (c["datasets"][name] for c in (self.before, self.config))
            if one["unique_key"] == other["unique_key"]:
                found[name] = [c for c in self.maskable(name) if c in one["columns"]]
        return found

    def maskable(self, name: str) -> list[str]:
        """Return the shown columns of a dataset that any mask may be put on."""
        masked = {
            column
            for config in (self.before, self.config)
            for policy in config.get("policies") or []
            if (column := plan.parts_of(policy["resource"])[1])
        }
        return [c for c in self.config["datasets"][name]["columns"] if c in masked]

    def base_of(self, name: str) -> str | None:
        """Return the model of a dataset's rows; None if they come from a query."""
        datasets = self.config["datasets"]
        while below := plan.parent_dataset(datasets[name]):
            name = below
        return datasets[name].get("base")


def edited_config(package: Package, folder: Path) -> Edited:
    """Return the config of a project's files over the product's of the state."""
    # Only a question with a config imports dbt's exceptions: imports take time.
    from secure_datasets.config import tags
    from secure_datasets.config.models import Models

    columns: dict[str, dict[str, str | None]] = {}
    tagged: dict[str, dict[str, frozenset[str]]] = {}
    for node in package.state.values["graph"]["nodes"].values():
        if node["resource_type"] in ("model", "seed"):
            columns[node["name"]] = {
                column: said.get("data_type")
                for column, said in (node.get("columns") or {}).items()
            }
            tagged[node["name"]] = {
                column: tags.of_column(said)
                for column, said in (node.get("columns") or {}).items()
            }
    config = config_of_files(
        package.state.document["macros"]["secure_datasets_config"],
        folder,
        package.context,
        Models(columns, tags=tagged),
    )
    return Edited(package.state.document["config"], json.loads(json.dumps(config)))


def config_of_files(
    product: str, folder: Path | None, context: Any, models: Models
) -> dict[str, Any]:
    """Return the checked config of the product's macro and of a project's files.

    folder   the root project's; none if the product is the root project
    context  the names that the texts may use
    """
    from secure_datasets.config.document import Source
    from secure_datasets.config.errors import SentenceError
    from secure_datasets.macro_methods import SecureDatasets

    path, text = _file_of(folder) if folder else (None, "")
    found = MACRO.search(text)
    macro = found[0] if found else ""
    begins = text.count("\n", 0, found.start()) + 1 if found else 1
    named = str(path.relative_to(folder)) if path and folder else None

    class Reader(SecureDatasets):
        def sources(self, context: Any, added: Any) -> tuple[Source, ...]:
            return (Source(), Source(named, macro, begins))

    try:
        added = _macro(context, macro) if macro else None
        document = _product_text(product, context)
        return Reader(models, root=folder).read(document, None, added)
    except SentenceError as problem:
        raise QuestionError(str(problem.msg)) from None
    except TemplateError as failure:
        raise QuestionError(
            f"{named} can't be rendered without dbt: {failure}"
        ) from None


def roles_without_a_group(package: Package, edited: Edited) -> list[str]:
    """Return a sentence about each role of a config that nobody could hold.

    `dbt test` finds the same roles after a run. The groups are the published groups.
    """
    may_be_missing = package.context["var"]("roles_may_be_missing") or []
    query = law_of_roles(
        *(None, "roles_without_a_group", package, package.context["ref"]),
        edited.config,
        may_be_missing=may_be_missing,
        are_listed=False,
    )
    found = package.engine.ask(query)
    if not found:
        return []
    groups = package.context["ref"]("stg_user_groups")
    known = package.engine.ask(f"select distinct name from {groups} where is_live")
    names = [row["name"] for row in known if row["name"]]
    return sorted(
        f"a policy on {row['resource']} names the role {row['role_name']}, and"
        f" {row['reason']}{spelling.hint(row['role_name'], names)}"
        for row in found
    )


def _file_of(folder: Path) -> tuple[Path | None, str]:
    """Return the file with a project's additions to the config, and its text."""
    for path in sorted((folder / "macros").rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        if MACRO.search(text):
            return path, text
    return None, ""


def _macro(context: Any, source: str) -> Callable[[], str]:
    """Return a macro of a project, over the names that it may use."""
    from secure_datasets.questions.macros import ENVIRONMENT

    strict = ENVIRONMENT.overlay(undefined=StrictUndefined)
    template = strict.from_string(source, globals=context)
    return lambda: str(getattr(template.module, ADDED)())


def _product_text(source: str, context: Any) -> str:
    """Return the product's own document, from the text of its macro."""
    from secure_datasets.questions.macros import ENVIRONMENT

    texts: list[str] = []
    reader = SimpleNamespace(read=lambda text, *_: texts.append(text))
    adapter = SimpleNamespace(
        secure_datasets=lambda: reader, dispatch=lambda *_: lambda: ""
    )
    own = {"adapter": adapter, "context": None, "return": lambda value: ""}
    # It checks the adapter first.
    product = SimpleNamespace(check_adapter=lambda: "")
    given = {"secure_datasets": product, **context, **own}
    template = ENVIRONMENT.from_string(source, globals=given)
    template.module.secure_datasets_config()
    return texts[0]
