"""What policies must do, worked out in plain Python, to compare the project with.

Written from the description of the policies alone. It shares no code with the project:
a condition is a tree that is evaluated here, and written as SQL only for the config.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
# ("column", name), ("text", value), ("number", value), ("null",), ("true",),
# (operator, left, right), ("not", a), ("is null", a), ("in list", a),
# ("not in list", a)
Expression = tuple
LIST = "allowed"


def sql(expression: Expression) -> str:
    """Write an expression as SQL; `in list` reads the relation of the listed units."""
    kind, *parts = expression
    if kind == "column":
        return parts[0]
    if kind == "text":
        return f"'{parts[0]}'"
    if kind in ("number", "null", "true"):
        return str(parts[0]) if parts else kind
    if kind == "not":
        return f"not ({sql(parts[0])})"
    if kind == "is null":
        return f"({sql(parts[0])}) is null"
    if kind.endswith("in list"):
        words = kind.removesuffix(" list")
        listed = f"select a.unit from {{{{ ref('{LIST}') }}}} as a"
        return f"{sql(parts[0])} {words} ({listed})"
    return f"({sql(parts[0])} {kind} {sql(parts[1])})"


def value(expression: Expression, row: Row, listed: Iterable[str | None]) -> Any:
    """Evaluate an expression over a row, with the three values of SQL."""
    kind, *parts = expression
    if kind == "column":
        return row[parts[0]]
    if kind in ("text", "number"):
        return parts[0]
    if kind in ("null", "true"):
        return True if kind == "true" else None
    values = [value(part, row, listed) for part in parts]
    if kind == "not":
        return None if values[0] is None else not values[0]
    if kind == "is null":
        return values[0] is None
    if kind == "in list":
        return is_in(values[0], list(listed))
    if kind == "not in list":
        found = is_in(values[0], list(listed))
        return None if found is None else not found
    if kind == "and":
        if False in values:
            return False
        return None if None in values else True
    if kind == "or":
        if True in values:
            return True
        return None if None in values else False
    if None in values:
        return None
    left, right = values
    return {"=": left == right, "<": left < right}[kind]


def is_in(item: Any, items: list) -> bool | None:
    """`item in (items)`, as SQL has it."""
    if not items:
        return False
    if item is None:
        return None
    if item in items:
        return True
    return None if None in items else False


@dataclass(frozen=True)
class Policy:
    """A condition on a dataset or, with a column, a mask."""

    role: str
    dataset: str
    column: str | None = None
    condition: Expression | None = None
    mask: Expression | None = None
    mask_order: int = 0
    mask_on_null: str = "mask"


@dataclass
class Dataset:
    """A dataset: over the base rows by its tier, or over another dataset."""

    name: str
    columns: list[str]
    below: str | None = None
    is_for_everyone: bool = False


@dataclass
class Case:
    """A small world with policies."""

    rows: list[Row]
    members: set[tuple[Any, int]]
    users: dict[int, set[str]]
    listed: list[str | None]
    datasets: list[Dataset]
    policies: list[Policy] = field(default_factory=list)

    def of(self, dataset: str) -> tuple[list[Policy], list[Policy]]:
        """Return a dataset's conditions and its masks."""
        own = [policy for policy in self.policies if policy.dataset == dataset]
        return (
            [policy for policy in own if policy.column is None],
            [policy for policy in own if policy.column is not None],
        )

    def seen(self, dataset: Dataset, user: int) -> list[Row]:
        """Return what a user sees of a dataset."""
        if dataset.below:
            below = next(d for d in self.datasets if d.name == dataset.below)
            rows = self.seen(below, user)
        elif dataset.is_for_everyone:
            rows = self.rows
        else:
            rows = [r for r in self.rows if (r["team_id"], user) in self.members]
        conditions, masks = self.of(dataset.name)
        if conditions:
            rows = [row for row in rows if self.is_visible(row, user, conditions)]
        return [self.masked(row, user, masks, dataset.columns) for row in rows]

    def is_visible(self, row: Row, user: int, conditions: list[Policy]) -> bool:
        """Whether one role of the user shows the row."""
        return any(
            policy.condition is None
            or value(policy.condition, row, self.listed) is True
            for policy in conditions
            if policy.role in self.users[user]
        )

    def masked(self, row: Row, user: int, masks: list[Policy], columns: list) -> Row:
        """Return the row as the user sees it."""
        seen = {name: row[name] for name in columns}
        # The highest order is the last to be put on, over what a lower one has put.
        for policy in sorted(masks, key=lambda policy: policy.mask_order):
            if policy.role not in self.users[user]:
                continue
            decided = True
            if policy.condition is not None:
                decided = value(policy.condition, row, self.listed)
            if decided or (decided is None and policy.mask_on_null == "mask"):
                seen[policy.column] = value(policy.mask, row, self.listed)
        return seen

    def expected(self) -> dict[str, list[Row]]:
        """Return the rows of each dataset: its columns, then the user."""
        return {
            dataset.name: [
                row | {"user_id": user}
                for user in self.users
                for row in self.seen(dataset, user)
            ]
            for dataset in self.datasets
        }
