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
    Link,
    parent_dataset,
    policies_on,
    relationship_paths,
    restrictions_on,
    ruling_dataset,
    star_query,
    tier_columns,
)
from secure_datasets.config.tiers import (
    case_applies,
    has_public_rows,
    is_restricted,
    restricted_datasets,
    tier_rules,
)
from secure_datasets.render.by_joins import ByJoins
from secure_datasets.rules.masks import mask_condition, shown_by_none
from secure_datasets.rules.times import is_in_time
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import (
    indented,
    row_filter,
    row_key,
    same,
    union,
    union_of,
)

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

    @property
    def attributes(self) -> str:
        """The relation with the reader's attributes; empty if the config names none."""
        reader = self.config.get("reader")
        return str(self.ref(reader["relation"])) if reader else ""

    @property
    def clock(self) -> str:
        """SQL for the moment that rules compare with."""
        return self.macros["readers_clock"]()

    def policies(self, name: str) -> Rule:
        """Return the policies on a dataset, with the reader's attributes."""
        return policies_on(name, self.config, self.attributes)

    def by_joins(self, name: str) -> ByJoins:
        """Return the same rules over rows that are joined with their users' roles."""
        ruling = ruling_dataset(name, self.config)
        return ByJoins(ruling, self.policies(name), self.clock)

    def ruling(self, name: str) -> Dataset:
        """Return the entry of the dataset whose rows and rules a dataset shows."""
        return self.config["datasets"][ruling_dataset(name, self.config)]

    # Rows

    def rows_past_the_tier(self, entry: Dataset) -> str:
        """Return the rows of a dataset's base with each user who passes its tier.

        A layered dataset has no tier, and takes the rows of the dataset below.

        entry  the dataset's entry, or the element of `restricted_datasets` if it shows
               fewer columns than the dataset at the end of its chain
        """
        if parent_dataset(entry) is not None:
            queries = [self.layered_rows(entry, per_user=True)]
        else:
            queries = [self._rows_of_case(entry, case) for case in tier_rules(entry)]
            if len(queries) == 1:
                return queries[0]
        # Without a join, Spark moves a question about a user's roles into the union,
        # and fails.
        return f"""select united.*
from (
    {indented(union(queries))}
) as united
inner join ({self._live_users()}) as live_users
    on united.user_id = live_users.user_id"""

    def _rows_of_case(self, entry: Dataset, case: Rule) -> str:
        """Return the rows of a case of the tier."""
        right = ""
        if not case["is_for_everyone"]:
            held = self.both_rights_exist(case["rule"], "base", "users.user_id")
            right = f"\n    and {held}"
        # The base may have a user_id of its own, which the dataset has not.
        columns = ", base.".join(entry.get("base_columns") or entry["columns"])
        return f"""select base.{columns}, users.user_id
from {self.ref(entry["base"])} as base
cross join ({self._live_users()}) as users
where
    {case_applies(case, "base")}{right}"""

    def _live_users(self) -> str:
        users = self.ref("stg_users")
        return f"select user_id, is_live from {users} where is_live"

    def layered_rows(
        self,
        entry: Dataset,
        per_user: bool,
        users: str = "",
        are_marked: bool = False,
    ) -> str:
        """Return the rows of the secure dataset below a layered one, with their users.

        per_user    whether each user gets the rows for everyone, which else have none
        users       a query with `user_id`; else the live users
        are_marked  whether the last column is `asked is_public`
        """
        below = parent_dataset(entry) or ""
        has_both = per_user and has_public_rows(below, self.config)
        columns = ",\n    ".join(f"base.{column}" for column in entry["columns"])
        carried = "".join(
            f",\n    base.{column}" for column in tier_columns(entry, self.config)
        )
        queries = []
        for is_public in (False, True) if has_both else (False,):
            mark = f",\n    {str(is_public).lower()} as `asked is_public`"
            query = f"""select
    {columns},
    {"users" if is_public else "base"}.user_id{carried}{mark if are_marked else ""}
from {self.ref(entry["base"])} as base"""
            if is_public:
                query += f"\ncross join ({users or self._live_users()}) as users"
            if has_both:
                sign = "" if is_public else "not "
                query += f"\nwhere base.user_id is {sign}null"
            queries.append(query)
        return union(queries)

    def rows_with_users(
        self, name: str, users: str, row: Mapping[str, Any] | None = None
    ) -> str:
        """Return the rows of a dataset's base with each of the users, before any gate.

        users  a query of user_id and is_live
        row    the row by its unique key, column to text; none for every row
        """
        ruling, entry = ruling_dataset(name, self.config), self.ruling(name)
        restricted = is_restricted(name, self.config)
        is_layered, is_query = parent_dataset(entry) is not None, "query" in entry
        columns = list(entry["columns"])
        if is_query or is_layered:
            columns += tier_columns(entry, self.config)
        if is_query:
            rows = f"(\n    {indented(self.answers_of_users(ruling, restricted))}\n)"
        elif is_layered:
            below = self.layered_rows(entry, True, users, are_marked=True)
            rows = f"(\n    {indented(below)}\n)"
        else:
            rows = self.ref(entry["base"])
        by_user = is_layered or (is_query and restricted)
        on = "base.user_id = users.user_id" if by_user else "true"
        listed = ",\n    base.".join(columns)
        return f"""select
    base.{listed},
    users.user_id,
    users.is_live as `asked is_live`,
    {"false" if restricted else self._row_is_public(entry)} as `asked is_public`
from {rows} as base
inner join ({users}) as users
    on {on}{row_filter("base", row)}"""

    def _row_is_public(self, entry: Dataset) -> str:
        """Return whether a row of an unrestricted dataset is for everyone."""
        if "query" in entry:
            return "true"
        if parent_dataset(entry):
            return "base.`asked is_public`"
        cases = [case for case in tier_rules(entry) if case["is_for_everyone"]]
        applies = (f"coalesce({case_applies(case, 'base')}, false)" for case in cases)
        return " or ".join(applies) or "false"

    # Rights

    def right_exists(
        self, tier: str, keys: Mapping[str, str], relation: str, user: str
    ) -> str:
        """Return whether a user holds a tier's right on the keys of a relation."""
        view = self.ref(self.config["tiers"][tier]["access_view"])
        terms = "".join(
            f"\n            and _held.{key} = {relation}.{column}"
            for key, column in keys.items()
        )
        return f"""exists (
        select 1
        from {view} as _held
        where _held.user_id = {user}{terms}
    )"""

    def both_rights_exist(self, rule: Rule, relation: str, user: str) -> str:
        """Return whether a user holds the right on both sides, if there is a second."""
        first = self.right_exists(rule["tier"], rule["keys"], relation, user)
        if "second_side" not in rule:
            return first
        side = rule["second_side"]
        return f"""{first}
    and (
        {relation}.{side["unless_null"]} is null
        or {self.right_exists(rule["tier"], side["keys"], relation, user)}
    )"""

    def passes_the_tier(self, name: str, alias: str, user: str) -> str:
        """Return whether a user passes a dataset's tier, or a row is for everyone."""
        entry, is_live = self.ruling(name), ""
        if is_restricted(name, self.config):
            is_live = self.is_live(user)
        if below := parent_dataset(entry):
            cases = [f"{alias}.user_id = {user}"]
            if has_public_rows(below, self.config):
                cases.append(f"{alias}.user_id is null\nand {is_live or 'true'}")
        else:
            cases = [
                self._passes(case, alias, user, is_live) for case in tier_rules(entry)
            ]
        if len(cases) == 1:
            return cases[0]
        either = "\n    )\n    or (\n        ".join(indented(c, 8) for c in cases)
        return f"(\n    (\n        {either}\n    )\n)"

    def _passes(self, case: Rule, alias: str, user: str, is_live: str) -> str:
        """Return whether a row is of a case, and its right held; else, a user live."""
        right = is_live
        if not case["is_for_everyone"]:
            right = self.both_rights_exist(case["rule"], alias, user)
        terms = [term for term in (case["applies"], right) if term not in ("true", "")]
        return "\nand ".join(terms) or "true"

    def is_live(self, user: str) -> str:
        """Return whether a user is live."""
        return f"""exists (
    select 1
    from {self.ref("stg_users")} as users
    where users.user_id = {user} and users.is_live
)"""

    # Rules

    def meets_every_rule(
        self, name: str, relation: str, user: str, is_permissive: bool = False
    ) -> str:
        """Return whether a row and its user meet view authorization and all rules.

        For a query, row security applies to the rows that it counts, everything else to
        its answer.

        is_permissive  without the restrictive conditions
        """
        policies, ruling = self.policies(name), self.ruling(name)
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
        policies = {**self.policies(name), "conditions": []}
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
        in_time = self._is_in_time(rule)
        return self._is_for(rule, user) + (f"\nand {in_time}" if in_time else "")

    def _is_in_time(self, rule: Rule) -> str:
        """Return whether a rule holds now; empty if always."""
        return is_in_time(rule, self.clock)

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
            in_time = self._is_in_time(rule)
            hidden = self._is_shown_to_none(rule, user)
            return f"{in_time}\nand {hidden}" if in_time else hidden
        acts = self._acts_for(rule, user)
        if rule["condition"] == "true":
            return acts
        return f"{acts}\nand {mask_condition(rule)}"

    def _is_shown_to_none(self, rule: Rule, user: str) -> str:
        """Return whether no line of a mask shows a user the value."""
        return shown_by_none(self._is_for_and(line, user) for line in rule["shown_to"])

    def masked_value(self, name: str, relation: str, column: str, user: str) -> str:
        """Return a column's value for a user: its own, or the mask of highest order."""
        policies, value = self.policies(name), f"{relation}.{column}"
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
        ruling, entry = ruling_dataset(name, self.config), self.ruling(name)
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
        restricted = restricted_datasets(self.config)
        queries = []
        for name, dataset in self.config["datasets"].items():
            ruling = ruling_dataset(name, self.config)
            key = row_key(dataset, ruling)
            for rule in self.rules_on(name, ruling):
                if not rule["is_mask"] or rule["rule"]["is_constant"]:
                    continue
                shown = (rule["rule"], name, ruling, rule["column"])
                # A query has no tier.
                if name in restricted:
                    rows = self.rows_past_the_tier(restricted[name])
                else:
                    rows = self.rows_with_users(name, self._live_users())
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
        return union_of(queries)

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
        joins = indented(self.path_joins(way["joined"], "inner", []))
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

    def path_joins(
        self, path: list[Link], kind: str, joined: list[str], alias: str = ""
    ) -> str:
        """Return the joins along relationships, each relation once.

        joined  the relations that are joined already; the new ones are added
        alias   the name of the first relation
        """
        joins = ""
        for link in path:
            far, near = link["to"].get("dataset"), link["from"]["dataset"]
            if far and far not in joined:
                joined.append(far)
                near = alias if alias and link == path[0] else near
                on = same(near, far, link["from"]["join_columns"])
                joins += f"\n{kind} join {self.ref(far)} as {far}\n    on {on}"
        return joins

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
        per_user = is_restricted(name, self.config)
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
            query += self.path_joins(paths[relation], "left", joined)
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
        policies, user = self.policies(name), f"{relation}.user_id"
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
            *self._rules_of_row_security(self.ruling(name), relation, user),
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
            "in_time": self._is_in_time(rule),
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
