"""Checks a config: each mistake is a sentence with entry, key and line.

The schema checks the value of each key. This module checks entries against each other
and against the models, as far as these are documented.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from secure_datasets.config import plan, schema, tags
from secure_datasets.config.problems import ConfigProblem, ConfigProblems, Path
from secure_datasets.config.reading import Document
from secure_datasets.rules import readers, times
from secure_datasets.sql import clock_texts as clock
from secure_datasets.sql import days, expressions, inference, spelling
from secure_datasets.sql import function_calls as calls
from secure_datasets.sql.expressions import ExpressionProblem, Scope

# The keys of a policy for its roles; a policy has exactly one.
WHOM = ("role", "except", "shown_to")
TIME_OF_A_LINE = (
    "'{key}' must stand beside 'shown_to', for the whole mask: for a line that begins"
    " or ends, write one mask with it and one without it, each with its time"
)
TOGETHER = ", or let the one end where the other begins"
RIGHTS = ("tier", "keys", "second_side", "unchecked", "switch", "visible_to")


@dataclass(frozen=True)
class Models:
    """The project's models and seeds in dbt: their columns, with types.

    An undocumented model has no columns here. `is_known` is false if dbt knows no
    models at all. `tags` has only columns with tags, by model.
    """

    columns: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    is_known: bool = False
    tags: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    def tags_of(self, name: str, column: str) -> frozenset[str]:
        """Return the tags of a column in its model's documentation."""
        return self.tags.get(name, {}).get(column, frozenset())

    def of(self, name: str) -> Mapping[str, str | None]:
        """Return the documented columns of a model."""
        return self.columns.get(name, {})


def check(document: Document, models: Models) -> dict[str, Any]:
    """Return the config for macros, or raise ConfigProblems with all its mistakes."""
    return _Checker(document, models).config()


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


class _Checker:
    """Checks one document."""

    def __init__(self, document: Document, models: Models) -> None:
        self.document = document
        self.values = document.values
        self.models = models
        # By relation and hierarchy, the relationships' names for levels.
        self.levels: dict[tuple[str, str | None], dict[str, int]] = {}
        self.problems: list[ConfigProblem] = []
        # The column for the current check of a policy on a tag.
        self.of_column: str | None = None
        # Datasets with a mistake, or over such a dataset: their chain may be endless.
        self.broken: set[str | None] = set()

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Note a mistake, and continue with independent checks."""
        try:
            yield
        except ConfigProblem as problem:
            self.problems.append(problem)
        except (AttributeError, LookupError, TypeError, ValueError):
            # A check may fail on values that an earlier check has found wrong.
            if not self.problems:
                raise

    def _end(self) -> None:
        """Raise ConfigProblems if there are mistakes: later checks rely on none."""
        if self.problems:
            raise ConfigProblems(self.problems)

    def fail(self, path: Path, problem: str, entry: str | None = None) -> NoReturn:
        """Raise a mistake at a place."""
        entry = entry or self.document.entry(path, self.document.values)
        if self.of_column:
            problem = f"of '{self.of_column}': {problem}"
        line, source = self.document.line(path), self.document.source(path)
        raise ConfigProblem(entry, problem, path, line, source)

    def config(self) -> dict[str, Any]:
        """Check everything; return the config that macros get."""
        self._check_shapes()
        self._check_schema()
        self._end()
        datasets = self.values["datasets"]
        with self._apart():
            if not datasets and not self.document.switched_off:
                self.fail(("datasets",), "'datasets' is empty")
        for name, tier in self.values["tiers"].items():
            with self._apart():
                self._check_tier(("tiers", name), tier)
        for name, dataset in datasets.items():
            known = len(self.problems)
            with self._apart():
                self._check_dataset(name)
            below = plan.parent_dataset(dataset)
            if len(self.problems) > known or below in self.broken:
                self.broken.add(name)
        self._check_star()
        with self._apart():
            self._check_reader()
        self._make_policies_of_tags()
        self._check_policies()
        for name in [name for name in datasets if name not in self.broken]:
            with self._apart():
                self._check_dataset_in_star(name, datasets[name])
            with self._apart():
                self._check_not_open(name)
        self._end()
        return self._as_macros_have_it()

    # The schema

    def _check_shapes(self) -> None:
        """Check datasets with a switch: keys of a rule belong into its cases."""
        datasets = self.values.get("datasets")
        for name, dataset in (datasets if isinstance(datasets, dict) else {}).items():
            if not isinstance(dataset, dict) or "switch" not in dataset:
                continue
            for key in RIGHTS:
                if key in dataset and key not in ("switch", "visible_to"):
                    with self._apart():
                        self.fail(
                            ("datasets", name, key),
                            f"'{key}' belongs into the cases of 'switch'",
                            f"dataset '{name}'",
                        )

    def _check_schema(self) -> None:
        """Check every entry by the schema."""
        try:
            schema.Config.model_validate(self.values)
        except ValidationError as error:
            found = [self._said(each) for each in error.errors()]
            # A mistake in a written key comes before a missing key.
            for _, problem in sorted(found, key=lambda item: item[0]):
                known = {(each.entry, each.problem) for each in self.problems}
                if (problem.entry, problem.problem) not in known:
                    self.problems.append(problem)

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
            model = _model_of(above, self.values)
            known = spelling.listed(key, _known_keys(model))
            order, problem = 0, f"unknown key '{key}'{known}"
            if model is schema.ShownTo and key in times.KEYS:
                problem = TIME_OF_A_LINE.format(key=key)
            entry = self.document.entry(above)
        elif kind == "missing" or (
            error["input"] is None and self._is_required(above, key)
        ):
            order, problem = 1, f"the key '{key}' is missing"
            entry = self.document.entry(above)
        elif kind == "model_type":
            problem = "must be a mapping of keys to values"
            entry = self.document.entry(path)
        else:
            while key is not None and (
                isinstance(key, int) or _is_entry(path[:-1], self.values) is False
            ):
                path, key = path[:-1], path[-2] if len(path) > 1 else None
            message = error.get("ctx", {}).get("problem") or "'{key}' " + error["msg"]
            problem = message.replace("{key}", str(key))
            is_policy = path[:1] == ("policies",) and len(path) > 2
            is_named = is_policy and key not in ("resource", *WHOM)
            named = self.values if is_named and self._has_name(path) else None
            entry = self.document.entry(path, named)
        line = self.document.line(path) or 0
        return (
            (order, line, len(path)),
            ConfigProblem(
                entry, problem, path, line or None, self.document.source(path)
            ),
        )

    def _at(self, path: Path) -> Any:
        """Return the document's value at a place."""
        value = self.values
        for step in path:
            value = value[step]
        return value

    def _is_required(self, above: Path, key: Any) -> bool:
        """Whether an entry needs a key."""
        if _is_entry(above, self.values) is False:
            return False
        model = _model_of(above, self.values)
        return any(
            item.is_required() and (item.alias or name) == key
            for name, item in model.model_fields.items()
        )

    def _has_name(self, path: Path) -> bool:
        """Whether a policy has a valid role, if it has one, and a valid resource."""
        policy = self.values["policies"][path[1]]
        has_role = isinstance(policy.get("role", ""), str | dict)
        resource = policy.get("resource")
        is_tag = isinstance(resource, dict) and list(resource) == ["tag"]
        return has_role and (isinstance(resource, str) or is_tag)

    # Entries

    def _check_columns(
        self,
        path: Path,
        names: Iterable[str],
        columns: Iterable[str],
        key: str | None = None,
        entry: str | None = None,
    ) -> None:
        """Check that the columns exist."""
        known = set(columns)
        for name in names:
            if name not in known:
                said = key or path[-1]
                self.fail(
                    path,
                    f"'{said}' names '{name}', which is not among its columns"
                    f"{spelling.hint(name, known)}",
                    entry,
                )

    def _check_model(self, path: Path, name: str, key: str) -> None:
        """Check that a model or seed exists."""
        if self.models.is_known and name not in self.models.columns:
            self.fail(
                path,
                f"'{key}' names '{name}', which is no model and no seed"
                f"{spelling.hint(name, self.models.columns)}",
            )

    def _check_documented(self, path: Path, names: Iterable[str], model: str) -> None:
        """Check that the documentation of a model has the columns."""
        documented = self.models.of(model)
        for name in names:
            if documented and name not in documented:
                self.fail(
                    path,
                    f"'{path[-1]}' has '{name}', which the documentation of '{model}'"
                    f" has not{spelling.hint(name, documented)}",
                )

    def _check_tier(self, path: Path, tier: dict[str, Any]) -> None:
        """Check a tier."""
        view = tier["access_view"]
        self._check_model((*path, "access_view"), view, "access_view")
        for key in ("object_keys", "carries"):
            if "user_id" in tier[key]:
                self.fail(
                    (*path, key),
                    "user_id is in every access view and must not be named in"
                    " 'object_keys' or 'carries'",
                )
            self._check_documented((*path, key), tier[key], view)
        if right := tier.get("right"):
            keys = tier["object_keys"]
            if "key" in right:
                if right["key"] not in keys:
                    self.fail(
                        (*path, "right", "key"),
                        f"'key' names '{right['key']}', which is not among"
                        f" 'object_keys'{spelling.hint(right['key'], keys)}",
                    )
            elif len(keys) > 1:
                self.fail(
                    (*path, "right"),
                    "'right' needs 'key': which of 'object_keys' names its object",
                )

    def _check_dataset(self, name: str) -> None:
        """Check a dataset by itself, and its base."""
        path, dataset = ("datasets", name), self.values["datasets"][name]
        entry, columns = f"dataset '{name}'", dataset["columns"]
        if "user_id" in columns:
            self.fail(
                (*path, "columns"),
                "the base has a column 'user_id' already: a secure dataset adds it",
            )
        with self._apart():
            self._check_columns((*path, "unique_key"), dataset["unique_key"], columns)
        with self._apart():
            self._check_view_authorization(path, dataset)
        with self._apart():
            self._check_renamed(path, dataset.get("renamed_from"))
        rights = [key for key in RIGHTS if key in dataset]
        below = plan.parent_dataset(dataset)
        if below:
            self._check_layer(name, dataset, rights, below)
            return
        if "base" in dataset:
            with self._apart():
                self._check_model((*path, "base"), dataset["base"], "base")
                self._check_documented((*path, "columns"), columns, dataset["base"])
        if "visible_to" in dataset:
            if rights != ["visible_to"] or dataset["visible_to"] != "everyone":
                self.fail(
                    (*path, "visible_to"),
                    "'visible_to' must be 'everyone' and stand without a tier",
                )
        elif "switch" in dataset:
            self._check_switch((*path, "switch"), entry, dataset)
        else:
            self._check_rule(path, dataset, columns)

    def _check_not_off(self, path: Path, name: str) -> None:
        """Check that a needed dataset is not switched off."""
        if name in self.document.switched_off:
            self.fail(path, f"needs the dataset '{name}', which is switched off")

    def _check_layer(
        self, name: str, dataset: dict[str, Any], rights: list[str], below: str
    ) -> None:
        """Check a dataset over a secure dataset `below`, whose rows act as its tier."""
        path = ("datasets", name)
        for key in rights:
            self.fail(
                (*path, key),
                f"'{key}' must not stand over a secure dataset, whose rows bear their"
                " user already",
                f"dataset '{name}'",
            )
        names = list(self.values["datasets"])
        self._check_not_off((*path, "base"), below)
        before = [plan.PREFIX + each for each in names[: names.index(name)]]
        if dataset["base"] not in before:
            self.fail(
                (*path, "base"),
                f"its base '{dataset['base']}' is no secure dataset that stands before"
                f" it{spelling.hint(dataset['base'], before)}",
            )
        columns = self.values["datasets"][below]["columns"]
        for column in dataset["columns"]:
            if column not in columns:
                self.fail(
                    (*path, "columns"),
                    f"'columns' has '{column}', which '{dataset['base']}' has not"
                    f"{spelling.hint(column, columns)}",
                )

    def _check_renamed(self, path: Path, before: str | None) -> None:
        """Check that `renamed_from` is no current name, and occurs once."""
        datasets, path = self.values["datasets"], (*path, "renamed_from")
        if before in datasets:
            self.fail(path, f"'renamed_from' names '{before}', which is there still")
        same = [n for n, d in datasets.items() if d.get("renamed_from") == before]
        if before and len(same) > 1:
            self.fail(
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
            self.fail(
                path,
                "has a column 'view_outcome', a name that view authorization needs",
            )
        below = self.values["datasets"].get(plan.parent_dataset(dataset))
        if below and not below.get("view_authorization"):
            self.fail(
                path,
                f"'view_authorization' stands over '{dataset['base']}', which is not"
                " under it: its rules would not hold for who is allowed this view",
            )

    def _check_switch(self, path: Path, entry: str, dataset: dict[str, Any]) -> None:
        """Check a switch and its cases."""
        switch, columns = dataset["switch"], dataset["columns"]
        column = (*path, "column")
        self._check_columns(column, [switch["column"]], columns, "switch.column", entry)
        carried = {}
        for value, rule in switch["cases"].items():
            case = (*path, "cases", value)
            with self._apart():
                if self._check_case(case, rule, columns):
                    tier = self.values["tiers"][rule["tier"]]
                    carried[tuple(tier["carries"])] = value
        if len(carried) > 1:
            self.fail(path, "the tiers of its cases differ in 'carries'", entry)
        if not any("tier" in rule for rule in switch["cases"].values()):
            self.fail(path, "'switch.cases' has no case with a tier", entry)

    def _check_case(self, path: Path, rule: dict[str, Any], columns: list[str]) -> bool:
        """Check a case of a switch; return whether it has a tier."""
        if not isinstance(path[-1], str):
            self.fail(path, "'switch.cases' has a value that is not text: quote it")
        if "visible_to" not in rule:
            self._check_rule(path, rule, columns)
            return True
        if list(rule) != ["visible_to"] or rule["visible_to"] != "everyone":
            self.fail(path, "'visible_to' must be 'everyone' and stand alone")
        return False

    def _check_rule(self, path: Path, rule: dict[str, Any], columns: list[str]) -> None:
        """Check a tier and its keys."""
        name, tiers = rule.get("tier"), self.values["tiers"]
        if name is None:
            self.fail(
                (*path, "tier"),
                "the key 'tier' is missing, and without a tier nobody may see it",
            )
        if not isinstance(name, str) or name not in tiers:
            self.fail(
                (*path, "tier"),
                f"unknown tier '{name}'{spelling.listed(name, tiers)}",
            )
        for column in tiers[name]["carries"]:
            if column in columns:
                self.fail(
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
        self._check_columns(path, list(rule["unchecked"]), columns)
        sides = [rule, *filter(None, [rule.get("second_side")])]
        keys = {column for side in sides for column in side["keys"].values()}
        for column in rule["unchecked"]:
            if column in keys:
                self.fail(
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
            self.fail(
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
                self.fail(
                    path,
                    f"'keys' has '{key}', which is no key column of its tier"
                    f"{spelling.listed(key, tier['object_keys'])}",
                )
        for key in tier["object_keys"]:
            if key not in keys:
                self.fail(path, f"'keys' lacks the key column '{key}' of its tier")
        self._check_columns(path, keys.values(), columns)

    def _by_schema(self, path: Path, kind: Any, value: Any) -> None:
        """Check one value by the schema's kind."""
        from pydantic import TypeAdapter

        try:
            TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            found = error.errors()[0]
            problem = found.get("ctx", {}).get("problem", "'{key}' " + found["msg"])
            self.fail(path, problem.replace("{key}", path[-1]))

    # Policies

    def _make_policies_of_tags(self) -> None:
        """Replace the policies on tags by masks of columns.

        All later steps know only the masks.
        """
        policies = self.values.get("policies", [])
        if not any(map(tags.of_policy, policies)):
            return
        made: list[dict[str, Any]] = []
        numbers: list[int] = []
        for number, policy in enumerate(policies):
            found = [policy]
            if tags.of_policy(policy):
                found = []
                with self._apart():
                    found = self._masks_by_tag(("policies", number), policy)
            made += found
            numbers += [number] * len(found)
        self.values = self.values | {"policies": made}
        self.document.numbers = numbers

    def _masks_by_tag(self, path: Path, policy: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a mask for each column that has the tag of a policy."""
        self._check_whom(path, policy, self.document.entry(path))
        tag, masks = policy["resource"]["tag"], policy.get("mask")
        known = tags.known(self.values, self.models)
        for each in known:
            if "{{" in each or "{%" in each:
                self.fail(
                    (*path, "resource"),
                    f"the documentation has the tag '{each}', which Jinja makes of"
                    " something: write the tag itself, by which columns are found while"
                    " dbt parses",
                )
        if tag not in known:
            self.fail(
                (*path, "resource"),
                f"no column has the tag '{tag}'{spelling.listed(tag, known)}: write"
                f" `config: {{tags: [{tag}]}}` at a column in the documentation of a"
                " dataset's base",
            )
        if masks is None:
            self.fail(path, "the key 'mask' is missing")
        taken: set[str | None] = set()
        for kind in masks if isinstance(masks, dict) else ():
            named = kind if kind == tags.DEFAULT else tags.type_name(str(kind))
            if not named:
                self.fail(
                    (*path, "mask"),
                    f"'mask' has a value for '{kind}', which is neither a type nor"
                    " 'default'",
                )
            if named in taken:
                self.fail((*path, "mask"), f"'mask' has two values for '{named}'")
            taken.add(named)
            self._is_sql((*path, "mask", kind), masks)
            try:
                found = expressions.read(str(masks[kind]))
                # A decimal without digits stands for every decimal.
                if named not in (tags.DEFAULT, "decimal"):
                    expressions.check_mask(found, named)
            except ExpressionProblem as problem:
                self.fail((*path, "mask"), str(problem).replace("{key}", "mask"))
        made = []
        for name, dataset in self.values["datasets"].items():
            # If the rules of a view act below it, its own rules do not act.
            if name in self.broken or plan.ruling_dataset(name, self.values) != name:
                continue
            found = tags.of_dataset(name, self.values, self.models)
            for column in (column for column, said in found.items() if tag in said):
                if column in dataset["unique_key"]:
                    self.fail(
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
        documented = self._types(name).get(column)
        if documented is None:
            self.fail(
                (*path, "mask"),
                f"the documentation of '{name}.{column}' says no data_type, by which"
                " its mask is chosen",
            )
        kind = tags.mask_for(masks, documented)
        if kind is None:
            self.fail(
                (*path, "mask"),
                f"'mask' has none for '{name}.{column}', which is a {documented}: add"
                " 'default: \"null\"' for all other types",
            )
        return masks[kind]

    def _check_policies(self) -> None:
        """Check the conditions and masks."""
        taken: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for number, policy in enumerate(self.values.get("policies", [])):
            path = ("policies", number)
            self.of_column = "tag" in policy and policy["resource"]
            with self._apart():
                if not self.of_column:
                    self._check_whom(path, policy, self.document.entry(path))
                self._check_policy(path, policy, taken)
        self.of_column = None

    def _check_whom(self, path: Path, policy: dict[str, Any], entry: str) -> None:
        """Check that a policy names its roles exactly once."""
        said = [key for key in WHOM if key in policy]
        if not said:
            self.fail(path, "the key 'role' is missing", entry)
        if len(said) > 1:
            self.fail(
                (*path, said[1]),
                f"has '{said[0]}' and '{said[1]}', and one of them says whom it is for",
                entry,
            )
        if plan.EVERYBODY in map(plan.role_of, policy.get("except", [])):
            self.fail(
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
        datasets = self.values["datasets"]
        self._check_not_off((*path, "resource"), name)
        if name not in datasets:
            self.fail(
                (*path, "resource"),
                f"unknown dataset '{name}'{spelling.listed(name, datasets)}",
            )
        dataset = datasets[name]
        if name in self.broken and plan.parent_dataset(dataset):
            return
        if "held_roles" in dataset["columns"]:
            self.fail(
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
            self.fail(
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
                self.fail(path, is_again + TOGETHER * has_time)
        taken.setdefault(said, []).append(bounds)

    def _check_condition(self, path: Path, policy: dict[str, Any], name: str) -> None:
        """Check the keys of a policy on a dataset."""
        is_restrictive = policy.get("as") == "restrictive"
        if "except" in policy and not is_restrictive:
            self.fail(
                (*path, "except"),
                "'except' belongs to a mask, and to a condition that says 'as:"
                " restrictive': a permissive one says by 'role' who sees its rows",
            )
        if is_restrictive and "condition" not in policy:
            self.fail(
                path,
                "the key 'condition' is missing: a restrictive policy leaves the rows"
                " of its condition, and 'condition: false' none",
            )
        for key in ("mask", "mask_order", "mask_on_null", "shown_to"):
            if key in policy:
                self.fail(
                    (*path, key),
                    f"'{key}' belongs to a column: the resource must be"
                    f" '{name}.<column>'",
                )

    def _check_mask(
        self, path: Path, policy: dict[str, Any], column: str, dataset: dict[str, Any]
    ) -> None:
        """Check the keys of a policy on a column."""
        self._check_columns((*path, "resource"), [column], dataset["columns"])
        if column in dataset["unique_key"]:
            self.fail(
                (*path, "resource"),
                f"'{column}' is in the dataset's 'unique_key', which tells rows apart"
                " and can't be masked",
            )
        for key in ("check", "as"):
            if key in policy:
                self.fail(
                    (*path, key),
                    f"'{key}' belongs to a condition on a dataset, not to a mask",
                )
        for key in ("condition", "mask_on_null") if "shown_to" in policy else ():
            if key in policy:
                self.fail(
                    (*path, key),
                    f"'{key}' must not stand beside 'shown_to': each line says by"
                    " 'where' in which rows the value is shown",
                )
        if "mask" not in policy:
            self.fail(path, "the key 'mask' is missing")
        if isinstance(policy["mask"], dict):
            self.fail(
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
        types = self._types(name)
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
            with self._apart():
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
                    self.fail(
                        place,
                        "'condition' has a correlated subquery, which a check of"
                        " written rows can't have: rewrite it, or say 'check: false'",
                    )

    def _check_reads_of_mask(
        self, place: Path, sql: str, name: str, column: str | None
    ) -> None:
        """Check that a mask shows no unmasked value of a further masked column."""
        policies = self.values["policies"]
        masked = {
            other
            for dataset, other in (plan.parts_of(each["resource"]) for each in policies)
            if dataset == name and other not in (None, column)
        }
        bases, below = set(), name
        while below:
            dataset = self.values["datasets"][below]
            bases |= {dataset["base"]} if "base" in dataset else set()
            below = plan.parent_dataset(dataset)
        try:
            expressions.check_reads_of_mask(expressions.read(sql), name, masked, bases)
        except ExpressionProblem as problem:
            self.fail(place, str(problem).replace("{key}", place[-1]))

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
                days.check_mask(tree, becomes)
        except ExpressionProblem as problem:
            self.fail(place, str(problem).replace("{key}", place[-1]))
        return is_correlated

    def _is_sql(self, place: Path, entry: dict[str, Any]) -> bool:
        """Whether a value needs a check as SQL: all but the boolean of a condition.

        Raises ConfigProblem for a boolean that is not spelled true or false.
        """
        key = place[-1]
        value = entry[key]
        if not isinstance(value, bool):
            return True
        spelled = self.document.spelling(place, str(value))
        if spelled.lower() != str(value).lower():
            self.fail(
                place,
                f"'{key}' is {spelled}, which YAML reads as {str(value).lower()}:"
                " quote it",
            )
        return key == "mask"

    def _scope(self, name: str) -> Scope:
        """Return the names that expressions about a dataset may use."""
        dataset = self.values["datasets"][name]
        steps = set(plan.STEPS)
        for security in self.values.get("row_security", []):
            steps.add(security["unique_name"].lower())
            steps |= {
                f"{security['unique_name']}_through_{fact}".lower()
                for fact in (*self.values.get("relations", {}), "facts")
            }
        return Scope(
            name,
            frozenset(
                [
                    *dataset["columns"],
                    "user_id",
                    *plan.tier_columns(dataset, self.values),
                ]
            ),
            frozenset(steps),
        )

    def _attributes(self, name: str) -> frozenset[str] | None:
        """Return the attributes of the reader; an empty set if any name may be one.

        None without a reader, or if `reader` is the dataset or a column of it: this
        meaning has priority.
        """
        reader = self.values.get("reader")
        columns = self.values["datasets"][name]["columns"]
        if reader is None or expressions.READER in (name, *columns):
            return None
        return frozenset(self.models.of(reader["relation"]))

    def _check_reader(self) -> None:
        """Check the relation with the reader's attributes, and its key."""
        if reader := self.values.get("reader"):
            self._check_model(("reader", "relation"), reader["relation"], "relation")
            path = ("reader", "key")
            self._check_documented(path, [reader["key"]], reader["relation"])
            written = self.models.of(reader["relation"]).get(reader["key"])
            if written and written.lower() not in expressions.INTEGERS:
                self.fail(
                    path,
                    f"'key' is '{reader['key']}', a {written}, and the ids of users are"
                    " whole numbers: cast it in the model",
                )

    def _types(self, name: str) -> dict[str, str]:
        """Return the types of a dataset's columns, as far as they are documented."""
        dataset = self.values["datasets"][name]
        own = self.models.of(dataset.get("base") or plan.PREFIX + name)
        return {
            column: kind.lower()
            for column, kind in own.items()
            if kind and column in dataset["columns"]
        }

    # The star

    def _check_star(self) -> None:
        """Check relations, security objects and relationships."""
        relations = self.values.get("relations", {})
        for name, relation in relations.items():
            with self._apart():
                self._check_relation(("relations", name), name, relation)
        taken = set(plan.STEPS)
        objects = self.values.get("row_security", [])
        for number, security in enumerate(objects):
            path = ("row_security", number)
            with self._apart():
                self._check_row_security(path, security, relations)
                name = security["unique_name"].casefold()
                if name in taken:
                    self.fail(
                        (*path, "unique_name"),
                        f"the unique_name '{security['unique_name']}' is there already",
                    )
                taken.add(name)
        links = self.values.get("relationships", [])
        names: set[str] = set()
        for number, link in enumerate(links):
            with self._apart():
                self._check_relationship(("relationships", number), link)
                if (name := link.get("unique_name")) in names:
                    self.fail(
                        ("relationships", number, "unique_name"),
                        f"the unique_name '{name}' is there already",
                    )
            names |= {link.get("unique_name")} - {None}
        for number, security in enumerate(objects):
            if not any(
                link["to"].get("row_security") == security["unique_name"]
                for link in links
            ):
                with self._apart():
                    self.fail(
                        ("row_security", number),
                        f"no relationship leads to '{security['unique_name']}', so that"
                        " it would restrict nothing",
                    )
        for start in relations:
            with self._apart():
                self._check_ways(start)

    def _check_ways(self, start: str) -> None:
        """Check that the shortest path to each relation is unique."""
        links = self.values.get("relationships", [])
        for end in plan.ambiguous_ends(start, self.values):
            number = max(
                number
                for number, link in enumerate(links)
                if link["to"].get("dataset") == end
            )
            self.fail(
                ("relationships", number),
                f"two equally short ways lead from '{start}' to '{end}'",
            )

    def _check_relation(self, path: Path, name: str, relation: dict[str, Any]) -> None:
        """Check a model or seed of the star."""
        self._check_model(path, name, "relations")
        documented = self.models.of(name)
        for column in relation["columns"]:
            if documented and column not in documented:
                self.fail(
                    (*path, "columns", column),
                    f"'columns' has '{column}', which the documentation of '{name}'"
                    f" has not{spelling.hint(column, documented)}",
                )
        levels = [column for level in plan.levels_of(relation) for column in level]
        self._check_columns((*path, "levels"), levels, relation["columns"])
        if len(set(levels)) < len(levels):
            self.fail((*path, "levels"), "'levels' names a column twice")

    def _columns_of_relation(self, path: Path, name: str) -> dict[str, str]:
        """Return the columns of a relation of the star; raise if it is unknown."""
        relations = self.values.get("relations", {})
        if name not in relations:
            self.fail(
                path,
                f"unknown dataset '{name}': it must be a model or seed among"
                f" 'relations'{spelling.listed(name, relations)}",
            )
        return relations[name]["columns"]

    def _check_row_security(
        self, path: Path, security: dict[str, Any], relations: dict[str, Any]
    ) -> None:
        """Check a security object."""
        columns = self._columns_of_relation((*path, "dataset"), security["dataset"])
        for key in ("filter_key_column", "ids_column"):
            if security[key] not in columns:
                self.fail(
                    (*path, key),
                    f"'{key}' names '{security[key]}', which is not a column of"
                    f" '{security['dataset']}'{spelling.hint(security[key], columns)}",
                )
        if columns[security["ids_column"]] != "bigint":
            self.fail(
                (*path, "ids_column"),
                "'ids_column' must be a bigint, as the ids of users and groups are",
            )

    def _check_relationship(self, path: Path, link: dict[str, Any]) -> None:
        """Check a relationship: from columns to equal columns, or to a key."""
        entry, near, far = self.document.entry(path), link["from"], link["to"]
        if len(far) != 1:
            self.fail((*path, "to"), "must have either 'dataset' or 'row_security'")
        start = (*path, "from")
        columns = self._columns_of_relation((*start, "dataset"), near["dataset"])
        joined = near["join_columns"]
        self._check_columns((*start, "join_columns"), joined, columns)
        self._check_level(start, near)
        if "dataset" in far:
            other = self._columns_of_relation((*path, "to", "dataset"), far["dataset"])
            if far["dataset"] == near["dataset"]:
                self.fail(path, f"leads from '{near['dataset']}' to itself", entry)
            for column in joined:
                if other.get(column) != columns[column]:
                    self.fail(
                        start,
                        f"'join_columns' don't fit: '{far['dataset']}' has no column"
                        f" '{column}' of the type {columns[column]}",
                        entry,
                    )
            return
        objects = {
            item["unique_name"]: item for item in self.values.get("row_security", [])
        }
        security = objects.get(far["row_security"])
        if security is None:
            self.fail(
                (*path, "to", "row_security"),
                f"unknown row_security '{far['row_security']}'"
                f"{spelling.listed(far['row_security'], objects)}",
            )
        if near["dataset"] == security["dataset"]:
            self.fail(
                path,
                f"leads from '{near['dataset']}' to itself: it holds the keys of"
                f" '{security['unique_name']}', and the relationship restricts nothing",
                entry,
            )
        mapping = self.values["relations"][security["dataset"]]
        key_type = mapping["columns"][security["filter_key_column"]]
        if len(joined) != 1 or columns[joined[0]] != key_type:
            self.fail(
                start,
                f"'join_columns' don't fit: the filter key of"
                f" '{security['unique_name']}' is one column of the type {key_type}",
                entry,
            )

    def _check_level(self, path: Path, near: dict[str, Any]) -> None:
        """Check that a relationship's hierarchy and level fit its columns."""
        name = near["dataset"]
        relation = self.values["relations"][name]
        hierarchy = relation.get("hierarchy")
        if hierarchy and near.get("hierarchy", hierarchy) != hierarchy:
            self.fail(
                (*path, "hierarchy"),
                f"'hierarchy' is '{near['hierarchy']}', and the levels of '{name}' are"
                f" those of '{hierarchy}'",
            )
        if "level" in near:
            known = self._check_known_level((*path, "level"), near, relation)
            if known is not None:
                self._check_named_once((*path, "level"), near, known)

    def _check_known_level(
        self, path: Path, near: dict[str, Any], relation: dict[str, Any]
    ) -> int | None:
        """Check a level against the relation's levels.

        The name of a level is its declared name or, without names, one of its columns.
        Any further name is the file's own: then return the number of the level of the
        joined columns, if known, and else none.
        """
        name, joined, level = near["dataset"], near["join_columns"], near["level"]
        columns, names = plan.levels_of(relation), plan.level_names(relation)
        level_of = {each: at for at, those in enumerate(columns) for each in those}
        if names and level not in names:
            self.fail(
                path,
                f"'level' is '{level}', which is no level of '{name}'"
                f"{spelling.listed(level, names)}",
            )
        if columns:
            for column in joined:
                if column not in level_of:
                    self.fail(
                        path,
                        f"'level' is '{level}', and '{column}' of 'join_columns' stands"
                        f" in none of the 'levels' of '{name}'",
                    )
            secured = min(level_of[column] for column in joined)
            known = names.index(level) if names else level_of.get(level)
            is_another = known not in (None, secured)
        else:
            secured = known = None
            is_another = level in relation["columns"] and level not in joined
        if is_another:
            self.fail(
                path,
                f"'level' is '{level}', and '{', '.join(joined)}' of 'join_columns' is"
                f" of another level of '{name}'",
            )
        return secured if known is None else None

    def _check_named_once(self, path: Path, near: dict[str, Any], secured: int) -> None:
        """Check that a file's own names of levels are one-to-one with the levels."""
        place = (near["dataset"], near.get("hierarchy"))
        levels, level = self.levels.setdefault(place, {}), near["level"]
        for other, at in levels.items():
            if (other == level) != (at == secured):
                self.fail(
                    path,
                    f"'level' is '{level}', and another relationship calls"
                    f" {'another level' if other == level else 'the same level'} of"
                    f" '{near['dataset']}' '{other}'",
                )
        levels[level] = secured

    def _check_dataset_in_star(self, name: str, dataset: dict[str, Any]) -> None:
        """Check a dataset's query of the star, or the restrictions on its base."""
        path, entry = ("datasets", name), f"dataset '{name}'"
        if "query" in dataset:
            self._check_query(path, entry, dataset)
            return
        restrictions = plan.restrictions_on(dataset, self.values)
        end = plan.ruling_dataset(name, self.values)
        for restriction in restrictions:
            security = restriction["object"]["unique_name"]
            if end != name:
                self.fail(
                    path,
                    f"row_security '{security}' restricts it, and must restrict the end"
                    f" of its chain instead, '{end}'",
                )
            for column in restriction["columns"]:
                if column not in dataset["columns"]:
                    self.fail(
                        (*path, "columns"),
                        f"row_security '{security}' restricts it by '{column}', which"
                        " must be among its columns",
                    )

    def _check_query(self, path: Path, entry: str, dataset: dict[str, Any]) -> None:
        """Check a query over the star."""
        query, relations = dataset["query"], self.values.get("relations", {})
        place = (*path, "query")
        dimensions, measures = query.get("dimensions", {}), query.get("measures", {})
        if not dimensions and not measures:
            self.fail(
                place, "'query' must map columns to 'dimensions' and 'measures'", entry
            )
        if [*dimensions, *measures] != dataset["columns"]:
            self.fail(
                (*path, "columns"),
                "'columns' must be the dimensions of its query and then the measures,"
                " in order",
            )
        if list(dimensions) != dataset["unique_key"]:
            self.fail(
                (*path, "unique_key"),
                "'unique_key' must be the dimensions of its query",
            )
        for column, source in dimensions.items():
            relation, _, name = source.partition(".")
            if name not in relations.get(relation, {}).get("columns", {}):
                self.fail(
                    (*place, "dimensions", column),
                    f"the dimension '{column}' must be <relation>.<column>, and"
                    f" '{source}' is none of 'relations'",
                    entry,
                )
        if "fact" in query and not (
            isinstance(query["fact"], str)
            and relations.get(query["fact"], {}).get("kind") == "fact"
        ):
            self.fail(
                (*place, "fact"),
                "'query.fact' must name a relation of the kind fact",
                entry,
            )
        for column, measure in measures.items():
            self._check_measure(place, entry, column, measure, None)
        star = plan.star_query(dataset, self.values)
        if len(star["roots"]) != 1:
            found = "is none"
            if star["roots"]:
                found = f"are {', '.join(star['roots'])}: name the one in 'fact'"
            self.fail(
                place,
                "'query' needs one relation to which all others can be joined, and"
                f" there {found}",
                entry,
            )
        for column, measure in measures.items():
            self._check_measure(place, entry, column, measure, star["root"])

    def _check_measure(
        self, path: Path, entry: str, column: str, measure: str, fact: str | None
    ) -> None:
        """Check a measure: its columns must be its fact's, or a dimension's."""
        relations = self.values.get("relations", {})
        place = (*path, "measures", column)
        key = f"query.measures.{column}"
        try:
            found = expressions.read(measure)
            named = expressions.check_measure(found, fact, relations)
            calls.check(found, is_condition=False, is_measure=True)
            clock.refuse(found, clock.types_of_star(fact, relations))
        except ExpressionProblem as problem:
            self.fail(place, str(problem).replace("{key}", key), entry)
        for relation, _ in named:
            is_fact = relations[relation]["kind"] == "fact"
            if fact and relation != fact and is_fact:
                self.fail(
                    place,
                    f"'{key}' names '{relation}', which is not its fact '{fact}'",
                    entry,
                )
        if fact:
            self._check_measure_of_tags(path, entry, column, measure, fact)

    def _check_measure_of_tags(
        self, path: Path, entry: str, column: str, measure: str, fact: str
    ) -> None:
        """Check that a measure over a column with a masked tag has a mask."""
        name = path[1]
        policies = self.document.values.get("policies", [])
        masked = {tag for tag in map(tags.of_policy, policies) if tag}
        resources = [policy["resource"] for policy in self.values.get("policies", [])]
        if f"{name}.{column}" in resources:
            return
        for named, said in tags.in_measure(measure, fact, self.models):
            for tag in sorted(said & masked):
                self.fail(
                    (*path, "measures", column),
                    f"'query.measures.{column}' names '{named}', which is masked by its"
                    f" tag '{tag}': put a mask on '{name}.{column}' too, with"
                    ' `shown_to: [{role: "*"}]` if everybody may see it',
                    entry,
                )

    def _check_not_open(self, name: str) -> None:
        """Check that a dataset visible to everyone has a rule."""
        dataset = self.values["datasets"][name]
        if "visible_to" not in dataset or "base" not in dataset:
            return
        has_condition = any(
            policy["resource"] == name and policy.get("as") != "restrictive"
            for policy in self.values.get("policies", [])
        )
        is_authorized = dataset.get("view_authorization", False)
        if not (
            has_condition or is_authorized or plan.restrictions_on(dataset, self.values)
        ):
            self.fail(
                ("datasets", name, "visible_to"),
                "is 'visible_to: everyone', which needs a permissive condition, row"
                " security or view authorization on it: there is no open default",
            )

    def _as_macros_have_it(self) -> dict[str, Any]:
        """Return the config with its SQL as Spark gets it."""
        made = dict(self.values)
        if "policies" in made:
            made["policies"] = [_as_read(policy) for policy in made["policies"]]
        if "row_security" in made:
            made["row_security"] = [
                security | {"holder": security["id_type"].removesuffix("name")}
                for security in made["row_security"]
            ]
        made["datasets"] = {
            name: _with_read_measures(dataset)
            for name, dataset in made["datasets"].items()
        }
        made["switched_off"] = self.document.switched_off
        return made


def _as_read(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy, or a line of `shown_to`, as macros get it.

    Names of roles are trimmed as in staging, groups are ids, and SQL is as Spark gets
    it.
    """
    made = dict(policy)
    for key in ("condition", "mask", "where"):
        if isinstance(made.get(key), str):
            made[key] = expressions.read(made[key]).text
    if "role" in made:
        made["role"] = plan.role_of(made["role"])
    if "except" in made:
        made["except"] = [plan.role_of(role) for role in made["except"]]
    made |= {key: text for key, text in times.bounds(made).items() if key in made}
    if "shown_to" in made:
        made["shown_to"] = [_as_read(line) for line in made["shown_to"]]
    return made


def _with_read_measures(dataset: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset with its measures as Spark gets them."""
    measures = dataset.get("query", {}).get("measures")
    if not measures:
        return dataset
    read = {name: expressions.read(measure).text for name, measure in measures.items()}
    return dataset | {"query": dataset["query"] | {"measures": read}}


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
