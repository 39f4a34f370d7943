"""What changes between two small worlds, in DuckDB, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracle.contract import TABLES, Staging, World
from oracle.policies import Case
from own_config import PRODUCTS, document_of
from policy_worlds import asked_of_case, load_case
from random_policies import document
from why_sandbox import Asked, Database, load_world

from secure_datasets.questions.changes import AccessChanges
from secure_datasets.questions.changes.macro_methods import MODELS
from secure_datasets.questions.changes.states import (
    APPROVALS,
    COLUMNS,
    LIMITS,
    report_facts,
)

# How DuckDB says what SQLGlot does not translate.
FUNCTIONS = (
    # Of so many columns as are asked for.
    "xxhash64"
    + ", ".join(
        f"({columns}) as (hash(concat_ws('|', {columns})) >> 1)::bigint"
        for columns in ("a", "a, b", "a, b, c", "a, b, c, d")
    ),
    "hex(a) as to_hex(a)",
    "btrim(a, b) as trim(a, b)",
)


class Compared:
    """Two states, and what the macros say of them."""

    def __init__(
        self, before: World, after: World, document: str = document_of(PRODUCTS)
    ) -> None:
        self.stagings: dict[str, Staging] = {}

        def load(side: str, world: World) -> Asked:
            self.stagings[side] = load_world(self.database, world)
            columns = ("user_id", "user_group_id", "role_name")
            self.database.table("vw_secure_user_roles", columns, [])
            return Asked(document, self.database)

        self._load({"before": before, "after": after}, load)

    def _load(self, made: dict[str, Any], load: Callable[[str, Any], Asked]) -> None:
        """Make both states, each by what also asks the macros with its config."""
        self.database = Database()
        for function in FUNCTIONS:
            self.run(f"create macro {function}")
        for side, of_side in made.items():
            self.run(f"create schema {side}")
            self.run(f"set schema = '{side}'")
            self.asked = load(side, of_side)
            definitions = self.asked.state_definitions_query()
            self.database.make("state_definitions", definitions)
        self.run("set schema = 'main'")
        # Else it is a question of the replica.
        self.asked._called["judged_on"] = lambda: "cast('2026-11-01' as date)"
        self.asked._called["states_compared"] = self.states

    def run(self, statement: str) -> None:
        """Run a statement of DuckDB."""
        self.database.connection.execute(statement)

    def relations(self, schema: str) -> list[str]:
        """Return the relations of a schema."""
        # information_schema reads the databases of all other tests, too.
        found = self.database.connection.execute(f"show tables from {schema}")
        return [row[0] for row in found.fetchall()]

    def states(self) -> list[dict[str, Any]]:
        """Return the two states as the macros read them."""
        changes, found = AccessChanges(), []
        for side in ("before", "after"):
            rows = self.database.rows(f"select * from {side}.state_definitions")
            found.append(changes.state(side, side, rows, self.relations(side)))
        return found

    def compare(self) -> Compared:
        """Build the models that compare the two."""
        changes, states = AccessChanges(), self.states()
        known = {
            **{"ref": str, "tables": self.asked.repository_tables()},
            "rows_of": self.database.rows,
            "documented": self.asked.documented_columns(),
        }
        for model in MODELS:
            self.database.make(model, changes.query_of(model, states, known))
        return self

    def without_secure_datasets(self) -> Compared:
        """Leave out what is not built where only access is."""
        for side in ("before", "after"):
            for name in self.relations(side):
                if name.startswith("vw_secure_dataset_"):
                    self.run(f"drop table {side}.{name}")
        return self

    def report_of_past_states(self, *names: str) -> str:
        """Return the report of what was compared, without limits."""
        for seed in (LIMITS, APPROVALS):
            types = {
                column: "BIGINT" if column.startswith("most_") else "VARCHAR"
                for column in COLUMNS[seed]
            } | {"expires_on": "DATE"}
            self.database.table(seed, COLUMNS[seed], [], types)
        called = dict(zip(("before", "after"), names, strict=True))
        facts = (
            report_facts(self.asked.adapter, self.asked._called, {}, "before", "after")
            | called
            | {"are_past": True}
        )
        return AccessChanges.markdown(facts)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        return self.database.rows(query)


class ComparedCases(Compared):
    """Two states of random policies, whose configs may differ, without raw rows."""

    def __init__(self, before: Case, after: Case) -> None:
        def load(side: str, case: Case) -> Asked:
            load_world(self.database, {table: [] for table in TABLES})
            load_case(self.database, case)
            return asked_of_case(self.database, case, document(case))

        self._load({"before": before, "after": after}, load)
