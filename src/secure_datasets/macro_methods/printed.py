"""Rules by themselves: for engines, for data tests, for readers' own objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from secure_datasets.config import plan, problems, tags
from secure_datasets.config.document import (
    MACRO,
)
from secure_datasets.macro_methods.documents import Documents
from secure_datasets.render import (
    by_itself,
    grants,
    printing,
    readers,
    row_filters,
)
from secure_datasets.render.by_exists import ByExists
from secure_datasets.render.printing import Row, printed
from secure_datasets.sql import expressions
from secure_datasets.sql.expressions import ExpressionProblem
from secure_datasets.sql.writing import texts_where

NO_MASK = (
    "no mask is on it: write a policy with the resource {tag: ...}, or let the var"
    " tags_without_masks list the tag"
)


class Printed(Documents):
    """Prints and writes the rules and grants of datasets for macros."""

    @contextmanager
    def _told_of(self, what: str) -> Iterator[None]:
        """Stop dbt at what can't be rendered for an engine, with what was asked for."""
        try:
            yield
        except problems.EngineProblem as problem:
            self.stop(f"{what}: {problem}.")

    def check_grants(self, engine: str, catalog: str | None) -> None:
        """Stop dbt at an engine whose grants are not known."""
        with self._told_of("render_grants"):
            grants.check(engine, catalog)

    def grants(
        self,
        engine: str,
        role: str,
        needs: list[Any],
        catalog: str | None = None,
    ) -> list[str]:
        """Return the grants that a role needs, in the words of an engine."""
        with self._told_of("render_grants"):
            return grants.grants(engine, role, map(tuple, needs), catalog)

    def printed(
        self,
        text: str,
        name: str,
        config: dict[str, Any],
        user: Any,
        alias: str,
        relation: str | None,
        dialect: str,
    ) -> str:
        """Return a rule of a dataset by itself, for a reader, in a dialect."""
        row = self._row(name, config, alias, relation)
        return self._printed(text, name, row, str(user), dialect).text

    def check_policies(self, engine: str, accounts: str) -> None:
        """Stop dbt at an engine whose policies are not known, or without accounts."""
        with self._told_of("render_policies"):
            problems.check_engine(engine, row_filters.ENGINES)
        # Another engine reads them, and may have them in any catalog.
        if not expressions.is_relation(accounts):
            self.stop(
                f"render_policies: accounts is '{accounts}'; it must be the relation"
                " that maps each account to a user_id, <schema>.<name>: name it by"
                " --accounts, or by the variable reader_accounts."
            )

    def readers_names(self, config: dict[str, Any]) -> dict[str, str]:
        """Return the names of the readers' views, each with the model that it shows."""
        names = {name: plan.PREFIX + name for name in config["datasets"]}
        for tier in config["tiers"].values():
            view = tier["access_view"]
            name = plan.readers_name(view)
            if name in config["datasets"]:
                self.stop(
                    f"{MACRO}: the dataset '{name}' and the access view '{view}' would"
                    " share the name of a readers' view: rename the dataset."
                )
            names[name] = view
        return names

    def check_readers_vars(self, given: dict[str, Any]) -> None:
        """Stop dbt at the first invalid variable about readers."""
        for name, problem in readers.problems_of_vars(given):
            self.stop(f"vars: {name} {problem}.")

    def row_predicate(self, rules: ByExists, name: str, *asked: Any) -> str:
        """Return the rule that shows a user a row of a dataset's base."""
        alias = by_itself.base_alias(name, rules.config)
        return self._by_itself(rules, name, by_itself.row_rule, alias, *asked)

    def answer_predicate(self, rules: ByExists, name: str, *asked: Any) -> str:
        """Return the rule that shows a user a line of a query's answer."""
        return self._by_itself(rules, name, by_itself.answer_rule, name, *asked)

    def mask_by_itself(
        self, rules: ByExists, name: str, column: str, *asked: Any
    ) -> str:
        """Return a column's value for a user, over the base or the answer."""
        rule, ruling = by_itself.mask_rule, self.ruling_dataset(name, rules.config)
        return self._by_itself(
            rules, name, partial(rule, column=column), ruling, *asked
        )

    def _by_itself(
        self,
        rules: ByExists,
        name: str,
        rule: Callable[[ByExists, str], str],
        alias: str,
        user: Any,
        relation: str | None = None,
        dialect: str = "spark",
    ) -> str:
        """Return a rule of a dataset in a dialect.

        alias     the name of the row in the rule
        user      SQL for the id of the user who reads
        relation  the row's relation, for columns that need it; else `alias`
        """
        text, config = rule(rules, name), rules.config
        return self.printed(text, name, config, user, alias, relation, dialect)

    def predicates(
        self, rules: ByExists, name: str, user: str, relation: str | None, dialect: str
    ) -> list[str]:
        """Return all rules of a dataset by themselves, each after a line about it."""
        config = self._has_entry(name, rules.config, "so that it has no predicate")
        entry = rules.ruling(name)
        star = self.star_query(entry, config)
        base = rules.ref(entry.get("base") or star["root"])
        called = relation or by_itself.base_alias(name, config)
        lines = [
            f"-- Which rows of {base} count for {user} in '{name}'; the base is called"
            f" {called}.",
            self.row_predicate(rules, name, user, relation, dialect),
        ]
        if "query" in entry:
            relation = None
            lines += [
                f"\n-- Which lines of the answer to these rows {user} sees; the answer"
                f" is called {name}.",
                self.answer_predicate(rules, name, user, None, dialect),
            ]
        for column in by_itself.masked_columns(rules, name):
            lines += [
                f"\n-- What {user} gets for {column}.",
                self.mask_by_itself(rules, name, column, user, relation, dialect),
            ]
        return lines

    def checked_rows(
        self, rules: ByExists, name: str, role: Any, rows: Any, user: str, clock: str
    ) -> str:
        """Return the query of rows that a role writes, each with the reason why not.

        clock  SQL for the moment: a data test finds only macros that its text names
        """
        config = rules.config
        if name not in config["datasets"]:
            self._stop_at(name, "has no entry, so that no rows can be checked for it")
        checks = plan.checks_of(
            name, plan.role_of(role), config, clock, rules.attributes, user
        )
        if not user and any(check["needs_user"] for check in checks):
            self._stop_at(
                name,
                "has a check that asks for attributes of the reader: say who writes,"
                " checked_rows(..., user='17')",
            )
        for made in checks:
            columns = config["datasets"][name]["columns"]
            if lacking := [c for c in made["columns"] if c not in columns]:
                instead = "give its policy 'check: false'"
                if made["dataset"] != name:
                    instead = "check the rows for that one"
                self._stop_at(
                    name,
                    f"lacks {', '.join(map(repr, lacking))}, which a check of"
                    f" '{made['dataset']}' names: {instead}",
                )
        reason = "cast(null as string)"
        if checks:
            reasons = "".join(
                f"\n        when ({check['sql']}) is not true"
                f" then {expressions.sql_text(check['reason'])}"
                for check in checks
            )
            reason = f"case{reasons}\n    end"
        return f"""select
    {name}.*,
    {reason} as rejection_reason
from {rows} as {name}"""

    def long_over(self, rules: ByExists, days: int) -> str:
        """Return the query of the policies whose time has been over for some days."""
        found = plan.long_over(rules.config, days, rules.clock)
        return texts_where(found, "is_over")

    def bare_tags(self, rules: ByExists, but: list[str]) -> str:
        """Return the query of the columns with tags on which there is no mask."""
        found = tags.bare(rules.config, self.models, but, rules.clock)
        return texts_where([each | {"reason": NO_MASK} for each in found], "is_bare")

    def _stop_at(self, name: str, problem: str) -> NoReturn:
        self.stop(f"{MACRO}: dataset '{name}': {problem}.")

    def _has_entry(self, name: str, config: dict[str, Any], without: str) -> Any:
        """Return the config; stop dbt if it has no dataset of a name."""
        if name not in config["datasets"]:
            near = self.listed(name, config["datasets"])
            self._stop_at(name, f"has no entry, {without}{near}")
        return config

    def policies(
        self,
        rules: ByExists,
        engine: str,
        name: str,
        accounts: str,
        schema: str | None = None,
    ) -> list[str]:
        """Return the statements that give an engine a dataset's rules.

        accounts  the relation that maps accounts to user ids
        schema    where functions and policies are made; else beside the base
        """
        config = self._has_entry(name, rules.config, "so that it has no policies")
        entry = rules.ruling(name)
        if "query" in entry:
            self._stop_at(
                name,
                "is a query, made anew for each reader, so that no table can hold its"
                " policies",
            )
        table = rules.ref(entry["base"])
        is_a_user = f"{by_itself.USER} is not null"
        predicate = by_itself.row_rule(rules, name, is_permissive=True)
        place = schema or str(table).replace("`", "").rpartition(".")[0]
        ruling = self.ruling_dataset(name, config)
        row = self._row(name, config, ruling, None, prefix=row_filters.PREFIX)
        reader = row_filters.reader_function(place)
        dialect = row_filters.ENGINES[engine]
        parts = [f"{is_a_user}\nand ({predicate})"]
        if restrictive := rules.restrictive_rule(name, by_itself.USER):
            parts.append(restrictive)
            if engine not in row_filters.WITH_RESTRICTIVE:
                parts = [f"{parts[0]}\nand ({restrictive})"]
        predicates = [self._printed(part, name, row, reader, dialect) for part in parts]
        masks = {
            column: self._printed(
                by_itself.mask_for_accounts(rules, name, column),
                *(name, row, reader, dialect),
            )
            for column in by_itself.masked_columns(rules, name)
        }
        account = row_filters.ACCOUNTS[engine]
        with self._told_of(f"render_policies: dataset '{name}'"):
            return row_filters.statements(
                engine,
                row_filters.Filtered(
                    dataset=name,
                    table=str(table),
                    place=place,
                    user=readers.user_of_the_account(
                        accounts, rules.ref("stg_users"), account
                    ),
                    predicate=predicates[0],
                    restrictive=predicates[1] if predicates[1:] else None,
                    masks=masks,
                    types=self.models.of(config["datasets"][ruling]["base"]),
                    shown=tuple(config["datasets"][name]["columns"]),
                    names=frozenset(row.types),
                    tags=tags.of_masks(name, config),
                ),
            )

    def _row(
        self,
        name: str,
        config: dict[str, Any],
        alias: str,
        relation: str | None,
        prefix: str | None = None,
    ) -> Row:
        """Return how the rules of a dataset call its rows."""
        ruling = self.ruling_dataset(name, config)
        dataset = config["datasets"][ruling]
        return Row(
            dataset=ruling,
            alias=alias,
            relation=relation,
            types=self._types_of(name, dataset, config),
            prefix=prefix,
            relations=self.models.columns,
        )

    def _printed(
        self, text: str, name: str, row: Row, user: str, dialect: str
    ) -> printing.Printed:
        """Return a rule in a dialect; stop dbt if the dialect lacks a part of it."""
        try:
            return printed(text, row, user, by_itself.READER, dialect)
        except ExpressionProblem as problem:
            said = str(problem).replace("{key}", "its rule")
            self.stop(f"{MACRO}: dataset '{name}': {said}.")

    def _types_of(
        self, name: str, dataset: dict[str, Any], config: dict[str, Any]
    ) -> dict[str, str]:
        """Return the types of the columns that a rule may name."""
        types: dict[str, str] = {}
        for relation in config.get("relations", {}).values():
            types |= relation["columns"]
        base = dataset.get("base") or plan.PREFIX + name
        known = self.models.of(base) or self.models.of(plan.PREFIX + name)
        return types | {column: kind for column, kind in known.items() if kind}
