"""Small random worlds with random policies, and the config that declares them."""

from __future__ import annotations

import random
from typing import Any

import yaml
from policies_evaluator import LIST, Case, Dataset, Expression, Policy, sql

COLUMNS = {
    "run_id": "bigint",
    "team_id": "bigint",
    "unit": "string",
    "result": "string",
    "amount": "bigint",
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
        Dataset("runs", list(COLUMNS), is_for_everyone=chance.random() < 0.2),
    ]
    if chance.random() < 0.5:
        columns = ["run_id", "amount", "unit", "result"]
        datasets.append(Dataset("notes", columns, below="runs"))
    return Case(
        rows=rows,
        members={
            (team, user)
            for team in (10, 20, 30)
            for user in USERS
            if chance.random() < 0.7
        },
        users={user: set(chance.sample(ROLES, chance.randint(0, 3))) for user in USERS},
        listed=chance.sample(UNITS, chance.randint(0, 3)),
        datasets=datasets,
        policies=random_policies(chance, datasets),
    )


def written(policy: Policy) -> dict[str, Any]:
    """Return a policy as the config has it."""
    if policy.column is None:
        entry = {"role": policy.role, "resource": policy.dataset}
    else:
        entry = {
            "role": policy.role,
            "resource": f"{policy.dataset}.{policy.column}",
            "mask": sql(policy.mask),
            "mask_order": policy.mask_order,
            "mask_on_null": policy.mask_on_null,
        }
    if policy.condition is not None:
        entry["condition"] = sql(policy.condition)
    return entry


def document(case: Case) -> str:
    """Return the config of a case."""
    datasets = {}
    for dataset in case.datasets:
        entry: dict[str, Any] = {
            "base": "all_runs",
            "columns": dataset.columns,
            "unique_key": ["run_id"],
        }
        if dataset.below:
            entry["base"] = f"vw_secure_dataset_{dataset.below}"
        elif dataset.is_for_everyone:
            entry["visible_to"] = "everyone"
        else:
            entry |= {"tier": "team", "keys": {"team_id": "team_id"}}
        datasets[dataset.name] = entry
    tiers = {
        "team": {"access_view": "access", "object_keys": ["team_id"], "carries": []}
    }
    config = {"tiers": tiers, "datasets": datasets}
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
            "user_id bigint, role_name string",
            [(user, role) for user, roles in case.users.items() for role in roles],
        ),
        "stg_users": (
            "user_id bigint, is_live boolean",
            [(user, True) for user in case.users],
        ),
        LIST: ("unit string", [(unit,) for unit in case.listed]),
    }
