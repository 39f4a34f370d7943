"""The built relations of a question, and the macros that render its SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any, Protocol

from secure_datasets.config.references import referenced_table
from secure_datasets.config.tiers import tier_parts
from secure_datasets.questions.notes import Facts
from secure_datasets.render.by_exists import ByExists
from secure_datasets.sql.writing import template

Ref = Callable[[str], Any]


class Macros(Protocol):
    """The product's macros: in dbt its namespace, in the command a `Package`."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a macro."""


class Built:
    """What is built, as macros ask it.

    ref    dbt's function: the relation of a model, seed or snapshot that a macro may
           name; without it, `relation`
    given  `config` and `tables`, as far as the macro has asked for them
    """

    def __init__(
        self, macros: Macros, ref: Ref | None = None, given: Facts | None = None
    ) -> None:
        self.macros, self.ref = macros, ref or self.relation
        for name in {"config", "tables"}.intersection(given or ()):
            setattr(self, name, given[name])

    @cached_property
    def config(self) -> Facts:
        """The checked config."""
        return self.macros["secure_datasets_config"]()

    @cached_property
    def tables(self) -> dict[str, Facts]:
        """The raw tables."""
        return self.macros["repository_tables"]()

    @cached_property
    def documented(self) -> dict[str, Facts]:
        """The columns of models with a documented reference, each with its `meta`."""
        return self.macros["documented_columns"]()

    def tier_parts(self, tier: str) -> Facts:
        """Return the requirements of a tier."""
        return tier_parts(tier, self.config, self.tables)

    def referenced_table(self, model: str, column: str, row: Facts) -> str | None:
        """Return the raw table that a key of a row refers to; None if to none."""
        return referenced_table(self.documented, self.tables, model, column, row)

    @property
    def rules(self) -> ByExists:
        """The rules of the datasets."""
        return ByExists(self.macros, self.ref, self.config)

    def rows(self, query: str) -> list[Facts]:
        """Return the rows of a query, in the types of JSON."""
        return self.macros["rows_of"](query)

    def relation(self, name: str) -> str:
        """Return the relation of a model or seed."""
        return self.macros["relation_named"](name)

    def undelivered_rows(self, table: str, ref: Ref | None = None) -> str | None:
        """Return the query of the rows that counted before and are no longer delivered.

        None of them counts now, though `is_live` still has its former value, true.
        Without a version before there is no query.

        ref  names the staged relation; without it, as `ref` of what is built
        """
        before, key = self.macros["version_before"](table), self.tables[table]["key"]
        if not before:
            return None
        return f"""select *, '{before["since"]}' as undelivered_since
from {before["version"]} as before
left anti join {(ref or self.ref)(f"stg_{table}")} as now
    on before.{key} = now.{key}
where before.is_live"""

    def staged(self, table: str) -> str:
        """Return the relation of a staged raw table."""
        return self.relation(f"stg_{table}")


def in_list(values: Iterable[Any]) -> str:
    """Return values as a list of SQL, each once."""
    return ", ".join(map(str, dict.fromkeys(values)))


def written(
    built: Built, name: str, /, package: str = __package__ or "", **values: Any
) -> str:
    """Return the text of a file of SQL; a value may be a function of what is built."""
    known = {
        place: partial(value, built) if callable(value) else value
        for place, value in values.items()
    }
    return template(package, name, built.ref, **known)
