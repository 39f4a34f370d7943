"""Checks a config: each mistake is a sentence with entry, key and line.

The schema checks the value of each key. Further modules check entries against each
other and against the models, as far as these are documented.
"""

from __future__ import annotations

from typing import Any

from secure_datasets.config import plan
from secure_datasets.config.checks.datasets import DatasetChecks
from secure_datasets.config.checks.draft import Draft
from secure_datasets.config.checks.policies import PolicyChecks
from secure_datasets.config.checks.shapes import ShapeChecks
from secure_datasets.config.checks.star import StarChecks
from secure_datasets.config.models import Models
from secure_datasets.config.reading import Document
from secure_datasets.rules import times
from secure_datasets.sql import expressions


def check(document: Document, models: Models) -> dict[str, Any]:
    """Return the config for macros, or raise ConfigProblems with all its mistakes."""
    draft = Draft(document, models)
    ShapeChecks(draft).check()
    draft.end()
    _check_entries(draft)
    draft.end()
    return _as_macros_have_it(draft)


def _check_entries(draft: Draft) -> None:
    """Check the entries against each other and the models."""
    of_datasets, of_star = DatasetChecks(draft), StarChecks(draft)
    of_policies = PolicyChecks(draft)
    datasets = draft.values["datasets"]
    with draft.apart():
        if not datasets and not draft.document.switched_off:
            draft.fail(("datasets",), "'datasets' is empty")
    for name, tier in draft.values["tiers"].items():
        with draft.apart():
            of_datasets.check_tier(("tiers", name), tier)
    for name, dataset in datasets.items():
        known = len(draft.problems)
        with draft.apart():
            of_datasets.check_dataset(name)
        below = plan.parent_dataset(dataset)
        if len(draft.problems) > known or below in draft.broken:
            draft.broken.add(name)
    of_star.check_star()
    with draft.apart():
        of_policies.check_reader()
    of_policies.make_policies_of_tags()
    of_policies.check_policies()
    for name in [name for name in datasets if name not in draft.broken]:
        with draft.apart():
            of_star.check_dataset_in_star(name, datasets[name])
        with draft.apart():
            of_datasets.check_not_open(name)


def _as_macros_have_it(draft: Draft) -> dict[str, Any]:
    """Return the config with its SQL as Spark gets it."""
    made = dict(draft.values)
    if "policies" in made:
        made["policies"] = [_as_read(policy) for policy in made["policies"]]
    if "row_security" in made:
        made["row_security"] = [
            security | {"holder": security["id_type"].removesuffix("name")}
            for security in made["row_security"]
        ]
    made["datasets"] = {
        name: _with_read_measures(dataset) for name, dataset in made["datasets"].items()
    }
    made["switched_off"] = draft.document.switched_off
    return made


def _as_read(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy, or a line of `shown_to`, as macros get it.

    Names of roles are trimmed as in staging, groups are ids, and SQL is as Spark gets
    it.
    """
    made = dict(policy)
    for key in ("condition", "mask", "where"):
        if isinstance(made.get(key), str):
            made[key] = expressions.read(made[key]).text
    if "role" in made:
        made["role"] = plan.role_of(made["role"])
    if "except" in made:
        made["except"] = [plan.role_of(role) for role in made["except"]]
    made |= {key: text for key, text in times.bounds(made).items() if key in made}
    if "shown_to" in made:
        made["shown_to"] = [_as_read(line) for line in made["shown_to"]]
    return made


def _with_read_measures(dataset: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset with its measures as Spark gets them."""
    measures = dataset.get("query", {}).get("measures")
    if not measures:
        return dataset
    read = {name: expressions.read(measure).text for name, measure in measures.items()}
    return dataset | {"query": dataset["query"] | {"measures": read}}
