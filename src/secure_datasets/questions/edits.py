"""Rows that `what-if` takes away or adds, before anybody does it.

edits = Edits(Lookups(package))
edits.remove_row("row 21 of data_source_permissions")
edits.add("user_group_members: user_group_id=5, user_id=hpark")
edits.queries()                     # what stands in the place of staged relations
"""

from __future__ import annotations

import re
from typing import Any

from secure_datasets.config.steering import without_steering
from secure_datasets.engines.duckdb import DuckDB
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.lookups import Lookups
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.spelling import listed

ROW = re.compile(r"(?:row\s+)?(?P<id>-?[0-9]+)\s+of\s+(?P<table>\w+)", re.I)
PART = re.compile(r"\s*(?P<column>\w+)\s*=\s*(?P<value>.*?)\s*")
# Below the largest ids, new ones have room.
LARGE = 2**62
USERS, GROUPS, ROLE = "users", "user_groups", "role_name"


class Edits:
    """Staged rows that go, and rows that come, by raw table."""

    def __init__(self, lookups: Lookups) -> None:
        self.lookups = lookups
        self.package = lookups.package
        self.engine: DuckDB = self.package.engine
        self.tables: dict[str, Any] = self.package.state.document["raw_tables"]
        self.gone: dict[str, set[int]] = {}
        self.came: dict[str, list[dict[str, Any]]] = {}

    def remove_row(self, text: str) -> None:
        """Take a raw row away: `row 21 of data_source_permissions`."""
        found = ROW.fullmatch(text.strip())
        if not found:
            raise QuestionError(
                f"'{without_steering(text)}' names no row: write it as answers do, 'row"
                " 21 of data_source_permissions'."
            )
        table = self._table(found["table"])
        key, number = self.tables[table]["key"], int(found["id"])
        if not self._rows(table, f"{key} = {number} and is_live"):
            raise QuestionError(f"there is no live row {number} of {table}.")
        self.gone.setdefault(table, set()).add(number)

    def remove_user(self, text: str) -> None:
        """Take a user away."""
        self.gone.setdefault(USERS, set()).add(int(self.lookups.user(text).key))

    def remove_group(self, text: str) -> None:
        """Take a group away."""
        self.gone.setdefault(GROUPS, set()).add(int(self.lookups.group(text).key))

    def add(self, text: str) -> None:
        """Add a row: `user_group_members: user_group_id=5, user_id=hpark`."""
        name, _, rest = text.partition(":")
        table = self._table(name.strip())
        entry = self.tables[table]
        references = {*entry["references"]}
        is_link = bool(references) and set(entry["required"]) == references
        if not (entry.get("object_type") or is_link):
            raise QuestionError(
                f"a new row of {table} gives nobody a right: add a permission, a"
                " membership, a global role or a link."
            )
        given: dict[str, Any] = {}
        known = [*entry["references"], *[ROLE] * bool(entry.get("object_type"))]
        for part in filter(str.strip, rest.split(",")):
            found = PART.fullmatch(part)
            column = found["column"].lower() if found else ""
            if column not in known or column in given:
                raise QuestionError(
                    f"'{without_steering(part.strip())}' is no part of a new row of"
                    f" {table}: write each of these once, {'=, '.join(known)}=."
                )
            given[column] = self._value(entry, column, found["value"])
        self._check(table, entry, given)
        self.came.setdefault(table, []).append(given)

    def _table(self, name: str) -> str:
        table = name.lower()
        if table not in self.tables:
            raise QuestionError(
                f"there is no raw table '{without_steering(name)}'"
                f"{listed(name, sorted(self.tables))}."
            )
        return table

    def _value(self, entry: dict[str, Any], column: str, text: str) -> Any:
        """Return what a column of a new row says: an id, or a role as it is known."""
        if column == ROLE:
            if text.casefold() in ("", "null"):
                return None
            # As staging compares them.
            names = [name for name in self._roles(entry["object_type"]) if name]
            for name in names:
                if name.lower() == text.lower():
                    return name
            raise QuestionError(
                f"there is no role '{without_steering(text)}' of the type"
                f" {entry['object_type']}{listed(text, sorted(names))}."
            )
        of = entry["references"][column]
        if of == USERS:
            return int(self.lookups.user(text).key)
        if of == GROUPS:
            return int(self.lookups.group(text).key)
        kinds = {
            table["references"][table["required"][0]]: table["object_type"]
            for table in self.tables.values()
            if table.get("holder")
        }
        if of in kinds:
            return int(self.lookups.object(f"{kinds[of]} {text}").key)
        if not text.isdecimal() or not self._rows(
            of, f"{self.tables[of]['key']} = {text}"
        ):
            raise QuestionError(f"there is no row {without_steering(text)} of {of}.")
        return int(text)

    def _check(self, table: str, entry: dict[str, Any], given: dict[str, Any]) -> None:
        """Raise if staging would reject a row."""
        needed = [c for c in entry["required"] if c in entry["references"]]
        missing = [column for column in needed if given.get(column) is None]
        if missing:
            raise QuestionError(
                f"a new row of {table} needs {', '.join(missing)}: write"
                f" {missing[0]}=<id or name>."
            )
        holder = entry.get("holder") or ()
        if holder and sum(given.get(column) is not None for column in holder) != 1:
            raise QuestionError(
                f"a new row of {table} is for one holder: write"
                f" {'=... or '.join(holder)}=..., and not both."
            )
        of = entry.get("object_type")
        if of and not given.get(ROLE) and None not in self._roles(of):
            raise QuestionError(f"a new row of {table} needs a role: role_name=.")

    def _roles(self, object_type: str) -> list[str | None]:
        """Return the roles that the role table knows of a type."""
        roles = self.package["ref_of_model"]("role_permissions")
        known = self.package["rows_of"](
            f"select distinct role_name from {roles}"
            f" where object_type = {sql_text(object_type)}"
        )
        return [row[ROLE] for row in known]

    def _rows(self, table: str, condition: str) -> list[dict[str, Any]]:
        relation = self.package["relation_named"](f"stg_{table}")
        return self.package["rows_of"](
            f"select 1 as is_there from {relation} where {condition}"
        )

    def queries(self) -> dict[str, str]:
        """Return the queries of the staged relations that are other ones."""
        found = {}
        for table in sorted({*self.gone, *self.came}):
            relation = self.package["relation_named"](f"stg_{table}").replace("`", "")
            key, columns = self.tables[table]["key"], self.engine.columns(relation)
            listed = ", ".join(columns)
            gone = ", ".join(map(str, sorted(self.gone.get(table, ())))) or "null"
            query = (
                f"select {listed} from {relation}"
                f" where {key} is null or {key} not in ({gone})"
                if table in self.gone
                else f"select {listed} from {relation}"
            )
            for place, row in enumerate(self.came.get(table, ()), 1):
                (last,) = self.package["rows_of"](
                    f"select coalesce(max({key}), 0) as id from {relation}"
                    f" where {key} < {LARGE}"
                )
                values = {key: last["id"] + place, "is_live": True, "is_deleted": False}
                values |= row
                cells = ", ".join(
                    f"cast({_literal(values.get(column))} as {kind}) as {column}"
                    for column, kind in columns.items()
                )
                query += f" union all select {cells}"
            found[f"stg_{table}"] = query
        return found


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else sql_text(value)
