"""The keys and paths of row security, for people. `key_is_held` has the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secure_datasets.config.plan import relationship_paths, star_query
from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented, row_filter, union

# A row by its unique key, column to text.
Row = Mapping[str, Any]


def mapped_keys(built: Built, security: Facts, user: Any) -> str:
    """Return a query of a user's keys in a security object's map.

    With the id, and the number of rows.
    """
    held = built.rules.held_keys(security, user)
    return f"""select
    _mapping.{security["ids_column"]} as holder,
    {held.key} as filter_key,
    count(*) as row_count
from {held.relation}
where
    {indented(held.terms)}
    and {held.key} is not null
group by _mapping.{security["ids_column"]}, {held.key}"""


def key_lines(built: Built, rules: list[Facts], name: str, row: Row) -> str:
    """Return a query of the lines that decide row security for a row.

    Or for a line of an answer. For each security object: the key that the row leads to
    and the join columns on the path, or the columns that tie the row to the object over
    facts.

    rules   the result of rules_on(); its numbers name the columns
    name    the dataset whose rows are shown
    row     the row by its unique key, column to text
    """
    rows, columns, joined = _Rows(built, name), list[str](), list[str]()
    joins = rows.joins(joined)
    for number, rule in enumerate(rules, 1):
        if rule["gate"] != "row security":
            continue
        restriction = rule["restriction"]
        if restriction["ways"]:
            columns += [
                f"{rows.root}.{column} as by_{column}_{number}"
                for column in restriction["columns"]
            ]
        else:
            path = restriction["path"]
            columns += _columns_of_path(path, number, rows.root)
            joins += built.rules.path_joins(path, "left", joined, alias=rows.root)
    selected = ",\n    ".join(columns)
    return f"""select distinct
    {selected}
from {rows.relation}{joins}
{rows.condition(row)}"""


def key_lines_of_facts(built: Built, restriction: Facts, way: Facts) -> str:
    """Return the same for rows of a fact that tie a dimension to a security object."""
    columns = [
        f"{way['source']}.{column} as by_{column}" for column in restriction["columns"]
    ]
    for number, path in enumerate(way["paths"], 1):
        columns += _columns_of_path(path, number, way["fact"])
    selected = ",\n    ".join(columns)
    return f"""select distinct
    {selected}
from {_fact(built, way)}"""


def keys_of_row(built: Built, restriction: Facts, name: str, row: Row) -> str:
    """Return a query of the keys that a row, or a line of an answer, leads to."""
    rows = _Rows(built, name)
    return union(
        (
            _keys_of_path(built, rows, restriction, way, path, row)
            for way, path in _paths(restriction)
        ),
        "union",
    )


def way_in_words(restriction: Facts, base: str) -> str:
    """Return the path from a dataset's rows to a security object, in words."""
    security, words = restriction["object"], list[str]()
    for way, path in _paths(restriction):
        steps = [f"{base} by {way['fact']}"] if way else []
        for link in path:
            columns = ", ".join(link["from"]["join_columns"])
            steps.append(f"{link['from']['dataset']}.{columns}")
        key = f"{security['dataset']}.{security['filter_key_column']}"
        words.append(" > ".join([*steps, f"{key} by {security['ids_column']}"]))
    return "; ".join(words)


def line_of_everyone(built: Built, ruling: str, row: Row) -> str:
    """Return a query whether the answer of a query has a line, from all rows."""
    answer = built.rules.answers_of_users(ruling, False)
    return f"""select 1 as is_there
from (
    {indented(answer)}
) as answer{row_filter("answer", row)}"""


class _Rows:
    """The rows of a dataset, or the rows that the lines of its answer count."""

    def __init__(self, built: Built, name: str) -> None:
        self.built, self.entry = built, built.config["datasets"][name]
        self.is_query = "query" in self.entry
        self.star = star_query(self.entry, built.config)
        self.root = self.star["root"] if self.is_query else name
        self.relation = f"{built.ref(self.star['root'])} as {self.root}"

    def joins(self, joined: list[str]) -> str:
        """Return the joins of a query's relations; `joined` gets their names."""
        if not self.is_query:
            return ""
        paths = relationship_paths(self.star["root"], self.built.config)
        join = self.built.rules.path_joins
        return "".join(
            join(paths[relation], "left", joined)
            for relation, _ in self.star["columns"]
        )

    def condition(self, row: Row) -> str:
        """Return the condition that finds a row, or a line's rows, by its key."""
        conditions = []
        for column, value in row.items():
            place = f"{self.root}.{column}"
            if self.is_query:
                place = self.entry["query"]["dimensions"][column]
            is_it = f"cast({place} as string) = {sql_text(str(value))}"
            conditions.append(f"{place} is null" if value is None else is_it)
        return f"where {' and '.join(conditions)}" if conditions else ""


def _paths(restriction: Facts) -> list[tuple[Facts | None, list[Facts]]]:
    """Return the paths to a security object, each with its way over a fact, if any."""
    if restriction["ways"]:
        return [(way, path) for way in restriction["ways"] for path in way["paths"]]
    return [(None, restriction["path"])]


def _columns_of_path(path: list[Facts], number: int, root: str) -> list[str]:
    """Return the key at the end of a path, and its relations' join columns."""
    end = path[-1]["from"]
    near = root if len(path) == 1 else end["dataset"]
    columns = [f"{near}.{end['join_columns'][0]} as key_{number}"]
    links = [link["from"] for link in path if "dataset" in link["to"]]
    for place, link in enumerate(links, 1):
        near = root if place == 1 else link["dataset"]
        columns += [
            f"{near}.{column} as step_{number}_{place}_{column}"
            for column in link["join_columns"]
        ]
    return columns


def _fact(built: Built, way: Facts) -> str:
    """Return a fact with what its paths join."""
    joins = built.rules.path_joins(way["joined"], "inner", [])
    return f"{built.ref(way['fact'])} as {way['fact']}{joins}"


def _keys_of_path(
    built: Built,
    rows: _Rows,
    restriction: Facts,
    way: Facts | None,
    path: list[Facts],
    row: Row,
) -> str:
    """Return the keys at the end of one path, from the dataset's rows or a fact's."""
    end, joined = path[-1]["from"], list[str]()
    near = rows.root if not way and len(path) == 1 else end["dataset"]
    joins = rows.joins(joined)
    if way:
        source, columns = way["source"], restriction["columns"]
        by = "".join(f" {source}.{column} as by_{column}," for column in columns)
        same = " and ".join(f"{rows.root}.{c} = {near}.by_{c}" for c in columns)
        joins += f"""
inner join (
    select{by} {near}.{end["join_columns"][0]}
    from {indented(_fact(built, way))}
) as {near}
    on {same}"""
    else:
        join = built.rules.path_joins
        joins += join(path[:-1], "left", joined, alias=rows.root)
    return f"""select distinct {near}.{end["join_columns"][0]} as filter_key
from {rows.relation}{joins}

{rows.condition(row)}"""
