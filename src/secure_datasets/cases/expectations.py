"""E2, E3: the query of a data test for false expectations in `expected_access`.

With the checks for void expectations, and the text of each finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from secure_datasets.config import plan
from secure_datasets.render.by_exists import ByExists, Macros
from secure_datasets.render.staging.reading import ascii_lower
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import listed, named_keys, same, union

Config = dict[str, Any]
Ref = Callable[[str], Any]
SEES, SEES_NOT, MASKED = "sees", "does not see", "masked:"
# The columns of a finding from its expectation; the user and the finding follow.
SAID = ("called", "resource_type", "resource", "object", "expects", "reason")
RESOURCE = ("resource_type", "resource", "object")
SUBJECT = ("subject_type", "subject")
# The findings about users, in the order of the columns of the data test.
FOUND = ("called as subject", *SAID[1:5], "found", "user_id", "reason")
NOBODY = "cast(null as bigint)"
# The findings about users in an expectation, each with its condition.
WRONG = {
    "sees it": f"is_seen and expects = '{SEES_NOT}'",
    "does not see it": f"not is_seen and expects != '{SEES_NOT}'",
    "sees the value": "masked_column is not null and is_seen and not is_masked",
}
STRANGER = "sees it, and is in no expectation"
SHARED = "several have this name: name the one that is meant by its id"


def expected_access(
    adapter: Any,
    macros: Macros,
    ref: Ref,
    config: Config,
    tables: Mapping[str, Any],
    today: str,
) -> str:
    """Return the query: one row for each false or void expectation and user.

    A method that macros call.

    tables  the raw tables
    today   SQL for the day of judgement
    """
    rules = ByExists(macros, ref, config)
    # For each key, the raw table that it refers to.
    raw_of = {
        key: referred
        for table in tables.values()
        for key, referred in table["references"].items()
    }
    shown, there, masked = [], [], [NO_MASK]
    for name, dataset in config["datasets"].items():
        view, keys = ref(f"vw_secure_dataset_{name}"), dataset["unique_key"]
        about = {"dataset": name}
        shown.append(_expected(about, view, keys, "source.user_id"))
        there.append(_expected(about, f"({_all_rows(rules, name)})", keys))
        masked += _masked(name, keys, rules)
    for name, tier in config["tiers"].items():
        about, keys = {"tier": name}, tier["object_keys"]
        view = ref(tier["access_view"])
        shown.append(_expected(about, view, keys, "source.user_id"))
        raw = {key: raw_of[key] for key in keys if key in raw_of}
        ids = {
            key: (ref(f"stg_{table}"), tables[table]["key"])
            for key, table in raw.items()
        }
        is_of_raw = len(ids) == len(keys)
        there.append(_objects(name, ids) if is_of_raw else _expected(about, view, keys))
    ctes = {
        "expectations": _expectations(ref("expected_access")),
        "subjects": _subjects(ref("stg_users"), ref("vw_secure_user_roles")),
        "shown": union(shown),
        "masked": union(masked),
        "there": union(there),
        "judged": JUDGED,
        "findings": union([*_wrong(), _strangers(), *_void(config, today)]),
    }
    steps = ",\n\n".join(f"{name} as (\n{text}\n)" for name, text in ctes.items())
    return f"with {steps}\n\nselect distinct\n{listed(FOUND)}\nfrom findings"


def _all_rows(rules: ByExists, name: str) -> str:
    """Return all rows of the base or query at the end of a dataset's chain."""
    end = plan.chain_of(name, rules.config)[-1]
    entry = rules.config["datasets"][end]
    if "query" in entry:
        return rules.answers_of_users(end, per_user=False)
    return f"select * from {rules.ref(entry['base'])}"


def _users_of_masks(name: str) -> str:
    """Return the query for the users in expectations about a dataset's masks."""
    return (
        "select distinct subjects.user_id, true as is_live from subjects inner join"
        f" expectations on {same('subjects', 'expectations', SUBJECT)} where"
        f" expectations.dataset = {sql_text(name)}"
        " and expectations.masked_column is not null"
    )


def _texts(names: Iterable[str]) -> str:
    """Return names as a list of literals."""
    return ", ".join(map(sql_text, names)) or "''"


def _expectations(seed: Any) -> str:
    """Return the query for the lines of the seed, trimmed and with derived columns."""
    called = "coalesce(case when trim(dataset) is not null then 'dataset' end, 'tier')"
    return f"""select
    concat_ws(' ', subject_type, subject) as called,
    trim(subject_type) as subject_type,
    trim(subject) as subject,
    trim(dataset) as dataset,
    trim(tier) as tier,
    {called} as resource_type,
    coalesce(trim(dataset), trim(tier)) as resource,
    coalesce(trim(object), '') as object,
    trim(expects) as expects,
    case
        when startswith(trim(expects), '{MASKED}')
            then trim(substring(trim(expects), {len(MASKED) + 1}))
    end as masked_column,
    reason,
    expires_on
from {seed}"""


def _subjects(users: Any, roles: Any) -> str:
    """Return the query for the users of each subject, and for what bears its name.

    An id goes before a name, and a live user before one who is not: nobody becomes a
    subject by a login that is another's id.
    """
    login, asked = map(ascii_lower, ("source.login_name", "expectations.subject"))
    user, group = "source.user_id", "source.user_group_id"
    is_id, is_name = "expectations.subject = cast({} as string)", f"{asked} = {login}"
    is_role = "expectations.subject = source.role_name and source.user_group_id is "
    ways = (
        ("user", users, user, 1, is_id.format(user)),
        ("user", users, user, 2, is_name),
        ("group", roles, group, 1, is_id.format(group)),
        ("group", roles, group, 2, f"{is_role}not null"),
        ("role", roles, group, 2, f"{is_role}null"),
    )
    called = union(
        f"""select
{listed(SUBJECT, "expectations")},
    {user},
    {bearer} as bearer,
    {kind} as kind,
    {"source.is_live" if relation is users else "true"} as is_live
from expectations
inner join {relation} as source
    on {is_meant}
where expectations.subject_type = '{subject_type}'"""
        for subject_type, relation, bearer, kind, is_meant in ways
    )
    return f"""select distinct
{listed([*SUBJECT, "user_id", "bearer"])}
from (
    select
        *,
        rank() over (
            partition by subject_type, subject
            order by kind, case when is_live then 0 else 1 end
        ) as place
    from (
{called}
    ) as called
) as ranked
where place = 1"""


def _expected(
    about: Mapping[str, str], relation: Any, keys: Iterable[str], *more: str
) -> str:
    """Return the query for a relation's rows in expectations, with more columns."""
    ((kind, name),) = about.items()
    named = named_keys(keys, "source")
    columns = [
        f"'{kind}' as resource_type",
        f"'{name}' as resource",
        f"{named} as object",
    ]
    return f"""select
{listed([*columns, *more])}
from {relation} as source
left semi join expectations
    on
        expectations.resource_type = '{kind}'
        and expectations.resource = '{name}'
        and expectations.object = {named}"""


def _objects(name: str, ids: Mapping[str, tuple[Any, str]]) -> str:
    """Return the query for the existing expected objects of a tier.

    Each key of the tier is the id of a raw row.
    """
    joins: list[str] = []
    parts: list[str] = []
    for key, (relation, column) in ids.items():
        row = f"known_{len(joins)}"
        comma = ", " if parts else ""
        parts.append(f"'{comma}{key}=', cast({row}.{column} as string)")
        named = f"concat({', '.join(parts)}"
        is_it = f"expectations.object = {named})"
        if len(parts) < len(ids):
            is_it = f"startswith(expectations.object, {named}, ', '))"
        joins.append(f"inner join {relation} as {row}\n    on {is_it}")
    joined = "\n".join(joins)
    return f"""select
{listed(RESOURCE, "expectations")}
from expectations
{joined}
where expectations.resource_type = 'tier' and expectations.resource = '{name}'"""


# The columns of `masked` without rows, in case no dataset has a mask.
NO_MASK = """select
    cast(null as string) as resource,
    cast(null as string) as object,
    cast(null as string) as masked_column,
    cast(null as bigint) as user_id
where false"""


def _masked(name: str, keys: Iterable[str], rules: ByExists) -> list[str]:
    """Return a query for each masked column: the users and rows that get a mask."""
    ruling = plan.ruling_dataset(name, rules.config)
    puts = dict[str, list[str]]()
    for rule in rules.rules_on(name, ruling):
        if rule["is_mask"]:
            puts.setdefault(rule["column"], []).append(f"({rule['applies']})")
    return [
        f"""select
    '{name}' as resource,
    {named_keys(keys, ruling)} as object,
    '{column}' as masked_column,
    {ruling}.user_id
from (
{rules.rows_with_users(name, _users_of_masks(name))}
) as {ruling}
where {" or ".join(terms)}"""
        for column, terms in puts.items()
    ]


# One row for each user in an expectation, with the actual access.
JUDGED = f"""select
{listed([*SAID, "masked_column"], "expectations")},
    subjects.user_id,
    max(shown.object) is not null as is_seen,
    max(masked.object) is not null as is_masked
from expectations
inner join subjects
    on {same("expectations", "subjects", SUBJECT)}
left join shown
    on
        {same("expectations", "shown", RESOURCE)}
        and (subjects.user_id = shown.user_id or shown.user_id is null)
left join masked
    on
        {same("expectations", "masked", ["resource", "object", "masked_column"])}
        and subjects.user_id = masked.user_id
group by
{listed([*SAID, "masked_column"], "expectations")},
    subjects.user_id"""


def _wrong() -> list[str]:
    """Return the queries for expectations that are false for a user."""
    return [
        _finding("judged", found, "judged.user_id", f"where {is_wrong}")
        for found, is_wrong in WRONG.items()
    ]


def _strangers() -> str:
    """Return the query for users without an expectation who see an `only` object."""
    joins = f"""inner join shown
    on {same("expectations", "shown", RESOURCE)}
left anti join (select * from judged where expects != '{SEES_NOT}') as expected
    on
        {same("expectations", "expected", RESOURCE)}
        and shown.user_id = expected.user_id
where expectations.subject_type = 'only'"""
    return _finding("expectations", STRANGER, "shown.user_id", joins)


def _finding(relation: str, found: str, user: str, rest: str) -> str:
    """Return the query for findings of one kind, with the common columns."""
    columns = [f"{sql_text(found)} as found", f"{user} as user_id"]
    return f"""select
{listed(SAID, relation)},
{listed(columns)}
from {relation}
{rest}"""


def _void(config: Config, today: str) -> list[str]:
    """Return the queries for expectations that can't fail, or can't hold."""
    datasets, tiers = (_texts(config[part]) for part in ("datasets", "tiers"))
    masked = [
        f"{name}.{parts[1]}"
        for name, dataset in config["datasets"].items()
        for policy in plan.policies_of(plan.ruling_dataset(name, config), config)
        if (parts := plan.parts_of(policy["resource"]))[1] in dataset["columns"]
    ]
    void = {
        "its day is over: say what holds now": f"expires_on < cast({today} as date)",
        "say why, in reason": "reason is null",
        "name a dataset or a tier, one of them": "(dataset is null) = (tier is null)",
        "there is no such dataset or tier": (
            "(dataset is null) != (tier is null)"
            f" and not coalesce(dataset in ({datasets}), tier in ({tiers}))"
        ),
        f"expects must be: {SEES}, {SEES_NOT}, or {MASKED}<column>, which is for"
        " datasets": (
            f"(coalesce(expects, '') not in ('{SEES}', '{SEES_NOT}')"
            " and masked_column is null)"
            " or (masked_column is not null and dataset is null)"
            f" or (subject_type = 'only' and expects != '{SEES}')"
        ),
        "subject_type must be: user, group, role, or only, which has no subject": (
            "coalesce(subject_type, '') not in ('user', 'group', 'role', 'only')"
            " or (subject is null) != (coalesce(subject_type, '') = 'only')"
        ),
        "there is no such column with a mask": (
            "masked_column is not null"
            f" and concat_ws('.', dataset, masked_column) not in ({_texts(masked)})"
        ),
    }
    shared = (
        f"left semi join (select {listed(SUBJECT)} from subjects group by"
        f" {listed(SUBJECT)} having count(distinct bearer) > 1) as shared\n    on"
        f" {same('expectations', 'shared', SUBJECT)}"
    )
    return [
        *(_finding("expectations", found, NOBODY, f"where {is_void}")
          for found, is_void in void.items()),
        _finding("expectations", SHARED, NOBODY, shared),
        _absent(
            "there is no such subject, or nobody is in it", "subjects", SUBJECT,
            "expectations.subject_type in ('user', 'group', 'role')",
        ),
        _absent(
            "there is no such object", "there", RESOURCE,
            f"expectations.dataset in ({datasets}) or expectations.tier in ({tiers})",
        ),
    ]  # fmt: skip


def _absent(found: str, relation: str, columns: Iterable[str], where: str) -> str:
    """Return the query for expectations without a matching row in a relation."""
    joined = f"left anti join {relation}\n    on"
    joined += f" {same('expectations', relation, columns)}\nwhere {where}"
    return _finding("expectations", found, NOBODY, joined)
