"""Given rows as relations of the quick engine; omitted columns get defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from secure_datasets.cases.reading import Case, CaseProblem, Row
from secure_datasets.config.plan import trimmed
from secure_datasets.engines.compiled import Kept, plain_name
from secure_datasets.engines.duckdb import Rows
from secure_datasets.sql import spelling

Values = dict[str, str | None]
# The columns that may name a row, besides its id.
CALLED = ("login_name", "name")
DEFAULTS = {
    "is_active": "true",
    "date_created": "2026-01-01 00:00:00",
    "date_modified": "2026-01-01 00:00:00",
    "sf_date_created": "2026-01-01 00:00:00",
    "created_by": "a case",
    "modified_by": "a case",
}


class Given:
    """The given relations of a case, by name, and the ids of its users."""

    def __init__(self, case: Case, kept: Kept) -> None:
        self.case, self.kept = case, kept
        document = kept.state["documents"]["secure_datasets"]
        self.tables: dict[str, dict[str, Any]] = document["raw_tables"]
        self.absent = document["vars"].get("absent_tables", [])
        self.raw = {
            table: [*self._with_ids(table, rows)]
            for table, rows in case.given.items()
            if table in self.tables
        }
        self.relations = {
            kept.raw[table]: self._raw(table, self.raw.get(table, []))
            for table in self.tables
        }
        for table, rows in case.given.items():
            if table not in self.tables:
                name, columns = self._columns_of(table, rows)
                self.relations[name] = _rows(columns, rows)

    def user(self, called: str) -> int | None:
        """Return the id of a given user, by id or name; none if not exactly one."""
        found = self._named("users", called)
        return int(found) if found and found.lstrip("-").isdigit() else None

    def _with_ids(
        self, table: str, rows: Sequence[Row]
    ) -> Iterator[tuple[Row, Values]]:
        taken = [int(i) for r in rows if (i := r.values.get("id")) and i.isdigit()]
        following = max(taken, default=0)
        for row in rows:
            values = dict(row.values)
            if "id" not in values:
                following += 1
                values["id"] = str(following)
            yield row, values

    def _raw(self, table: str, rows: list[tuple[Row, Values]]) -> Rows:
        """Return the rows of a raw table, checked and with defaults.

        Raises CaseProblem for a wrong row, or a table that the project lacks.
        """
        entry = self.tables[table]
        if rows and table in self.absent:
            raise CaseProblem(
                rows[0][0].where,
                f"absent_tables names '{table}': leave out its rows, or the case",
            )
        columns = dict.fromkeys(entry["columns"], "string")
        lines = []
        for row, values in rows:
            _check_columns(row, table, columns)
            for column, other in entry["references"].items():
                if (value := values.get(column)) is not None:
                    values[column] = self._referred(row, column, other, value)
            self._check_whole(row, table, values)
            made = {**dict.fromkeys(columns), **DEFAULTS, **_called(table, values)}
            lines.append([(made | values)[column] for column in columns])
        return Rows(columns, lines)

    def _check_whole(self, row: Row, table: str, values: Values) -> None:
        """Raise CaseProblem if a row lacks a value that has no possible default."""
        entry = self.tables[table]
        needed = [column for column in entry["required"] if values.get(column) is None]
        for column in needed:
            raise CaseProblem(row.where, f"a row of {table} needs '{column}'")
        if entry.get("object_type") and "role_name" not in values:
            raise CaseProblem(
                row.where,
                f"a row of {table} needs 'role_name', which is null for an entry"
                " without a role",
            )
        holders = entry.get("holder") or []
        if holders and sum(values.get(column) is not None for column in holders) != 1:
            one = " or ".join(f"'{column}'" for column in holders)
            raise CaseProblem(row.where, f"a row of {table} needs either {one}")

    def _referred(self, row: Row, column: str, table: str, value: str) -> str:
        found = self._named(table, value)
        if found is None:
            known = ", ".join(self._told(table)) or "none"
            raise CaseProblem(
                row.where,
                f"'{column}' is '{value}', and no such row of {table} is given;"
                f" given are {known}",
            )
        return found

    def _named(self, table: str, called: str) -> str | None:
        """Return the id of a given row, by its id or name; none if not exactly one."""
        found = {
            str(values["id"])
            for _, values in self.raw.get(table, ())
            if called == values["id"]
            or trimmed(called)
            in [trimmed(values[c] or "") for c in CALLED if c in values]
        }
        return found.pop() if len(found) == 1 else None

    def _told(self, table: str) -> Iterator[str]:
        for _, values in self.raw.get(table, ()):
            called = [str(values[column]) for column in CALLED if column in values]
            yield " ".join([str(values["id"]), *called])

    def _columns_of(
        self, name: str, rows: Sequence[Row]
    ) -> tuple[str, Mapping[str, str]]:
        """Return the relation of a seed or model, and its columns with their types.

        Raises CaseProblem for an unknown name, or an undocumented type.
        """
        where = rows[0].where if rows else self.case.where
        for seed in self.kept.seeds:
            if seed.name == name:
                return seed.relation, seed.rows.columns
        for node in self.kept.state["graph"]["nodes"].values():
            if node["name"] == name and node["resource_type"] == "model":
                types = {c: e["data_type"] for c, e in node["columns"].items()}
                if not types or None in types.values():
                    raise CaseProblem(
                        where, f"the documentation of '{name}' does not say each type"
                    )
                return plain_name(node["relation_name"]), types
        known = [seed.name for seed in self.kept.seeds]
        known += [node["name"] for node in self.kept.state["graph"]["nodes"].values()]
        raise CaseProblem(
            where,
            f"'{name}' is no raw table, and no seed or model of the project"
            f"{spelling.hint(name, known)}",
        )


def _called(table: str, values: Values) -> Values:
    """Return the default name and login name of a row."""
    called = f"{table[:-1]} {values['id']}"
    return {"name": called, "login_name": called.replace(" ", "")}


def _check_columns(row: Row, name: str, columns: Mapping[str, str]) -> None:
    for column in row.values:
        if column not in columns:
            raise CaseProblem(
                row.where,
                f"'{name}' has no column '{column}'{spelling.listed(column, columns)}",
            )


def _rows(columns: Mapping[str, str], rows: Sequence[Row]) -> Rows:
    lines = []
    for row in rows:
        _check_columns(row, "it", columns)
        lines.append([row.values.get(column) for column in columns])
    return Rows(columns, lines)
