"""Whether a person sees a row or an object: an answer of gates, from the facts."""

from __future__ import annotations

from secure_datasets.config.plan import role_called
from secure_datasets.questions.gates import (
    closed_gate,
    gates_behind_tier,
    gates_of_row,
    gates_without_row,
    is_in_time,
    masks_below,
    masks_of_row,
    numbered,
    restricts,
    user_gate,
    view_gate,
)
from secure_datasets.questions.notes import (
    CLOSED,
    GATES,
    OPEN,
    Facts,
    Note,
    gate,
    state_of,
)
from secure_datasets.questions.remedies import what_helps
from secure_datasets.questions.rights import mends_of, side_note, trace_notes


def _answer(gates: list[Note], masks: list[Note], is_nowhere: bool = False) -> Facts:
    closed = closed_gate(gates)
    return {
        "seen": closed is None,
        "is_nowhere": is_nowhere,
        "closed_gate": closed["gate"] if closed else None,
        "why": f"{closed['gate']}: {closed['says']}" if closed else None,
        "gates": gates,
        "masks": masks,
        "masks_below": [],
        "closed_beside": [],
    }


def row_answer(facts: Facts, person: Facts) -> Facts:
    """Return the answer about a user and a row, from the results of the queries.

    If the base has several rows with the key, the user sees the key if any row is seen.
    """
    best: Facts = {}
    if not facts["found"]:
        nowhere = not any(traced["row"] for traced in facts["missing"])
        if facts["below"]:
            nowhere = facts["below"]["answer"]["is_nowhere"]
        elif facts["is_query"]:
            nowhere = not facts["exists"]
        best = _answer(gates_without_row(facts, person), [], nowhere)
        closed = closed_gate(best["gates"])
        best["what_helps"] = what_helps(closed, facts, person, None)
    for row in facts["found"]:
        gates = gates_of_row(facts, person, row)
        answer = _answer(gates, [])
        closed = closed_gate(gates)
        answer["what_helps"] = what_helps(closed, facts, person, row)
        if closed:
            # The remedy for the first of several closed gates opens only that gate.
            answer["closed_beside"] = [
                each
                for each in _closed_beside(facts, person, row)
                if each["gate"] != closed["gate"]
            ]
        is_held = gates[GATES.index("tier")]["state"] != CLOSED
        if not is_held and facts["nearest"] is not None:
            answer["nearest"] = _with_closed_beside(facts, person, row)
        if answer["seen"]:
            is_free = view_gate(facts, row)[1]
            answer["masks"] = masks_of_row(facts, row, is_free)
            answer["masks_below"] = masks_below(facts)
        if not best or _openness(answer) > _openness(best):
            best = answer
    return _with_nearest(best, facts)


def _closed_beside(facts: Facts, person: Facts, row: Facts) -> list[Facts]:
    """Return the closed gates after the tier, each with its remedy."""
    return [
        {
            "gate": each["gate"],
            "says": each["says"],
            "what_helps": what_helps(each, facts, person, row),
        }
        for each in gates_behind_tier(facts, row)
        if each["state"] == CLOSED
    ]


def _with_closed_beside(facts: Facts, person: Facts, row: Facts) -> list[Note]:
    """Return the nearest grants, each with the gates that stay closed with it."""
    told = []
    for found, given in zip(facts["nearest"], facts["given"], strict=True):
        facts_after, row_after = _once_given(facts, row, given)
        beside = _closed_beside(facts_after, person, row_after)
        told.append(found | {"closed_beside": beside})
    return told


def _once_given(facts: Facts, row: Facts, given: Facts) -> tuple[Facts, Facts]:
    """Return the facts and the row as they would be with new rows.

    A membership brings the `roles` and the `keys` of row security in `given`. They may
    open the gates after the tier, too.
    """
    roles = {*facts["roles"], *given["roles"]}
    security, after = dict(facts["security"]), dict(row)
    for number, rule in numbered(facts, "row security"):
        keys = given["keys"].get(rule["restriction"]["object"]["unique_name"], [])
        found = security[number]
        security[number] = found | {"user_keys": [*found["user_keys"], *keys]}
        if set(keys) & set(found["row_keys"]):
            after[f"rule_{number}"] = False
    for number, rule in numbered(facts, "conditions"):
        policy = rule["rule"]
        is_for = roles.isdisjoint(policy["roles"]) is policy["is_except"]
        after[f"rule_{number}_is_for"] = is_for
        is_true = row[f"rule_{number}_says"]
        acts = is_for and is_in_time(row, number)
        after[f"rule_{number}"] = acts and (
            is_true is not True if restricts(rule) else is_true
        )
    return facts | {
        "roles": sorted(roles, key=role_called),
        "security": security,
    }, after


def _with_nearest(answer: Facts, facts: Facts) -> Facts:
    """Return an answer with the mends and the nearest grants that open its tier."""
    tier = answer["gates"][GATES.index("tier")]
    if mends := tier.pop("mends", []):
        answer["mends"] = mends
    if tier["state"] == CLOSED and facts["nearest"] is not None:
        answer.setdefault("nearest", facts["nearest"])
        answer |= {name: facts[name] for name in ("in_charge", "uncounted")}
    return answer


def _openness(answer: Facts) -> int:
    """Return the number of gates that an answer passes before a closed one."""
    if answer["seen"]:
        return len(GATES)
    return GATES.index(answer["closed_gate"])


def object_answer(facts: Facts, person: Facts) -> Facts:
    """Return the answer about a user and an object of a tier."""
    notes = trace_notes(facts["missing"])
    says = notes[0]["says"] if notes else "it is live"
    side = side_note(facts, facts["tier"], facts["keys"], facts["is_held"], "")
    traced = facts["missing"]
    tier = gate("tier", OPEN, side["says"], side["evidence"])
    if not facts["is_held"]:
        tier |= {"state": CLOSED, "says": side["lacks"]}
        tier["mends"] = mends_of(facts, [(facts["tier"], facts["keys"])])
    answer = _answer(
        [
            gate("row", state_of(not notes), says, notes),
            user_gate(person),
            tier,
        ],
        [],
        bool(traced) and any(one["row"] is None for one in traced),
    )
    closed = closed_gate(answer["gates"])
    answer["what_helps"] = what_helps(closed, facts, person, None)
    return _with_nearest(answer, facts)
