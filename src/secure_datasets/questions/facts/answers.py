"""The answer about a user and a row or an object, and the relations that it reads."""

from __future__ import annotations

from typing import Any

from jinja2.filters import do_int

from secure_datasets.config.plan import PREFIX, parent_dataset, ruling_dataset
from secure_datasets.questions.answers import object_answer, row_answer
from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.facts.keys import line_of_everyone
from secure_datasets.questions.facts.nearest import add_nearest
from secure_datasets.questions.facts.rights import add_rights
from secure_datasets.questions.facts.rules import add_rules, add_ways
from secure_datasets.questions.facts.staged import name_rows, traced, traced_rows
from secure_datasets.questions.notes import Facts, Note
from secure_datasets.questions.support import object_support, row_support
from secure_datasets.render.gates import gate_cases, gates_query

OF_TIERS = (
    *("explained_access_paths", "int_access_paths", "int_securable_objects"),
    *("int_user_group_ancestors", "role_permissions"),
)
# The relations that the rules of a gate read.
OF_GATES = {
    "view authorization": ("view_outcomes", "view_decisions"),
    **dict.fromkeys(("row security", "conditions", "masks"), ("vw_secure_user_roles",)),
}


def shown_by(built: Built, kind: str, name: str) -> str:
    """Return the relation with the subject of a question: of a dataset or a tier."""
    if kind == "dataset":
        return PREFIX + name
    return built.config["tiers"][name]["access_view"]


def relations_of(built: Built, kind: str, name: str) -> list[str]:
    """Return the relations that an answer about a dataset or tier reads.

    Besides its subject. For a layered dataset also its parent's.
    """
    names, tiers, config = [], [name], built.config
    if kind == "dataset":
        ruling = ruling_dataset(name, config)
        entry = config["datasets"][ruling]
        names += [entry["base"]] if "base" in entry else []
        if parent := parent_dataset(entry):
            names += relations_of(built, "dataset", parent)
        cases = gate_cases(built.rules, ruling)
        tiers = [case["tier"] for case in cases if case["tier"]]
        for rule in built.rules.rules_on(name, ruling):
            names += OF_GATES.get(rule["gate"], ())
    names += [config["tiers"][tier]["access_view"] for tier in tiers]
    return [*dict.fromkeys([*names, *(OF_TIERS if tiers else ())])]


# A row of a dataset


def about_row(built: Built, name: str, row: Facts, person: Facts) -> Facts:
    """Return the answer about a user and a row, by its key, with the dataset below."""
    facts = _facts_of_row(built, name, row, person)
    answer = row_answer(facts, person)
    if answer["seen"]:
        add_ways(built, facts, row, person)
        _add_support(built, answer, row_support(facts, person))
    return answer


def _facts_of_row(built: Built, name: str, row: Facts, person: Facts) -> Facts:
    """Return what decides about a row: the gates' results, and what explains them."""
    rules, config = built.rules, built.config
    ruling = ruling_dataset(name, config)
    entry = config["datasets"][ruling]
    parent, base = parent_dataset(entry), entry.get("base")
    found = built.rows(gates_query(rules, name, _as_users(person), row))
    facts: Facts = {
        "dataset": name,
        "columns": config["datasets"][name]["columns"],
        "base": base or f"the answer of '{ruling}'",
        "found": found,
        "cases": gate_cases(rules, ruling),
        "rules": rules.rules_on(name, ruling),
        "is_query": "query" in entry,
        "exists": bool(found),
        "below": None,
        "missing": [],
        "outcome": None,
        "roles": [],
        "security": {},
        **_no_rights(),
        # What opens the gates beyond the tier
        "memberships": [],
        "held_roles": [],
        "global_roles": [],
        "key_lines": [],
        "decisions": None,
    }
    if parent:
        answer = about_row(built, parent, row, person)
        facts["below"] = {"dataset": parent, "answer": answer}
    elif facts["is_query"] and not found:
        everyone = line_of_everyone(built, ruling, row)
        facts["exists"] = bool(built.rows(everyone))
    _add_rights_of_cases(built, facts, person)
    if not found and not parent:
        facts["missing"] = traced_rows(built, facts["base"], row)
    add_rules(built, facts, row, person)
    return facts


def _no_rights() -> Facts:
    """Return the facts about rights before any is known."""
    lists: Facts = {"paths": [], "links": [], "objects": []}
    return {"parts": {}, **lists, "missed": {}, "nearest": None}


def _as_users(person: Facts) -> str:
    """Return one user as a query of user_id and is_live."""
    return (
        f"select cast({person['user_id']} as bigint) as user_id,"
        f" {str(person['is_live']).lower()} as is_live"
    )


def _add_rights_of_cases(built: Built, facts: Facts, person: Facts) -> None:
    """Add the rights of the cases that apply, and the nearest grants of closed ones."""
    for line in facts["found"]:
        for case in facts["cases"]:
            of_case = f"case_{case['number']}"
            if not case["tier"] or not line[of_case]:
                continue
            second, sides = line[f"{of_case}_second"], []
            for keys in filter(None, (case["keys"], case["second_keys"])):
                values = {key: _as_id(line[f"key_{c}"]) for key, c in keys.items()}
                add_rights(built, facts, case["tier"], values, person)
                if not sides or second is not None:
                    sides.append((case["tier"], values))
            if not line[f"{of_case}_first"] or second is False:
                add_nearest(built, facts, sides, person, facts["dataset"])


def _as_id(value: Any) -> int | None:
    """Return the key of a tier as a number of SQL: these keys are ids."""
    return None if value is None else do_int(value)


# An object of a tier


def about_object(built: Built, name: str, keys: Facts, person: Facts) -> Facts:
    """Return the answer about a user and an object of a tier, by its keys."""
    values = {key: int(value) for key, value in keys.items()}
    columns = ", ".join(f"cast({v} as bigint) as {key}" for key, v in keys.items())
    own_names = {key: key for key in keys}
    right = built.rules.right_exists(name, own_names, "asked", person["user_id"])
    held = built.rows(
        f"select 1 as is_held from (select {columns}) as asked where {right}"
    )
    facts: Facts = {
        "tier": name,
        "keys": values,
        "is_held": bool(held),
        "missing": _traced_keys(built, keys),
        **_no_rights(),
    }
    add_rights(built, facts, name, values, person)
    if not held:
        add_nearest(built, facts, [(name, values)], person)
    answer = object_answer(facts, person)
    if answer["seen"]:
        _add_support(built, answer, object_support(facts))
    return answer


def _traced_keys(built: Built, keys: Facts) -> list[Facts]:
    """Return the staged rows that the keys of an object refer to."""
    found = []
    for key, value in keys.items():
        tables = (table["references"].get(key) for table in built.tables.values())
        names = dict.fromkeys(filter(None, tables))
        found += [traced(built, table, value) for table in names]
    return found


def _add_support(built: Built, answer: Facts, support: list[Note] | None) -> None:
    """Add the last support to an answer, with the names of its rows."""
    answer["last_support"] = support
    name_rows(built, support or [])
