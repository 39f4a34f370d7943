"""The plan of a checked config for macros; needs neither dbt nor, to load, a parser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from secure_datasets.config import plan, relations, steering, tiers
from secure_datasets.config.readings import readings_of
from secure_datasets.config.references import documented_columns
from secure_datasets.sql import expressions, spelling, writing


class Planner(ABC):
    """Plans the secure datasets of a checked config for macros."""

    sql_text = staticmethod(expressions.sql_text)
    values_query = staticmethod(writing.values_query)
    row_key = staticmethod(writing.row_key)
    union_of = staticmethod(writing.union_of)
    named_keys = staticmethod(writing.named_keys)
    tier_parts = staticmethod(tiers.tier_parts)
    deciding_columns = staticmethod(tiers.deciding_columns)
    is_restricted = staticmethod(tiers.is_restricted)
    has_public_rows = staticmethod(tiers.has_public_rows)
    datasets_with_tier = staticmethod(tiers.datasets_with_tier)
    restricted_datasets = staticmethod(tiers.restricted_datasets)
    tier_rules = staticmethod(tiers.tier_rules)
    rows_from = staticmethod(tiers.rows_from)
    view_references = staticmethod(relations.view_references)
    known_names = staticmethod(relations.known_names)
    documented_columns = staticmethod(documented_columns)
    readings = staticmethod(readings_of)
    same = staticmethod(writing.same)
    printable = staticmethod(steering.printable)
    table_lines = staticmethod(steering.table_lines)
    restrictions_on = staticmethod(plan.restrictions_on)
    steps_of = staticmethod(plan.steps_of)
    star_query = staticmethod(plan.star_query)
    known_masks = staticmethod(plan.known_masks)
    policies_of = staticmethod(plan.policies_of)
    called_for = staticmethod(plan.called_for)
    text_digest = staticmethod(plan.text_digest)
    expressions_of = staticmethod(plan.expressions_of)
    relationship_paths = staticmethod(plan.relationship_paths)
    parent_dataset = staticmethod(plan.parent_dataset)
    ruling_dataset = staticmethod(plan.ruling_dataset)
    tier_columns = staticmethod(plan.tier_columns)

    @abstractmethod
    def stop(self, sentence: str) -> NoReturn:
        """Stop whoever has called with a sentence."""

    @abstractmethod
    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by its model's documentation; none without one."""

    def raw_tables_in(
        self, variable: str, value: Any, tables: dict[str, Any]
    ) -> list[str]:
        """Return the value of a variable that lists raw tables; stop at any other."""
        if not isinstance(value, list | tuple | dict):
            self.stop(
                f"{variable} is '{value}'; it must be a list of raw tables, such as"
                " [users]."
            )
        for name in value:
            if name not in tables:
                near = spelling.listed(name, tables)
                self.stop(f"{variable} names '{name}', which is no raw table{near}.")
        return list(value)

    def type_of_mask(self, name: str, dataset: dict[str, Any], column: str) -> str:
        """Return the documented type of a masked column: the base's, or a query's."""
        model = dataset.get("base") or f"{plan.PREFIX}{name}"
        return self.column_type(model, column) or self.stop(
            f"secure_datasets_config: mask on '{name}.{column}': the documentation of"
            f" '{model}' does not say the column's data_type, which a mask must have."
        )

    def nodes_of_rules(
        self, config: dict[str, Any], attributes: str, nodes: dict[str, Any]
    ) -> list[Any]:
        """Return the nodes that conditions and masks look up.

        attributes  the relation with the reader's attributes; empty without one
        """
        texts = [attributes]
        for policy in config.get("policies") or []:
            texts += self.expressions_of(policy)
        text = " ".join(texts)
        return [
            node
            for node in nodes.values()
            if node.get("relation_name") and node["relation_name"] in text
        ]
