"""Checks the keys of the config against the documented references of each column.

A column of a base documents its reference: `meta: {refers_to: <the model with a row for
each>}`, or `nothing`, and `is_optional: true` if null means that there is none. The
laws about the tiers read the config itself, so only these checks find a wrong key:

- a key has the same reference as the tier's own key, and is not optional
- the one column that distinguishes the second side (`unless_null`) is optional
- a further column must be in `unchecked` if it refers to the object of a tier's right:
  directly, through a dimension of it, or by a data test of relationships
- the key of a tier's right refers to the staging model of the right's type of object
- the ids of row security refer to users or groups, according to its `id_type`; its keys
  have the same references as the columns that lead to them. A map is often the
  customer's own, so a column of a map without a documented reference is no mistake
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from secure_datasets.config.plan import PREFIX
from secure_datasets.sql import spelling

Facts = Mapping[str, Any]
Columns = dict[str, dict[str, Any]]
NOTHING = "nothing"
STAGED = "stg_"
DOCUMENTED = ("model", "seed", "snapshot")
HOLDERS = {"user": "stg_users", "group": "stg_user_groups"}


class References:
    """The references of columns in the documentation of a project."""

    def __init__(self, nodes: Facts, tables: Facts, root: Path | None = None) -> None:
        self.nodes = nodes
        self.tables = tables
        self.root = root
        models = [n for n in nodes.values() if n["resource_type"] in DOCUMENTED]
        self.files = {n["name"]: n for n in models}
        self.documented = documented_columns(nodes)
        self.tested = self._tested()
        self.objects = self._objects()
        self.problems: list[tuple[str, str]] = []
        self._silent: set[tuple[str, str]] = set()

    def _tests(self, kind: str) -> Iterator[tuple[str, str, Facts]]:
        """Yield the model, the column and the node of each data test of a kind."""
        for node in self.nodes.values():
            attached = node.get("attached_node")
            metadata = node.get("test_metadata") or {}
            if attached in self.nodes and metadata.get("name") == kind:
                yield self.nodes[attached]["name"], node["column_name"], node

    def _tested(self) -> dict[str, dict[str, str]]:
        """Return the references by data tests of relationships, by model and column.

        A reference is the staging model of the raw table whose key is tested, or the
        documented reference of the tested parent column.
        """
        keys = {f"stg_{table['name']}": table["key"] for table in self.tables.values()}
        found: dict[str, dict[str, str]] = {}
        for model, column, node in self._tests("relationships"):
            for parent in node["depends_on"]["nodes"]:
                if parent not in self.nodes or parent == node["attached_node"]:
                    continue
                name = self.nodes[parent]["name"]
                field = node["test_metadata"]["kwargs"].get("field")
                said = self.documented.get(name, {}).get(field, {})
                to = name if keys.get(name) == field else said.get("refers_to")
                if to:
                    found.setdefault(model, {})[column] = to
        return found

    def _objects(self) -> dict[str, str]:
        """Return the object of each model's rows, such as a dimension's.

        The object is the reference of the model's only unique column.
        """
        unique: dict[str, dict[str, None]] = {}
        for model, column, _ in self._tests("unique"):
            unique.setdefault(model, {})[column] = None
        found = {}
        for model, columns in unique.items():
            (first, *others) = columns
            said = self.documented.get(model, {}).get(first, {}).get("refers_to")
            if not others and said and said != NOTHING:
                found[model] = said
        return found

    def _object_of(self, model: str | None) -> str | None:
        """Return the object of a model's rows, perhaps through further models."""
        seen = [model]
        while (above := self.objects.get(str(seen[-1]))) and above not in seen:
            seen.append(above)
        return seen[-1]

    # The checks

    def check(self, config: Facts, names: Iterable[str]) -> list[str]:
        """Return the mistakes of some datasets and of all tiers, as sentences."""
        secured = []
        for tier in config["tiers"].values():
            view = tier["access_view"]
            for key in tier["object_keys"]:
                said = self._reference(f"tier of '{view}'", view, key)
                secured.append(said and said["refers_to"])
            self._check_right(tier)
        self._check_row_security(config)
        for name in names:
            dataset = config["datasets"][name]
            cases = dataset["switch"]["cases"] if "switch" in dataset else {"": dataset}
            for value, rule in cases.items():
                if "tier" not in rule:
                    continue
                case = f", case '{value}'" if "switch" in dataset else ""
                entry = f"dataset '{name}'{case}"
                self._check_all_say(entry, dataset)
                tier = config["tiers"][rule["tier"]]
                self._check_keys(entry, dataset["base"], rule, tier)
                self._check_unchecked(entry, dataset, rule, secured)
        return [f"{entry}: {problem}" for entry, problem in self.problems]

    def _say(self, entry: str, problem: str, model: str, column: str = "") -> None:
        """Add a mistake, once for all entries with the same one."""
        problem += self._place(model, column)
        if problem not in [known for _, known in self.problems]:
            self.problems.append((entry, problem))

    def _place(self, model: str, column: str) -> str:
        """Return the file and line with a column's documentation, if known."""
        node = self.files.get(model, {})
        patch = node.get("patch_path")
        if not patch:
            return ""
        package, _, file = patch.partition("://")
        line = None
        for folder in (self.root, self.root and self.root / "dbt_packages" / package):
            if folder and (folder / file).is_file():
                text = (folder / file).read_text(encoding="utf-8")
                line = line_of(text, model, column)
                break
        return f" ({file}{f', line {line}' if line else ''})"

    def _must_say(self, entry: str, model: str, columns: list[str]) -> None:
        """Add a mistake for columns without a documented reference."""
        columns = [c for c in columns if (model, c) not in self._silent]
        if not columns:
            return
        self._silent |= {(model, column) for column in columns}
        names = "', '".join(columns)
        refer = "refers" if len(columns) == 1 else "refer"
        self._say(
            entry,
            f"the documentation of '{model}' does not say what '{names}' {refer} to:"
            " write at each such column `config: {meta: {refers_to: <the model with a"
            " row for each>}}`, such as stg_projects, or `config: {meta: {refers_to:"
            " nothing}}` where it is the id of nothing that a tier is about",
            model,
            columns[0],
        )

    def _reference(self, entry: str, model: str, column: str) -> Facts | None:
        """Return a column's documentation; add a mistake if the reference is missing.

        None if it is missing, or names no model or seed.
        """
        said = self.documented.get(model, {}).get(column)
        if not said:
            self._must_say(entry, model, [column])
            return None
        to = said["refers_to"]
        if to != NOTHING and to not in self.documented:
            self._say(
                entry,
                f"the documentation of '{model}' says that '{column}' refers to '{to}',"
                f" and there is no such model or seed"
                f"{spelling.hint(to, self.documented)}",
                model,
                column,
            )
            return None
        return said

    def _known(self, entry: str, model: str, column: str) -> str | None:
        """Return the reference of a column by documentation or data test; else none."""
        if column in self.documented.get(model, {}):
            said = self._reference(entry, model, column)
            return said["refers_to"] if said else None
        return self.tested.get(model, {}).get(column)

    def _check_all_say(self, entry: str, dataset: Facts) -> None:
        base = dataset["base"]
        says, tests = self.documented.get(base, {}), self.tested.get(base, {})
        self._must_say(
            entry,
            base,
            [
                column
                for column in dataset["columns"]
                if column.endswith("_id") and column not in {**says, **tests}
            ],
        )

    def _check_right(self, tier: Facts) -> None:
        """Add a mistake if a right's key is no id of the right's type of object."""
        right, view = tier.get("right"), tier["access_view"]
        if not right:
            return
        entry = f"tier of '{view}'"
        key = right.get("key") or tier["object_keys"][0]
        said = self._reference(entry, view, key)
        for table in self.tables.values():
            # A type without permissions in the raw tables can't be checked.
            if not table["holder"] or table["object_type"] != right["object_type"]:
                continue
            asked = f"stg_{table['references'][table['required'][0]]}"
            if said and said["refers_to"] != asked:
                self._say(
                    entry,
                    f"'right' is on a {right['object_type']}, and by the documentation"
                    f" of '{view}' its key '{key}' refers to {said['refers_to']}, not"
                    f" to {asked}",
                    view,
                    key,
                )

    def _check_keys(self, entry: str, base: str, rule: Facts, tier: Facts) -> None:
        """Add a mistake for keys of both sides that refer to different objects."""
        second = rule.get("second_side") or {}
        optional, by = second.get("unless_null"), f"by the documentation of '{base}'"
        for keys in (rule["keys"], second.get("keys") or {}):
            for key, column in keys.items():
                asked = self._reference(entry, tier["access_view"], key)
                found = self._reference(entry, base, column)
                if not asked or not found:
                    continue
                if found["refers_to"] != asked["refers_to"]:
                    self._say(
                        entry,
                        f"'keys' has '{column}' for '{key}', and {by} it refers to"
                        f" {found['refers_to']}, not to {asked['refers_to']}",
                        base,
                        column,
                    )
                if found.get("is_optional") and column != optional:
                    self._say(
                        entry,
                        f"'keys' has '{column}', which {by} is optional: rows without"
                        " it would be seen by nobody. It belongs into 'second_side'",
                        base,
                        column,
                    )
                elif column == optional and not found.get("is_optional"):
                    self._say(
                        entry,
                        f"'unless_null' names '{column}', which {by} is not optional:"
                        " rows without it would be seen without that right",
                        base,
                        column,
                    )

    def _check_unchecked(
        self, entry: str, dataset: Facts, rule: Facts, secured: list[str | None]
    ) -> None:
        """Add a mistake for unchecked columns that may need a right.

        The opposite is a mistake too: an entry in `unchecked` that needs no right.
        """
        base, unchecked = dataset["base"], rule.get("unchecked") or {}
        second = rule.get("second_side") or {}
        checked = {*rule["keys"].values(), *(second.get("keys") or {}).values()}
        says, tests = self.documented.get(base, {}), self.tested.get(base, {})
        asked = {each for each in secured if each}
        for column in dataset["columns"]:
            if not column.endswith("_id") and column not in {
                **unchecked,
                **says,
                **tests,
            }:
                continue
            test, said = tests.get(column), None
            if column in says or not test:
                found = self._reference(entry, base, column)
                if not found:
                    continue
                said = found["refers_to"]
            about = self._object_of(said)
            if said and test and test not in (said, about) and {test, about} & asked:
                self._say(
                    entry,
                    f"'{column}' refers to {said} by the documentation of '{base}', and"
                    f" to {test} by its data test of relationships",
                    base,
                    column,
                )
            to = about if said else test
            if to in asked and column not in checked and column not in unchecked:
                self._say(
                    entry,
                    f"'{column}' refers to {to}, which a tier asks for a right on, and"
                    " nothing checks it: it must be among the keys, of the second side"
                    " too, or stand in 'unchecked' with the reason",
                    base,
                    column,
                )
            elif to not in asked and column in unchecked:
                self._say(
                    entry,
                    f"'unchecked' names '{column}', which refers to {to}: no tier asks"
                    " for a right on that",
                    base,
                    column,
                )

    def _check_row_security(self, config: Facts) -> None:
        """Add a mistake for ids and keys of row security with a wrong reference."""
        for each in config.get("row_security") or ():
            name, model = each["unique_name"], each["dataset"]
            entry, asked = f"row_security '{name}'", HOLDERS[each["holder"]]
            ids = self._known(entry, model, each["ids_column"])
            if ids not in (None, asked):
                self._say(
                    entry,
                    f"its 'id_type' is {each['holder']}, and by the documentation of"
                    f" '{model}' its ids_column '{each['ids_column']}' refers to {ids},"
                    f" not to {asked}",
                    model,
                    each["ids_column"],
                )
            key = self._known(entry, model, each["filter_key_column"])
            for link in config.get("relationships") or ():
                if link["to"].get("row_security") != name:
                    continue
                near, column = link["from"]["dataset"], link["from"]["join_columns"][0]
                found = self._known(entry, near, column)
                if key and found and found != key:
                    self._say(
                        entry,
                        f"a relationship leads to it from '{near}.{column}', which by"
                        f" its documentation refers to {found}, and its"
                        f" filter_key_column '{each['filter_key_column']}' refers to"
                        f" {key}",
                        near,
                        column,
                    )


def raw_tables_of(names: Iterable[str], nodes: Facts, tables: Facts) -> list[str]:
    """Return the raw tables that are staged for relations.

    names   the relations
    nodes   dbt's nodes by their unique ids
    tables  the raw tables by name
    """
    waiting = [key for key, node in nodes.items() if node["name"] in {*names}]
    found: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in found and key in nodes:
            found.add(key)
            waiting += nodes[key].get("depends_on", {}).get("nodes", ())
    staged = {nodes[key]["name"].removeprefix(STAGED) for key in found}
    return sorted(staged & {*tables})


def without_past(config: Facts, nodes: Facts, feeds: Facts) -> dict[str, list[str]]:
    """Return the secure datasets that need raw tables without a history, with these.

    feeds  the feed of each raw table; None if nothing is declared
    """
    present = {n: feed for n, feed in feeds.items() if feed and not feed["has_history"]}
    found = {}
    for name in config["datasets"] if present else ():
        if tables := raw_tables_of([f"{PREFIX}{name}"], nodes, present):
            found[name] = tables
    return found


def documented_columns(nodes: Facts) -> dict[str, Columns]:
    """Return by model the columns with a documented reference, with their `meta`."""
    return {
        node["name"]: dict(_saying(node.get("columns") or {}))
        for node in nodes.values()
        if node["resource_type"] in DOCUMENTED
    }


def referenced_table(
    documented: Mapping[str, Columns],
    tables: Iterable[str],
    model: str,
    column: str,
    row: Facts,
) -> str | None:
    """Return the raw table that a key of a row refers to; None if to none.

    The column's documentation names it: `meta: {refers_to: ...}` or, if a second column
    of the key decides, `row_of: {<column>: {<value>: ...}}`.

    documented  the result of `documented_columns`
    row         the key of the row, by column
    """
    meta = documented.get(model, {}).get(column, {})
    names = [meta.get("refers_to")]
    names += [v.get(row.get(other)) for other, v in meta.get("row_of", {}).items()]
    return next((table for table in tables if f"{STAGED}{table}" in names), None)


def _saying(columns: Facts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns with a documented reference, with their `meta`."""
    for name, column in columns.items():
        meta = (column.get("config") or {}).get("meta") or {}
        if "refers_to" in meta:
            yield name, meta


def line_of(text: str, model: str, column: str = "") -> int | None:
    """Return the line of a file that names a column of a model, else the model's."""
    found, of_model = None, None
    for number, line in enumerate(text.splitlines(), 1):
        named = re.match(r"( *)-? *(?:&\w+\s*)?\{? *name: *['\"]?([\w.]+)", line)
        if not named:
            continue
        indent, name = len(named[1]), named[2]
        if of_model is None:
            if name == model:
                found, of_model = number, indent
        elif indent <= of_model:
            break
        elif name == column:
            return number
    return found
