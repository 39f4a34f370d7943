"""Checks the values of each key of a config by the schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from secure_datasets.config import schema
from secure_datasets.config.checks.draft import Draft
from secure_datasets.config.problems import ConfigProblem, Path
from secure_datasets.rules import times
from secure_datasets.sql import spelling

# The keys of a dataset for who sees its rows.
RIGHTS = ("tier", "keys", "second_side", "unchecked", "switch", "visible_to")
# The keys of a policy for its roles; a policy has exactly one.
WHOM = ("role", "except", "shown_to")
TIME_OF_A_LINE = (
    "'{key}' must stand beside 'shown_to', for the whole mask: for a line that begins"
    " or ends, write one mask with it and one without it, each with its time"
)


class ShapeChecks:
    """Checks the shape of each entry."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def check(self) -> None:
        """Check every entry, and that keys of a rule stand where they belong."""
        self._check_shapes()
        self._check_schema()

    def _check_shapes(self) -> None:
        """Check datasets with a switch: keys of a rule belong into its cases."""
        datasets = self.draft.values.get("datasets")
        for name, dataset in (datasets if isinstance(datasets, dict) else {}).items():
            if not isinstance(dataset, dict) or "switch" not in dataset:
                continue
            for key in RIGHTS:
                if key in dataset and key not in ("switch", "visible_to"):
                    with self.draft.apart():
                        self.draft.fail(
                            ("datasets", name, key),
                            f"'{key}' belongs into the cases of 'switch'",
                            f"dataset '{name}'",
                        )

    def _check_schema(self) -> None:
        """Check every entry by the schema."""
        try:
            schema.Config.model_validate(self.draft.values)
        except ValidationError as error:
            found = [self._said(each) for each in error.errors()]
            # A mistake in a written key comes before a missing key.
            for _, problem in sorted(found, key=lambda item: item[0]):
                known = {(each.entry, each.problem) for each in self.draft.problems}
                if (problem.entry, problem.problem) not in known:
                    self.draft.problems.append(problem)

    def _said(self, error: Any) -> tuple[tuple[int, int, int], ConfigProblem]:
        """Return a mistake from the schema, with its sort key."""
        path = tuple(
            step for step in error["loc"] if step not in ("<base>", "<query>", "[key]")
        )
        kind, key = error["type"], path[-1] if path else None
        above, order, problem = path[:-1], 2, ""
        if kind in ("extra_forbidden", "invalid_key"):
            if kind == "invalid_key":
                mapping = self._at(above)
                key = next(name for name in mapping if not isinstance(name, str))
            model = _model_of(above, self.draft.values)
            known = spelling.listed(key, _known_keys(model))
            order, problem = 0, f"unknown key '{key}'{known}"
            if model is schema.ShownTo and key in times.KEYS:
                problem = TIME_OF_A_LINE.format(key=key)
            entry = self.draft.document.entry(above)
        elif kind == "missing" or (
            error["input"] is None and self._is_required(above, key)
        ):
            order, problem = 1, f"the key '{key}' is missing"
            entry = self.draft.document.entry(above)
        elif kind == "model_type":
            problem = "must be a mapping of keys to values"
            entry = self.draft.document.entry(path)
        else:
            while key is not None and (
                isinstance(key, int) or _is_entry(path[:-1], self.draft.values) is False
            ):
                path, key = path[:-1], path[-2] if len(path) > 1 else None
            message = error.get("ctx", {}).get("problem") or "'{key}' " + error["msg"]
            problem = message.replace("{key}", str(key))
            is_policy = path[:1] == ("policies",) and len(path) > 2
            is_named = is_policy and key not in ("resource", *WHOM)
            named = self.draft.values if is_named and self._has_name(path) else None
            entry = self.draft.document.entry(path, named)
        line = self.draft.document.line(path) or 0
        return (
            (order, line, len(path)),
            ConfigProblem(
                entry, problem, path, line or None, self.draft.document.source(path)
            ),
        )

    def _at(self, path: Path) -> Any:
        """Return the document's value at a place."""
        value = self.draft.values
        for step in path:
            value = value[step]
        return value

    def _is_required(self, above: Path, key: Any) -> bool:
        """Whether an entry needs a key."""
        if _is_entry(above, self.draft.values) is False:
            return False
        model = _model_of(above, self.draft.values)
        return any(
            item.is_required() and (item.alias or name) == key
            for name, item in model.model_fields.items()
        )

    def _has_name(self, path: Path) -> bool:
        """Whether a policy has a valid role, if it has one, and a valid resource."""
        policy = self.draft.values["policies"][path[1]]
        has_role = isinstance(policy.get("role", ""), str | dict)
        resource = policy.get("resource")
        is_tag = isinstance(resource, dict) and list(resource) == ["tag"]
        return has_role and (isinstance(resource, str) or is_tag)


def _known_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys of an entry, its required keys first."""
    fields = model.model_fields.items()
    ordered = sorted(fields, key=lambda item: not item[1].is_required())
    return [item.alias or name for name, item in ordered]


def _model_of(path: Path, values: Any) -> type[BaseModel]:
    """Return the schema's model for the entry at a place."""
    if not path:
        return schema.Config
    part, *rest = path
    if part == "datasets" and rest:
        if rest[-1] == "second_side":
            return schema.SecondSide
        if rest[1:] == ["switch"]:
            return schema.Switch
        if rest[1:] == ["query"]:
            return schema.Query
        if len(rest) > 1:
            return schema.Case
        is_query = "query" in values["datasets"][rest[0]]
        return schema.QueryDataset if is_query else schema.Dataset
    if part == "policies" and len(rest) > 1:
        return schema.ShownTo
    if part == "relationships" and len(rest) > 1:
        return schema.Near if rest[1] == "from" else schema.Far
    return {
        "reader": schema.Reader,
        "tiers": schema.Tier,
        "policies": schema.Policy,
        "relations": schema.Relation,
        "row_security": schema.RowSecurity,
        "relationships": schema.Relationship,
    }[part]


def _is_entry(path: Path, values: Any) -> bool:
    """Whether the schema has an entry at a place."""
    if not path:
        return True
    part, *rest = path
    if part == "datasets":
        return (
            len(rest) == 1
            or rest[1:] in (["switch"], ["query"], ["second_side"])
            or (rest[1:3] == ["switch", "cases"] and len(rest) == 4)
            or (rest[4:] == ["second_side"])
        )
    if part == "reader":
        return not rest
    if part == "relationships":
        return len(rest) == 1 or (len(rest) == 2 and rest[1] in ("from", "to"))
    if part == "policies" and rest[1:2] == ["shown_to"]:
        return len(rest) == 3
    return len(rest) == 1
