"""Checks the star: relations, security objects, relationships and queries."""

from __future__ import annotations

from typing import Any

from secure_datasets.config import plan, tags
from secure_datasets.config.checks.draft import Draft
from secure_datasets.config.problems import Path
from secure_datasets.sql import clock_texts as clock
from secure_datasets.sql import expressions, spelling
from secure_datasets.sql import function_calls as calls
from secure_datasets.sql.expressions import ExpressionProblem


class StarChecks:
    """Checks the star, and the datasets in it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        # By relation and hierarchy, the relationships' names for levels.
        self.levels: dict[tuple[str, str | None], dict[str, int]] = {}

    def check_star(self) -> None:
        """Check relations, security objects and relationships."""
        relations = self.draft.values.get("relations", {})
        for name, relation in relations.items():
            with self.draft.apart():
                self._check_relation(("relations", name), name, relation)
        taken = set(plan.STEPS)
        objects = self.draft.values.get("row_security", [])
        for number, security in enumerate(objects):
            path = ("row_security", number)
            with self.draft.apart():
                self._check_row_security(path, security)
                name = security["unique_name"].casefold()
                if name in taken:
                    self.draft.fail(
                        (*path, "unique_name"),
                        f"the unique_name '{security['unique_name']}' is there already",
                    )
                taken.add(name)
        links = self.draft.values.get("relationships", [])
        names: set[str] = set()
        for number, link in enumerate(links):
            with self.draft.apart():
                self._check_relationship(("relationships", number), link)
                if (name := link.get("unique_name")) in names:
                    self.draft.fail(
                        ("relationships", number, "unique_name"),
                        f"the unique_name '{name}' is there already",
                    )
            names |= {link.get("unique_name")} - {None}
        for number, security in enumerate(objects):
            if not any(
                link["to"].get("row_security") == security["unique_name"]
                for link in links
            ):
                with self.draft.apart():
                    self.draft.fail(
                        ("row_security", number),
                        f"no relationship leads to '{security['unique_name']}', so that"
                        " it would restrict nothing",
                    )
        for start in relations:
            with self.draft.apart():
                self._check_ways(start)

    def _check_ways(self, start: str) -> None:
        """Check that the shortest path to each relation is unique."""
        links = self.draft.values.get("relationships", [])
        for end in plan.ambiguous_ends(start, self.draft.values):
            number = max(
                number
                for number, link in enumerate(links)
                if link["to"].get("dataset") == end
            )
            self.draft.fail(
                ("relationships", number),
                f"two equally short ways lead from '{start}' to '{end}'",
            )

    def _check_relation(self, path: Path, name: str, relation: dict[str, Any]) -> None:
        """Check a model or seed of the star."""
        self.draft.check_model(path, name, "relations")
        documented = self.draft.models.of(name)
        for column in relation["columns"]:
            if documented and column not in documented:
                self.draft.fail(
                    (*path, "columns", column),
                    f"'columns' has '{column}', which the documentation of '{name}'"
                    f" has not{spelling.hint(column, documented)}",
                )
        levels = [column for level in plan.levels_of(relation) for column in level]
        self.draft.check_columns((*path, "levels"), levels, relation["columns"])
        if len(set(levels)) < len(levels):
            self.draft.fail((*path, "levels"), "'levels' names a column twice")

    def _columns_of_relation(self, path: Path, name: str) -> dict[str, str]:
        """Return the columns of a relation of the star; raise if it is unknown."""
        relations = self.draft.values.get("relations", {})
        if name not in relations:
            self.draft.fail(
                path,
                f"unknown dataset '{name}': it must be a model or seed among"
                f" 'relations'{spelling.listed(name, relations)}",
            )
        return relations[name]["columns"]

    def _check_row_security(self, path: Path, security: dict[str, Any]) -> None:
        """Check a security object."""
        columns = self._columns_of_relation((*path, "dataset"), security["dataset"])
        for key in ("filter_key_column", "ids_column"):
            if security[key] not in columns:
                self.draft.fail(
                    (*path, key),
                    f"'{key}' names '{security[key]}', which is not a column of"
                    f" '{security['dataset']}'{spelling.hint(security[key], columns)}",
                )
        if columns[security["ids_column"]] != "bigint":
            self.draft.fail(
                (*path, "ids_column"),
                "'ids_column' must be a bigint, as the ids of users and groups are",
            )

    def _check_relationship(self, path: Path, link: dict[str, Any]) -> None:
        """Check a relationship: from columns to equal columns, or to a key."""
        entry, near, far = self.draft.document.entry(path), link["from"], link["to"]
        if len(far) != 1:
            self.draft.fail(
                (*path, "to"), "must have either 'dataset' or 'row_security'"
            )
        start = (*path, "from")
        columns = self._columns_of_relation((*start, "dataset"), near["dataset"])
        joined = near["join_columns"]
        self.draft.check_columns((*start, "join_columns"), joined, columns)
        self._check_level(start, near)
        if "dataset" in far:
            other = self._columns_of_relation((*path, "to", "dataset"), far["dataset"])
            if far["dataset"] == near["dataset"]:
                self.draft.fail(
                    path, f"leads from '{near['dataset']}' to itself", entry
                )
            for column in joined:
                if other.get(column) != columns[column]:
                    self.draft.fail(
                        start,
                        f"'join_columns' don't fit: '{far['dataset']}' has no column"
                        f" '{column}' of the type {columns[column]}",
                        entry,
                    )
            return
        objects = {
            item["unique_name"]: item
            for item in self.draft.values.get("row_security", [])
        }
        security = objects.get(far["row_security"])
        if security is None:
            self.draft.fail(
                (*path, "to", "row_security"),
                f"unknown row_security '{far['row_security']}'"
                f"{spelling.listed(far['row_security'], objects)}",
            )
        if near["dataset"] == security["dataset"]:
            self.draft.fail(
                path,
                f"leads from '{near['dataset']}' to itself: it holds the keys of"
                f" '{security['unique_name']}', and the relationship restricts nothing",
                entry,
            )
        mapping = self.draft.values["relations"][security["dataset"]]
        key_type = mapping["columns"][security["filter_key_column"]]
        if len(joined) != 1 or columns[joined[0]] != key_type:
            self.draft.fail(
                start,
                f"'join_columns' don't fit: the filter key of"
                f" '{security['unique_name']}' is one column of the type {key_type}",
                entry,
            )

    def _check_level(self, path: Path, near: dict[str, Any]) -> None:
        """Check that a relationship's hierarchy and level fit its columns."""
        name = near["dataset"]
        relation = self.draft.values["relations"][name]
        hierarchy = relation.get("hierarchy")
        if hierarchy and near.get("hierarchy", hierarchy) != hierarchy:
            self.draft.fail(
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
            self.draft.fail(
                path,
                f"'level' is '{level}', which is no level of '{name}'"
                f"{spelling.listed(level, names)}",
            )
        if columns:
            for column in joined:
                if column not in level_of:
                    self.draft.fail(
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
            self.draft.fail(
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
                self.draft.fail(
                    path,
                    f"'level' is '{level}', and another relationship calls"
                    f" {'another level' if other == level else 'the same level'} of"
                    f" '{near['dataset']}' '{other}'",
                )
        levels[level] = secured

    def check_dataset_in_star(self, name: str, dataset: dict[str, Any]) -> None:
        """Check a dataset's query of the star, or the restrictions on its base."""
        path, entry = ("datasets", name), f"dataset '{name}'"
        if "query" in dataset:
            self._check_query(path, entry, dataset)
            return
        restrictions = plan.restrictions_on(dataset, self.draft.values)
        end = plan.ruling_dataset(name, self.draft.values)
        for restriction in restrictions:
            security = restriction["object"]["unique_name"]
            if end != name:
                self.draft.fail(
                    path,
                    f"row_security '{security}' restricts it, and must restrict the end"
                    f" of its chain instead, '{end}'",
                )
            for column in restriction["columns"]:
                if column not in dataset["columns"]:
                    self.draft.fail(
                        (*path, "columns"),
                        f"row_security '{security}' restricts it by '{column}', which"
                        " must be among its columns",
                    )

    def _check_query(self, path: Path, entry: str, dataset: dict[str, Any]) -> None:
        """Check a query over the star."""
        query, relations = dataset["query"], self.draft.values.get("relations", {})
        place = (*path, "query")
        dimensions, measures = query.get("dimensions", {}), query.get("measures", {})
        if not dimensions and not measures:
            self.draft.fail(
                place, "'query' must map columns to 'dimensions' and 'measures'", entry
            )
        if [*dimensions, *measures] != dataset["columns"]:
            self.draft.fail(
                (*path, "columns"),
                "'columns' must be the dimensions of its query and then the measures,"
                " in order",
            )
        if list(dimensions) != dataset["unique_key"]:
            self.draft.fail(
                (*path, "unique_key"),
                "'unique_key' must be the dimensions of its query",
            )
        for column, source in dimensions.items():
            relation, _, name = source.partition(".")
            if name not in relations.get(relation, {}).get("columns", {}):
                self.draft.fail(
                    (*place, "dimensions", column),
                    f"the dimension '{column}' must be <relation>.<column>, and"
                    f" '{source}' is none of 'relations'",
                    entry,
                )
        if "fact" in query and not (
            isinstance(query["fact"], str)
            and relations.get(query["fact"], {}).get("kind") == "fact"
        ):
            self.draft.fail(
                (*place, "fact"),
                "'query.fact' must name a relation of the kind fact",
                entry,
            )
        for column, measure in measures.items():
            self._check_measure(place, entry, column, measure, None)
        star = plan.star_query(dataset, self.draft.values)
        if len(star["roots"]) != 1:
            found = "is none"
            if star["roots"]:
                found = f"are {', '.join(star['roots'])}: name the one in 'fact'"
            self.draft.fail(
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
        relations = self.draft.values.get("relations", {})
        place = (*path, "measures", column)
        key = f"query.measures.{column}"
        try:
            found = expressions.read(measure)
            named = expressions.check_measure(found, fact, relations)
            calls.check(found, is_condition=False, is_measure=True)
            clock.refuse(found, clock.types_of_star(fact, relations))
        except ExpressionProblem as problem:
            self.draft.fail(place, str(problem).replace("{key}", key), entry)
        for relation, _ in named:
            is_fact = relations[relation]["kind"] == "fact"
            if fact and relation != fact and is_fact:
                self.draft.fail(
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
        policies = self.draft.document.values.get("policies", [])
        masked = {tag for tag in map(tags.of_policy, policies) if tag}
        resources = [
            policy["resource"] for policy in self.draft.values.get("policies", [])
        ]
        if f"{name}.{column}" in resources:
            return
        for named, said in tags.in_measure(measure, fact, self.draft.models):
            for tag in sorted(said & masked):
                self.draft.fail(
                    (*path, "measures", column),
                    f"'query.measures.{column}' names '{named}', which is masked by its"
                    f" tag '{tag}': put a mask on '{name}.{column}' too, with"
                    ' `shown_to: [{role: "*"}]` if everybody may see it',
                    entry,
                )
