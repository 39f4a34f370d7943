"""The rules of a dataset by themselves, before they are printed for an engine."""

from __future__ import annotations

from secure_datasets.config.plan import (
    Config,
    restrictions_on,
    ruling_dataset,
    star_query,
)
from secure_datasets.config.tiers import is_restricted
from secure_datasets.render import printing
from secure_datasets.render.by_exists import ByExists

# The placeholders for the reader's id and for the row until a rule is printed: no
# relation that a rule reads can have such a name.
READER = "<the reader>"
USER, ROW = f"`{READER}`", f"`{printing.ROW}`"


def base_alias(name: str, config: Config) -> str:
    """Return the name of the relation in the rules of a dataset."""
    ruling = ruling_dataset(name, config)
    star = star_query(config["datasets"][ruling], config)
    return star["root"] if "query" in config["datasets"][ruling] and star else ruling


def row_rule(rules: ByExists, name: str, is_permissive: bool = False) -> str:
    """Return the rule that decides whether a reader sees a row of a dataset.

    For a query it decides which rows count.

    is_permissive  without the restrictive conditions
    """
    entry = rules.ruling(name)
    if "query" in entry:
        restrictions = restrictions_on(entry, rules.config)
        terms = (rules.key_is_held(each, ROW, USER) for each in restrictions)
        return "\nand ".join(terms) or "true"
    beyond = rules.meets_every_rule(name, ROW, USER, is_permissive)
    passes = rules.passes_the_tier(name, ROW, USER)
    return passes if beyond == "true" else f"{passes}\nand {beyond}"


def answer_rule(rules: ByExists, name: str) -> str:
    """Return the rule that decides whether a reader sees a line of a query's answer."""
    text = rules.meets_every_rule(name, name, USER)
    if not is_restricted(name, rules.config):
        return text
    is_live = rules.is_live(USER)
    return is_live if text == "true" else f"{is_live}\nand {text}"


def mask_rule(rules: ByExists, name: str, column: str) -> str:
    """Return a column's value for a reader."""
    return rules.masked_value(name, ruling_dataset(name, rules.config), column, USER)


def mask_for_accounts(rules: ByExists, name: str, column: str) -> str:
    """Return a column's value for an account; without a user, the highest mask."""
    first = rules.policies(name)["masks"][column][0]
    return f"""case
    when {USER} is null
        then {rules.mask_as_typed(first, name, column)}
    else {mask_rule(rules, name, column)}
end"""


def masked_columns(rules: ByExists, name: str) -> list[str]:
    """Return the columns of a dataset that have masks."""
    columns = rules.config["datasets"][name]["columns"]
    return [column for column in rules.policies(name)["masks"] if column in columns]
