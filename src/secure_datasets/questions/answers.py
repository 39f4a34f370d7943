"""The results of the queries, as gates with their evidence.

A gate is open, closed or not asked. The first closed gate hides the row. Evidence is a
list of notes: a sentence, its data, and further notes below it.
"""

from __future__ import annotations

from typing import Any

from secure_datasets.config.plan import Role, role_called
from secure_datasets.questions.notes import Facts, Note, note
from secure_datasets.questions.rejections import flaw_of_staged
from secure_datasets.rules import times

OPEN, CLOSED, NOT_ASKED = "open", "closed", "not asked"
UNDER_NO_VIEW = "the dataset is under no view authorization"
NO_CONDITIONS = "the dataset has none"
# The most items of a long list that an answer names.
SOME = 5
GATES = ("row", "user", "tier", "view authorization", "row security", "conditions")


def named(keys: dict[str, Any]) -> str:
    """Return keys with their values: `project_id=1, meta_data_source_id=6`."""
    return ", ".join(
        f"{key}={'null' if value is None else value}" for key, value in keys.items()
    )


def gate(name: str, state: str, says: str, evidence: list[Note] | None = None) -> Note:
    """Return a gate."""
    return {"gate": name, "state": state, "says": says, "evidence": evidence or []}


def state_of(is_open: bool) -> str:
    """Return the state of a gate that was asked."""
    return OPEN if is_open else CLOSED


# ---------------------------------------------------------------------------
# Rows in staging
# ---------------------------------------------------------------------------


def trace_notes(traced: list[Facts]) -> list[Note]:
    """Return why rows do not count: rejected, not active, or hidden with a parent."""
    return [item for one in traced for item in _trace_notes(one, "it")]


def _trace_notes(traced: Facts, whose: str) -> list[Note]:
    place = f"row {traced['id']} of {traced['table']}"
    parts = {"table": traced["table"], "id": traced["id"]}
    row = traced["row"]
    until = f"nobody sees it until {place} is"
    if row is None:
        says = f"{whose} is {place}, which is not there"
        return [note(says, what_helps=f"{until} there", **parts)]
    if flaw := flaw_of_staged(row, traced["table"]):
        reason = row["rejection_reason"]
        parts |= {"reason": reason} if reason else {}
        until += " there" if row.get("undelivered_since") else " switched on again"
        parts["what_helps"] = until
        if reason:
            parts["what_helps"] = (
                f"mend {place} at its source: nobody sees it until then"
            )
        return [note(f"{whose} is {place}, which is {flaw}", **parts)]
    found = []
    for column, parent in traced["parents"]:
        whose_parent = f"{place} is hidden with its parent: its {column}"
        found += _trace_notes(parent, whose_parent)
    return found


# ---------------------------------------------------------------------------
# Rights: the parts of a tier, and the paths to them
# ---------------------------------------------------------------------------


def since(date: str | None, author: str | None) -> str:
    """Return the start date and the author of a grant, in words."""
    when = f"since {date}" if date else "since when is not recorded"
    return f"{when}, by {author}" if author else f"{when}, by whom is not recorded"


def until(path: Facts) -> str:
    """Return the end of a path: the first end of any of its rows."""
    return f", until {path['ends']} UTC" if path.get("ends") else ""


def path_note(path: Facts) -> Note:
    """Return a path: the granting row, its role, the chain of groups, since when."""
    row = f"row {path['grant_id']} of {path['grant_table']}"
    role = f"role {path['role_name']}" if path["role_name"] else "no role"
    parts = dict(path)
    if path["path_kind"] in ("User", "Group"):
        holder = "the user"
        further = []
        if path["path_kind"] == "Group":
            group_ids, chain = path["group_ids"] or [], path["group_chain"] or ""
            holder = f"the group {chain.rpartition(' > ')[2] or path['user_group_id']}"
            further.append(
                note(
                    f"the user is a member by row {path['user_group_member_id']} of"
                    " user_group_members, "
                    + since(path["member_date_created"], path["member_created_by"])
                )
            )
            if len(group_ids) > 1:
                further.append(
                    note(f"the chain of groups, each within the next: {chain}")
                )
        says = f"{path['path_kind']}: {row} names {holder}, {role}"
        recorded = since(path["date_created"], path["created_by"]) + until(path)
        return note(f"{says}, {recorded}", further, **parts)
    if path["path_kind"].endswith("Owner"):
        return note(
            f"{path['path_kind']}: {row} names the user as owner, since when is not"
            " recorded",
            **parts,
        )
    recorded = since(path["date_created"], path["created_by"]) + until(path)
    return note(f"{path['path_kind']}: {row}, {role}, {recorded}", **parts)


def _name_of(facts: Facts, object_type: str, object_id: Any) -> str:
    found = [
        item["object_name"]
        for item in facts["objects"]
        if item["object_type"] == object_type and item["object_id"] == object_id
    ]
    if not found:
        return f"{object_type} {object_id}, which is not live"
    return f'{object_type} {object_id} "{found[0]}"'


def paths_to(facts: Facts, right: Facts, keys: dict[str, Any]) -> list[Facts]:
    """Return the user's paths to a right, in an order of their own."""
    found = [
        path
        for path in facts["paths"]
        if path["object_type"] == right["object_type"]
        and path["object_id"] == keys[right["key"]]
        and path["permission_name"] == right["permission"]
    ]
    return sorted(
        found,
        key=lambda path: (
            path["path_kind"],
            path["grant_table"],
            path["grant_id"],
            path["user_group_member_id"] or 0,
            path["group_chain"] or "",
        ),
    )


def links_of(facts: Facts, link: Facts, keys: dict[str, Any]) -> list[Facts]:
    """Return the rows that link the objects."""
    return [
        row
        for row in facts["links"]
        if row["link_table"] == link["table"]
        and all(row[key] == value for key, value in keys.items())
    ]


def is_held(facts: Facts, right: Facts, keys: dict[str, Any]) -> bool:
    """Whether the user has a path to a right."""
    return bool(paths_to(facts, right, keys))


def is_linked(facts: Facts, link: Facts, keys: dict[str, Any]) -> bool:
    """Whether a row links the objects."""
    return bool(links_of(facts, link, keys))


def missed_key(part: Facts, object_id: Any) -> str:
    """Return the key in `facts["missed"]` of flawed rows that could open a part."""
    return f"{part.get('permission') or part.get('table')} on {object_id}"


def missed(facts: Facts, part: Facts, object_id: Any, is_held: bool) -> list[Note]:
    """Return the rows that exist but do not count, if the part is not held."""
    found = facts["missed"].get(missed_key(part, object_id), [])
    if is_held or not found:
        return []
    return [note("what is there and does not count:", found)]


def right_notes(facts: Facts, tier: str, keys: dict[str, Any]) -> list[Note]:
    """Return the parts of a tier on these objects: each right with all its paths."""
    parts = facts["parts"][tier]
    notes = []
    for right in parts["rights"]:
        object_id = keys[right["key"]]
        what = f"{right['permission']} on"
        if object_id is None:
            says = f"{what} nothing: {right['key']} is null"
            notes.append(note(says, is_held=False))
            continue
        paths = paths_to(facts, right, keys)
        whose = _name_of(facts, right["object_type"], object_id)
        held = "held" if paths else "not held"
        notes.append(
            note(
                f"{what} {whose}: {held}",
                [path_note(path) for path in paths]
                + missed(facts, right, object_id, bool(paths)),
                is_held=bool(paths),
                whose=whose,
                permission_name=right["permission"],
                object_type=right["object_type"],
                object_id=object_id,
            )
        )
    for link in parts["links"]:
        rows = links_of(facts, link, keys)
        linked = "linked" if rows else "not linked"
        notes.append(
            note(
                f"{named(keys)}: {linked}",
                [
                    note(
                        f"row {row['link_id']} of {link['table']},"
                        f" {since(row['date_created'], row['created_by'])}",
                        link_table=link["table"],
                        link_id=row["link_id"],
                    )
                    for row in rows
                ]
                + missed(facts, link, named(keys), bool(rows)),
                is_held=bool(rows),
                link_table=link["table"],
            )
        )
    return notes


def missing_of(rights: list[Note]) -> list[str]:
    """Return the missing rights and links of a side of a tier, in words."""
    found = []
    for item in rights:
        if item.get("is_held") is not False:
            continue
        if "object_type" in item:
            found.append(f"no {item['permission_name']} on {item['whose']}")
        else:
            found.append(item["says"])
    return found


def mends_of(facts: Facts, sides: list[tuple[str, dict[str, Any]]]) -> list[Note]:
    """Return the flawed rows that would each, once mended, open a tier alone.

    One such row must close every gap of the sides.
    """
    lacking: list[dict[tuple, Note]] = []
    for tier, keys in sides:
        parts = facts["parts"][tier]
        if not parts["is_whole"] or None in keys.values():
            return []
        gaps = [
            missed_key(right, keys[right["key"]])
            for right in parts["rights"]
            if not is_held(facts, right, keys)
        ]
        gaps += [
            missed_key(link, named(keys))
            for link in parts["links"]
            if not is_linked(facts, link, keys)
        ]
        for gap in gaps:
            mends = [item.get("mend") for item in facts["missed"].get(gap, [])]
            lacking.append({(m["table"], m["id"]): m for m in mends if m})
    if not lacking:
        return []
    everywhere = set(lacking[0]).intersection(*lacking)
    return [lacking[0][row] for row in sorted(everywhere)]


def side_note(
    facts: Facts, tier: str, keys: dict[str, Any], is_held: bool, title: str
) -> Note:
    """Return one side of a tier: whether its access view has it, and why."""
    rights = right_notes(facts, tier, keys)
    held = "held" if is_held else "not held"
    if not rights:
        rights = [note("the tier's entry names no right whose paths could be listed")]
    elif not is_held and all(item.get("is_held") for item in rights):
        rights.append(note("the tier's access view asks for more than its entry says"))
    says = f"{title}access by {tier} on {named(keys)}: {held}"
    lacks = (
        " and ".join(missing_of(rights)) or f"{title}{tier} on {named(keys)}: {held}"
    )
    return note(says, rights, is_held=is_held, lacks=None if is_held else lacks)


# ---------------------------------------------------------------------------
# The gates of a row
# ---------------------------------------------------------------------------


def keys_of(row: Facts, keys: dict[str, str]) -> dict[str, Any]:
    """Return the values of a tier's keys in a row."""
    return {key: row[f"key_{column}"] for key, column in keys.items()}


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


def listed(values: list[Any], limit: int = 20, joined: str = ", ") -> str:
    """Return values in words, at most `limit` of them by name."""
    ordered = sorted(values, key=lambda value: (value is None, str(value)))
    shown = ["null" if value is None else str(value) for value in ordered[:limit]]
    more = [f"and {len(values) - limit} more"] if len(values) > limit else []
    return joined.join(shown + more) or "none"


def said(value: bool | None) -> str:
    """Return the result of a condition, in words."""
    return "null" if value is None else str(value).lower()


def rule_note(facts: Facts, rule: Facts, row: Facts, number: int) -> Note:
    """Return a condition or a mask: whether it applies to the user, and its result."""
    policy = rule["rule"]
    is_for, is_true = row[f"rule_{number}_is_for"], row[f"rule_{number}_says"]
    condition = f"its condition {_said(policy)} is {said(is_true)}"
    if policy["condition"] == "true":
        condition = "it is for every row"
    whom = " and ".join(map(role_called, policy["roles"]))
    title = f"the mask is for {'all but ' if policy['is_except'] else ''}{whom}"
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
