"""Derives facts from the config's entries: chains, paths in the star, restrictions.

All functions take the config in the form for macros, and change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from secure_datasets.rules import readers, times
from secure_datasets.sql import expressions

Config = dict[str, Any]
Dataset = dict[str, Any]
Link = dict[str, Any]
# The name of a role, or the id of a group, in the checked config and everywhere after.
Role = str | int
# The role that every live user holds; no group has this name.
EVERYBODY = "*"

# The name of the dbt package, and the beginning of the name of a secure dataset.
PACKAGE = "secure_datasets"
PREFIX = "vw_secure_dataset_"
# The characters with the Unicode property White_Space, which staging trims.
WHITE_SPACE = "".join(
    chr(code)
    for code in (
        *range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
        0x202F, 0x205F, 0x3000,
    )
)  # fmt: skip
# The steps of `restricted_rows` in their order. For each, a function of a dataset's
# policies and row-security restrictions decides whether the step is needed.
STEPS: dict[str, Callable[[dict[str, Any], list[Any]], Any]] = {
    "held_roles_of_users": lambda policies, _: policies["roles"],
    "tier_rows": lambda *_: True,
    "authorized_rows": lambda policies, _: policies["is_authorized"],
    "secured_rows": lambda _, restrictions: restrictions,
    "rows_with_roles": lambda policies, _: policies["roles"],
    "guarded_rows": lambda policies, _: policies["guarded"],
    "visible_rows": lambda policies, _: (
        policies["conditions"] or policies["restrictive"]
    ),
}


def steps_of(policies: dict[str, Any], restrictions: list[Any]) -> list[str]:
    """Return the steps that policies and restrictions need, in their order."""
    return [
        step for step, is_asked in STEPS.items() if is_asked(policies, restrictions)
    ]


def parent_dataset(dataset: Dataset) -> str | None:
    """Return the secure dataset that is the base of a dataset; else none."""
    base = dataset.get("base")
    if isinstance(base, str) and base.startswith(PREFIX):
        return base.removeprefix(PREFIX)
    return None


def ruling_dataset(name: str, config: Config) -> str:
    """Return the dataset whose rows and rules a dataset shows; it may be itself."""
    dataset = config["datasets"][name]
    below = parent_dataset(dataset)
    if dataset.get("view_authorization") and below:
        return ruling_dataset(below, config)
    return name


def chain_of(name: str, config: Config) -> list[str]:
    """Return the datasets whose rules act on a dataset's rows, from top to bottom."""
    name = ruling_dataset(name, config)
    parent = parent_dataset(config["datasets"][name])
    return [name, *(chain_of(parent, config) if parent else ())]


def tier_columns(dataset: Dataset, config: Config) -> list[str]:
    """Return the columns that a secure dataset has after `user_id`."""
    below = parent_dataset(dataset)
    if below:
        return tier_columns(config["datasets"][below], config)
    if "switch" in dataset:
        cases = dataset["switch"]["cases"].values()
        tier = next(case["tier"] for case in cases if "tier" in case)
        return config["tiers"][tier]["carries"]
    return config["tiers"][dataset["tier"]]["carries"] if "tier" in dataset else []


def trimmed(text: str) -> str:
    """Return a text, trimmed as in staging."""
    return text.strip(WHITE_SPACE)


def role_of(written: str | int | dict[str, int]) -> Role:
    """Return the role for its form in the config, a variable or a call.

    A name is trimmed as in staging. `{group: 17}` becomes the id.
    """
    if isinstance(written, dict):
        return int(written["group"])
    return written if isinstance(written, int) else trimmed(written)


def role_called(role: Role) -> str:
    """Return the name of a role in messages."""
    return f"group {role}" if isinstance(role, int) else role


def parts_of(resource: str) -> tuple[str, str | None]:
    """Return a policy's dataset and, for a mask, its column."""
    name, _, column = resource.partition(".")
    return name, column if "." in resource else None


def readers_name(access_view: str) -> str:
    """Return the name of the readers' view over an access view."""
    return access_view.removeprefix("vw_secure_")


def policies_of(name: str, config: Config) -> list[dict[str, Any]]:
    """Return the entries of the policies on a dataset and on its columns."""
    policies = config.get("policies") or []
    return [policy for policy in policies if parts_of(policy["resource"])[0] == name]


def roles_named_by(policy: dict[str, Any]) -> list[Role]:
    """Return the roles that a policy includes or excepts, without `*`."""
    lines = policy.get("shown_to") or [policy]
    written = policy.get("except") or [line["role"] for line in lines]
    roles = dict.fromkeys(map(role_of, written))
    return [role for role in roles if role != EVERYBODY]


def called_for(policy: dict[str, Any], quote: str = "'") -> str:
    """Return the roles of a policy in words."""
    roles = roles_named_by(policy)
    if policy.get("role") and not roles:
        return "everybody"
    named = f"{quote}, {quote}".join(map(role_called, roles))
    if "shown_to" in policy:
        return f"all but those of 'shown_to'{f', {quote}{named}{quote}' * bool(roles)}"
    return f"{'all but ' if 'except' in policy else ''}{quote}{named}{quote}"


def expressions_of(policy: dict[str, Any]) -> list[str]:
    """Return the SQL texts of a policy."""
    lines = policy.get("shown_to") or []
    said = [policy.get("condition"), policy.get("mask")]
    said += [line.get("where") for line in lines]
    return [text for text in said if isinstance(text, str)]


def roles_asked_by(policy: dict[str, Any], roles_view: str) -> list[Role]:
    """Return the roles that a policy names, also in its subqueries.

    A subquery names a role by comparing it with a column of the roles' view.

    roles_view  the view's name in SQL
    """
    found = dict.fromkeys(roles_named_by(policy))
    for text in expressions_of(policy):
        compared = expressions.roles_compared(expressions.read(text), roles_view)
        # SQL compares a name exactly, white space included.
        found |= dict.fromkeys(
            role if isinstance(role, str) else role_of(role) for role in compared
        )
    return list(found)


def policies_on(
    name: str, config: Config, attributes: str = "", user: str = "", row: str = ""
) -> dict[str, Any]:
    """Return the rules of a dataset's policies, with the defaults filled in.

    `attributes`: SQL for the relation with the attributes of the reader.
    `user`: SQL for the reader; if empty, the user of the row.
    `row`: the name of the row in SQL; if empty, the dataset whose rules these are.

    The result has:

    - `conditions`: the permissive rules
    - `restrictive`: the restrictive rules
    - `masks`: for each masked column its rules, the highest order first
    - `roles`: for each role in the rules, the field that is true if a user holds it
    - `needs_role`: whether a user needs one of the roles to see any row
    - `guarded`: the columns in the SQL of the rules
    - `is_authorized`: whether view authorization decides which users they apply to;
      the rules are then the ones at the end of the chain

    A rule applies to users with one of its `roles`; with `is_except`, to users without
    them, so to everybody if there are no roles. A mask does not act on a row if a line
    of its `shown_to` is true. A rule with `valid_from` or `valid_until` acts only
    between them.
    """
    ruling = ruling_dataset(name, config)

    reader, row = config.get("reader"), row or ruling
    columns = config["datasets"][ruling].get("columns", [])
    has_reader = reader and expressions.READER not in (ruling, *columns)

    def asks_reader(text: str) -> bool:
        return bool(has_reader) and readers.names_reader(expressions.read(text))

    def asked(text: str, may_be_null: bool) -> str:
        """Return a condition as SQL of a row, with the reader's attributes resolved."""
        of_row = text if row == ruling else expressions.renamed(text, ruling, row)
        if not asks_reader(text):
            return of_row
        return readers.asked(
            of_row, attributes, reader["key"], row, user or f"{row}.user_id",
            may_be_null,
        )  # fmt: skip

    conditions: list[dict[str, Any]] = []
    restrictive: list[dict[str, Any]] = []
    masks: dict[str, list[dict[str, Any]]] = {}
    roles: dict[Role, None] = {}
    expressions_of_rules: list[str] = []
    for policy in policies_of(ruling, config):
        roles |= dict.fromkeys(roles_named_by(policy))
        column = parts_of(policy["resource"])[1]
        is_restrictive = policy.get("as") == "restrictive"
        rules = restrictive if is_restrictive else conditions
        if column:
            rules = masks.setdefault(column, [])
        rules.append(_rule(policy, asked))
        rules[-1]["asks_reader"] = asks_reader(rules[-1]["said"])
        expressions_of_rules += expressions_of(policy)
    for rules in masks.values():
        rules.sort(key=lambda rule: rule["mask_order"], reverse=True)
    is_authorized = config["datasets"][name].get("view_authorization", False)
    is_for_some = conditions and not any(rule["is_except"] for rule in conditions)
    return {
        "conditions": conditions,
        "restrictive": restrictive,
        "masks": masks,
        "roles": _role_fields(list(roles)),
        "needs_role": bool(is_for_some) and not is_authorized,
        "guarded": expressions.columns_named(expressions_of_rules, columns),
        "is_authorized": is_authorized,
    }


def known_masks(name: str, config: Config) -> dict[str, str]:
    """Return the columns whose masked values depend only on their own values.

    With each column, its mask: the only one in the whole chain, and it reads only the
    column. A query has no such columns: its measures are no values of a row.
    """
    texts: dict[str, set[str]] = {}
    while name:
        name = ruling_dataset(name, config)
        if "query" in config["datasets"][name]:
            return {}
        for policy in policies_of(name, config):
            if column := parts_of(policy["resource"])[1]:
                texts.setdefault(column, set()).add(_sql(policy["mask"]))
        name = parent_dataset(config["datasets"][name]) or ""
    return {
        column: mask
        for column, (mask, *others) in texts.items()
        if not others and expressions.reads_only(mask, column)
    }


def _rule(policy: dict[str, Any], asked: Callable[[str, bool], str]) -> dict[str, Any]:
    """Return a policy as a rule, with the defaults filled in.

    Its `condition` is SQL of a row, made by `asked`; `said` is the written condition.
    """
    shown_to = [
        {
            "roles": roles_named_by(line),
            "is_except": not roles_named_by(line),
            "condition": asked(_sql(line.get("where", True)), False),
            "said": _sql(line.get("where", True)),
        }
        for line in policy.get("shown_to") or []
    ]
    roles = [] if shown_to else roles_named_by(policy)
    whom, time = called_for(policy, '"'), times.in_words(times.bounds(policy))
    return {
        "dataset": parts_of(policy["resource"])[0],
        "roles": roles,
        "is_except": "except" in policy or not roles,
        "named": roles_named_by(policy),
        "whom": f"{whom} {time}".rstrip(),
        "condition": asked(_sql(policy.get("condition", True)), "mask" in policy),
        "said": _sql(policy.get("condition", True)),
        "shown_to": shown_to,
        "mask": _sql(policy.get("mask", "")),
        "is_constant": _is_constant(_sql(policy.get("mask", "null"))),
        "mask_order": policy.get("mask_order", 0),
        "mask_on_null": policy.get("mask_on_null", "mask"),
        "check": policy.get("check", True),
        **times.bounds(policy),
    }


def checks_of(
    name: str,
    role: Role,
    config: Config,
    clock: str,
    attributes: str = "",
    user: str = "",
) -> list[dict[str, Any]]:
    """Return the checks on rows that a role writes to a dataset.

    They are those of each dataset in its chain: the role's own conditions, or else
    everybody's, also while none of its own is in force; and each restrictive rule that
    applies to a user with only this role. If others have conditions and the role has
    none, no row passes.

    `user`: SQL for the writer.

    Each check has:

    - `dataset`: the dataset whose conditions they are
    - `sql`: the condition, which compares the clock with the rule's times
    - `reason`: the reason to reject a row for which it is not true
    - `columns`: the columns of a row that it names
    - `needs_user`: whether it reads attributes of the writer
    """
    called, found = role_called(role), []
    for each in chain_of(name, config):
        policies = policies_on(each, config, attributes, user, name)
        checks = _checks_by(policies, role, clock)
        none = {"sql": "false", "columns": [], "needs_user": False}
        none["reason"] = f"role '{called}' has no policy on '{each}'"
        for check in [none] if checks is None else checks:
            says = check.get("says")
            reason = f"not true for role '{called}': {says}"
            found.append({"dataset": each, "reason": reason} | check)
    return found


def _checks_by(
    policies: dict[str, Any], role: Role, clock: str
) -> list[dict[str, Any]] | None:
    """Return the checks by one dataset's rules; none if the role may write nothing."""
    own = [rule for rule in policies["conditions"] if rule["roles"] == [role]]
    everybody = [rule for rule in policies["conditions"] if not rule["roles"]]
    if policies["conditions"] and not own and not everybody:
        return None
    found = [_own_check(own, everybody, clock)] if own or everybody else []
    found += [
        _checked_by([rule], clock, is_restrictive=True)
        for rule in policies["restrictive"]
        if (role in rule["roles"]) != rule["is_except"]
    ]
    return [check for check in found if check["sql"] != "true"]


def _own_check(
    own: list[dict[str, Any]], everybody: list[dict[str, Any]], clock: str
) -> dict[str, Any]:
    """Return the check by a role's own conditions, or everybody's without them."""
    check = _checked_by(own or everybody, clock)
    held = [times.is_in_time(rule, clock) for rule in own]
    if not (own and everybody and all(held)):
        return check
    other = _checked_by(everybody, clock)
    return {
        "sql": f"({check['sql']}) or not ({' or '.join(filter(None, held))})"
        f" and ({other['sql']})",
        "says": f"{check['says']} or, at any other time, {other['says']}",
        "columns": sorted({*check["columns"], *other["columns"]}),
        "needs_user": check["needs_user"] or other["needs_user"],
    }


def _checked_by(
    rules: list[dict[str, Any]], clock: str, is_restrictive: bool = False
) -> dict[str, Any]:
    """Return a check that is true if one of the rules is, each in its own time."""
    terms = []
    for rule in rules:
        condition = rule["condition"] if rule["check"] else "true"
        held = times.is_in_time(rule, clock)
        if held and is_restrictive:
            condition = f"not ({held}) or ({condition})" * (condition != "true")
        elif held:
            condition = held + f" and ({condition})" * (condition != "true")
        terms.append(condition or "true")
    conditions = [f"({term})" for term in terms] if len(terms) > 1 else terms
    words = [
        " ".join(filter(None, (rule["said"], times.in_words(rule)))) for rule in rules
    ]
    checked = [rule for rule in rules if rule["check"]]
    named = [expressions.own_columns(r["said"], r["dataset"]) for r in checked]
    return {
        "sql": " or ".join(conditions),
        "says": " or ".join(words),
        "columns": sorted(set().union(*named)),
        "needs_user": any(rule["asks_reader"] for rule in checked),
    }


def long_over(config: Config, days: int, clock: str) -> list[dict[str, str]]:
    """Return the policies with an end; `is_over` is SQL: is the end `days` ago?"""
    found = []
    for policy in config.get("policies") or []:
        ends = times.bounds(policy)["valid_until"]
        if ends is None:
            continue
        since = {"valid_from": times.later(ends, days), "valid_until": None}
        found.append(
            {
                "resource": policy["resource"],
                "policy": called_for(policy),
                "reason": f"it ended {ends} UTC, and does nothing: take it away",
                "is_over": times.is_in_time(since, clock),
            }
        )
    return found


def text_digest(text: str, relation: str) -> str:
    """Return the digest of a model's text, without the name of its own relation."""
    without = text.replace(relation, "") if relation else text
    return sha256(without.encode()).hexdigest()


def rules_in_time(name: str, config: Config) -> dict[str, Any]:
    """Return the times when policies in a dataset's chain begin and end.

    `said` is a digest of all entries of the config that decide about its rows.
    """
    chain = chain_of(name, config)
    policies = [policy for each in chain for policy in policies_of(each, config)]
    bounds = [times.bounds(policy) for policy in policies]
    parts = ("tiers", "row_security", "relationships", "relations", "reader")
    said = [policies, *(config["datasets"][each] for each in (name, *chain))]
    said += [config.get(part) for part in parts]
    return {
        "begins": sorted({each["valid_from"] for each in bounds} - {None}),
        "ends": sorted({each["valid_until"] for each in bounds} - {None}),
        "said": sha256(json.dumps(said, default=str).encode()).hexdigest(),
    }


def _sql(value: Any) -> str:
    """Return a condition or a mask as SQL; YAML reads a bare true as a boolean."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _is_constant(mask: str) -> bool:
    """Whether a mask is a constant, so that it reveals no value."""
    return expressions.constant(expressions.read(mask).tree) is not None


def _role_fields(roles: list[Role]) -> dict[Role, str]:
    """Return for each role its field of `held_roles`: the role's name on one line.

    Spark ignores the case of a field. So if two names differ only in case, all fields
    get a number. All fields also get one if a name is not ASCII, because Spark's rules
    for the case of further letters are unknown.
    """
    names = [" ".join(role_called(role).split()) for role in roles]
    are_alike = len({name.lower() for name in names}) < len(names)
    are_alike = are_alike or not "".join(names).isascii()
    return {
        role: f"{number} {name}" if are_alike else name
        for number, (role, name) in enumerate(zip(roles, names, strict=True), 1)
    }


def levels_of(relation: dict[str, Any]) -> list[list[str]]:
    """Return the columns of each level of a relation, the lowest first."""
    levels = relation.get("levels", [])
    return list(levels.values()) if isinstance(levels, dict) else levels


def level_names(relation: dict[str, Any]) -> list[str]:
    """Return the names of a relation's levels, the lowest first, if they have some."""
    levels = relation.get("levels", [])
    return list(levels) if isinstance(levels, dict) else []


def relationship_paths(start: str, config: Config) -> dict[str, list[Link]]:
    """Return the relations that can be joined to a relation, with shortest paths."""
    paths: dict[str, list[Link]] = {start: []}
    reached = [start]
    while reached:
        further = []
        for link in config.get("relationships", []):
            near, far = link["from"]["dataset"], link["to"].get("dataset")
            if far and near in reached and far not in paths:
                paths[far] = [*paths[near], link]
                further.append(far)
        reached = further
    return paths


def ambiguous_ends(start: str, config: Config) -> list[str]:
    """Return the relations with two equally short paths from a relation."""
    ways = {start: 1}
    reached = {start}
    found = []
    while reached:
        further: dict[str, int] = {}
        for link in config.get("relationships", []):
            near, far = link["from"]["dataset"], link["to"].get("dataset")
            if far and near in reached and far not in ways:
                further[far] = further.get(far, 0) + ways[near]
        found += [far for far, count in further.items() if count > 1]
        ways.update(further)
        reached = set(further)
    return found


def paths_to_object(
    start: str, security: dict[str, Any], config: Config
) -> list[list[Link]]:
    """Return the paths from a relation to a security object.

    The last link of a path leads to the object itself.
    """
    paths = relationship_paths(start, config)
    return [
        [*paths[link["from"]["dataset"]], link]
        for link in config.get("relationships", [])
        if link["to"].get("row_security") == security["unique_name"]
        and link["from"]["dataset"] in paths
    ]


def columns_of_measures(dataset: Dataset, config: Config) -> list[list[str]]:
    """Return the columns of dimensions in a query's measures."""
    relations = config.get("relations", {})
    found = []
    for measure in (dataset.get("query", {}).get("measures") or {}).values():
        named = expressions.check_measure(expressions.read(measure), None, relations)
        found += [
            [relation, column]
            for relation, column in named
            if relations[relation]["kind"] != "fact"
        ]
    return found


def star_query(dataset: Dataset, config: Config) -> dict[str, Any] | None:
    """Return a dataset's reads of the star; none if it does not read the star.

    - `columns`: the relation and column of each dimension, also in measures
    - `selected`: for each column of a query its SQL and, if needed, its alias
    - `root`: the relation that all further relations are joined to
    - `has_fact`: whether the root is a fact
    - `roots`: all candidates for the root; a valid dataset has exactly one
    """
    relations = config.get("relations") or {}
    selected = []
    if "query" not in dataset:
        if dataset.get("base") not in relations:
            return None
        columns = [[dataset["base"], column] for column in dataset["columns"]]
        roots = [dataset["base"]]
    else:
        query = dataset["query"]
        dimensions = query.get("dimensions") or {}
        columns = [place.split(".") for place in dimensions.values()]
        for name, place in (dimensions | (query.get("measures") or {})).items():
            is_itself = name in dimensions and place.split(".")[1:] == [name]
            selected.append({"sql": place, "alias": None if is_itself else name})
        columns += columns_of_measures(dataset, config)
        used = list(dict.fromkeys(relation for relation, _ in columns))
        roots = []
        if not query.get("measures"):
            roots = _roots_of(used, used, config)
        if not roots:
            facts = [name for name, item in relations.items() if item["kind"] == "fact"]
            roots = _roots_of(facts, used, config)
        if query.get("fact"):
            roots = [root for root in roots if root == query["fact"]]
    root = roots[0] if roots else None
    return {
        "columns": columns,
        "selected": selected,
        "roots": roots,
        "root": root,
        "has_fact": relations.get(root, {}).get("kind") == "fact",
    }


def _roots_of(candidates: list[str], used: list[str], config: Config) -> list[str]:
    """Return the candidates with a path to every used relation."""
    return [
        candidate
        for candidate in candidates
        if set(used) <= set(relationship_paths(candidate, config))
    ]


def keys_name(security: dict[str, Any], suffix: str = "") -> str:
    """Return the name, in rendered SQL, of the relation with an object's keys."""
    # Spark would replace `${name}` by a variable, even in quotes.
    name = security["unique_name"].replace("${", "$ {") + suffix
    return name if expressions.is_plain_name(name) else expressions.sql_name(name)


def restrictions_on(dataset: Dataset, config: Config) -> list[dict[str, Any]]:
    """Return the restrictions of a dataset by security objects.

    An object with several paths restricts by each path. A restriction has:

    - `object`: the security object
    - `path`: the relationships from the dataset's root to the object
    - `columns`: the dataset's restricted columns
    - `keys_name`: the relation with the keys that a row must have
    - `alias`: the alias of this relation in the join
    - `ways`: none; for a dimension that only facts tie to the object, for each `fact`
      the `links` to the dimension and the `paths` to the object

    The rules by scope are those of the table in docs/row-security.md. Attributes above
    the secured level alone count as totals. A column of a fact is below every level.
    """
    query = star_query(dataset, config)
    found: list[dict[str, Any]] = []
    for security in config.get("row_security", []) if query else ():
        paths = paths_to_object(query["root"], security, config)
        if not paths:
            if security["scope"] == "all" and not query["has_fact"]:
                found += _through_facts(query["root"], security, config)
            continue
        if query["has_fact"] and security["scope"] == "related":
            continue
        if security.get("secure_totals", True) or _shows_secured_level(
            query, security, config
        ):
            found += [
                {
                    "object_keys": keys_name(security),
                    "keys_name": keys_name(security),
                    "alias": keys_name(security, f"_{number}" if number > 1 else ""),
                    "object": security,
                    "path": path,
                    "columns": path[0]["from"]["join_columns"],
                    "ways": None,
                }
                for number, path in enumerate(paths, 1)
            ]
    return found


def _through_facts(
    root: str, security: dict[str, Any], config: Config
) -> list[dict[str, Any]]:
    """Return the restriction of a dimension that only facts tie to the object.

    A user sees a member if at least one fact has a row with it, and each path of this
    fact leads from the row to one of the user's keys.
    """
    ways = []
    for fact, relation in config["relations"].items():
        links = relationship_paths(fact, config).get(root)
        paths = paths_to_object(fact, security, config)
        if relation["kind"] == "fact" and links and paths:
            ways.append({"fact": fact, "links": links, "paths": paths})
    if not ways:
        return []
    named = [way["links"][-1]["from"]["join_columns"] for way in ways]
    columns = list(dict.fromkeys(column for names in named for column in names))
    for way in ways:
        near = way["links"][-1]["from"]
        has_all = near["join_columns"] == columns
        way["source"] = near["dataset"] if has_all else root
        way["joined"] = [
            *(link for path in way["paths"] for link in path[:-1]),
            *(way["links"][:-1] if has_all else way["links"]),
        ]
        way["aliases"] = [
            keys_name(security, f"_{number}" if number > 1 else "")
            for number in range(1, len(way["paths"]) + 1)
        ]
    through = ways[0]["fact"] if len(ways) == 1 else "facts"
    name = keys_name(security, f"_through_{through}")
    return [
        {
            "object": security,
            "object_keys": keys_name(security),
            "keys_name": name,
            "alias": name,
            "columns": columns,
            "path": ways[0]["paths"][0],
            "ways": ways,
        }
    ]


def _shows_secured_level(
    query: dict[str, Any], security: dict[str, Any], config: Config
) -> bool:
    """Whether a column shows the secured level or one below it."""
    ways = relationship_paths(query["root"], config)
    return any(
        not _is_above(column, lead, relation, config)
        for relation, column in query["columns"]
        for lead in _leads_of(relation, ways[relation], security, config)
    )


class _Lead(NamedTuple):
    """The columns of a relation that tie its rows to an object's keys.

    `is_key`: true if the columns are the key itself: the relation's higher levels are
    above the key. False if they only lead to the key: the whole relation is below it.
    `link`: the first relationship of the path to the object, if the path begins here.
    """

    columns: list[str]
    is_key: bool
    link: Link | None = None


def _leads_of(
    relation: str, path: list[Link], security: dict[str, Any], config: Config
) -> list[_Lead]:
    """Return the leads of a relation, joined by a path, to an object's keys.

    - Each of the relation's own paths to the object is a lead.
    - A lead of the previous relation is also a lead here, if its columns are among the
      joined columns.
    - If the previous relation is a dimension and a joined column is not above the
      secured level, the joined columns are a lead from below. After a fact they are
      none: the relation is a separate dimension.
    """
    leads = [
        _Lead(way[0]["from"]["join_columns"], len(way) == 1, way[0])
        for way in paths_to_object(relation, security, config)
    ]
    if not path:
        return leads
    near, joined = path[-1]["from"]["dataset"], path[-1]["from"]["join_columns"]
    is_fact = config["relations"][near]["kind"] == "fact"
    for lead in _leads_of(near, path[:-1], security, config):
        if lead.link == path[-1]:
            continue
        if set(lead.columns) <= set(joined):
            leads.append(_Lead(lead.columns, lead.is_key))
        elif not is_fact and any(
            not _is_above(column, lead, near, config) for column in joined
        ):
            leads.append(_Lead(joined, False))
    return leads


def _is_above(column: str, lead: _Lead, relation: str, config: Config) -> bool:
    """Whether a column is known to be at a higher level than the secured one."""
    levels = levels_of(config["relations"][relation])
    level_of = {name: place for place, names in enumerate(levels) for name in names}
    if not lead.is_key or not {column, *lead.columns} <= level_of.keys():
        return False
    return all(level_of[column] > level_of[key] for key in lead.columns)
