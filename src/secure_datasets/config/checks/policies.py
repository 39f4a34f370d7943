"""Checks conditions and masks, and makes the masks of columns with a tag."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from secure_datasets.config import plan, tags
from secure_datasets.config.checks.draft import Draft
from secure_datasets.config.checks.shapes import WHOM
from secure_datasets.config.problems import Path
from secure_datasets.rules import readers, times
from secure_datasets.sql import clock_texts as clock
from secure_datasets.sql import days, expressions, inference, nested_masks, spelling
from secure_datasets.sql import function_calls as calls
from secure_datasets.sql.expressions import ExpressionProblem, Scope

TOGETHER = ", or let the one end where the other begins"


class PolicyChecks:
    """Checks policies, and the reader whose attributes they may use."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def make_policies_of_tags(self) -> None:
        """Replace the policies on tags by masks of columns.

        All later steps know only the masks.
        """
        policies = self.draft.values.get("policies", [])
        if not any(map(tags.of_policy, policies)):
            return
        made: list[dict[str, Any]] = []
        numbers: list[int] = []
        for number, policy in enumerate(policies):
            found = [policy]
            if tags.of_policy(policy):
                found = []
                with self.draft.apart():
                    found = self._masks_by_tag(("policies", number), policy)
            made += found
            numbers += [number] * len(found)
        self.draft.values = self.draft.values | {"policies": made}
        self.draft.document.numbers = numbers

    def _masks_by_tag(self, path: Path, policy: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a mask for each column that has the tag of a policy."""
        self._check_whom(path, policy, self.draft.document.entry(path))
        tag, masks = policy["resource"]["tag"], policy.get("mask")
        known = tags.known(self.draft.values, self.draft.models)
        for each in known:
            if "{{" in each or "{%" in each:
                self.draft.fail(
                    (*path, "resource"),
                    f"the documentation has the tag '{each}', which Jinja makes of"
                    " something: write the tag itself, by which columns are found while"
                    " dbt parses",
                )
        if tag not in known:
            self.draft.fail(
                (*path, "resource"),
                f"no column has the tag '{tag}'{spelling.listed(tag, known)}: write"
                f" `config: {{tags: [{tag}]}}` at a column in the documentation of a"
                " dataset's base",
            )
        if masks is None:
            self.draft.fail(path, "the key 'mask' is missing")
        taken: set[str | None] = set()
        for kind in masks if isinstance(masks, dict) else ():
            named = kind if kind == tags.DEFAULT else tags.type_name(str(kind))
            if not named:
                self.draft.fail(
                    (*path, "mask"),
                    f"'mask' has a value for '{kind}', which is neither a type nor"
                    " 'default'",
                )
            if named in taken:
                self.draft.fail((*path, "mask"), f"'mask' has two values for '{named}'")
            taken.add(named)
            self._is_sql((*path, "mask", kind), masks)
            try:
                found = expressions.read(str(masks[kind]))
                # A decimal without digits stands for every decimal.
                if named not in (tags.DEFAULT, "decimal"):
                    expressions.check_mask(found, named)
            except ExpressionProblem as problem:
                self.draft.fail((*path, "mask"), str(problem).replace("{key}", "mask"))
        made = []
        for name, dataset in self.draft.values["datasets"].items():
            # If the rules of a view act below it, its own rules do not act.
            if (
                name in self.draft.broken
                or plan.ruling_dataset(name, self.draft.values) != name
            ):
                continue
            found = tags.of_dataset(name, self.draft.values, self.draft.models)
            for column in (column for column, said in found.items() if tag in said):
                if column in dataset["unique_key"]:
                    self.draft.fail(
                        (*path, "resource"),
                        f"the column '{column}' of the dataset '{name}' has the tag"
                        f" '{tag}', and is in its 'unique_key', which tells rows apart"
                        " and can't be masked: leave it out of the dataset, or take the"
                        " tag away",
                    )
                mask = self._mask_by_type(path, name, column, masks)
                resource = {"resource": f"{name}.{column}", "tag": tag}
                made.append(policy | resource | {"mask": mask})
        return made

    def _mask_by_type(self, path: Path, name: str, column: str, masks: Any) -> Any:
        """Return the mask for a column, by the column's type if there are several."""
        if not isinstance(masks, dict):
            return masks
        documented = self.draft.types_of(name).get(column)
        if documented is None:
            self.draft.fail(
                (*path, "mask"),
                f"the documentation of '{name}.{column}' says no data_type, by which"
                " its mask is chosen",
            )
        kind = tags.mask_for(masks, documented)
        if kind is None:
            self.draft.fail(
                (*path, "mask"),
                f"'mask' has none for '{name}.{column}', which is a {documented}: add"
                " 'default: \"null\"' for all other types",
            )
        return masks[kind]

    def check_policies(self) -> None:
        """Check the conditions and masks."""
        taken: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for number, policy in enumerate(self.draft.values.get("policies", [])):
            path = ("policies", number)
            self.draft.of_column = "tag" in policy and policy["resource"]
            with self.draft.apart():
                if not self.draft.of_column:
                    self._check_whom(path, policy, self.draft.document.entry(path))
                self._check_policy(path, policy, taken)
        self.draft.of_column = None

    def _check_whom(self, path: Path, policy: dict[str, Any], entry: str) -> None:
        """Check that a policy names its roles exactly once."""
        said = [key for key in WHOM if key in policy]
        if not said:
            self.draft.fail(path, "the key 'role' is missing", entry)
        if len(said) > 1:
            self.draft.fail(
                (*path, said[1]),
                f"has '{said[0]}' and '{said[1]}', and one of them says whom it is for",
                entry,
            )
        if plan.EVERYBODY in map(plan.role_of, policy.get("except", [])):
            self.draft.fail(
                (*path, "except"),
                f"'except' spares '{plan.EVERYBODY}', everybody, and so it would be"
                " for nobody",
                entry,
            )

    def _check_policy(
        self,
        path: Path,
        policy: dict[str, Any],
        taken: dict[tuple[Any, ...], list[dict[str, Any]]],
    ) -> None:
        """Check one policy; none for the same role or order may overlap it in time."""
        name, column = plan.parts_of(policy["resource"])
        datasets = self.draft.values["datasets"]
        self.draft.check_not_off((*path, "resource"), name)
        if name not in datasets:
            self.draft.fail(
                (*path, "resource"),
                f"unknown dataset '{name}'{spelling.listed(name, datasets)}",
            )
        dataset = datasets[name]
        if name in self.draft.broken and plan.parent_dataset(dataset):
            return
        if "held_roles" in dataset["columns"]:
            self.draft.fail(
                path, "the dataset has a column 'held_roles', a name that policies need"
            )
        is_mask = column is not None
        if is_mask:
            self._check_mask(path, policy, column, dataset)
        else:
            self._check_condition(path, policy, name)
        self._check_policy_sql(path, policy, name, column, is_mask)
        bounds = times.bounds(policy)
        if all(bounds.values()) and bounds["valid_from"] >= bounds["valid_until"]:
            self.draft.fail(
                (*path, "valid_until"),
                "'valid_until' does not come after 'valid_from', so that it would never"
                " hold",
            )
        order = policy.get("mask_order", 0)
        is_again = (
            "the role has a condition on the dataset already: write one, with 'or'"
        )
        if is_mask:
            is_again = f"the column has a mask with the 'mask_order' {order} already"
        elif policy.get("as") == "restrictive":
            # Several restrictive policies are allowed: each must be true.
            return
        said = (
            policy["resource"],
            order if is_mask else plan.role_of(policy["role"]),
        )
        for other in taken.get(said, []):
            if times.overlap(bounds, other):
                has_time = any((*bounds.values(), *other.values()))
                self.draft.fail(path, is_again + TOGETHER * has_time)
        taken.setdefault(said, []).append(bounds)

    def _check_condition(self, path: Path, policy: dict[str, Any], name: str) -> None:
        """Check the keys of a policy on a dataset."""
        is_restrictive = policy.get("as") == "restrictive"
        if "except" in policy and not is_restrictive:
            self.draft.fail(
                (*path, "except"),
                "'except' belongs to a mask, and to a condition that says 'as:"
                " restrictive': a permissive one says by 'role' who sees its rows",
            )
        if is_restrictive and "condition" not in policy:
            self.draft.fail(
                path,
                "the key 'condition' is missing: a restrictive policy leaves the rows"
                " of its condition, and 'condition: false' none",
            )
        for key in ("mask", "mask_order", "mask_on_null", "shown_to"):
            if key in policy:
                self.draft.fail(
                    (*path, key),
                    f"'{key}' belongs to a column: the resource must be"
                    f" '{name}.<column>'",
                )

    def _check_mask(
        self, path: Path, policy: dict[str, Any], column: str, dataset: dict[str, Any]
    ) -> None:
        """Check the keys of a policy on a column."""
        self.draft.check_columns((*path, "resource"), [column], dataset["columns"])
        if column in dataset["unique_key"]:
            self.draft.fail(
                (*path, "resource"),
                f"'{column}' is in the dataset's 'unique_key', which tells rows apart"
                " and can't be masked",
            )
        for key in ("check", "as"):
            if key in policy:
                self.draft.fail(
                    (*path, key),
                    f"'{key}' belongs to a condition on a dataset, not to a mask",
                )
        for key in ("condition", "mask_on_null") if "shown_to" in policy else ():
            if key in policy:
                self.draft.fail(
                    (*path, key),
                    f"'{key}' must not stand beside 'shown_to': each line says by"
                    " 'where' in which rows the value is shown",
                )
        if "mask" not in policy:
            self.draft.fail(path, "the key 'mask' is missing")
        if isinstance(policy["mask"], dict):
            self.draft.fail(
                (*path, "mask"),
                "'mask' has values by type, which belong to a tag: the resource must be"
                " '{tag: ...}'",
            )

    def _check_policy_sql(
        self,
        path: Path,
        policy: dict[str, Any],
        name: str,
        column: str | None,
        is_mask: bool,
    ) -> None:
        """Check the SQL of the condition, the mask and the lines of `shown_to`."""
        types = self.draft.types_of(name)
        scope = self._scope(name)
        of_reader = replace(scope, reader=self._attributes(name))
        places = [
            *((policy, (*path, key)) for key in ("condition", "mask")),
            *(
                (line, (*path, "shown_to", number, "where"))
                for number, line in enumerate(policy.get("shown_to", []))
            ),
        ]
        for entry, place in places:
            with self.draft.apart():
                if place[-1] not in entry or not self._is_sql(place, entry):
                    continue
                sql, is_condition = str(entry[place[-1]]), place[-1] != "mask"
                becomes = None if is_condition else types.get(column or "")
                is_correlated = self._check_expression(
                    place, sql, name, of_reader if is_condition else scope, types,
                    is_condition, becomes,
                )  # fmt: skip
                if not is_condition:
                    self._check_reads_of_mask(place, sql, name, column)
                if is_correlated and not is_mask and policy.get("check", True):
                    self.draft.fail(
                        place,
                        "'condition' has a correlated subquery, which a check of"
                        " written rows can't have: rewrite it, or say 'check: false'",
                    )

    def _check_reads_of_mask(
        self, place: Path, sql: str, name: str, column: str | None
    ) -> None:
        """Check that a mask shows no unmasked value of a further masked column."""
        policies = self.draft.values["policies"]
        masked = {
            other
            for dataset, other in (plan.parts_of(each["resource"]) for each in policies)
            if dataset == name and other not in (None, column)
        }
        bases, below = set(), name
        while below:
            dataset = self.draft.values["datasets"][below]
            bases |= {dataset["base"]} if "base" in dataset else set()
            below = plan.parent_dataset(dataset)
        try:
            expressions.check_reads_of_mask(expressions.read(sql), name, masked, bases)
        except ExpressionProblem as problem:
            self.draft.fail(place, str(problem).replace("{key}", place[-1]))

    def _check_expression(
        self,
        place: Path,
        sql: str,
        name: str,
        scope: Scope,
        types: dict[str, str],
        is_condition: bool,
        becomes: str | None,
    ) -> bool:
        """Check a condition or mask; return whether it has a correlated subquery.

        becomes  the type of the masked column, if it is known
        """
        try:
            found = expressions.read(sql)
            is_correlated = expressions.check(found, scope, is_condition)
            expressions.check_roles(found)
            if scope.reader is not None:
                readers.check(found)
            calls.check(found, is_condition)
            clock.refuse(found, clock.types_of_row(name, types), becomes)
            tree = calls.check_types(found, name, types, is_condition)
            if becomes:
                expressions.check_mask(found, becomes)
                inference.check_mask(tree, becomes)
                nested_masks.check_structs(tree, becomes)
                days.check_mask(tree, becomes)
        except ExpressionProblem as problem:
            self.draft.fail(place, str(problem).replace("{key}", place[-1]))
        return is_correlated

    def _is_sql(self, place: Path, entry: dict[str, Any]) -> bool:
        """Whether a value needs a check as SQL: all but the boolean of a condition.

        Raises ConfigProblem for a boolean that is not spelled true or false.
        """
        key = place[-1]
        value = entry[key]
        if not isinstance(value, bool):
            return True
        spelled = self.draft.document.spelling(place, str(value))
        if spelled.lower() != str(value).lower():
            self.draft.fail(
                place,
                f"'{key}' is {spelled}, which YAML reads as {str(value).lower()}:"
                " quote it",
            )
        return key == "mask"

    def _scope(self, name: str) -> Scope:
        """Return the names that expressions about a dataset may use."""
        dataset = self.draft.values["datasets"][name]
        steps = set(plan.STEPS)
        for security in self.draft.values.get("row_security", []):
            steps.add(security["unique_name"].lower())
            steps |= {
                f"{security['unique_name']}_through_{fact}".lower()
                for fact in (*self.draft.values.get("relations", {}), "facts")
            }
        columns = frozenset([*dataset["columns"], "user_id"])
        carried = frozenset(plan.tier_columns(dataset, self.draft.values))
        # The rows of a secure dataset have the carried columns.
        if plan.parent_dataset(dataset):
            return Scope(name, columns | carried, frozenset(steps))
        return Scope(name, columns, frozenset(steps), carried)

    def _attributes(self, name: str) -> frozenset[str] | None:
        """Return the attributes of the reader; an empty set if any name may be one.

        None without a reader, or if `reader` is the dataset or a column of it: this
        meaning has priority.
        """
        reader = self.draft.values.get("reader")
        columns = self.draft.values["datasets"][name]["columns"]
        if reader is None or expressions.READER in (name, *columns):
            return None
        return frozenset(self.draft.models.of(reader["relation"]))

    def check_reader(self) -> None:
        """Check the relation with the reader's attributes, and its key."""
        if reader := self.draft.values.get("reader"):
            self.draft.check_model(
                ("reader", "relation"), reader["relation"], "relation"
            )
            path = ("reader", "key")
            self.draft.check_documented(path, [reader["key"]], reader["relation"])
            written = self.draft.models.of(reader["relation"]).get(reader["key"])
            if written and written.lower() not in expressions.INTEGERS:
                self.draft.fail(
                    path,
                    f"'key' is '{reader['key']}', a {written}, and the ids of users are"
                    " whole numbers: cast it in the model",
                )
