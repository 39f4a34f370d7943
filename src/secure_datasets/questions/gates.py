"""The gates of a row, with their evidence.

A gate is open, closed or not asked. The first closed gate hides the row.
"""

from __future__ import annotations

from typing import Any

from secure_datasets.config.plan import Role, role_called
from secure_datasets.questions.notes import (
    CLOSED,
    GATES,
    NOT_ASKED,
    OPEN,
    Facts,
    Note,
    gate,
    listed,
    note,
    said,
    state_of,
)
from secure_datasets.questions.rejections import flaw_of_staged
from secure_datasets.questions.rights import keys_of, mends_of, side_note, trace_notes
from secure_datasets.rules import times

UNDER_NO_VIEW = "the dataset is under no view authorization"
NO_CONDITIONS = "the dataset has none"


def sides_of(row: Facts, number: int, case: Facts) -> list[tuple[str, dict[str, Any]]]:
    """Return the sides of a case, each with its tier and its keys in the row."""
    sides = [(case["tier"], keys_of(row, case["keys"]))]
    if row[f"case_{number}_second"] is not None:
        sides.append((case["tier"], keys_of(row, case["second_keys"])))
    return sides


def tier_gate(facts: Facts, row: Facts) -> Note:
    """Return the tier's gate: its case, its keys and its second side."""
    if facts["below"]:
        below = facts["below"]
        return gate(
            "tier",
            OPEN,
            f"the rows of '{below['dataset']}' that the user sees",
            below["answer"]["gates"],
        )
    if not facts["cases"]:
        return gate("tier", NOT_ASKED, "it has no tier")
    found = [
        (number, case)
        for number, case in enumerate(facts["cases"], 1)
        if row[f"case_{number}"]
    ]
    if not found:
        return gate("tier", CLOSED, "the row is of no case, so that it is for nobody")
    number, case = found[0]
    which = f", the case {case['applies']}" if len(facts["cases"]) > 1 else ""
    if case["tier"] is None:
        return gate("tier", OPEN, f"the row is for everyone{which}")

    first, second = row[f"case_{number}_first"], row[f"case_{number}_second"]
    sides = [
        side_note(facts, tier, keys, held, title)
        for (tier, keys), held, title in zip(
            sides_of(row, number, case),
            (first, second),
            ("", "the second side, which the row asks for as well: "),
            strict=False,
        )
    ]
    if second is None and case["second_keys"]:
        sides.append(
            note("the second side: the row names none, so that none is asked for")
        )
    is_open = first and second is not False
    missing = [side["lacks"] for side in sides if side.get("is_held") is False]
    says = f"{case['tier']}{which}"
    if is_open:
        return gate("tier", OPEN, says, sides)
    mends = mends_of(facts, sides_of(row, number, case))
    says = f"{missing[0]}{which}"
    return gate("tier", CLOSED, says, sides) | {"mends": mends}


def numbered(facts: Facts, gate_name: str) -> list[tuple[int, Facts]]:
    """Return the rules of a gate with their numbers."""
    return [
        (number, rule)
        for number, rule in enumerate(facts["rules"], 1)
        if rule["gate"] == gate_name
    ]


def view_gate(facts: Facts, row: Facts) -> tuple[Note, bool]:
    """Return the gate of view authorization, and whether it skips the next gates."""
    rules = numbered(facts, "view authorization")
    if not rules:
        return gate("view authorization", NOT_ASKED, UNDER_NO_VIEW), False
    (hides, _), (frees, _) = rules
    outcome = facts["outcome"] or {"outcome": "none", "decided_by": "no decision"}
    says = f"{outcome['outcome']}, decided by {outcome['decided_by']}"
    state = state_of(not row[f"rule_{hides}"])
    return gate("view authorization", state, says), bool(row[f"rule_{frees}"])


def security_gate(facts: Facts, row: Facts) -> Note:
    """Return the gate of row security: the user's keys, the row's keys, and the way."""
    rules = numbered(facts, "row security")
    if not rules:
        return gate("row security", NOT_ASKED, "no security object restricts it")
    notes = []
    for number, rule in rules:
        # A query has counted only the user's rows.
        hides = False if facts["is_query"] else row[f"rule_{number}"]
        notes.append(security_note(rule, facts["security"].get(number), hides))
    closed = [item for item in notes if not item["is_open"]]
    says = closed[0]["says"] if closed else "the user holds a key of the row"
    return gate("row security", state_of(not closed), says, notes)


def security_note(rule: Facts, found: Facts | None, hides: bool) -> Note:
    """Return a note about the effect of one security object."""
    evidence = []
    if found:
        evidence = [
            note(f"the user's keys: {listed(found['user_keys'])}"),
            note(f"the row's key: {listed(found['row_keys'])}"),
            note(f"the way: {found['way']}"),
        ]
    verb = "hides the row" if hides else "lets it through"
    return note(f"{rule['title']} {verb}", evidence, is_open=not hides)


def rule_note(facts: Facts, rule: Facts, row: Facts, number: int) -> Note:
    """Return a condition or a mask: whether it applies to the user, and its result."""
    policy = rule["rule"]
    is_for, is_true = row[f"rule_{number}_is_for"], row[f"rule_{number}_says"]
    condition = f"its condition {_said(policy)} is {said(is_true)}"
    if policy["condition"] == "true":
        condition = "it is for every row"
    whom = " and ".join(map(role_called, policy["roles"]))
    but = "all but " if policy["is_except"] else ""
    title = f"the mask is for {but}{whom or 'everybody'}"
    if rule["gate"] != "masks":
        title = rule["title"]
    when = _when(policy, row, number)
    if lines := policy.get("shown_to"):
        shows = "none of them is so" if is_true else "one of them is so"
        shown = " or ".join(map(_line_called, lines))
        says = f"the mask shows the value to {shown}; {shows}{when}"
        return note(says, shown_to=lines, **_time(policy))
    return note(
        f"{title}: {_holding(facts, policy, is_for)}; {condition}{when}",
        **_time(policy),
        roles=policy["roles"],
        is_except=policy["is_except"],
        is_for=is_for,
        condition=_said(policy),
        is_true=is_true,
    )


def is_in_time(row: Facts, number: int) -> bool:
    """Return whether a rule holds at the moment of the question."""
    return row.get(f"rule_{number}_in_time", True)


def _time(policy: Facts) -> Facts:
    """Return the start and the end of a rule, in UTC; empty if it always holds."""
    return {key: policy[key] for key in times.KEYS if policy.get(key)}


def _when(policy: Facts, row: Facts, number: int) -> str:
    """Return the time of a rule in words, and whether the rule holds now."""
    words = times.in_words(policy)
    if not words:
        return ""
    return f"; it holds {words}, {'as' if is_in_time(row, number) else 'not'} now"


def _said(policy: Facts) -> str:
    """Return the original text of a condition."""
    return policy.get("said", policy["condition"])


def _line_called(line: Facts) -> str:
    """Return the roles and rows for a line of a mask that shows the value."""
    whom = " and ".join(map(role_called, line["roles"])) or "everybody"
    return whom + f" where {_said(line)}" * (line["condition"] != "true")


def restricts(rule: Facts) -> bool:
    """Whether a rule of the conditions takes rows away."""
    return rule.get("verb") == "hides"


def _holding(facts: Facts, policy: Facts, is_for: bool) -> str:
    """Return in words whether the user holds the roles that a rule names."""
    roles = policy["roles"]
    if not roles:
        return "it is for everybody"
    if is_for == policy["is_except"]:
        names = ", ".join(map(role_called, roles))
        any_of = "any of " if len(roles) > 1 else ""
        return f"the user does not hold {any_of}{names}"
    held = [role for role in roles if role in facts.get("roles", ())] or roles
    return f"the user holds {' and '.join(map(role_called, held))}"


def conditions_gate(facts: Facts, row: Facts, is_free: bool) -> Note:
    """Return the gate of the conditions: each with its role and its result."""
    rules = numbered(facts, "conditions")
    if not rules:
        return gate("conditions", NOT_ASKED, NO_CONDITIONS)
    if is_free:
        return gate("conditions", NOT_ASKED, "view authorization allows all rows")
    notes, shows, hides = [], [], []
    for number, rule in rules:
        notes.append(rule_note(facts, rule, row, number))
        if row[f"rule_{number}"]:
            (hides if restricts(rule) else shows).append(rule["title"])
    held = listed(list(map(role_called, facts["roles"])))
    notes.append(note(f"the user's roles: {held}", roles=facts["roles"]))
    if hides:
        return gate("conditions", CLOSED, f"{hides[0]} hides the row", notes)
    if shows:
        return gate("conditions", OPEN, f"{shows[0]} shows the row", notes)
    if all(restricts(rule) for _, rule in rules):
        says = "no restrictive condition hides the row"
        return gate("conditions", OPEN, says, notes)
    return gate("conditions", CLOSED, "no role of the user shows the row", notes)


def masks_of_row(facts: Facts, row: Facts, is_free: bool) -> list[Note]:
    """Return the applied and the skipped masks of each masked column."""
    columns: dict[str, list[tuple[int, Facts]]] = {}
    for number, rule in numbered(facts, "masks"):
        columns.setdefault(rule["column"], []).append((number, rule))
    found = []
    for column, rules in columns.items():
        put_on, notes = None, []
        for number, rule in rules:
            policy, applies = rule["rule"], row[f"rule_{number}"]
            if is_free:
                fate = "passed over: view authorization allows all values"
            elif put_on is not None and applies:
                fate = "passed over for one of higher order"
            elif applies:
                fate, put_on = "put on", policy["mask"]
            else:
                fate = "passed over"
            item = rule_note(facts, rule, row, number)
            # The order of a single mask is irrelevant.
            mask = f"{policy['mask']} (order {policy['mask_order']})"
            what = f"{mask} is {fate}" if len(rules) > 1 else f"it is {fate}"
            item |= {"says": f"{item['says']}: {what}"}
            item |= {"mask": policy["mask"], "mask_order": policy["mask_order"]}
            notes.append(item | {"is_put_on": fate == "put on"})
        says, shown_to = f"{column} is shown as it is", []
        if put_on:
            says = f"{column} is shown as {put_on} (mask)"
            shown_to = _shown_to(facts, row, rules)
        if shown_to:
            holding = " or ".join(map(role_called, shown_to))
            says += f"; who holds {holding} sees it as it is"
        found.append(note(says, notes, column=column, mask=put_on, shown_to=shown_to))
    return found


def _shown_to(facts: Facts, row: Facts, rules: list[tuple[int, Facts]]) -> list[Role]:
    """Return the roles that would each take all masks of a column off this row.

    It leaves out uncertain roles: a role that also puts a mask on or hides rows. Over a
    dataset below, with masks and conditions of its own, it returns none.
    """
    if facts.get("below"):
        return []
    on = [rule["rule"] for number, rule in rules if row[f"rule_{number}"]]
    if not all(policy["is_except"] for policy in on):
        return []
    first, *others = map(_lifted_by, on)
    doubtful = {
        role
        for _, rule in [*rules, *numbered(facts, "conditions")]
        if not rule["rule"]["is_except"]
        and (rule["gate"] == "masks" or restricts(rule))
        for role in rule["rule"]["roles"]
    }
    lifting = set(first).intersection(*others) - doubtful
    return [role for role in first if role in lifting]


def _lifted_by(policy: Facts) -> list[Role]:
    """Return the roles that each take a mask off every row."""
    lines = policy.get("shown_to") or [policy | {"condition": "true"}]
    return [
        role for line in lines if line["condition"] == "true" for role in line["roles"]
    ]


def masks_below(facts: Facts) -> list[Facts]:
    """Return the masks of the datasets below, the nearest first, on shown columns."""
    if not facts["below"]:
        return []
    below, answer = facts["below"]["dataset"], facts["below"]["answer"]
    masks = [item for item in answer["masks"] if item["column"] in facts["columns"]]
    further = [
        item | {"masks": shown}
        for item in answer["masks_below"]
        if (shown := [m for m in item["masks"] if m["column"] in facts["columns"]])
    ]
    return ([{"dataset": below, "masks": masks}] if masks else []) + further


def gates_of_row(facts: Facts, person: Facts, row: Facts) -> list[Note]:
    """Return the gates of a row in the base, for a user."""
    if row["is_public"]:
        user = gate("user", NOT_ASKED, "the row is for everyone, and bears no user")
    else:
        user = user_gate(person)
    row_gate = gate("row", OPEN, f"it is in {facts['base']}")
    return [row_gate, user, tier_gate(facts, row), *gates_behind_tier(facts, row)]


def gates_behind_tier(facts: Facts, row: Facts) -> list[Note]:
    """Return the gates of a row after its tier."""
    view, is_free = view_gate(facts, row)
    return [view, security_gate(facts, row), conditions_gate(facts, row, is_free)]


def user_gate(person: Facts) -> Note:
    """Return the user's gate."""
    if person["is_live"]:
        return gate("user", OPEN, "the user is active")
    row, flaw = f"row {person['user_id']} of users", flaw_of_staged(person, "users")
    says = "the user is not active"
    if person["rejection_reason"] or person.get("undelivered_since"):
        says = f"the user's row is {flaw}"
    found = note(f"{row} does not count: {flaw}", reasons=[flaw])
    return gate("user", CLOSED, says, [found])


def gates_without_row(facts: Facts, person: Facts) -> list[Note]:
    """Return the gates if the base, or the user's answer, has no such row."""
    row = gate("row", OPEN, f"it is in {facts['base']}")
    rest = dict.fromkeys(GATES[3:], "there is no row to ask about")
    if facts["below"]:
        answer = facts["below"]["answer"]
        inner = answer["gates"][0]
        says = f"'{facts['below']['dataset']}' does not show it"
        tier = gate("tier", CLOSED, f"{says}: {answer['why']}", answer["gates"])
        if inner["state"] == CLOSED:
            row = inner
            tier = gate("tier", NOT_ASKED, "there is no row to ask about")
    elif facts["is_query"] and facts["exists"]:
        tier = gate("tier", NOT_ASKED, "it has no tier")
        notes = [
            security_note(rule, facts["security"].get(number), True)
            for number, rule in numbered(facts, "row security")
        ]
        says = "no row that counts for it leads to a key of the user"
        security = gate("row security", CLOSED, says, notes)
        if not person["is_live"]:
            says = "the answer counts no row for a user who is not active"
            security = gate("row security", NOT_ASKED, says)
        view, last = (
            gate(name, NOT_ASKED, without if not numbered(facts, name) else says)
            for name, without in (
                ("view authorization", UNDER_NO_VIEW),
                ("conditions", NO_CONDITIONS),
            )
        )
        return [row, user_gate(person), tier, view, security, last]
    else:
        notes = trace_notes(facts["missing"])
        says = notes[0]["says"] if notes else f"it is not in {facts['base']}"
        row = gate("row", CLOSED, says, notes)
        tier = gate("tier", NOT_ASKED, "there is no row to ask about")
    gates = [row, user_gate(person), tier]
    return gates + [gate(name, NOT_ASKED, says) for name, says in rest.items()]


def closed_gate(gates: list[Note]) -> Note | None:
    """Return the first closed gate."""
    return next((item for item in gates if item["state"] == CLOSED), None)
