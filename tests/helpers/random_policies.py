"""Small random worlds with random policies, and the config that declares them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any, get_args

from oracle.policies import (
    JINJA,
    LEVEL_OF,
    LIST,
    Case,
    Dataset,
    Expression,
    Policy,
    RowSecurity,
    reads_teams_alone,
    sql,
)
from pydantic import BaseModel, TypeAdapter, ValidationError
from rendering import TAGS

from secure_datasets.config import schema

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
# A user who is not live, in some of the cases.
GONE = 5
# Texts that SQL, YAML, Jinja, Spark's variables or indentation could change.
ODD_TEXTS = [
    "a\nb", "a\r\n  b", "${v}", "$${v}", "{{ v }}", "{% v %}", "{# v #}", "-- v",
    "/* v", "it's", "''", '"', "a\\nb", "\\", "a;", "\u2028", "a\x85b",
    "\u00c4", "%s", "`v`",
    "\t", "\\u0041", "r'v'", "null", "010", "yes", " v ",
]  # fmt: skip
# Roles that some comparisons take for equal, and SQL does not.
ALIKE_ROLES = [
    ["\u017fales", "Sales", "sales", "SALES"],
    ["i", "I", "\u0130", "\u0131"],
    ["it's A", 'it"s A', "it`s A", "its A"],
    ["${v}", "v", "a\nb", "a b"],
    ["{{ v }}", "\\", "\\\\", "'"],
]


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
                    mask_on_null=chance.choice(choices(schema.Policy, "mask_on_null")),
                )
                for order in orders
            ]
    chance.shuffle(policies)
    return policies


def with_exceptions(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the masks be for everybody but one or two roles.

    It has its own random numbers, so that a seed's further parts stay the same.
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


def with_checks(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the conditions set whether written rows are checked."""
    chance = random.Random(f"checks of {seed}")
    return [
        replace(policy, check=chance.choice([True, False, None]))
        if policy.column is None
        else policy
        for policy in policies
    ]


def with_groups(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the roles be groups by their ids, one of which nobody is in.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"groups of {seed}")
    taken: set[tuple[str, int]] = set()
    made = []
    for policy in policies:
        group = chance.choice([*GROUPS, 99])
        if chance.random() < 0.3 and (policy.dataset, group) not in taken:
            # A dataset has one condition for each role.
            taken |= set() if policy.column else {(policy.dataset, group)}
            if policy.role is not None:
                policy = replace(policy, role=group)
            else:
                policy = replace(policy, excepted=(*policy.excepted[:1], group))
        made.append(policy)
    return made


def with_restrictions(
    seed: int, datasets: list[Dataset], policies: list[Policy]
) -> list[Policy]:
    """Let some of the conditions be for everybody, and add restrictive ones.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"restrictions of {seed}")
    both = random.Random(f"both kinds of {seed}")
    made = [
        replace(policy, is_restrictive=chance.choice([None, False]))
        if policy.column is None
        else policy
        for policy in policies
    ]
    for dataset in (dataset for dataset in datasets if not dataset.is_query):
        own = [p for p in made if p.dataset == dataset.name and p.column is None]
        # What several conditions show, a restrictive one hides from each of them.
        has_both = not dataset.below and both.random() < 0.4
        if own and chance.random() < 0.2:
            first = replace(own[0], role="*")
            made[made.index(own[0])] = own[0] = first
        free = [role for role in ROLES if role not in {p.role for p in own}]
        for role in both.sample(free, max(0, 2 - len(own))) if has_both else ():
            condition = random_condition(both) if both.random() < 0.8 else None
            made.append(Policy(role, dataset.name, condition=condition))
        if has_both:
            condition = ("or", ("is null", ("column", "unit")), random_condition(both))
            role = both.choice(["*", "*", *ROLES])
            made.append(
                Policy(role, dataset.name, condition=condition, is_restrictive=True)
            )
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            role = chance.choice([*ROLES, *GROUPS, "*", None, None])
            excepted = chance.sample(
                [*ROLES, *GROUPS, "Nobody's"], chance.choice([1, 2])
            )
            condition = random_condition(chance)
            condition = chance.choice(
                [
                    ("not", ("true",)),
                    *[("or", ("is null", ("column", "unit")), condition)] * 5,
                ]
            )
            made.append(
                Policy(
                    role,
                    dataset.name,
                    condition=condition,
                    excepted=() if role else tuple(excepted),
                    is_restrictive=True,
                    check=chance.choice([True, False, None]),
                )
            )
    chance.shuffle(made)
    return made


def with_lines(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the masks say to whom they show which values.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"lines of {seed}")
    return [
        replace(
            policy,
            role=None,
            excepted=(),
            condition=None,
            shown_to=tuple(
                (role, random_condition(chance) if chance.random() < 0.7 else None)
                for role in chance.sample(
                    [*ROLES, *GROUPS, "*"], chance.choice([1, 2, 3])
                )
            ),
        )
        if policy.column and chance.random() < 0.3
        else policy
        for policy in policies
    ]


def with_attributes(seed: int, case: Case) -> None:
    """Give the users attributes, which some of the policies read.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"attributes of {seed}")
    case.staff = [
        (user, {"unit": chance.choice(UNITS), "grade": chance.choice([None, 1, 4])})
        for user in case.users
        for _ in range(chance.choice([0, 1, 1, 2]))
    ]

    def asked(condition: Expression | None) -> Expression | None:
        if chance.random() > 0.4:
            return condition
        own = chance.choice(
            [
                ("=", ("column", "unit"), ("reader", "unit")),
                ("<", ("reader", "grade"), ("column", "amount")),
                ("=", ("reader", "unit"), ("text", chance.choice("XYZ"))),
            ]
        )
        kind = chance.choice(["", "", "not", "and", "or"])
        if kind in ("and", "or"):
            return (kind, own, random_condition(chance, may_ask_the_list=False))
        return (kind, own) if kind else own

    case.policies = [
        replace(
            policy,
            condition=policy.condition if policy.shown_to else asked(policy.condition),
            shown_to=tuple((role, asked(where)) for role, where in policy.shown_to),
        )
        for policy in case.policies
    ]


# Around the moment at which the users of a case read, which one of them is.
BEGINNINGS = [
    *("2020-01-01", "2026-05-01", "2026-05-01 12:00:00"),
    *("2026-05-01 12:00:00.000001", "2026-05-02", "2999-01-01"),
]
ENDS = [
    *("2026-04-30", "2026-05-01 11:59:59", "2026-05-01 12:00:00"),
    *("2026-05-01 12:00:00.000001", "2026-05-01", "9999-12-31"),
]


def with_times(seed: int, policies: list[Policy]) -> list[Policy]:
    """Let some of the policies begin and end.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"times of {seed}")
    made = []
    for policy in policies:
        begins = chance.choice([None, None, *BEGINNINGS])
        ends = chance.choice([None, None, *ENDS])
        if chance.random() < 0.4 and not (begins and ends and begins >= ends):
            policy = replace(policy, valid_from=begins, valid_until=ends)
        made.append(policy)
    return made


def with_tags(seed: int, case: Case) -> None:
    """Let some of the masks be on a tag; their order is one that no column's mask has.

    A total of tagged amounts would need a mask of its own, and has none. It has a
    chance of its own, so that a seed's other parts are what they were.
    """
    chance = random.Random(f"tags of {seed}")
    case.tags, case.types = TAGS["all_runs"], COLUMNS
    has_total = any("total" in dataset.columns for dataset in case.datasets)
    for order, tag in enumerate(
        ["place"] if has_total else ["place", "money", "audited"]
    ):
        if chance.random() < 0.6:
            continue
        masks = chance.choice(
            [
                [("string", ("text", "*")), ("default", ("null",))],
                [("bigint", ("number", 7)), ("string", ("column", "result"))],
                [("default", ("null",))],
            ]
        )
        condition = ("<", ("number", chance.randint(0, 9)), ("column", "run_id"))
        excepted = tuple(chance.sample([*ROLES, "Nobody's"], chance.choice([1, 2])))
        policy = Policy(
            chance.choice([None, *ROLES]), "", "",
            condition=chance.choice([None, condition]),
            mask=tuple(masks),
            mask_order=chance.choice([-9, 9]) + order,
            mask_on_null=chance.choice(choices(schema.Policy, "mask_on_null")),
            excepted=excepted,
            tag=tag,
        )  # fmt: skip
        case.policies.append(policy)


def choices(model: type[BaseModel], key: str) -> list[Any]:
    """Return the values that the schema lets a key have; of a flag, true and false."""
    annotation = model.model_fields[key].annotation
    return [True, False] if annotation is bool else list(get_args(annotation))


def random_security(seed: int, chance: random.Random) -> RowSecurity | None:
    """Return a random security object, or none in a fifth of the cases."""
    if seed % 5 == 0:
        return None
    scopes = choices(schema.RowSecurity, "scope")
    made = RowSecurity(
        scope=scopes[seed % len(scopes)],
        secure_totals=chance.random() < 0.5,
        use_filter_key=chance.random() < 0.5,
    )
    # Its own random numbers, so that a seed's further parts stay the same.
    chance = random.Random(f"names and ids of the object of {seed}")
    lines = taken_by(schema.Line)
    return replace(
        made,
        id_type=chance.choice(choices(schema.RowSecurity, "id_type")),
        unique_name=chance.choice(["units", "Country Security Filter", *lines]),
        label=chance.choice(["Business units", *lines]),
        description=chance.choice([None, *taken_by(schema.Text)]),
        **place_of_key(seed),
    )


def place_of_key(seed: int) -> dict[str, bool]:
    """Return the place of an object's key: on the runs, and at one of the levels."""
    chance = random.Random(f"place of the key of {seed}")
    return {"is_of_runs": chance.random() < 0.4, "has_level": chance.random() < 0.7}


def taken_by(kind: Any) -> list[str]:
    """Return the odd texts that the schema takes for a kind of text."""
    found = []
    for text in ODD_TEXTS:
        try:
            TypeAdapter(kind).validate_python(text)
        except ValidationError:
            continue
        found.append(text)
    return found


def with_options(seed: int, datasets: list[Dataset]) -> None:
    """Let some datasets state a default."""
    chance = random.Random(f"options of {seed}")
    for dataset in datasets:
        if not dataset.is_authorized and chance.random() < 0.3:
            dataset.options["view_authorization"] = False
        reads_fact = dataset.is_query and not reads_teams_alone(dataset.columns)
        if reads_fact and chance.random() < 0.5:
            dataset.options["fact"] = "all_runs"


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
    case = Case(
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
    case.policies = with_checks(seed, case.policies)
    with_options(seed, datasets)
    case.policies = with_groups(seed, case.policies)
    case.policies = with_restrictions(seed, datasets, case.policies)
    case.policies = with_lines(seed, case.policies)
    case.policies = with_times(seed, case.policies)
    with_attributes(seed, case)
    with_tags(seed, case)
    if case.security and case.security.id_type in ("user", "username"):
        ids = random.Random(f"ids of users of {seed}")
        case.mapping = [(ids.choice(USERS), unit) for _, unit in case.mapping]
    if case.security and case.security.is_of_runs:
        keys = random.Random(f"teams of the object of {seed}")
        teams = [10, 20, 30, None]
        case.mapping = [(holder, keys.choice(teams)) for holder, _ in case.mapping]
    with_a_user_who_is_gone(seed, case)
    return spelled_oddly(case, seed) if seed % 2 else case


def with_a_user_who_is_gone(seed: int, case: Case) -> None:
    """Let some cases have a user who is not live, of whom keys and attributes remain.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"who is gone of {seed}")
    if chance.random() < 0.5:
        return
    case.gone = [GONE]
    case.staff += [(GONE, {"unit": chance.choice(UNITS[:3]), "grade": 1})]
    if case.security and case.security.id_type in ("user", "username"):
        case.mapping += [(GONE, key) for _, key in case.mapping[:2]]


def spelled_oddly(case: Case, seed: int) -> Case:
    """Give the units and roles of a case odd names; whatever else it says stays.

    It has its own random numbers, so that a seed's further parts stay the same.
    """
    chance = random.Random(f"names of {seed}")
    units = dict(zip("XYZ", chance.sample(ODD_TEXTS, 3), strict=True))
    roles = dict(zip(ROLES, chance.choice(ALIKE_ROLES), strict=True))

    def odd(value: Any) -> Any:
        if isinstance(value, str):
            return units.get(value, value)
        if isinstance(value, dict):
            return {name: odd(item) for name, item in value.items()}
        return (
            type(value)(map(odd, value)) if isinstance(value, list | tuple) else value
        )

    case.rows, case.teams = odd(case.rows), odd(case.teams)
    case.mapping, case.listed = odd(case.mapping), odd(case.listed)
    case.staff = odd(case.staff)
    case.users = {
        user: {roles[role] for role in held} for user, held in case.users.items()
    }
    case.policies = [
        replace(
            policy,
            role=roles.get(policy.role, policy.role),
            excepted=tuple(roles.get(each, each) for each in policy.excepted),
            shown_to=tuple(
                (roles.get(role, role), odd(where)) for role, where in policy.shown_to
            ),
            condition=odd(policy.condition),
            mask=odd(policy.mask),
        )
        for policy in case.policies
    ]
    return case


def random_outcomes(seed: int, datasets: list[Dataset]) -> dict[tuple[str, int], str]:
    """Put some datasets under view authorization; return who gets what of these.

    It has its own random numbers, so that a seed's further parts stay the same.
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


def in_braces(text: str) -> str:
    """Write a text so that Jinja leaves it as it is."""
    return JINJA.sub(lambda found: "{{ '" + found[0] + "' }}", text)


def role_written(role: str | int) -> str | dict[str, int]:
    """Write a role as the config has it."""
    return {"group": role} if isinstance(role, int) else in_braces(role)


def written(policy: Policy) -> dict[str, Any]:
    """Return a policy as the config has it."""
    entry: dict[str, Any] = {"resource": policy.dataset}
    if policy.role:
        entry["role"] = role_written(policy.role)
    elif policy.shown_to:
        entry["shown_to"] = [
            {"role": role_written(role)}
            | ({"where": sql(where, is_whole=True)} if where else {})
            for role, where in policy.shown_to
        ]
    else:
        entry["except"] = [role_written(each) for each in policy.excepted]
    if policy.column is not None:
        entry |= {
            "resource": f"{policy.dataset}.{policy.column}",
            "mask": sql(policy.mask)
            if policy.tag is None
            else {kind: sql(mask) for kind, mask in policy.mask},
            "mask_order": policy.mask_order,
        }
        if policy.tag is not None:
            entry["resource"] = {"tag": policy.tag}
        if not policy.shown_to:
            entry["mask_on_null"] = policy.mask_on_null
    elif policy.is_restrictive is not None:
        entry["as"] = "restrictive" if policy.is_restrictive else "permissive"
    for key in ("valid_from", "valid_until"):
        if (moment := getattr(policy, key)) is not None:
            entry[key] = moment
    if policy.check is not None:
        entry["check"] = policy.check
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
        "query": {"dimensions": dimensions, "measures": measures}
        | {key: value for key, value in dataset.options.items() if key == "fact"},
    }


def star(case: Case) -> dict[str, Any]:
    """Return the relations, the security object and the relationships of a case."""
    levels = [
        ["team_id", "team_name"],
        ["business_unit", "unit_head"],
        ["division"],
    ]
    mapping, key, secured = "group_units", "unit", ("teams", "business_unit")
    if case.security and case.security.is_of_runs:
        mapping, key, secured = "group_teams", "team_id", ("all_runs", "team_id")
    if case.security and not case.security.has_level:
        levels = [[name for name in level if name != secured[1]] for level in levels]
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
                "from": {"dataset": secured[0], "join_columns": [secured[1]]},
                "to": {"row_security": in_braces(case.security.unique_name)},
            }
        )
        objects.append(
            {
                "unique_name": in_braces(case.security.unique_name),
                "object_type": "row_security",
                "label": in_braces(case.security.label),
                "dataset": mapping,
                "filter_key_column": key,
                "ids_column": "user_group_id",
                "id_type": case.security.id_type,
                "scope": case.security.scope,
                "secure_totals": case.security.secure_totals,
                "use_filter_key": case.security.use_filter_key,
            }
        )
        if case.security.description:
            objects[0]["description"] = in_braces(case.security.description)
    return {
        "relations": {
            "all_runs": {"kind": "fact", "columns": COLUMNS},
            "teams": {"kind": "dimension", "columns": TEAM_COLUMNS, "levels": levels},
            "group_units": {
                "kind": "mapping",
                "columns": {"user_group_id": "bigint", "unit": "string"},
            },
            "group_teams": {
                "kind": "mapping",
                "columns": {"user_group_id": "bigint", "team_id": "bigint"},
            },
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
        if "view_authorization" in dataset.options:
            entry["view_authorization"] = dataset.options["view_authorization"]
        datasets[dataset.name] = entry
    tiers = {
        "team": {"access_view": "access", "object_keys": ["team_id"], "carries": []}
    }
    config = {"tiers": tiers, "datasets": datasets, **star(case)}
    config["reader"] = {"relation": "staff", "key": "user_id"}
    if case.policies:
        config["policies"] = [written(policy) for policy in case.policies]
    # As JSON, which is YAML, each text is one line.
    return json.dumps(config)


def tables(case: Case) -> dict[str, tuple[str, list[tuple]]]:
    """Return the tables of a case: the schema and the rows of each."""
    is_of_runs = case.security is not None and case.security.is_of_runs
    return {
        "all_runs": (
            ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()),
            [tuple(row.values()) for row in case.rows],
        ),
        "access": ("team_id bigint, user_id bigint", sorted(case.members)),
        "vw_secure_user_roles": (
            "user_id bigint, user_group_id bigint, role_name string",
            [
                (user, None, role)
                for user in case.users
                for role in sorted(case.users[user])
            ]
            + [
                (user, group, None)
                for user in case.users
                for group in case.groups[user]
            ],
        ),
        "user_role_names": (
            "user_id bigint, role_names array<string>, user_group_ids array<bigint>",
            [
                (user, sorted(case.users[user]), sorted(case.groups[user]))
                for user in case.users
                if case.users[user] or case.groups[user]
            ],
        ),
        "teams": (
            ", ".join(f"{name} {kind}" for name, kind in TEAM_COLUMNS.items()),
            [tuple(team.values()) for team in case.teams],
        ),
        "group_units": (
            "user_group_id bigint, unit string",
            [] if is_of_runs else case.mapping,
        ),
        "group_teams": (
            "user_group_id bigint, team_id bigint",
            case.mapping if is_of_runs else [],
        ),
        "stg_users": (
            "user_id bigint, is_live boolean",
            [(user, user not in case.gone) for user in [*case.users, *case.gone]],
        ),
        "view_outcomes": (
            "user_id bigint, view_name string, outcome string",
            [
                (user, f"vw_secure_dataset_{name}", outcome)
                for (name, user), outcome in case.outcomes.items()
            ],
        ),
        "staff": (
            "user_id bigint, unit string, grade bigint",
            [(user, *attributes.values()) for user, attributes in case.staff],
        ),
        LIST: ("unit string", [(unit,) for unit in case.listed]),
    }
