"""Checks tiers and datasets: their keys, sides, cases and chains."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from secure_datasets.config import plan, schema
from secure_datasets.config.checks.draft import Draft
from secure_datasets.config.checks.shapes import RIGHTS
from secure_datasets.config.problems import Path
from secure_datasets.sql import expressions, spelling


class DatasetChecks:
    """Checks tiers and datasets."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def check_tier(self, path: Path, tier: dict[str, Any]) -> None:
        """Check a tier."""
        view = tier["access_view"]
        self.draft.check_model((*path, "access_view"), view, "access_view")
        for key in ("object_keys", "carries"):
            if "user_id" in tier[key]:
                self.draft.fail(
                    (*path, key),
                    "user_id is in every access view and must not be named in"
                    " 'object_keys' or 'carries'",
                )
            self.draft.check_documented((*path, key), tier[key], view)
        if right := tier.get("right"):
            keys = tier["object_keys"]
            if "key" in right:
                if right["key"] not in keys:
                    self.draft.fail(
                        (*path, "right", "key"),
                        f"'key' names '{right['key']}', which is not among"
                        f" 'object_keys'{spelling.hint(right['key'], keys)}",
                    )
            elif len(keys) > 1:
                self.draft.fail(
                    (*path, "right"),
                    "'right' needs 'key': which of 'object_keys' names its object",
                )

    def check_dataset(self, name: str) -> None:
        """Check a dataset by itself, and its base."""
        path, dataset = ("datasets", name), self.draft.values["datasets"][name]
        entry, columns = f"dataset '{name}'", dataset["columns"]
        if "user_id" in columns:
            self.draft.fail(
                (*path, "columns"),
                "the base has a column 'user_id' already: a secure dataset adds it",
            )
        with self.draft.apart():
            links = self.draft.values.get("relationships") or []
            is_led_to = any(link["to"].get("dataset") == name for link in links)
            if name in (self.draft.values.get("relations") or {}) and (
                is_led_to or name != dataset.get("base")
            ):
                self.draft.fail(
                    path,
                    "it is called as a relation of the star, for which rules would take"
                    " its rows",
                    entry,
                )
        with self.draft.apart():
            self.draft.check_columns(
                (*path, "unique_key"), dataset["unique_key"], columns
            )
        with self.draft.apart():
            self._check_view_authorization(path, dataset)
        with self.draft.apart():
            self._check_renamed(path, dataset.get("renamed_from"))
        rights = [key for key in RIGHTS if key in dataset]
        below = plan.parent_dataset(dataset)
        if below:
            self._check_layer(name, dataset, rights, below)
            return
        if "base" in dataset:
            with self.draft.apart():
                self.draft.check_model((*path, "base"), dataset["base"], "base")
                self.draft.check_documented(
                    (*path, "columns"), columns, dataset["base"]
                )
        if "visible_to" in dataset:
            if rights != ["visible_to"] or dataset["visible_to"] != "everyone":
                self.draft.fail(
                    (*path, "visible_to"),
                    "'visible_to' must be 'everyone' and stand without a tier",
                )
        elif "switch" in dataset:
            self._check_switch((*path, "switch"), entry, dataset)
        else:
            self._check_rule(path, dataset, columns)

    def _check_layer(
        self, name: str, dataset: dict[str, Any], rights: list[str], below: str
    ) -> None:
        """Check a dataset over a secure dataset `below`, whose rows act as its tier."""
        path = ("datasets", name)
        for key in rights:
            self.draft.fail(
                (*path, key),
                f"'{key}' must not stand over a secure dataset, whose rows bear their"
                " user already",
                f"dataset '{name}'",
            )
        names = list(self.draft.values["datasets"])
        self.draft.check_not_off((*path, "base"), below)
        before = [plan.PREFIX + each for each in names[: names.index(name)]]
        if dataset["base"] not in before:
            self.draft.fail(
                (*path, "base"),
                f"its base '{dataset['base']}' is no secure dataset that stands before"
                f" it{spelling.hint(dataset['base'], before)}",
            )
        base = self.draft.values["datasets"][below]
        for column in base["unique_key"]:
            if column not in dataset["unique_key"]:
                self.draft.fail(
                    (*path, "unique_key"),
                    f"'unique_key' lacks '{column}', by which '{dataset['base']}' tells"
                    " its rows apart",
                )
        columns = base["columns"]
        for column in dataset["columns"]:
            if column not in columns:
                self.draft.fail(
                    (*path, "columns"),
                    f"'columns' has '{column}', which '{dataset['base']}' has not"
                    f"{spelling.hint(column, columns)}",
                )

    def _check_renamed(self, path: Path, before: str | None) -> None:
        """Check that `renamed_from` is no current name, and occurs once."""
        datasets, path = self.draft.values["datasets"], (*path, "renamed_from")
        if before in datasets:
            self.draft.fail(
                path, f"'renamed_from' names '{before}', which is there still"
            )
        same = [n for n, d in datasets.items() if d.get("renamed_from") == before]
        if before and len(same) > 1:
            self.draft.fail(
                path,
                f"'renamed_from' names '{before}', and so do {' and '.join(same)}: one"
                " of them had that name",
            )

    def _check_view_authorization(self, path: Path, dataset: dict[str, Any]) -> None:
        """Check a dataset with `view_authorization`; the dataset below needs it too."""
        if not dataset.get("view_authorization"):
            return
        path = (*path, "view_authorization")
        if "view_outcome" in dataset["columns"]:
            self.draft.fail(
                path,
                "has a column 'view_outcome', a name that view authorization needs",
            )
        below = self.draft.values["datasets"].get(plan.parent_dataset(dataset))
        if below and not below.get("view_authorization"):
            self.draft.fail(
                path,
                f"'view_authorization' stands over '{dataset['base']}', which is not"
                " under it: its rules would not hold for who is allowed this view",
            )

    def _check_switch(self, path: Path, entry: str, dataset: dict[str, Any]) -> None:
        """Check a switch and its cases."""
        switch, columns = dataset["switch"], dataset["columns"]
        column = (*path, "column")
        self.draft.check_columns(
            column, [switch["column"]], columns, "switch.column", entry
        )
        spelled = self._spelling_of_values(column, switch["column"])
        carried = {}
        for value, rule in switch["cases"].items():
            case = (*path, "cases", value)
            with self.draft.apart():
                is_of_tier = self._check_case(case, rule, columns)
                if spelled and not re.fullmatch(spelled[0], value):
                    self.draft.fail(case, spelled[1])
                if is_of_tier:
                    tier = self.draft.values["tiers"][rule["tier"]]
                    carried[tuple(tier["carries"])] = value
        if len(carried) > 1:
            self.draft.fail(path, "the tiers of its cases differ in 'carries'", entry)
        if not any("tier" in rule for rule in switch["cases"].values()):
            self.draft.fail(path, "'switch.cases' has no case with a tier", entry)

    def _spelling_of_values(self, path: Path, column: str) -> tuple[str, str] | None:
        """Return the pattern of a switch's values, and the problem of another value.

        Spark reads a value as the column's type, so that two spellings would be two
        cases of one row. None for a text, or a column without a documented type.
        """
        kind = self.draft.types_of(str(path[1])).get(column, "string")
        is_for = f"is for '{column}', a {kind}: write"
        if kind == "string" or kind.startswith(("varchar", "char")):
            return None
        if kind in expressions.INTEGERS or re.fullmatch(
            r"decimal(\(\d+(, *0)?\))?", kind
        ):
            return "0|-?[1-9][0-9]*", f"{is_for} a whole number, such as '1'"
        if kind == "boolean":
            return "true|false", f"{is_for} 'true' or 'false'"
        self.draft.fail(
            path,
            f"'switch.column' is '{column}', a {kind}, whose values have several"
            " spellings: let the model make a text of it",
        )

    def _check_case(self, path: Path, rule: dict[str, Any], columns: list[str]) -> bool:
        """Check a case of a switch; return whether it has a tier."""
        if not isinstance(path[-1], str):
            self.draft.fail(
                path, "'switch.cases' has a value that is not text: quote it"
            )
        if "visible_to" not in rule:
            self._check_rule(path, rule, columns)
            return True
        if list(rule) != ["visible_to"] or rule["visible_to"] != "everyone":
            self.draft.fail(path, "'visible_to' must be 'everyone' and stand alone")
        return False

    def _check_rule(self, path: Path, rule: dict[str, Any], columns: list[str]) -> None:
        """Check a tier and its keys."""
        name, tiers = rule.get("tier"), self.draft.values["tiers"]
        if name is None:
            self.draft.fail(
                (*path, "tier"),
                "the key 'tier' is missing, and without a tier nobody may see it",
            )
        if not isinstance(name, str) or name not in tiers:
            self.draft.fail(
                (*path, "tier"),
                f"unknown tier '{name}'{spelling.listed(name, tiers)}",
            )
        for column in tiers[name]["carries"]:
            if column in columns:
                self.draft.fail(
                    (*path, "tier"),
                    f"the base has a column '{column}' already, which tier '{name}'"
                    " carries",
                )
        self._check_join((*path, "keys"), rule.get("keys"), tiers[name], columns)
        if "second_side" in rule:
            side = (*path, "second_side")
            self._check_second_side(side, rule, tiers[name], columns)
        if "unchecked" in rule:
            self._check_unchecked((*path, "unchecked"), rule, columns)

    def _check_unchecked(
        self, path: Path, rule: dict[str, Any], columns: list[str]
    ) -> None:
        """Check the columns of a rule that deliberately need no right."""
        self.draft.check_columns(path, list(rule["unchecked"]), columns)
        sides = [rule, *filter(None, [rule.get("second_side")])]
        keys = {column for side in sides for column in side["keys"].values()}
        for column in rule["unchecked"]:
            if column in keys:
                self.draft.fail(
                    path, f"'unchecked' names '{column}', which is among the keys"
                )

    def _check_second_side(
        self, path: Path, rule: dict[str, Any], tier: dict, columns: list[str]
    ) -> None:
        """Check that one column differs from the first side's, and may be null."""
        side = rule["second_side"]
        self._check_join((*path, "keys"), side["keys"], tier, columns)
        differing = [
            column
            for key, column in side["keys"].items()
            if column != rule["keys"][key]
        ]
        if differing != [side["unless_null"]]:
            self.draft.fail(
                (*path, "unless_null"),
                "'keys' must differ from the first side's in one column, and"
                f" 'unless_null' must name it, not '{side['unless_null']}'",
            )

    def _check_join(
        self, path: Path, keys: Any, tier: dict[str, Any], columns: list[str]
    ) -> None:
        """Check that each object key of the tier has a column."""
        self._by_schema(path, schema.Keys, keys)
        for key in keys:
            if key not in tier["object_keys"]:
                self.draft.fail(
                    path,
                    f"'keys' has '{key}', which is no key column of its tier"
                    f"{spelling.listed(key, tier['object_keys'])}",
                )
        for key in tier["object_keys"]:
            if key not in keys:
                self.draft.fail(
                    path, f"'keys' lacks the key column '{key}' of its tier"
                )
        self.draft.check_columns(path, keys.values(), columns)

    def _by_schema(self, path: Path, kind: Any, value: Any) -> None:
        """Check one value by the schema's kind."""
        from pydantic import TypeAdapter

        try:
            TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            found = error.errors()[0]
            problem = found.get("ctx", {}).get("problem", "'{key}' " + found["msg"])
            self.draft.fail(path, problem.replace("{key}", path[-1]))

    def check_not_open(self, name: str) -> None:
        """Check that a dataset visible to everyone has a rule."""
        dataset = self.draft.values["datasets"][name]
        if "visible_to" not in dataset or "base" not in dataset:
            return
        has_condition = any(
            policy["resource"] == name and policy.get("as") != "restrictive"
            for policy in self.draft.values.get("policies", [])
        )
        is_authorized = dataset.get("view_authorization", False)
        if not (
            has_condition
            or is_authorized
            or plan.restrictions_on(dataset, self.draft.values)
        ):
            self.draft.fail(
                ("datasets", name, "visible_to"),
                "is 'visible_to: everyone', which needs a permissive condition, row"
                " security or view authorization on it: there is no open default",
            )
