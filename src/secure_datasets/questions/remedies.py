"""What would let a person see a row that a gate hides."""

from __future__ import annotations

from secure_datasets.config.plan import role_called
from secure_datasets.questions.gates import numbered, restricts
from secure_datasets.questions.notes import SOME, Facts, Note, listed
from secure_datasets.rules import times


def what_helps(
    closed: Note | None, facts: Facts, person: Facts, row: Facts | None
) -> str | None:
    """Return a sentence with the remedy for a closed gate; None if it has none.

    A tier has none here, since an answer lists the rows that would open it. Only over a
    dataset below, the sentence refers to that dataset.
    """
    kind = closed and closed["gate"]
    if kind == "row":
        found = closed["evidence"]
        return (
            found[0].get("what_helps") if found else "no right helps: no row is there"
        )
    if kind == "user":
        own = f"row {person['user_id']} of users"
        if person["rejection_reason"]:
            return f"no new row helps: {own} has to be mended at its source"
        how = "there" if person.get("undelivered_since") else "switched on again"
        return f"no new row helps until {own} is {how}"
    if kind == "view authorization":
        return _decision_that_helps(facts["outcome"] or {})
    if kind == "row security":
        return _key_that_helps(facts)
    if kind == "conditions" and row is not None:
        return _role_that_helps(facts, row)
    if kind == "tier" and facts.get("below"):
        below = facts["below"]["dataset"]
        opens = f"what opens the row of '{below}' opens this"
        if any(rule["gate"] != "masks" for rule in facts["rules"]):
            opens = f"the row of '{below}' has to be open first, and then its own rules"
            opens += f" decide, those of '{facts['dataset']}'"
        return f"{opens}: ask why of '{below}'"
    return None


def _decision_that_helps(outcome: Facts) -> str:
    """Return the remedy for a view: a decision, if its owners are live."""
    owner, decided_by = outcome.get("owner_id"), outcome.get("decided_by") or ""
    named, _, name = decided_by.partition(" on ")
    if owner is not None and not outcome["owner_is_live"]:
        return (
            f"no grant and no decision helps: an owner of the view or of one behind it,"
            f" user {owner}, is not active, and so nobody sees it"
        )
    if owner is not None:
        return (
            "no grant helps: it takes a decision first that opens"
            f" {name} to user {owner}, by whose view it is read"
        )
    if named == "no owner":
        return (
            "no grant and no decision helps: a view that reads"
            f" {name} has no owner, and so nobody sees it"
        )
    return "no grant helps: it takes a decision that opens the view to the user"


def _key_that_helps(facts: Facts) -> str:
    """Return the remedy for row security: the keys that let a row through."""
    for number, _ in numbered(facts, "row security"):
        found = facts["security"].get(number)
        if not found or set(found["user_keys"]) & set(found["row_keys"]):
            continue
        keys = [key for key in found["row_keys"] if key is not None]
        if not keys:
            return "no grant helps: the row leads to no key, and so nobody sees it here"
        whom = "a group of the user" if found["is_of_groups"] else "the user"
        groups = [
            f"{row['name'] or '(no name)'} ({row['user_group_id']})"
            for row in found["groups"]
        ]
        member = "or a membership in a group that has it, by itself or from above"
        return (
            f"no grant of a tier helps: the row's key, {listed(keys, joined=' or ')},"
            " belongs to none of the user's keys; it takes a row of"
            f" {found['mapping']} that gives {whom} that key"
            f"{f', {member}: {listed(groups, SOME)}' if groups else ''}"
        )
    return "no grant of a tier helps: the row's key belongs to none of the user's keys"


def _role_that_helps(facts: Facts, row: Facts) -> str:
    """Return the roles that would show a row, by its true conditions."""
    told, hides, are_shown = [], [], []
    for number, rule in numbered(facts, "conditions"):
        policy, applies = rule["rule"], row[f"rule_{number}"]
        names = " or ".join(map(role_called, policy["roles"]))
        if not restricts(rule):
            are_shown.append(applies)
            if row[f"rule_{number}_says"]:
                whom = f"who holds {names}" if names else "everybody"
                told.append(f"{whom} {times.in_words(policy)}".rstrip())
        elif applies:
            verb = "does not hold" if policy["is_except"] else "holds"
            whom = f"who {verb} {names}" if names else "everybody"
            hides.append(f"{rule['title']} hides it from {whom}")
    if hides:
        is_all = any(are_shown) or not are_shown
        more = "" if is_all else ", and no role of the user shows it"
        return f"no grant of a tier helps: {' and '.join(hides)}{more}"
    if not told:
        return "no role helps: no condition is true of the row"
    return f"the conditions show it to {' or '.join(told)}"
