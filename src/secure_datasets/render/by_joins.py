"""The rules of a secure dataset, over rows joined with the roles of their user.

A row's `held_roles` has a field for each role that the rules name. A user without any
role has none: `is not true` applies the masks that spare only some roles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from secure_datasets.rules.masks import mask_condition, shown_by_none
from secure_datasets.rules.times import is_in_time
from secure_datasets.sql.expressions import names_relation, read, sql_text

Rule = dict[str, Any]


class ByJoins:
    """The rules on a dataset, as conditions on a joined row.

    name      the dataset at the end of the chain, by which rules call the row
    policies  the result of `policies_on`
    clock     SQL for the moment that rules compare with
    """

    def __init__(self, name: str, policies: dict[str, Any], clock: str) -> None:
        self.name, self.policies, self.clock = name, policies, clock

    def is_visible(self) -> str:
        """Return whether any role shows a row, and each restrictive rule lets it pass.

        Or is put between whole conditions.
        """
        restrictive = self.policies["restrictive"]
        shows = [self._is_under(each) for each in self.policies["conditions"]]
        either = "\nor ".join(shows)
        if restrictive and len(shows) > 1:
            either = f"({either})"
        terms = [either] if shows else []
        return "\nand ".join([*terms, *map(self._is_met, restrictive)])

    def is_put_on(self, rule: Rule) -> str:
        """Return whether a mask covers a row: no line that shows the value is true."""
        if not rule["shown_to"]:
            return self._is_under(rule, mask_condition(rule))
        in_time = is_in_time(rule, self.clock)
        hidden = shown_by_none(map(self._is_under, rule["shown_to"]))
        return f"{in_time}\nand {hidden}" if in_time else hidden

    def alias(self, rules: Iterable[Rule]) -> str:
        """Return the row's name as an alias, where a rule calls its columns by it."""
        rules = [*rules]
        rules += [line for rule in rules for line in rule["shown_to"]]
        texts = [rule.get(key) for rule in rules for key in ("condition", "mask")]
        is_named = any(names_relation(read(text), self.name) for text in texts if text)
        return f" as {self.name}" if is_named else ""

    @property
    def alias_of_conditions(self) -> str:
        """The alias of the row in all conditions."""
        return self.alias([*self.policies["conditions"], *self.policies["restrictive"]])

    @property
    def alias_of_masks(self) -> str:
        """The alias of the row in all masks."""
        return self.alias(r for rules in self.policies["masks"].values() for r in rules)

    def _is_met(self, rule: Rule) -> str:
        """Return whether a restrictive rule lets a row pass.

        It is not for the row's user, does not hold now, or is true.
        """
        terms = []
        if in_time := is_in_time(rule, self.clock):
            terms.append(f"not ({in_time})")
        if rule["roles"]:
            other = "" if rule["is_except"] else " is not true"
            terms.append(f"{self._holds_a_role(rule)}{other}")
        terms.append(f"({rule['condition']})")
        return f"({' or '.join(terms)})"

    def _is_under(self, rule: Rule, condition: str | None = None) -> str:
        """Return whether a row and its user are under a rule.

        condition  without it, the rule's own
        """
        is_for = self._is_for_user(rule)
        if rule["condition"] == "true":
            return is_for
        condition = condition or f"({rule['condition']})"
        return f"(\n    {is_for}\n    and {condition}\n)"

    def _is_for_user(self, rule: Rule) -> str:
        """Return whether a rule is for a row's user, and holds now."""
        terms = []
        if rule["roles"]:
            other = " is not true" if rule["is_except"] else ""
            terms.append(f"{self._holds_a_role(rule)}{other}")
        if in_time := is_in_time(rule, self.clock):
            terms.append(in_time)
        return " and ".join(terms) or "true"

    def _holds_a_role(self, rule: Rule) -> str:
        """Return whether a row's user holds one of the roles of a rule."""
        fields = [sql_text(self.policies["roles"][role]) for role in rule["roles"]]
        held = " or ".join(f"held_roles[{field}]" for field in fields)
        return held if len(fields) == 1 else f"({held})"
