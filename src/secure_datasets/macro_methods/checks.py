"""Checks of feeds, raw tables, references and projects: each stops dbt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from dbt_secure_spark import lineage
from secure_datasets import installed
from secure_datasets.config import feeds, plan, problems, references
from secure_datasets.config.plan import PACKAGE
from secure_datasets.config.raw_tables import raw_tables
from secure_datasets.macro_methods.documents import Documents
from secure_datasets.sql import spelling
from secure_datasets.sql.writing import values_row

# The keys of a node that locate its relation.
PLACE = ("database", "schema", "alias")


class Checks(Documents):
    """Checks before a run, and answers about feeds, for macros."""

    def feed(
        self, name: str, declared: Any, tables: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the feed of a raw table, by the variable `feeds`; none without one."""
        return self.feeds(declared, tables).get(name)

    def feeds(self, declared: Any, tables: dict[str, Any]) -> dict[str, Any]:
        """Return the feeds of the raw tables that have one; raise what is wrong."""
        if not declared:
            return {}
        key = ("feeds", repr(declared), *tables)
        remembered = Documents._read
        if key not in remembered:
            try:
                remembered[key] = feeds.read_feeds(declared, tables)
            except feeds.FeedProblem as problem:
                self.stop(f"vars: {problem}.")
        return remembered[key]

    def raw_tables(self, document: str, declared: Any) -> dict[str, dict[str, Any]]:
        """Return the raw tables of the contract: `config.raw_tables.raw_tables`."""
        return raw_tables(document, declared)

    def limits_of_losses(
        self, losses: Any, share: Any, tables: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the raw tables with `meant` losses, and the `share` that fails.

        losses, share  the variables `meant_losses` and `lost_rows_error_share`
        """
        meant = self.raw_tables_in("meant_losses", losses, tables)
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= 1:
            self.stop(
                f"lost_rows_error_share is '{share}'; it must be a number from 0 to 1."
            )
        return {"meant": meant, "share": share}

    def columns_of_raw(
        self,
        names: Iterable[str],
        absent: Collection[str],
        sources: dict[str, Any],
        raw_columns: Callable[[str], dict[str, str] | None],
    ) -> dict[str, dict[str, str] | None]:
        """Return the columns of raw tables, with types; None if one is not there.

        absent       the raw tables that the application does not have
        sources      dbt's sources
        raw_columns  returns the columns of a relation
        """
        relations = {
            node["name"]: node["relation_name"]
            for node in sources.values()
            if node["package_name"] == PACKAGE
        }
        return {
            name: raw_columns(relations[name])
            for name in names
            if name not in absent and relations.get(name)
        }

    def reads_by_table(self, reads: Iterable[Any]) -> dict[str, dict[str, int]]:
        """Return by raw table when it was first read, and its newest load time then.

        Both in microseconds since 1970; the time of the read where no load time is
        known.

        reads  the readings of changed raw tables, as `adapter.changed_raw_tables`
        """
        found: dict[str, dict[str, int]] = {}
        for each in reads:
            name, read_at = each["table"].rpartition(".")[2], each["read_at"]
            known = {"read_at": read_at, "newest": each["newest"] or read_at}
            before = found.get(name, known)
            found[name] = {key: min(known[key], before[key]) for key in known}
        return found

    def check_replica(
        self,
        found: dict[str, dict[str, str] | None],
        schema: str,
        declared: Any,
        tables: dict[str, Any],
    ) -> None:
        """Stop dbt at what is wrong with raw tables, all at once.

        found  of each raw table its columns with their types; none if it is not there
        """
        problems = feeds.problems_of_replica(
            found, schema, self.feeds(declared, tables), tables
        )
        if problems:
            self.stop(feeds.told(problems, schema))

    def check_references(
        self,
        names: list[str],
        config: dict[str, Any],
        nodes: dict[str, Any],
        tables: dict[str, Any],
    ) -> None:
        """Stop dbt at all keys that differ from the documentation, at once."""
        found = references.References(nodes, tables, self.root).check(config, names)
        if found:
            self.stop(problems.told(found))

    def selected(
        self, config: dict[str, Any], nodes: dict[str, Any], ids: Iterable[str]
    ) -> list[str]:
        """Return the secure datasets whose models are among the selected nodes."""
        models = {nodes.get(each, {}).get("name") for each in ids}
        return [name for name in config["datasets"] if plan.PREFIX + name in models]

    def staged_by(self, selected: Iterable[str], tables: Iterable[str]) -> list[str]:
        """Return the raw tables that a selection of nodes stages."""
        ids = {*selected}
        return [name for name in tables if f"model.{PACKAGE}.stg_{name}" in ids]

    def mistakes(
        self,
        config: dict[str, Any],
        nodes: dict[str, Any],
        tables: dict[str, Any],
        declared: Any,
        schema: str,
        found: dict[str, dict[str, str] | None] | None,
    ) -> list[str]:
        """Return all that is wrong with the references, the feeds and the raw tables.

        found  of each raw table its columns with their types; none if nobody has looked
        """
        refer = references.References(nodes, tables, self.root)
        problems = refer.check(config, config["datasets"])
        of_feeds = feeds.mistakes(declared, tables)
        problems += [f"vars: {problem}" for problem in of_feeds]
        if found is not None and not of_feeds:
            known = self.feeds(declared, tables)
            problems += feeds.problems_of_replica(found, schema, known, tables)
        if any(table["holds_for_a_time"] for table in tables.values()):
            problems += [
                each.removesuffix(".") for each in installed.rights_kept(nodes)
            ]
        return problems

    def told_mistakes(
        self, mistakes: list[str], schema: str, is_replica: bool
    ) -> Iterator[str]:
        """Return the lines of a check, and stop dbt after them if anything is wrong.

        schema      the schema of the raw tables
        is_replica  whether the raw tables were looked at
        """
        yield from (f"- {mistake}" for mistake in mistakes)
        if not is_replica:
            yield (
                f"The raw tables in {schema} were not looked at, which takes Spark:"
                " secure-datasets check --replica does."
            )
        if mistakes:
            are = "thing is" if len(mistakes) == 1 else "things are"
            self.stop(f"check: {len(mistakes)} {are} wrong.")
        yield (
            "Nothing is wrong with the config, the documentation that it is held"
            f" against, and the feeds{', nor with the raw tables' * is_replica}."
        )

    def check_outcomes(
        self, view: str, references: dict[str, list[list[str]]], text: str
    ) -> None:
        """Stop dbt if the view of outcomes does not know a row about a secured view.

        references  the rows that decide who reads the secured views
        text        the text of the view of outcomes
        """
        for row in chain.from_iterable(references.values()):
            if row[0] == view and values_row(row) not in text:
                self.stop(
                    f"'view_outcomes' does not know {', '.join(row)}, by which it"
                    f" decides who reads '{view}': it was not run since that changed."
                    f" Run '+{view}'."
                )

    def listed(self, name: object, known: Iterable[object]) -> str:
        """Return the known names, and which of them is near one that is none."""
        return spelling.listed(name, known)

    def check_built_before(
        self,
        graph: dict[str, Any],
        selected: list[str],
        kind: str,
        relation_at: Callable[..., Any],
    ) -> None:
        """Stop dbt if what the models of a run read and it does not build is not there.

        relation_at  returns the relation of a database, schema and name, if it is there
        """
        nodes = graph["nodes"]
        missing = {
            key: readers
            for key, readers in lineage.read_unbuilt(graph, selected).items()
            if not relation_at(*(nodes[key][part] for part in PLACE))
        }
        if sentence := installed.unbuilt(missing, nodes, kind):
            self.stop(sentence)

    def check_rights_in_time(self, nodes: dict[str, Any]) -> None:
        """Stop dbt at a stored model that would keep a right beyond its time."""
        for sentence in installed.rights_kept(nodes):
            self.stop(sentence)

    def check_names(self, nodes: dict[str, Any], sources: dict[str, Any]) -> None:
        """Stop dbt if a project has a relation of a name of the product's."""
        for sentence in installed.names_taken([*nodes.values(), *sources.values()]):
            self.stop(sentence)

    def built_in(
        self, nodes: dict[str, Any], selected: Iterable[str], tables: Iterable[str]
    ) -> tuple[dict[str, str], list[str]]:
        """Return the schema of each relation, and the selected seeds of raw tables."""
        built = {
            k: n for k, n in nodes.items() if n["resource_type"] in installed.BUILT
        }
        schemas = {node["name"]: node["schema"] for node in built.values()}
        seeds = [
            node["name"]
            for key, node in built.items()
            if node["resource_type"] == "seed" and key in selected
        ]
        return schemas, sorted({*seeds} & {*tables})

    def check_models(
        self,
        nodes: list[Any],
        config: dict[str, Any],
        readers: list[str],
        is_clone: bool = False,
    ) -> None:
        """Stop dbt if a root project keeps or grants models as it must not."""
        for sentence in installed.problems_of(nodes, config, readers, is_clone):
            self.stop(sentence)

    def grant_anything(self, nodes: list[Any]) -> bool:
        """Whether `grants` give any node to anybody."""
        return installed.grant_anything(nodes)
