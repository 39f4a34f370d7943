"""What policies must do, worked out in plain Python, to compare the project with.

Written from the description of the policies alone. It shares no code with the project:
a condition is a tree that is evaluated here, and written as SQL only for the config.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]
# ("column", name), ("reader", name), ("text", value), ("number", value), ("null",),
# ("true",), (operator, left, right), ("not", a), ("is null", a), ("in list", a),
# ("not in list", a)
Expression = tuple
LIST = "allowed"
# What Jinja would take for its own in a text.
JINJA = re.compile(r"\{[{%#]|[}%#]\}")


def sql(expression: Expression, is_whole: bool = False) -> str:
    """Write an expression as SQL; `in list` reads the relation of the listed units.

    The whole of a condition stands without brackets, as people write it.
    """
    kind, *parts = expression
    if kind == "column":
        return parts[0]
    if kind == "reader":
        return f"reader.{parts[0]}"
    if kind == "text":
        escaped = parts[0].replace("\\", "\\\\").replace("'", "\\'")
        return "'" + JINJA.sub(lambda found: "{{ '" + found[0] + "' }}", escaped) + "'"
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
    text = f"{sql(parts[0])} {kind} {sql(parts[1])}"
    return text if is_whole else f"({text})"


def value(expression: Expression, row: Row, listed: Iterable[str | None]) -> Any:
    """Evaluate an expression over a row, with the three values of SQL."""
    kind, *parts = expression
    if kind == "column":
        return row[parts[0]]
    if kind == "reader":
        # R19: an attribute of whoever reads.
        return row["reader"][parts[0]]
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


def names_reader(expression: Expression) -> bool:
    """Whether an expression is about an attribute of the reader."""
    kind, *parts = expression
    return kind == "reader" or any(
        names_reader(part) for part in parts if isinstance(part, tuple)
    )


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
    """A condition on a dataset or, with a column, a mask.

    It is for a role or, without one, for whoever holds none of those excepted. A role
    is a name or, as a number, the group with that id; `*` is everybody. A mask that is
    `shown_to` roles, each with a condition or none, is for everybody else.
    """

    role: str | int | None
    dataset: str
    column: str | None = None
    condition: Expression | None = None
    mask: Expression | None = None
    mask_order: int = 0
    mask_on_null: str = "mask"
    excepted: tuple[str | int, ...] = ()
    shown_to: tuple[tuple[str | int, Expression | None], ...] = ()
    # R16: whether it takes rows away; none where it is not said that it does not.
    is_restrictive: bool | None = None
    # M16: the tag of the columns that the mask is on, each with its own mask, by type.
    tag: str | None = None
    # R18: a day or a moment, as text; a day belongs to the time of the policy.
    valid_from: str | None = None
    valid_until: str | None = None
    # R11: whether rows that the role writes are checked says nothing of what is read.
    check: bool | None = None

    def is_for(self, roles: set[str | int]) -> bool:
        """Whether the policy is for a user with these roles and groups."""
        if self.role is not None:
            return self.role == "*" or self.role in roles
        return roles.isdisjoint(self.excepted)

    def holds_at(self, moment: str) -> bool:
        """Whether the policy is in force at a moment, `2026-05-01 18:00:00`."""
        if self.valid_from is not None and moment < self.valid_from:
            return False
        if self.valid_until is None:
            return True
        if len(self.valid_until) == len("2026-05-01"):
            return moment[:10] <= self.valid_until
        return moment < self.valid_until


@dataclass
class Dataset:
    """A dataset: over the base rows by its tier, over another, or a query of the star.

    The columns of a query are its dimensions, and `total`, the sum of the amounts.
    One that is authorized is a view: who sees what of it, its outcomes say.
    """

    name: str
    columns: list[str]
    below: str | None = None
    is_for_everyone: bool = False
    is_query: bool = False
    is_authorized: bool = False
    # What a query says of its fact, and a dataset of being no view.
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RowSecurity:
    """A security object: the business units of groups secure the teams of the runs.

    Or those of users: the ids of the mapping are what `id_type` says. Or the keys are
    the teams that a run itself names: then a team is the secured level, for who reads
    it through the runs. Where the key is at no level, nothing is known to be above it.
    """

    scope: str
    secure_totals: bool
    use_filter_key: bool
    id_type: str = "group"
    unique_name: str = "units"
    label: str = "Business units"
    description: str | None = None
    is_of_runs: bool = False
    has_level: bool = True

    @property
    def secured_level(self) -> int:
        """The highest level that is not known to be above the key's."""
        if not self.has_level:
            return max(LEVEL_OF.values())
        return LEVEL_OF["team_name" if self.is_of_runs else "business_unit"]


# The star: the base rows are facts of teams. A team's own columns by level; its id is
# at that of its name. All columns of a row itself are below.
LEVEL_OF = {"team_name": 0, "business_unit": 1, "unit_head": 1, "division": 2}


def reads_teams_alone(columns: list[str]) -> bool:
    """Whether a query with these columns reads no fact."""
    return set(columns) <= set(LEVEL_OF)


@dataclass
class Case:
    """A small world with policies."""

    rows: list[Row]
    teams: list[Row]
    mapping: list[tuple[int, Any]]
    groups: dict[int, set[int]]
    security: RowSecurity | None
    members: set[tuple[Any, int]]
    # Live users alone: who is gone sees nothing.
    users: dict[int, set[str]]
    listed: list[str | None]
    datasets: list[Dataset]
    policies: list[Policy] = field(default_factory=list)
    outcomes: dict[tuple[str, int], str] = field(default_factory=dict)
    # The attributes of users; a user may have several rows, or none.
    staff: list[tuple[int, Row]] = field(default_factory=list)
    # The tags of the columns of the base rows, and the type of each column.
    tags: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    # When the users read.
    moment: str = "2026-05-01 12:00:00"

    def of(self, dataset: str) -> tuple[list[Policy], list[Policy]]:
        """Return a dataset's conditions and its masks."""
        own = [policy for policy in self.policies if policy.dataset == dataset]
        own += self.by_tags(dataset)
        return (
            [policy for policy in own if policy.column is None],
            [policy for policy in own if policy.column is not None],
        )

    def by_tags(self, name: str) -> list[Policy]:
        """Return the masks on a dataset's columns that policies on their tags are.

        A dataset over another one shows masked values, and has no tags of its own.
        """
        dataset = next(d for d in self.datasets if d.name == name)
        if dataset.is_query or dataset.below:
            return []
        return [
            replace(
                policy,
                dataset=name,
                column=column,
                tag=None,
                mask=dict(policy.mask).get(
                    self.types[column], dict(policy.mask).get("default")
                ),
            )
            for policy in self.policies
            if policy.tag is not None
            for column in dataset.columns
            if policy.tag in self.tags.get(column, [])
        ]

    def seen(self, dataset: Dataset, user: int) -> list[Row]:
        """Return what a user sees of a dataset."""
        if not dataset.is_authorized:
            return self.shown(dataset, user, True, dataset.columns)
        outcome = self.outcomes.get((dataset.name, user))
        if outcome not in ("Allow", "Transform"):
            return []
        # Rules act where the chain of views ends, and only on whom they transform.
        end = dataset
        while end.below:
            end = next(d for d in self.datasets if d.name == end.below)
        return self.shown(end, user, outcome == "Transform", dataset.columns)

    def shown(
        self, dataset: Dataset, user: int, has_rules: bool, columns: list[str]
    ) -> list[Row]:
        """Return these columns of a dataset for a user, under its rules or free."""
        if dataset.is_query:
            rows = self.answer(dataset.columns, user)
        elif dataset.below:
            below = next(d for d in self.datasets if d.name == dataset.below)
            rows = self.seen(below, user)
        elif dataset.is_for_everyone:
            rows = self.rows
        else:
            rows = [r for r in self.rows if (r["team_id"], user) in self.members]
        if not (dataset.is_query or dataset.below) and self.restricts(["run_id"], True):
            rows = [r for r in rows if self.has_key(r, user)]
        conditions, masks = self.of(dataset.name) if has_rules else ([], [])
        rows = [row for row in rows if self.is_visible(row, user, conditions)]
        return [self.masked(row, user, masks, columns) for row in rows]

    def restricts(self, dimensions: list[str], reads_fact: bool) -> bool:
        """Whether the security object restricts what reads these dimensions."""
        if self.security is None:
            return False
        if reads_fact and self.security.scope == "related":
            return False
        if not reads_fact and self.security.is_of_runs:
            # The runs alone tie the teams to the keys.
            return self.security.scope == "all"
        secured = self.security.secured_level
        shows_level = any(LEVEL_OF.get(name, 0) <= secured for name in dimensions)
        return shows_level or self.security.secure_totals

    def team_of(self, row: Row) -> Row:
        """Return the team of a base row; one of nulls if there is none."""
        nothing = dict.fromkeys(["team_id", *LEVEL_OF])
        return next(
            (team for team in self.teams if team["team_id"] == row["team_id"]), nothing
        )

    def has_key(self, row: Row, user: int) -> bool:
        """Whether the user, or a group of the user, is mapped to a base row's key."""
        is_of_runs = self.security.is_of_runs
        of_row = row["team_id"] if is_of_runs else self.team_of(row)["business_unit"]
        is_of_users = self.security.id_type in ("user", "username")
        ids = {user} if is_of_users else self.groups[user]
        return any(
            holder in ids and key == of_row
            for holder, key in self.mapping
            if key is not None
        )

    def answer(self, columns: list[str], user: int) -> list[Row]:
        """Return what a query answers to a user."""
        dimensions = [name for name in columns if name != "total"]
        if reads_teams_alone(columns):
            lines = [(team, team, None) for team in self.teams]
        else:
            lines = [(r | self.team_of(r), r, r["amount"]) for r in self.rows]
        is_restricted = self.restricts(dimensions, not reads_teams_alone(columns))
        if is_restricted:
            lines = [line for line in lines if self.has_key(line[1], user)]
            if self.security.is_of_runs:
                teams = {r["team_id"] for r in self.rows}
                lines = [line for line in lines if line[1]["team_id"] in teams]
        sums: dict[tuple, list[int]] = {}
        if not dimensions and not is_restricted:
            sums[()] = []
        for line, _, amount in lines:
            found = sums.setdefault(tuple(line[name] for name in dimensions), [])
            found += [] if amount is None else [amount]
        totals = {key: sum(found) if found else None for key, found in sums.items()}
        return [
            dict(zip(dimensions, key, strict=True))
            | ({"total": total} if "total" in columns else {})
            for key, total in totals.items()
        ]

    def is_per_user(self, dataset: Dataset) -> bool:
        """Whether a dataset's rows bear a user; others are there once."""
        has_rules = dataset.is_authorized or any(self.of(dataset.name))
        if has_rules or not dataset.is_query:
            return True
        dimensions = [name for name in dataset.columns if name != "total"]
        return self.restricts(dimensions, not reads_teams_alone(dataset.columns))

    def is_visible(self, row: Row, user: int, conditions: list[Policy]) -> bool:
        """Whether one role of the user shows the row, and no restriction hides it."""
        own = [
            policy
            for policy in conditions
            if policy.is_for(self.users[user] | self.groups[user])
            and policy.holds_at(self.moment)
        ]
        if not all(
            self.is_true(p.condition, row, user) for p in own if p.is_restrictive
        ):
            return False
        if all(policy.is_restrictive for policy in conditions):
            return True
        return any(
            self.is_true(p.condition, row, user) for p in own if not p.is_restrictive
        )

    def says(self, condition: Expression, row: Row, user: int) -> bool | None:
        """Return what a condition says of a row to a user."""
        if not names_reader(condition):
            return value(condition, row, self.listed)
        found = [
            value(condition, row | {"reader": attributes}, self.listed)
            for who, attributes in self.staff
            if who == user
        ]
        if True in found:
            return True
        return None if None in found or not found else False

    def is_true(self, condition: Expression | None, row: Row, user: int) -> bool:
        """Whether a condition is true of a row; what says nothing is of all."""
        return condition is None or self.says(condition, row, user) is True

    def masked(self, row: Row, user: int, masks: list[Policy], columns: list) -> Row:
        """Return the row as the user sees it."""
        seen = {name: row[name] for name in columns}
        # The highest order is the last to be put on, over what a lower one has put.
        for policy in sorted(masks, key=lambda policy: policy.mask_order):
            if self.is_put_on(policy, row, user):
                seen[policy.column] = value(policy.mask, row, self.listed)
        return seen

    def is_put_on(self, mask: Policy, row: Row, user: int) -> bool:
        """Whether a mask is put on a row for a user."""
        roles = self.users[user] | self.groups[user]
        # M13: what one of the lines shows is shown.
        is_shown = any(
            (role == "*" or role in roles) and self.is_true(where, row, user)
            for role, where in mask.shown_to
        )
        decided = True
        if mask.condition is not None:
            decided = self.says(mask.condition, row, user)
        if decided is None:
            decided = mask.mask_on_null == "mask"
        is_asked = mask.is_for(roles) and mask.holds_at(self.moment)
        return is_asked and not is_shown and decided

    def expected(self) -> dict[str, list[Row]]:
        """Return the rows of each dataset: its columns, then the user."""
        return {
            dataset.name: [
                row | {"user_id": user}
                for user in (self.users if self.is_per_user(dataset) else [None])
                for row in self.seen(dataset, user)
            ]
            for dataset in self.datasets
        }
