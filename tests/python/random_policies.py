"""Small random worlds with random policies, and the config that declares them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import yaml
from policies_evaluator import (
    LEVEL_OF,
    LIST,
    Case,
    Dataset,
    Expression,
    Policy,
    RowSecurity,
    sql,
)

COLUMNS = {
    "run_id": "bigint",
    "team_id": "bigint",
    "unit": "string",
    "result": "string",
    "amount": "bigint",
}
TEAM_COLUMNS = {"team_id": "bigint"} | dict.fromkeys(LEVEL_OF, "string")
GROUPS = [7, 8, 9]
# The dimensions and measures of the queries that a case may have.
QUERIES = {
    "units": ["business_unit"],
    "divisions": ["division"],
    "unit_results": ["business_unit", "result"],
    "total_by_unit": ["business_unit", "total"],
    "total_by_head": ["unit_head", "total"],
    "total_by_team": ["team_name", "total"],
    "total_by_division": ["division", "total"],
    "total_by_result": ["result", "total"],
    "grand_total": ["total"],
}
UNITS = ["X", "Y", "Z", None]
RESULTS = ["Failed", "Passed", None]
ROLES = ["A", "B", "C", "it's D"]
USERS = [1, 2, 3, 4]


def random_condition(
    chance: random.Random, depth: int = 2, may_ask_the_list: bool = True
) -> Expression:
    """Return a random predicate over the rows, with one subquery at most."""
    if depth and chance.random() < 0.6:
        kind = chance.choice(["and", "or", "or", "not"])
        left = random_condition(chance, depth - 1, may_ask_the_list)
        if kind == "not":
            return (kind, left)
        return (kind, left, random_condition(chance, depth - 1, False))
    unit, amount = ("column", "unit"), ("column", "amount")
    asks = [("in list", unit), ("not in list", unit)] if may_ask_the_list else []
    return chance.choice(
        [
            ("=", unit, ("text", chance.choice("XYZ"))),
            ("=", ("column", "result"), ("text", chance.choice(RESULTS[:2]))),
            ("<", amount, ("number", chance.randint(0, 5))),
            ("<", ("number", chance.randint(0, 5)), amount),
            ("is null", chance.choice([unit, amount])),
            ("null",),
            *asks,
        ]
    )


def random_policies(chance: random.Random, datasets: list[Dataset]) -> list[Policy]:
    """Return random conditions and masks on the datasets."""
    policies = []
    for dataset in datasets:
        if dataset.is_query:
            continue
        must = dataset.is_for_everyone
        for role in chance.sample(ROLES, chance.choice([1, 2] if must else [0, 1, 3])):
            condition = random_condition(chance) if chance.random() < 0.9 else None
            policies.append(Policy(role, dataset.name, condition=condition))
        for column, masks in {
            "amount": [("number", 1111), ("column", "run_id"), ("null",)],
            "unit": [("text", "*"), ("column", "result"), ("null",)],
        }.items():
            orders = chance.sample(range(-1, 3), chance.choice([0, 0, 1, 2]))
            policies += [
                Policy(
                    role=chance.choice(ROLES),
                    dataset=dataset.name,
                    column=column,
                    condition=random_condition(chance)
                    if chance.random() < 0.8
                    else None,
                    mask=chance.choice(masks),
                    mask_order=order,
                    mask_on_null=chance.choice(["mask", "pass"]),
                )
                for order in orders
            ]
    chance.shuffle(policies)
    return policies


def with_exceptions(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the masks be for everybody but one or two roles.

    It has a chance of its own, so that a seed's other parts are what they were.
    """
    chance = random.Random(f"exceptions of {seed}")
    return [
        replace(
            policy,
            role=None,
            excepted=tuple(chance.sample([*ROLES, "Nobody's"], chance.choice([1, 2]))),
        )
        if policy.column and chance.random() < 0.5
        else policy
        for policy in policies
    ]


def random_security(seed: int, chance: random.Random) -> RowSecurity | None:
    """Return a random security object, or none in a fifth of the cases."""
    if seed % 5 == 0:
        return None
    return RowSecurity(
        scope=["related", "fact", "all"][seed % 3],
        secure_totals=chance.random() < 0.5,
        use_filter_key=chance.random() < 0.5,
    )


def random_case(seed: int) -> Case:
    """Return the case of a seed."""
    chance = random.Random(seed)
    rows = [
        {
            "run_id": run_id,
            "team_id": chance.choice([10, 20, 30, None]),
            "unit": chance.choice(UNITS),
            "result": chance.choice(RESULTS),
            "amount": chance.choice([None, *range(6)]),
        }
        for run_id in range(1, 13)
    ]
    datasets = [
        Dataset("runs", list(COLUMNS), is_for_everyone=seed % 6 == 1),
    ]
    if chance.random() < 0.5:
        columns = ["run_id", "amount", "unit", "result"]
        datasets.append(Dataset("notes", columns, below="runs"))
    for name in chance.sample(list(QUERIES), 2):
        datasets.append(Dataset(name, QUERIES[name], is_query=True))
    outcomes = random_outcomes(seed, datasets)
    return Case(
        rows=rows,
        teams=[
            {
                "team_id": team,
                "team_name": chance.choice(["North", "South"]),
                "business_unit": chance.choice(UNITS),
                "unit_head": chance.choice(["Rita", "Finn", None]),
                "division": chance.choice(["Front", "Back"]),
            }
            for team in chance.sample([10, 20, 30], chance.randint(1, 3))
        ],
        # With keys that are there twice, and keys that are null.
        mapping=[
            (chance.choice(GROUPS), chance.choice(UNITS))
            for _ in range(chance.randint(0, 6))
        ],
        groups={
            user: set(chance.sample(GROUPS, chance.randint(0, 2))) for user in USERS
        },
        security=random_security(seed, chance),
        members={
            (team, user)
            for team in (10, 20, 30)
            for user in USERS
            if chance.random() < 0.7
        },
        users={user: set(chance.sample(ROLES, chance.randint(0, 3))) for user in USERS},
        listed=chance.sample(UNITS, chance.randint(0, 3)),
        datasets=datasets,
        policies=with_exceptions(seed, random_policies(chance, datasets)),
        outcomes=outcomes,
    )


def random_outcomes(seed: int, datasets: list[Dataset]) -> dict[tuple[str, int], str]:
    """Put some datasets under view authorization; return who gets what of these.

    It has a chance of its own, so that a seed's other parts are what they were.
    """
    chance = random.Random(f"views of {seed}")
    authorized: list[str] = []
    for dataset in datasets:
        may_be = dataset.below is None or dataset.below in authorized
        if may_be and chance.random() < (0.25 if dataset.is_query else 0.5):
            dataset.is_authorized = True
            authorized.append(dataset.name)
    return {
        (name, user): chance.choice(["Allow", "Transform", "Deny"])
        for name in authorized
        for user in USERS
        if chance.random() < 0.85
    }


def written(policy: Policy) -> dict[str, Any]:
    """Return a policy as the config has it."""
    if policy.column is None:
        entry = {"role": policy.role, "resource": policy.dataset}
    else:
        whom = {"role": policy.role} if policy.role else {}
        entry = whom or {"except": list(policy.excepted)}
        entry |= {
            "resource": f"{policy.dataset}.{policy.column}",
            "mask": sql(policy.mask),
            "mask_order": policy.mask_order,
            "mask_on_null": policy.mask_on_null,
        }
    if policy.condition is not None:
        entry["condition"] = sql(policy.condition, is_whole=True)
    return entry


def query(dataset: Dataset) -> dict[str, Any]:
    """Return a query as the config has it."""
    dimensions = {
        name: f"{'teams' if name in LEVEL_OF else 'all_runs'}.{name}"
        for name in dataset.columns
        if name != "total"
    }
    measures = {"total": "sum(all_runs.amount)"} if "total" in dataset.columns else {}
    return {
        "columns": dataset.columns,
        "unique_key": list(dimensions),
        "visible_to": "everyone",
        "query": {"dimensions": dimensions, "measures": measures},
    }


def star(case: Case) -> dict[str, Any]:
    """Return the relations, the security object and the relationships of a case."""
    levels = [
        ["team_id", "team_name"],
        ["business_unit", "unit_head"],
        ["division"],
    ]
    mapping = {"user_group_id": "bigint", "unit": "string"}
    links = [
        {
            "from": {"dataset": "all_runs", "join_columns": ["team_id"]},
            "to": {"dataset": "teams"},
        }
    ]
    objects = []
    if case.security:
        links.append(
            {
                "from": {"dataset": "teams", "join_columns": ["business_unit"]},
                "to": {"row_security": "units"},
            }
        )
        objects.append(
            {
                "unique_name": "units",
                "object_type": "row_security",
                "label": "Business units",
                "dataset": "group_units",
                "filter_key_column": "unit",
                "ids_column": "user_group_id",
                "id_type": "group",
                "scope": case.security.scope,
                "secure_totals": case.security.secure_totals,
                "use_filter_key": case.security.use_filter_key,
            }
        )
    return {
        "relations": {
            "all_runs": {"kind": "fact", "columns": COLUMNS},
            "teams": {"kind": "dimension", "columns": TEAM_COLUMNS, "levels": levels},
            "group_units": {"kind": "mapping", "columns": mapping},
        },
        "row_security": objects,
        "relationships": links,
    }


def document(case: Case) -> str:
    """Return the config of a case."""
    datasets = {}
    for dataset in case.datasets:
        entry: dict[str, Any] = {
            "base": "all_runs",
            "columns": dataset.columns,
            "unique_key": ["run_id"],
        }
        if dataset.is_query:
            entry = query(dataset)
        elif dataset.below:
            entry["base"] = f"vw_secure_dataset_{dataset.below}"
        elif dataset.is_for_everyone:
            entry["visible_to"] = "everyone"
        else:
            entry |= {"tier": "team", "keys": {"team_id": "team_id"}}
        if dataset.is_authorized:
            entry["view_authorization"] = True
        datasets[dataset.name] = entry
    tiers = {
        "team": {"access_view": "access", "object_keys": ["team_id"], "carries": []}
    }
    config = {"tiers": tiers, "datasets": datasets, **star(case)}
    if case.policies:
        config["policies"] = [written(policy) for policy in case.policies]
    return yaml.safe_dump(config, sort_keys=False, width=1000)


def tables(case: Case) -> dict[str, tuple[str, list[tuple]]]:
    """Return the tables of a case: the schema and the rows of each."""
    return {
        "all_runs": (
            ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()),
            [tuple(row.values()) for row in case.rows],
        ),
        "access": ("team_id bigint, user_id bigint", sorted(case.members)),
        "vw_secure_user_roles": (
            "user_id bigint, user_group_id bigint, role_name string",
            [(user, None, role) for user in USERS for role in sorted(case.users[user])]
            + [(user, group, None) for user in USERS for group in case.groups[user]],
        ),
        "user_role_names": (
            "user_id bigint, role_names array<string>",
            [(user, sorted(case.users[user])) for user in USERS if case.users[user]],
        ),
        "teams": (
            ", ".join(f"{name} {kind}" for name, kind in TEAM_COLUMNS.items()),
            [tuple(team.values()) for team in case.teams],
        ),
        "group_units": ("user_group_id bigint, unit string", case.mapping),
        "stg_users": (
            "user_id bigint, is_live boolean",
            [(user, True) for user in case.users],
        ),
        "view_outcomes": (
            "user_id bigint, view_name string, outcome string",
            [
                (user, f"vw_secure_dataset_{name}", outcome)
                for (name, user), outcome in case.outcomes.items()
            ],
        ),
        LIST: ("unit string", [(unit,) for unit in case.listed]),
    }
