"""The methods that macros call to read and compare two states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dbt_secure_spark.versions import versions_read, written_on
from secure_datasets.questions.changes import (
    access_queries,
    limit_queries,
    row_queries,
)
from secure_datasets.questions.changes.definitions import state_definitions
from secure_datasets.questions.changes.report import in_short, markdown

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter

State = dict[str, Any]
# The seeds that hold limits and approvals.
LIMITS, APPROVALS = "access_change_limits", "access_change_approvals"
# Columns that every raw table has; none of them identifies or describes a row.
COMMON = (
    *("id", "is_active", "date_created", "date_modified"),
    *("created_by", "modified_by", "sf_date_created"),
)
# The models that compare two states, with the further arguments of each query.
MODELS = {
    "changed_raw_rows": ("tables",),
    "changed_access": (),
    "changed_paths": ("ref",),
    "access_changes": ("ref", "tables", "rows_of"),
    "changed_row_counts": ("ref",),
    "changed_base_rows": ("tables", "documented"),
    "row_changes": ("ref",),
}


class AccessChanges:
    """Pairs the parts of two states, renders the comparing queries and the report."""

    markdown, in_short = staticmethod(markdown), staticmethod(in_short)
    # The queries of the models.
    changed_access = access_queries.changed_access
    changed_raw_rows = access_queries.changed_raw_rows
    changed_paths = access_queries.changed_paths
    access_changes = access_queries.access_changes
    changed_row_counts = row_queries.changed_row_counts
    changed_base_rows = row_queries.changed_base_rows
    row_changes = row_queries.row_changes
    limits = limit_queries.limits
    definitions = staticmethod(state_definitions)

    @staticmethod
    def asked_of(nodes: Mapping[str, Any], selected: Iterable[str]) -> dict[str, Any]:
        """Return what `check_comparison` asks of the graph and a selection of it."""
        kinds = ("model", "seed", "snapshot")
        built = {k: n for k, n in nodes.items() if n["resource_type"] in kinds}
        seeds = [n for n in built.values() if n["resource_type"] == "seed"]
        seeds = [seed for seed in seeds if seed["name"] in (LIMITS, APPROVALS)]

        def without_tag(some: Iterable[Any]) -> list[str]:
            return [n["name"] for n in some if "access_changes" not in n["tags"]]

        return {
            "schemas": {node["name"]: node["schema"] for node in built.values()},
            "others": without_tag(built[k] for k in built.keys() & {*selected}),
            "seeds": [
                (seed["name"], f"{seed['root_path']}/{seed['original_file_path']}")
                for seed in seeds
            ],
            "unloaded": without_tag(seeds),
        }

    def query_of(self, model: str, states: list[State], known: dict[str, Any]) -> str:
        """Return the query of a model; `known` holds ref, tables and so on by name."""
        given = (known[name] for name in MODELS[model])
        return getattr(self, model)(states, *given)

    def state(
        self,
        side: str,
        schema: str,
        rows: Iterable[Mapping[str, str]],
        relations: Iterable[str],
    ) -> State:
        """Return a state: tiers and secure datasets by name, and its relations.

        side       before or after
        rows       the rows of its `state_definitions`: kind, name, definition
        relations  the relations of its schema; a mapping to their views' texts if known
        """
        found: State = {"side": side, "schema": schema, "tiers": {}, "datasets": {}}
        for row in rows:
            definition = json.loads(row["definition"])
            definition |= {"side": side, "schema": schema}
            found[f"{row['kind']}s"][row["name"]] = definition
        found["relations"] = sorted(relations)
        texts = relations if isinstance(relations, Mapping) else {}
        versions = {name: versions_read(text) for name, text in texts.items()}
        found["written_on"] = {n: written_on(v[0]) for n, v in versions.items() if v}
        return found

    def pairs(self, states: list[State], kind: str) -> list[dict[str, Any]]:
        """Return the pairs to compare, of `tiers` or `datasets`: name, before, after.

        A side is None if its state does not have the tier or dataset.

        - Different keys in the two states: two pairs, one gone and one new.
        - A state without any built secure dataset: no pairs of datasets.
        - A dataset that both states define and only one has built: no pair.
        - A renamed dataset: one pair, under its new name.

        Each pair also gets the keys that `_add_base` sets.
        """
        if kind == "datasets" and not all(map(self.has_datasets, states)):
            return []
        before, after = (self._there(state, kind) for state in states)
        unbuilt = self.not_built(states) if kind == "datasets" else {}
        renamed = {
            new: old
            for new, definition in after.items()
            if (old := definition.get("renamed_from")) in before
            and old not in states[1][kind]
            and new not in states[0][kind]
        }
        pairs = []
        for name in dict.fromkeys((*after, *before)):
            if name in unbuilt or name in renamed.values():
                continue
            one, other = before.get(renamed.get(name, name)), after.get(name)
            if one and other and one["keys"] != other["keys"]:
                gone = renamed.get(name, name)
                pairs.append({"name": gone, "before": one, "after": None})
                one = None
            pairs.append({"name": name, "before": one, "after": other})
        for pair in pairs:
            self._add_base(pair, states)
        return pairs

    def names(self, states: list[State]) -> list[list[str]]:
        """Return kind and name of each built part, with yes or no for either state."""
        found = []
        for kind in ("tier", "dataset"):
            there = [self._there(state, f"{kind}s") for state in states]
            found += [
                [kind, name, *("yes" if name in names else "no" for names in there)]
                for name in sorted({name for names in there for name in names})
            ]
        return found

    def other_columns(self, states: list[State]) -> list[dict[str, Any]]:
        """Return the datasets with changed columns: dataset, new and gone columns."""
        return [
            {"dataset": pair["name"], "new": pair["new"], "gone": pair["gone"]}
            for pair in self.pairs(states, "datasets")
            if pair["before"] and pair["after"] and (pair["new"] or pair["gone"])
        ]

    def has_datasets(self, state: State) -> bool:
        """Return whether a state has built any secure dataset."""
        return bool(self._there(state, "datasets"))

    def not_built(self, states: list[State]) -> dict[str, str]:
        """Map datasets that only one state built to the schema of the other state.

        It covers the datasets that both states define. If either state has built no
        dataset at all, the result is empty.
        """
        built = [self._there(state, "datasets") for state in states]
        if not all(built):
            return {}
        both = states[0]["datasets"].keys() & states[1]["datasets"].keys()
        return {
            name: state["schema"]
            for name in sorted(both)
            for state, own, other in zip(states, built, built[::-1], strict=True)
            if name not in own and name in other
        }

    def datasets_not_there(self, states: list[State]) -> list[str]:
        """Return the secure datasets that neither state has built."""
        there = {name for s in states for name in self._there(s, "datasets")}
        return sorted({name for s in states for name in s["datasets"]} - there)

    def _there(self, state: State, kind: str) -> dict[str, Any]:
        return {
            name: entry
            for name, entry in state[kind].items()
            if entry["relation"].lower() in state["relations"]
        }

    @staticmethod
    def _add_base(pair: dict[str, Any], states: list[State]) -> None:
        """Set the keys of a pair that concern its columns and bases; return nothing.

        has_bases  whether both sides have a base, built in their states
        masked     the columns of both sides that either side masks
        deciding   the columns that decide who sees a row, without the keys
        masked_by  the shown columns in either side's `masked_by`, and the deciding ones
        given      the columns that the state after masks
        new, gone  the columns that only the state after, or before, shows

        The bases of the two sides may have different names.
        """
        one, other = pair["before"], pair["after"]
        pair["has_bases"], pair["masked"], pair["deciding"] = False, [], []
        pair["masked_by"] = []
        columns_before = list(one.get("columns", ())) if one else []
        columns_after = list(other.get("columns", ())) if other else []
        hidden = other.get("masked", ()) if other else ()
        pair["given"] = [c for c in columns_after if c in hidden]
        pair["new"] = [c for c in columns_after if c not in columns_before]
        pair["gone"] = [c for c in columns_before if c not in columns_after]
        if not (one and other and one.get("base") and other.get("base")):
            return
        bases = zip((one["base"], other["base"]), states, strict=True)
        if one["keys"]:
            pair["has_bases"] = all(b.lower() in s["relations"] for b, s in bases)
            both = [c for c in one["columns"] if c in other["columns"]]
            masked = {*one["masked"], *other["masked"]}
            pair["masked"] = [column for column in both if column in masked]
            # Both bases may have deciding columns that the datasets do not show.
            deciding = set(one["deciding"]) & set(other["deciding"]) | {
                column
                for column in both
                if column in one["deciding"] or column in other["deciding"]
            }
            pair["deciding"] = sorted(deciding - {*one["keys"]})
            by = {*one["masked_by"], *other["masked_by"]} & {*both}
            pair["masked_by"] = sorted(by - {*one["keys"]} | {*pair["deciding"]})

    def all_keys(self, states: list[State]) -> list[str]:
        """Return every key that a tier of either state has."""
        return list(
            dict.fromkeys(
                key
                for state in states
                for tier in state["tiers"].values()
                for key in tier["keys"]
            )
        )

    def tiers_of_datasets(self, states: list[State]) -> list[list[str]]:
        """Return each pair of a secure dataset and a tier that decides its rows."""
        found = {
            (pair["name"], tier): None
            for pair in self.pairs(states, "datasets")
            for side in ("before", "after")
            for tier in (pair[side] or {"tiers": ()})["tiers"]
        }
        return [list(pair) for pair in found]

    def timed(self, states: list[State]) -> list[dict[str, str]]:
        """Return the datasets with rules that begin or end, each with SQL conditions.

        ended  whether a rule ended between the clocks of the two states
        begun  whether a rule began between them
        said   whether the config's entries that decide the dataset's rows differ
        """
        found = []
        for pair in self.pairs(states, "datasets"):
            if not (pair["before"] and pair["after"]):
                continue
            sides = [pair[side] for side in ("before", "after")]
            rules = [side.get("rules") or {} for side in sides]
            clocks = [side.get("clock") for side in sides]

            def passed(key: str, rules=rules, clocks=clocks) -> str:
                moments = sorted({each for rule in rules for each in rule.get(key, [])})
                terms = [
                    f"({clocks[0]} < timestamp '{moment}Z')"
                    f" != ({clocks[1]} < timestamp '{moment}Z')"
                    for moment in moments
                ]
                return " or ".join(f"({term})" for term in terms) or "false"

            is_other = rules[0].get("said") != rules[1].get("said")
            timed = {"ended": passed("ends"), "begun": passed("begins")}
            if {*timed.values()} != {"false"}:
                said = {"dataset": pair["name"], "said": str(is_other).lower()}
                found.append(said | timed)
        return found

    def deciding_tables(
        self, states: list[State], tables: Mapping[str, Any]
    ) -> list[str]:
        """Return the raw tables whose rows decide access.

        They are the tables of grants, of links between the objects of a tier, and of
        objects, and every table that one of these references, if both states staged it.
        """
        keys = self.all_keys(states)
        found = {
            name
            for name, table in tables.items()
            if table.get("object_type") or table["key"] in keys
        }
        found |= {"user_group_members"}
        found |= {
            link["table"]
            for state in states
            for tier in state["tiers"].values()
            for link in tier["links"]
        }
        size = 0
        while size != len(found):
            size = len(found)
            found |= {
                to for name in found for to in tables[name]["references"].values()
            }
        # A tier's further key may belong to a table that neither state has.
        return [
            name
            for name in tables
            if name in found and all(f"stg_{name}" in s["relations"] for s in states)
        ]

    def raw_rows_of(
        self, name: str | None, states: list[State], tables: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the chain of raw tables that decides whether a raw row counts.

        The list holds the table itself, then its parent tables upwards, each with

        table    its name
        key      its key
        columns  its columns without the common ones
        parent   the column that references the next table; None for the last

        It ends before a table that a state has not staged. It is empty if `name` is
        None.
        """
        levels: list[dict[str, Any]] = []
        while name and all(f"stg_{name}" in state["relations"] for state in states):
            table = tables[name]
            parents = [c for c in table["required"] if c in table["references"]]
            parent = parents[0] if parents else None
            own = [column for column in table["columns"] if column not in COMMON]
            level = {"table": name, "key": table["key"], "columns": own}
            levels.append(level | {"parent": parent})
            name = table["references"][parent] if parent else None
        if levels:
            levels[-1]["parent"] = None
        return levels

    def rings(self, links: Iterable[Mapping[str, int]]) -> list[list[str]]:
        """Return each group in a ring with every group of its ring.

        links  the groups in rings, each with its parent
        """
        parents = {
            link["user_group_id"]: link["parent_user_group_id"] for link in links
        }
        pairs = []
        for group in sorted(parents):
            ring = [group]
            while (member := parents.get(ring[-1])) not in (None, *ring):
                ring.append(member)
            pairs += [[str(group), str(member)] for member in ring]
        return pairs


def access_changes(adapter: BaseAdapter) -> AccessChanges:
    """Return the methods that compare states."""
    return AccessChanges()
