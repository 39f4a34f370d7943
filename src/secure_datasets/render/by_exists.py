"""The rules once more, by exists: for laws, printed predicates, and `why`.

A user is an SQL expression, a row an alias. No relation of a rule's own has a name that
a dataset may have, since the row bears that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from secure_datasets.config.plan import (
    PREFIX,
    Config,
    Dataset,
    parent_dataset,
    relationship_paths,
    restrictions_on,
    ruling_dataset,
    star_query,
)
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented, same, union

Macros = Mapping[str, Callable[..., Any]]
Rule = dict[str, Any]


class HeldKeys(NamedTuple):
    """A user's keys in a security object's map."""

    relation: str
    # The conditions on the relation.
    terms: str
    key: str


class ByExists:
    """The rules of a config's datasets, as conditions on a row and a user."""

    def __init__(
        self, macros: Macros, ref: Callable[[str], Any], config: Config | None
    ) -> None:
        self.macros, self.ref, self.config = macros, ref, config or {}

    def _policies(self, name: str) -> Rule:
        return self.macros["policies_on"](name, self.config)

    def _ruling(self, name: str) -> Dataset:
        return self.config["datasets"][ruling_dataset(name, self.config)]

    # Rows

    def rows_past_the_tier(self, entry: Dataset) -> str:
        """Return the rows of a dataset's base with each user who passes its tier.

        A layered dataset has no tier, and takes the rows of the dataset below.

        entry  the dataset's entry, or the element of `restricted_datasets` if it shows
               fewer columns than the dataset at the end of its chain
        """
        if parent_dataset(entry) is not None:
            queries = [self.macros["layered_rows"](entry, self.config, per_user=True)]
        else:
            cases = self.macros["tier_rules"](entry)
            queries = [self._rows_of_case(entry, case) for case in cases]
            if len(queries) == 1:
                return queries[0]
        # Without a join, Spark moves a question about a user's roles into the union,
        # and fails.
        return f"""select united.*
from (
    {indented(union(queries))}
) as united
inner join ({self.macros["live_users"]()}) as live_users
    on united.user_id = live_users.user_id"""

    def _rows_of_case(self, entry: Dataset, case: Rule) -> str:
        """Return the rows of a case of the tier."""
        right = ""
        if not case["is_for_everyone"]:
            rule, exist = case["rule"], self.macros["both_rights_exist"]
            tier = self.config["tiers"][rule["tier"]]
            right = f"\n    and {exist(rule, tier, 'base', 'users.user_id')}"
        # The base may have a user_id of its own, which the dataset has not.
        columns = ", base.".join(entry.get("base_columns") or entry["columns"])
        return f"""select base.{columns}, users.user_id
from {self.ref(entry["base"])} as base
cross join ({self.macros["live_users"]()}) as users
where
    {self.macros["case_applies"](case, "base")}{right}"""

    # Rules

    def meets_every_rule(
        self, name: str, relation: str, user: str, is_permissive: bool = False
    ) -> str:
        """Return whether a row and its user meet view authorization and all rules.

        For a query, row security applies to the rows that it counts, everything else to
        its answer.

        is_permissive  without the restrictive conditions
        """
        policies, ruling = self._policies(name), self._ruling(name)
        terms: list[str] = []
        if is_permissive:
            policies = {**policies, "restrictive": []}
        if policies["is_authorized"]:
            terms.append(self.outcome_is(name, ["Allow", "Transform"], user))
        if "query" not in ruling:
            for restriction in restrictions_on(ruling, self.config):
                terms.append(self.key_is_held(restriction, relation, user))
        if policies["conditions"] or policies["restrictive"]:
            terms.append(self._meets_the_conditions(name, policies, user))
        return "\nand ".join(terms) or "true"

    def restrictive_rule(self, name: str, user: str) -> str:
        """Return whether each restrictive condition for a user is true of a row.

        Nothing if the dataset has none.
        """
        policies = {**self._policies(name), "conditions": []}
        if not policies["restrictive"]:
            return ""
        return self._meets_the_conditions(name, policies, user)

    def _meets_the_conditions(self, name: str, policies: Rule, user: str) -> str:
        """Return whether any role shows a row and no restrictive condition hides it.

        Or view authorization allows the user all.
        """
        shows = "\nor ".join(self._is_for_and(r, user) for r in policies["conditions"])
        terms = [f"(\n    {indented(shows)}\n)"] if shows else []
        terms += [
            f"(not ({self._acts_for(rule, user)}) or ({rule['condition']}))"
            for rule in policies["restrictive"]
        ]
        meets = "\nand ".join(terms)
        if not policies["is_authorized"]:
            return meets
        return f"""(
    {indented(self.outcome_is(name, ["Allow"], user))}
    or (
        {indented(meets, 8)}
    )
)"""

    def _acts_for(self, rule: Rule, user: str) -> str:
        """Return whether a rule is for a user, and holds now."""
        in_time = self.macros["rule_is_in_time"](rule)
        return self._is_for(rule, user) + (f"\nand {in_time}" if in_time else "")

    def _is_for_and(self, rule: Rule, user: str) -> str:
        """Return whether a rule is for a user, and its condition is true for a row."""
        condition = rule["condition"]
        is_true = f"\n    and ({condition})" if condition != "true" else ""
        return f"(\n    {indented(self._acts_for(rule, user))}{is_true}\n)"

    def _is_for(self, rule: Rule, user: str) -> str:
        """Return whether a rule is for a user: by role, by no exception, or for all."""
        sign = "not " if rule["is_except"] else ""
        held = (sign + self._role_is_held(role, user) for role in rule["roles"])
        return "\nand ".join(held) or "true"

    def _role_is_held(self, role: str | int, user: str) -> str:
        """Return whether a user has a role: a name, or the id of a group."""
        is_it = f"role_name = {sql_text(role)}" if isinstance(role, str) else None
        return f"""exists (
    select 1
    from {self.ref("vw_secure_user_roles")} as _held
    where _held.user_id = {user} and _held.{is_it or f"user_group_id = {role}"}
)"""

    def outcome_is(self, name: str, outcomes: Iterable[str], user: str) -> str:
        """Return whether a user's outcome under view authorization is one of some."""
        return f"""exists (
    select 1
    from {self.ref("view_outcomes")} as _outcomes
    where
        _outcomes.user_id = {user}
        and _outcomes.view_name = {sql_text(PREFIX + name)}
        and _outcomes.outcome in ({", ".join(map(sql_text, outcomes))})
)"""

    # Masks

    def mask_is_put_on(self, rule: Rule, user: str) -> str:
        """Return whether a mask is for a user and covers a row.

        View authorization is left out.
        """
        if rule["shown_to"]:
            in_time = self.macros["rule_is_in_time"](rule)
            hidden = self._is_shown_to_none(rule, user)
            return f"{in_time}\nand {hidden}" if in_time else hidden
        acts = self._acts_for(rule, user)
        if rule["condition"] == "true":
            return acts
        return f"{acts}\nand {self.macros['mask_condition'](rule)}"

    def _is_shown_to_none(self, rule: Rule, user: str) -> str:
        """Return whether no line of a mask shows a user the value."""
        lines = [self._is_for_and(line, user) for line in rule["shown_to"]]
        return self.macros["shown_by_none"](lines)

    def masked_value(self, name: str, relation: str, column: str, user: str) -> str:
        """Return a column's value for a user: its own, or the mask of highest order."""
        policies, value = self._policies(name), f"{relation}.{column}"
        for rule in reversed(policies["masks"].get(column, [])):
            is_put_on = self.mask_is_put_on(rule, user)
            if policies["is_authorized"]:
                is_put_on += f"\nand not {self.outcome_is(name, ['Allow'], user)}"
            value = f"""case
    when {indented(is_put_on, 8)}
        then {self.mask_as_typed(rule, name, column)}
    else {indented(value)}
end"""
        return value

    def mask_as_typed(self, rule: Rule, name: str, column: str) -> str:
        """Return the value of a mask, as the type of its column."""
        ruling, entry = ruling_dataset(name, self.config), self._ruling(name)
        kind = self.macros["column_type"](ruling, entry, column)
        return f"try_cast({rule['mask']} as {kind})"

    def mask_shows_the_value(
        self, rule: Rule, name: str, relation: str, column: str
    ) -> str:
        """Return whether a mask shows a row the value itself.

        No null, and no constant of the mask. As JSON, values of every type are
        compared, maps included.
        """
        value, nulls = f"{relation}.{column}", "map('ignoreNullFields', 'false')"
        mask = self.mask_as_typed(rule, name, column)
        return f"""{value} is not null
and to_json(named_struct('value', {mask}), {nulls})
    = to_json(named_struct('value', {value}), {nulls})"""

    def masks_that_show_values(self, most_rows: int) -> str:
        """Return the query of the masks that leave the true value in too many rows.

        Resource, mask and number.

        most_rows  how many rows a mask may leave as they are
        """
        restricted = self.macros["restricted_datasets"](self.config)
        queries = []
        for name, dataset in self.config["datasets"].items():
            ruling = ruling_dataset(name, self.config)
            key = self.macros["row_key"](dataset, ruling)
            for rule in self.rules_on(name, ruling):
                if not rule["is_mask"] or rule["rule"]["is_constant"]:
                    continue
                shown = (rule["rule"], name, ruling, rule["column"])
                # A query has no tier.
                if name in restricted:
                    rows = self.rows_past_the_tier(restricted[name])
                else:
                    users, rows_of = self.macros["live_users"](), "_rows_with_users"
                    rows = self.macros[rows_of](name, ruling, self.config, users, None)
                queries.append(f"""select
    {sql_text(f"{name}.{rule['column']}")} as resource,
    {sql_text(rule["title"])} as mask,
    count(distinct {key}) as rows_with_the_value
from (
    {indented(rows)}
) as {ruling}
where
    {indented(rule["applies"])}
    and {indented(self.mask_shows_the_value(*shown))}
having count(distinct {key}) > {int(most_rows)}""")
        return self.macros["union_of"](queries)

    # Row security

    def held_keys(self, security: Rule, user: str, number: str = "") -> HeldKeys:
        """Return a user's keys in a security object's map."""
        mapping, held = f"_mapping{number}", f"_held{number}"
        is_of_groups = security["holder"] == "group"
        holders = self.ref("vw_secure_user_roles" if is_of_groups else "stg_users")
        holder = "user_group_id" if is_of_groups else "user_id"
        relation = f"""{self.ref(security["dataset"])} as {mapping}
inner join {holders} as {held}
    on {mapping}.{security["ids_column"]} = {held}.{holder}"""
        is_live = "" if is_of_groups else f"\nand {held}.is_live"
        key = f"{mapping}.{security['filter_key_column']}"
        return HeldKeys(relation, f"{held}.user_id = {user}{is_live}", key)

    def key_is_held(self, restriction: Rule, relation: str, user: str) -> str:
        """Return whether a row leads to a key of a user."""
        if restriction["ways"]:
            ways = "\nor ".join(
                self._way_is_held(restriction, way, relation, user)
                for way in restriction["ways"]
            )
            return f"(\n    {indented(ways)}\n)"
        held, path = self.held_keys(restriction["object"], user), restriction["path"]
        near = relation if len(path) == 1 else path[-1]["from"]["dataset"]
        joins, terms, start = "", "", relation
        for link in path[:-1]:
            far, columns = link["to"]["dataset"], link["from"]["join_columns"]
            joins += f"\n    cross join {self.ref(far)} as {far}"
            terms += f"\n        and {same(start, far, columns)}"
            start = far
        return f"""exists (
    select 1
    from {indented(held.relation)}{joins}
    where
        {indented(held.terms, 8)}
        and {held.key} = {near}.{path[-1]["from"]["join_columns"][0]}{terms}
)"""

    def _way_is_held(
        self, restriction: Rule, way: Rule, relation: str, user: str
    ) -> str:
        """Return whether one row of a fact ties a row to a user's keys by each path."""
        joins = indented(self.macros["path_joins"](way["joined"], "inner", []))
        terms = f"        {same(way['source'], relation, restriction['columns'])}"
        for number, path in enumerate(way["paths"], 1):
            held = self.held_keys(restriction["object"], user, f"_{number}")
            end = path[-1]["from"]
            joins += f"\n    cross join {indented(held.relation)}"
            terms += f"\n        and {indented(held.terms, 8)}\n        and {held.key}"
            terms += f" = {end['dataset']}.{end['join_columns'][0]}"
        return f"""exists (
    select 1
    from {self.ref(way["fact"])} as {way["fact"]}{joins}
    where
{terms}
)"""

    def any_key_is_held(self, security: Rule, user: str) -> str:
        """Return whether a security object maps a user to any key at all."""
        held = self.held_keys(security, user)
        return f"""exists (
    select 1
    from {indented(held.relation)}
    where
        {indented(held.terms, 8)}
        and {held.key} is not null
)"""

    # Answers of queries

    def shown_answer(self, name: str) -> str:
        """Return the rows of a query's secure dataset, to hold against the answer."""
        columns = [*self.config["datasets"][name]["columns"], "user_id"]
        listed = ",\n    ".join(columns)
        return f"select\n    {listed}\nfrom {self.ref(PREFIX + name)}"

    def expected_answer(self, name: str) -> str:
        """Return a query's answer to each user, from rows that lead to their keys."""
        user = f"{name}.user_id"
        values = ""
        for column in self.config["datasets"][name]["columns"]:
            value = indented(self.masked_value(name, name, column, user))
            values += f"    {value} as {column},\n"
        per_user = self.macros["is_restricted"](name, self.config)
        return f"""select
{values}    {user}
from (
    {indented(self.answers_of_users(name, per_user))}
) as {name}
where {self.meets_every_rule(name, name, user)}"""

    def answers_of_users(self, name: str, per_user: bool) -> str:
        """Return a query's answer before conditions and masks.

        To each live user from the rows that lead to a key of that user or, if not by
        user, one answer from all rows.
        """
        entry, joined = self.config["datasets"][name], list[str]()
        star = star_query(entry, self.config) or {}
        paths = relationship_paths(star["root"], self.config)
        dimensions = entry["query"].get("dimensions") or {}
        values = dimensions | {
            column: sql
            for column, sql in (entry["query"].get("measures") or {}).items()
            if not dimensions.get(column)
        }
        columns = "".join(f"    {values[c]} as {c},\n" for c in entry["columns"])
        user = "users.user_id" if per_user else "cast(null as bigint) as user_id"
        root = star["root"]
        query = f"select\n{columns}    {user}\nfrom {self.ref(root)} as {root}"
        for relation, _ in star["columns"]:
            query += self.macros["path_joins"](paths[relation], "left", joined)
        if per_user:
            users = f"{self.ref('stg_users')} as users"
            query += f"\ncross join {users}\nwhere\n    users.is_live"
            for restriction in restrictions_on(entry, self.config):
                held = self.key_is_held(restriction, star["root"], "users.user_id")
                query += f"\n    and {indented(held)}"
        groups = [*dimensions.values(), *["users.user_id"] * per_user]
        return query + (f"\ngroup by {', '.join(groups)}" if groups else "")

    # The rules one by one

    def rules_on(self, name: str, relation: str) -> list[Rule]:
        """Return the rules beyond a dataset's tier, in the order of their effect."""
        policies, user = self._policies(name), f"{relation}.user_id"
        authorization: list[Rule] = []
        spares = ""
        if policies["is_authorized"]:
            allows = self.outcome_is(name, ["Allow"], user)
            passes = self.outcome_is(name, ["Allow", "Transform"], user)
            # Neither restrictive conditions nor masks act on a user that it allows.
            spares = f" and not {allows}"
            gate = "view authorization"
            authorization = [
                {"gate": gate, "title": gate, "is_mask": False, "verb": verb}
                | {"applies": acts}
                for verb, acts in (("hides", f"not {passes}"), ("frees", allows))
            ]
        columns = self.config["datasets"][name]["columns"]
        return [
            *authorization,
            *self._rules_of_row_security(self._ruling(name), relation, user),
            *self._rules_of_conditions(policies, user, spares),
            *self._rules_of_masks(policies, columns, user, spares),
        ]

    def _rules_of_row_security(
        self, ruling: Dataset, relation: str, user: str
    ) -> list[Rule]:
        """Return the rules of row security, from the dataset that rules the rows."""
        return [
            {
                "gate": "row security",
                "title": f'row security "{restriction["object"]["label"]}"',
                "verb": "hides",
                "is_mask": False,
                "restriction": restriction,
                "applies": f"not {self.key_is_held(restriction, relation, user)}"
                if "query" not in ruling
                else None,
            }
            for restriction in restrictions_on(ruling, self.config)
        ]

    def _of_policy(self, rule: Rule, user: str) -> Rule:
        """Return what a rule of a condition and one of a mask have in common."""
        hidden = self._is_shown_to_none(rule, user) if rule["shown_to"] else None
        return {
            "is_for": self._is_for(rule, user),
            "in_time": self.macros["rule_is_in_time"](rule),
            "says": hidden or rule["condition"],
            "rule": rule,
        }

    def _rules_of_conditions(
        self, policies: Rule, user: str, spares: str
    ) -> list[Rule]:
        """Return the rules of conditions, then of restrictive ones.

        spares  SQL: that no user whom view authorization allows is concerned
        """
        shows = [
            {
                "title": f"condition of {rule['whom']}",
                "verb": "shows",
                "applies": self._is_for_and(rule, user),
                **self._of_policy(rule, user),
            }
            for rule in policies["conditions"]
        ]
        hides = [
            {
                "title": f"restrictive condition of {rule['whom']}",
                "verb": "hides",
                "applies": f"{self._acts_for(rule, user)} and ({rule['condition']}) is"
                f" not true{spares}",
                **self._of_policy(rule, user),
            }
            for rule in policies["restrictive"]
        ]
        return [
            {"gate": "conditions", "is_mask": False, **rule} for rule in shows + hides
        ]

    def _rules_of_masks(
        self, policies: Rule, columns: list[str], user: str, spares: str
    ) -> list[Rule]:
        """Return the rules of masks on some columns; `spares` as in conditions."""
        return [
            {
                "gate": "masks",
                "title": f"mask on {column} of {rule['whom']}",
                "verb": "masks",
                "is_mask": True,
                "applies": self.mask_is_put_on(rule, user) + spares,
                "column": column,
                **self._of_policy(rule, user),
            }
            for column, masks in policies["masks"].items()
            if column in columns
            for rule in masks
        ]


def rules_by_exists(
    adapter: Any, macros: Macros, ref: Callable[[str], Any], config: Config | None
) -> ByExists:
    """Return the rules of a config's datasets by exists: a method for macros."""
    return ByExists(macros, ref, config)
