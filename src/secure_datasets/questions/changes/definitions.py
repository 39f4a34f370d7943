"""The definitions of a state, for a comparison of two states.

They are its tiers and secure datasets in the config at the time of the build.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from secure_datasets.config.plan import (
    PREFIX,
    parent_dataset,
    rules_in_time,
    ruling_dataset,
)
from secure_datasets.config.tiers import tier_parts
from secure_datasets.render.by_exists import ByExists
from secure_datasets.render.gates import gate_cases
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import values_query


def state_definitions(rules: ByExists, tables: Mapping[str, Any], version: str) -> str:
    """Return the query of the definitions: kind, name, definition as JSON, version.

    tables   the raw tables
    version  the version of the product
    """
    config, rows = rules.config, []
    for name, tier in config["tiers"].items():
        parts = tier_parts(name, config, dict(tables))
        of_tier = {"relation": tier["access_view"], "carries": tier["carries"]}
        rows.append(["tier", name, json.dumps(parts | of_tier)])
    for name in config["datasets"]:
        rows.append(["dataset", name, json.dumps(_definition(rules, name))])
    return f"""with definitions (kind, name, definition) as (
    {values_query(rows, 3)}
)

select
    kind,
    name,
    definition,
    {sql_text(version)} as product_version
from definitions"""


def _definition(rules: ByExists, name: str) -> dict[str, Any]:
    """Return the definition of a secure dataset."""
    config, dataset = rules.config, rules.config["datasets"][name]
    cases = gate_cases(rules, ruling_dataset(name, config))
    chain = _parents(name, config)
    end = config["datasets"][chain[-1]]
    masked = [column for link in chain for column in rules.policies(link)["masks"]]
    return {
        "relation": PREFIX + name,
        "keys": dataset["unique_key"],
        "columns": dataset["columns"],
        "tiers": list(dict.fromkeys(case["tier"] for case in cases if case["tier"])),
        "renamed_from": dataset.get("renamed_from"),
        "base": end.get("base"),
        "masked": list(dict.fromkeys(masked)),
        "ways": [way for link in chain for way in _ways_to_rows(rules, link)],
        "masked_by": named_in(end["columns"], said_on_the_way(rules, name, True)),
        "clock": rules.clock,
        "rules": rules_in_time(name, config),
        "deciding": named_in(end["columns"], said_on_the_way(rules, name)),
    }


def _parents(name: str, config: dict[str, Any]) -> list[str]:
    """Return a dataset and its parents, down to the one without a parent."""
    below = parent_dataset(config["datasets"][name])
    return [name, *(_parents(below, config) if below else ())]


def _ways_to_rows(rules: ByExists, name: str) -> list[dict[str, Any]]:
    """Return the tiers that lead a user to rows of a dataset.

    Each with the keys of its access view, the columns of the base that match them, and
    the condition on the rows.
    """
    return [
        {"tier": case["tier"], "keys": keys, "applies": case["applies"]}
        for case in gate_cases(rules, ruling_dataset(name, rules.config))
        if case["tier"]
        for keys in (case["keys"], case["second_keys"])
        if keys
    ]


def said_on_the_way(rules: ByExists, name: str, is_below: bool = False) -> list[str]:
    """Return texts from the rules that decide access to rows of a dataset or a parent.

    They name each column of the base that decides. For a parent they include its masks,
    since the dataset above reads masked values.
    """
    said, ruling = list[str](), ruling_dataset(name, rules.config)
    for case in gate_cases(rules, ruling):
        said += [*case["columns"], case["applies"], case.get("no_second") or ""]
    for rule in rules.rules_on(name, ruling):
        if rule["is_mask"] and not is_below:
            continue
        restriction = rule.get("restriction")
        said.append(rule.get("says") or (restriction and json.dumps(restriction)) or "")
        said.append(rule["rule"]["mask"] if rule["is_mask"] else "")
    below = parent_dataset(rules.config["datasets"][name])
    return said + (said_on_the_way(rules, below, True) if below else [])


def named_in(columns: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return the columns whose name is a word in any of the texts.

    A word that only happens to be a column's name counts, too: the report may list a
    change of that column as a cause although it is none, but it omits no cause.
    """
    words = {word.lower() for text in texts for word in re.findall(r"\w+", text)}
    return [column for column in columns if column.lower() in words]
