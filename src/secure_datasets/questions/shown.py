"""Tables for one user: objects by tier, rows by dataset, effects of each rule."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from secure_datasets.config import references
from secure_datasets.config.plan import PREFIX, parent_dataset, ruling_dataset
from secure_datasets.config.tiers import restricted_datasets
from secure_datasets.questions.facts.built import Built, Macros, Ref
from secure_datasets.questions.notes import Facts
from secure_datasets.render.gates import rule_counts
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import union

Query = Callable[[str], Any]
Lines = list[list[str]]


class Shown:
    """Rows and objects that a user sees, as tables of texts.

    without_past  the datasets whose rows are not known
    """

    def __init__(
        self, macros: Macros, ref: Ref, user: int, without_past: Container[str]
    ) -> None:
        # An operation belongs to no group, so it names relations by the graph.
        self.built, self.rule_set = Built(macros), Built(macros, ref).rules
        self.config, self.user = self.built.config, user
        self.without_past = without_past
        self.tiers = {n: t for n, t in self.config["tiers"].items() if t.get("right")}
        self.known = [n for n in self.config["datasets"] if n not in without_past]

    def relations(self) -> list[str]:
        """Return the models that are read."""
        views = (tier["access_view"] for tier in self.tiers.values())
        datasets = (PREFIX + name for name in self.known)
        return ["int_access_paths", "int_securable_objects", *views, *datasets]

    def objects(self, run_query: Query) -> Lines:
        """Return each object that the user reaches through a tier, and how."""
        return [
            [
                name.replace("_", " "),
                (line[0] or "(no name)") + (f" in {line[1]}" if line[1] else ""),
                line[2] or "-",
                line[3],
            ]
            for name, tier in self.tiers.items()
            for line in run_query(self._objects_of(tier)).rows
        ]

    def _objects_of(self, tier: Facts) -> str:
        """Return the query of the objects that the user reaches through a tier.

        Name, the names of the further objects in its keys, the columns that the tier
        carries, and the paths. The config has the object type of a tier's right; a
        further key has the type of the tier with only that key.
        """
        right, objects = tier["right"], self.built.relation("int_securable_objects")
        types = {
            other["object_keys"][0]: other["right"]["object_type"]
            for other in self.tiers.values()
            if len(other["object_keys"]) == 1
        }
        key = right.get("key") or tier["object_keys"][0]
        within = [other for other in tier["object_keys"] if other != key]
        named = [
            f"of_{k}.object_name" if k in types else f"cast(seen.{k} as string)"
            for k in within
        ]
        carried = [f"seen.{column}" for column in tier["carries"]]
        joins = "".join(
            f"\nleft join {objects} as of_{k}\n    on of_{k}.object_type ="
            f" {sql_text(types[k])} and of_{k}.object_id = seen.{k}"
            for k in within
            if k in types
        )
        # Names may be equal.
        order = "".join(f", seen.{each}" for each in tier["object_keys"])
        return f"""with paths as (
    select paths.object_id,
        array_join(array_sort(collect_set(
            concat(paths.path_kind, coalesce(concat(' "', `groups`.name, '"'), ''))
        )), ', ') as through
    from {self.built.relation("int_access_paths")} as paths
    left join {self.built.relation("stg_user_groups")} as `groups`
        on paths.user_group_id = `groups`.user_group_id
    where
        paths.user_id = {self.user}
        and paths.object_type = {sql_text(right["object_type"])}
        and paths.permission_name = {sql_text(right["permission"])}
    group by paths.object_id
)
select
    objects.object_name,
    {_joined(named)} as within,
    {_joined(carried)} as carried,
    paths.through
from {self.built.relation(tier["access_view"])} as seen
inner join {objects} as objects
    on
        objects.object_type = {sql_text(right["object_type"])}
        and objects.object_id = seen.{key}{joins}
inner join paths
    on paths.object_id = seen.{key}
where seen.user_id = {self.user}
order by 1, 2{order}"""

    def datasets(self, run_query: Query) -> Lines:
        """Return the number of rows that the user reads in each secure dataset."""
        counts = union(
            (
                f"select '{name}' as dataset, count(*) as row_count from"
                f" {self.built.relation(PREFIX + name)}"
                f" where user_id = {self.user} or user_id is null"
                for name in self.known
            ),
            "union all",
        )
        found = dict(map(tuple, run_query(counts).rows)) if counts else {}
        return [
            [
                PREFIX + name,
                dataset.get("tier") or ("context" if "switch" in dataset else "-"),
                str(found[name]) if name in found else "not known",
            ]
            for name, dataset in self.config["datasets"].items()
        ]

    def rules(self, run_query: Query) -> Lines:
        """Return what each rule of a restricted dataset does to the user's rows."""
        rows = []
        for name, entry in restricted_datasets(self.config).items():
            if name in self.without_past:
                continue
            rules = self.rule_set.rules_on(name, ruling_dataset(name, self.config))
            found = run_query(rule_counts(self.rule_set, name, self.user)).rows[0]
            past, *counts = (str(int(count or 0)) for count in found)
            below = entry["base"] if parent_dataset(entry) else "tier"
            rows.append([name, below, "lets through", past])
            unchanged = counts[len(rules) + 1 :]
            for rule, count, shown in zip(rules, counts, unchanged, strict=False):
                rows.append(["", rule["title"], rule["verb"], count])
                if shown != "0":
                    rows.append(["", rule["title"], "shows the value itself", shown])
            rows.append(["", "all of them", "let through", counts[len(rules)]])
        return rows


def without_past(macros: Macros, nodes: Facts, as_of: Any) -> dict[str, list[str]]:
    """Return the datasets that a past state lacks, each with its raw tables.

    These raw tables keep no past. Empty in the present. The snapshots of a format may
    have the past of such a table: then the dataset is there, and known.
    """
    if as_of is None:
        return {}
    feeds = {table: macros["feed_of"](table) for table in macros["repository_tables"]()}
    config = macros["secure_datasets_config"]()
    found = references.without_past(config, nodes, feeds)
    missing = macros["not_built"]([PREFIX + name for name in found])
    names = [node["name"].removeprefix(PREFIX) for node in missing]
    return {name: tables for name, tables in found.items() if name in names}


def _joined(columns: list[str]) -> str:
    """Return columns as one text, or null without any."""
    if not columns:
        return "cast(null as string)"
    return f"concat_ws(', ', {', '.join(columns)})"
