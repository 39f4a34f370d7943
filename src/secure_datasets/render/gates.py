"""The gates of a dataset: what the tier and each rule say of its rows and users.

The predicates are the same as in the laws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from secure_datasets.config.plan import parent_dataset, ruling_dataset
from secure_datasets.config.tiers import (
    deciding_columns,
    restricted_datasets,
    tier_rules,
)
from secure_datasets.render.by_exists import ByExists, Rule
from secure_datasets.sql.writing import indented, listed


def gate_cases(rules: ByExists, ruling: str) -> list[Rule]:
    """Return the cases of a dataset's tier: none if it is layered, or a query.

    Each has its number, whether it applies to a row, its tier (none if it is for
    everyone), its keys and those of the second side; `first` and `second`, whether the
    user holds the rights on them; `no_second`, whether the row names no second side;
    and the columns that decide.
    """
    entry = rules.config["datasets"][ruling]
    if "query" in entry or parent_dataset(entry):
        return []
    return [
        {"number": number, "applies": case["applies"], **_sides(rules, ruling, case)}
        for number, case in enumerate(tier_rules(entry), 1)
    ]


def _sides(rules: ByExists, ruling: str, case: Rule) -> Rule:
    """Return the sides of a case; none if it is for everyone."""
    if case["is_for_everyone"]:
        return {"tier": None, "columns": []}
    rule, user = case["rule"], f"{ruling}.user_id"
    tier, side = rule["tier"], rule.get("second_side")
    second = no_second = None
    if side:
        names_one = f"{ruling}.{side['unless_null']}"
        held = rules.right_exists(tier, side["keys"], ruling, user)
        second = f"case when {names_one} is not null then {held} end"
        no_second = f"{names_one} is null"
    return {
        "tier": tier,
        "keys": rule["keys"],
        "second_keys": side["keys"] if side else None,
        "first": rules.right_exists(tier, rule["keys"], ruling, user),
        "second": second,
        "no_second": no_second,
        "columns": deciding_columns(case),
    }


def gates_query(
    rules: ByExists, name: str, users: str, row: Mapping[str, Any] | None = None
) -> str:
    """Return the query of each gate's result for a dataset's rows and users.

    One line for each row and user, and no gate has hidden any:

    - the unique key, then user_id and is_live, of the user
    - `is_public`: whether the row has no user: then no gate needs one
    - `case_<n>`: whether the case applies to the row; if it is not for everyone, also
      `case_<n>_first`, whether the user holds the right on the keys, and
      `case_<n>_second`, on the keys of the second side; null if the row names none
    - `key_<column>`: the deciding columns of the cases
    - `rule_<n>`: whether the rule of rules_on() acts on the row; null for row security
      of a query, which has counted the user's rows alone
    - `rule_<n>_is_for`, `rule_<n>_says`: for conditions and masks, the parts of
      `rule_<n>`; `rule_<n>_in_time`, if the rule has a time, whether it holds now

    users  a query of the users, user_id and is_live
    row    the row by its unique key, column to text; none for every row
    """
    ruling = ruling_dataset(name, rules.config)
    cases, of_rows, of_values = gate_cases(rules, ruling), {}, {}
    for case in cases:
        of_rows |= _of_case(case)
    for number, rule in enumerate(rules.rules_on(name, ruling), 1):
        gates = of_values if rule["is_mask"] else of_rows
        gates |= dict(_of_rule(f"rule_{number}", rule))
    keys = rules.config["datasets"][name]["unique_key"]
    deciding = dict.fromkeys(column for case in cases for column in case["columns"])
    columns = [
        *(f"{ruling}.{key}" for key in (*keys, "user_id")),
        *(f"{ruling}.`asked {mark}` as {mark}" for mark in ("is_live", "is_public")),
        *(f"{ruling}.{column} as key_{column}" for column in deciding),
        # Under names that no column of a dataset has.
        *(f"{ruling}.`asked {gate}` as {gate}" for gate in of_rows),
        *(f"{sql} as {gate}" for gate, sql in of_values.items()),
    ]
    # No text of several lines is indented: a literal may have several.
    judged = "".join(f"        {q} as `asked {gate}`,\n" for gate, q in of_rows.items())
    return f"""select
{listed([*columns, "true as is_there"])}
from (
    select
        {ruling}.*,
{judged}        true as `asked is_there`
    from (
{rules.rows_with_users(name, users, row)}
    ) as {ruling}
) as {ruling}"""


def _of_case(case: Rule) -> dict[str, str]:
    """Return the gates of a case, each with its SQL."""
    gate = f"case_{case['number']}"
    if not case["tier"]:
        return {gate: case["applies"]}
    second = case["second"] or "cast(null as boolean)"
    return {
        gate: case["applies"],
        f"{gate}_first": case["first"],
        f"{gate}_second": second,
    }


def _of_rule(gate: str, rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the gates of a rule, each with its SQL."""
    yield gate, rule["applies"] or "cast(null as boolean)"
    if "is_for" in rule:
        yield f"{gate}_is_for", rule["is_for"]
        yield f"{gate}_says", rule["says"]
        if rule["in_time"]:
            yield f"{gate}_in_time", rule["in_time"]


def rule_counts(rules: ByExists, name: str, user: Any) -> str:
    """Return the query of how many rows past a user's tier each rule applies to.

    First the rows past the tier; last those that are visible and, for each rule, those
    in which a mask is put on and shows the value itself.
    """
    ruling = ruling_dataset(name, rules.config)
    entry = restricted_datasets(rules.config)[name]
    judged, counts, unchanged = list[str](), list[str](), list[str]()
    for number, rule in enumerate(rules.rules_on(name, ruling), 1):
        of_seen = " and is_visible" if rule["is_mask"] else ""
        counts.append(f"count_if(rule_{number}{of_seen}) as rule_{number}")
        is_it = f"is_visible and unchanged_{number}"
        unchanged.append(f"count_if({is_it}) as unchanged_{number}")
        leaves = "false"
        if rule["is_mask"] and not rule["rule"]["is_constant"]:
            shown = (rule["rule"], name, ruling, rule["column"])
            leaves = f"{rule['applies']}\nand {rules.mask_shows_the_value(*shown)}"
        judged.append(f"{rule['applies']} as rule_{number}")
        judged.append(f"{indented(leaves, 8)} as unchanged_{number}")
    meets = rules.meets_every_rule(name, ruling, f"{ruling}.user_id")
    counted = ["count(*) as past_the_tier", *counts, "count_if(is_visible) as visible"]
    return f"""select
{listed([*counted, *unchanged])}
from (
    select
{listed([*judged, f"{meets} as is_visible"])}
    from (
        {rules.rows_past_the_tier(entry)}
    ) as {ruling}
    where {ruling}.user_id = {user}
) as judged"""
