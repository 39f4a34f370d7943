"""Random policies over random worlds of raw rows, for the question why.

The groups, roles and members of a case of policies are those of a world, its teams are
the world's live reports, and what is decided about views follows from decisions. So
one raw row, mapped key or decision can be taken away, and the evaluators asked again.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from oracle.contract import (
    Groups,
    Rights,
    World,
    read_value,
    stage,
    user_project_access,
)
from oracle.policies import Case, Dataset
from random_policies import COLUMNS as RUN_COLUMNS
from random_policies import (
    RESULTS,
    ROLES,
    TEAM_COLUMNS,
    UNITS,
    document,
    random_case,
    tables,
)
from random_worlds import random_world
from why_sandbox import Asked, Database, load_world

Decision = tuple[int, str, str]
Lost = tuple[str, Any]

DUCKDB_TYPES = {
    "bigint": "BIGINT",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "array<string>": "VARCHAR[]",
    "array<bigint>": "BIGINT[]",
}
NO_ROWS = {
    "stg_user_group_members": (
        *("user_group_member_id", "user_group_id", "user_id", "is_live"),
    ),
    "stg_user_groups": ("user_group_id", "name"),
    "int_user_group_ancestors": ("user_group_id", "ancestor_user_group_id", "depth"),
    "stg_user_global_roles": (
        *("user_global_role_id", "user_id", "role_name", "is_live"),
    ),
    "role_permissions": ("object_type", "role_name", "permission_name"),
    "view_decisions": ("user_id", "object_name", "decision"),
}
STRICTNESS = {"Allow": 0, "Transform": 1, "Transform to Deny": 2, "Deny": 3}
# The raw tables of the law's worlds, without events.
READ = (
    *("users", "user_groups", "user_group_members", "user_global_roles", "projects"),
    *("project_permissions", "reports", "tests"),
)
GLOBAL_ROLES = ("Global Admin", "Global Data Source Admin")


def load_case(database: Database, case: Case) -> None:
    """Make the tables of a case of policies, and its datasets' rows."""
    for name, (schema, rows) in tables(case).items():
        if name == "stg_users":
            continue
        types = dict(part.strip().split(" ", 1) for part in schema.split(", "))
        types = {column: DUCKDB_TYPES[kind] for column, kind in types.items()}
        database.table(name, types, rows, types)
    outcomes = [
        (user, f"vw_secure_dataset_{name}", outcome, "user on it")
        for (name, user), outcome in case.outcomes.items()
    ]
    columns = ("user_id", "view_name", "outcome", "decided_by")
    database.table("view_outcomes", columns, outcomes)
    # A dataset over a dataset reads the rows that the evaluator expects there.
    for name, rows in case.expected().items():
        dataset = next(d for d in case.datasets if d.name == name)
        values = [tuple(row.values()) for row in rows]
        columns = (*dataset.columns, "user_id")
        types = {c: DUCKDB_TYPES[k] for c, k in (RUN_COLUMNS | TEAM_COLUMNS).items()}
        database.table(f"vw_secure_dataset_{name}", columns, values, types)


def asked_of_case(database: Database, case: Case, config: str) -> Asked:
    """Return the question over a case."""
    secure = [f"vw_secure_dataset_{dataset.name}" for dataset in case.datasets]
    types = dict.fromkeys(["all_runs", *secure], RUN_COLUMNS)
    asked = Asked(config, database, types=types, clock=case.moment)
    asked._called["view_references"] = lambda: {"gates": [], "tables": []}
    return asked


@dataclass
class PolicyWorld:
    """A world with policies over it."""

    seed: int
    world: World
    decisions: list[Decision]
    mapping: list[tuple[int, Any]]
    owner: int
    # Facts that no removed row changes.
    made: Case
    rows: list[dict]
    teams: dict[int, dict]
    case: Case = field(init=False)

    def __post_init__(self) -> None:
        """Compute the case."""
        self.case = self.worked_out(self.world, self.mapping, self.decisions)

    # -- the evaluators -----------------------------------------------------------

    def worked_out(
        self, world: World, mapping: list, decisions: list[Decision]
    ) -> Case:
        """Return the case of these raw rows, keys and decisions."""
        staging = stage(world)
        groups, rights = Groups(staging), Rights(staging)
        in_groups: dict[int, set[int]] = {user: set() for user in rights.users}
        for group, users in groups.holders().items():
            for user in users:
                in_groups[user].add(group)
        roles = {
            user: {
                name
                for group in held
                if (name := groups.live[group]["name"]) and name not in GLOBAL_ROLES
            }
            | {name for name in GLOBAL_ROLES if user in rights.global_roles[name]}
            for user, held in in_groups.items()
        }
        live_reports = staging.live("reports")
        return replace(
            self.made,
            rows=self.rows,
            teams=[team for key, team in self.teams.items() if key in live_reports],
            mapping=mapping,
            groups=in_groups,
            users=roles,
            members={
                (row["project_id"], row["user_id"])
                for row in user_project_access(rights)
            },
            outcomes=self.outcomes(set(rights.users), decisions),
        )

    def reads(self, name: str) -> str:
        """Return what a view under view authorization reads."""
        below = next(d.below for d in self.made.datasets if d.name == name)
        return f"vw_secure_dataset_{below}" if below else "all_runs"

    def chain(self, name: str) -> list[str]:
        """Return the views behind a view, itself included."""
        below = next(d.below for d in self.made.datasets if d.name == name)
        return [name, *(self.chain(below) if below else [])]

    def outcomes(
        self, live: set[int], decisions: list[Decision]
    ) -> dict[tuple[str, int], str]:
        """Return the outcome of each view per user, by the matrix of decisions."""

        def strictest(user: int, name: str) -> int | None:
            return max(
                (
                    STRICTNESS[decision]
                    for who, what, decision in decisions
                    if (who, what) == (user, name) and who in live
                ),
                default=None,
            )

        def is_closed(user: int, name: str) -> bool:
            found = strictest(user, name)
            return found is None or found >= STRICTNESS["Transform to Deny"]

        found = {}
        for dataset in self.made.datasets:
            if not dataset.is_authorized:
                continue
            links = self.chain(dataset.name)
            shut = any(is_closed(self.owner, self.reads(link)) for link in links)
            for user in live:
                outcome = "Allow"
                if shut or is_closed(user, f"vw_secure_dataset_{dataset.name}"):
                    outcome = "Deny"
                elif (user, "all_runs", "Transform") in decisions:
                    # The further decisions about the table.
                    outcome = "Transform"
                found[dataset.name, user] = outcome
        return found

    def without(self, lost: Lost) -> Case:
        """Return the case without a row: a raw one, a mapped key, or a decision."""
        table, which = lost
        world, mapping, decisions = self.world, list(self.mapping), list(self.decisions)
        if table == self.mapping_table[0]:
            mapping.remove(which)
        elif table == "view_decisions":
            decisions.remove(which)
        else:
            kept = [r for r in world[table] if read_value("bigint", r["id"]) != which]
            world = world | {table: kept}
        return self.worked_out(world, mapping, decisions)

    @property
    def mapping_table(self) -> tuple[str, str]:
        """The table that maps ids to keys, and its column with the keys."""
        if self.made.security and self.made.security.is_of_runs:
            return "group_teams", "team_id"
        return "group_units", "unit"

    # -- removable rows -----------------------------------------------------------

    def every_row(self) -> list[Lost]:
        """Return every removable row; the first of equal ones."""
        staging = stage(self.world)
        rows: list[Lost] = [
            (table, key) for table in READ for key in staging.live(table)
        ]
        mapped = self.mapping_table[0]
        rows += [(mapped, item) for item in dict.fromkeys(self.mapping)]
        return rows + [
            ("view_decisions", item) for item in dict.fromkeys(self.decisions)
        ]

    def called(self, lost: Lost) -> Lost:
        """Return a row's name in an answer."""
        table, which = lost
        mapped, key = self.mapping_table
        if table == mapped:
            return table, f"user_group_id={which[0]}, {key}={which[1]}"
        if table == "view_decisions":
            names = ("user_id", "object_name", "decision")
            pairs = zip(names, which, strict=True)
            return table, ", ".join(f"{name}={value}" for name, value in pairs)
        return lost

    # -- the question -------------------------------------------------------------

    def asked(self) -> Asked:
        """Return the question over this world."""
        database, case = Database(), self.case
        staging = load_world(database, self.world)
        load_case(database, case)
        roles = [
            (user, group, name if name not in GLOBAL_ROLES else None)
            for user, held in case.groups.items()
            for group in held
            for name in [staging.live("user_groups")[group]["name"]]
        ]
        roles += [
            (user, None, name)
            for user, held in case.users.items()
            for name in held & set(GLOBAL_ROLES)
            if user in Rights(staging).global_roles[name]
        ]
        columns = ("user_id", "user_group_id", "role_name")
        database.table("vw_secure_user_roles", columns, roles)
        database.table(
            "view_decisions", NO_ROWS["view_decisions"], list(self.decisions)
        )
        asked = asked_of_case(database, case, self.document())
        gates, ends = [], []
        for dataset in case.datasets:
            if dataset.is_authorized:
                view = f"vw_secure_dataset_{dataset.name}"
                for link in self.chain(dataset.name):
                    gates.append([view, str(self.owner), self.reads(link)])
                ends.append([view, "all_runs"])
        asked._called["view_references"] = lambda: {"gates": gates, "tables": ends}
        # The teams are the reports of the same id.
        documented = {"teams": {"team_id": {"refers_to": "stg_reports"}}}
        asked._called["documented_columns"] = lambda: documented
        return asked.over(self.world)

    def document(self) -> str:
        """Return the config, whose tier names the right behind it."""
        config = json.loads(document(self.case))
        right = {"object_type": "Project", "permission": "Project Member"}
        config["tiers"]["team"]["right"] = right
        # YAML knows no surrogates: what JSON writes as two of them stands as it is.
        pairs = r"\\ud[89ab]..\\ud[c-f].."
        text = json.dumps(config)
        return re.sub(pairs, lambda pair: json.loads(f'"{pair[0]}"'), text)


def policy_world(seed: int) -> PolicyWorld:
    """Return the world of a seed with its policies."""
    chance = random.Random(f"policies over the world {seed}")
    whole = random_world(seed)
    world = {table: whole[table] if table in READ else [] for table in whole}
    staging, made = stage(world), random_case(2 * seed)
    groups, users = staging.live("user_groups"), sorted(staging.live("users"))
    names = sorted({name for row in groups.values() if (name := row["name"])})
    # Each role is that of the groups of one name; one is global.
    chance.shuffle(names)
    named = [*[*names, "A", "B", "C"][:3], "Global Admin"]
    chance.shuffle(named)
    known = dict(zip(ROLES, named, strict=True))
    runs = made.datasets[0]
    may_be_for_all = runs.is_authorized or made.of("runs")[0]
    runs.is_for_everyone = bool(seed % 3 == 1 and may_be_for_all)
    made.policies = [
        replace(policy, role=known.get(policy.role, policy.role))
        for policy in made.policies
    ]
    tests = [
        (key, row["project_id"])
        for key, row in staging.live("tests").items()
        if row["project_id"] in staging.live("projects")
    ]
    rows = [
        {
            "run_id": key,
            "team_id": project,
            "unit": chance.choice(UNITS),
            "result": chance.choice(RESULTS),
            "amount": chance.choice([None, *range(6)]),
        }
        for key, project in tests
    ]
    teams = {
        key: {
            "team_id": key,
            "team_name": chance.choice(["North", "South"]),
            "business_unit": chance.choice(UNITS[:2]),
            "unit_head": chance.choice(["Rita", "Finn", None]),
            "division": chance.choice(["Front", "Back"]),
        }
        for key in staging.live("reports")
    }
    is_of_users = made.security and made.security.id_type in ("user", "username")
    holders = users if is_of_users else sorted(groups)
    mapping = [
        (chance.choice(holders), chance.choice(UNITS[:2]))
        for _ in range(len(holders) if holders else 0)
    ]
    if made.security and made.security.is_of_runs:
        keys = random.Random(f"keys of the runs of {seed}")
        projects = sorted({row["team_id"] for row in rows}) or [0]
        mapping = [(holder, keys.choice(projects)) for holder, _ in mapping]
    objects = [f"vw_secure_dataset_{d.name}" for d in made.datasets if d.is_authorized]
    owner = chance.choice(users) if users else 0
    kinds = [*STRICTNESS, *["Allow"] * 6]
    decisions = [
        (user, name, chance.choice(kinds))
        for user in users
        for name in [*objects, "all_runs"]
        for _ in range(chance.choice([0, 1, 1, 1, 2]))
    ]
    decisions = [d for d in decisions if d[0] != owner]
    decisions += [(owner, name, "Allow") for name in [*objects, "all_runs"]]
    return PolicyWorld(seed, world, decisions, mapping, owner, made, rows, teams)


def keys_of(dataset: Dataset) -> list[str]:
    """Return the key of a row in a question about a dataset."""
    if not dataset.is_query:
        return ["run_id"]
    return [column for column in dataset.columns if column != "total"]


def seen_by(case: Case, name: str, user: int) -> Counter:
    """Return the keys of the rows that a user sees of a dataset."""
    dataset = next(d for d in case.datasets if d.name == name)
    keys = (
        [c for c in dataset.columns if c != "total"] if dataset.is_query else ["run_id"]
    )
    if user not in case.users:
        return Counter()
    rows = case.seen(dataset, user)
    return Counter(tuple(row[key] for key in keys) for row in rows)
