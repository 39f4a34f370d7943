"""The adapter method that gives macros the config's reader and planner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from dbt.adapters.base import BaseAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark import lineage
from secure_datasets import digest, installed
from secure_datasets.config import feeds, plan, problems, references, sml, tags
from secure_datasets.config.checks import check
from secure_datasets.config.document import (
    ADDED,
    MACRO,
    PACKAGE,
    Source,
    is_noticed,
    not_taken,
    source_of,
)
from secure_datasets.config.errors import ConfigError
from secure_datasets.config.layers import lay_on
from secure_datasets.config.models import Models
from secure_datasets.config.planner import Planner
from secure_datasets.config.problems import ConfigProblem, ConfigProblems
from secure_datasets.config.raw_tables import raw_tables
from secure_datasets.config.reading import Document, read
from secure_datasets.render import (
    by_itself,
    granting,
    grants,
    printing,
    readers,
    row_filters,
)
from secure_datasets.render.by_exists import ByExists
from secure_datasets.render.printing import Row, printed
from secure_datasets.sql import expressions, spelling
from secure_datasets.sql.expressions import ExpressionProblem
from secure_datasets.sql.writing import texts_where

REMEMBERED = 256
# The keys of a node that locate its relation.
PLACE = ("database", "schema", "alias")


NO_MASK = (
    "no mask is on it: write a policy with the resource {tag: ...}, or let the var"
    " tags_without_masks list the tag"
)
NO_TEXT = (
    f"is not the text of the macro '{ADDED}': a root project's macro holds the document"
    " and nothing else, without 'set document' and without 'return'"
)


def layered(texts: tuple[str, ...], files: tuple[str, ...] = ()) -> Document:
    """Read the product's document, and lay what is added on it, files of SML last."""
    config, number = Document({}), 0
    for number, text in enumerate((*texts, *files)):
        is_file = number >= len(texts)
        added = _read_one(text, number, is_file)
        if not number:
            config = added
        # A file replaces no value that is no list: the checks refuse it.
        elif not is_file or all(
            isinstance(config.values.get(part, []), list) for part in added.values
        ):
            config = lay_on(config, added, number)
    return config


def _read_one(text: str, number: int, is_file: bool) -> Document:
    """Read one document; a mistake carries the document's number."""
    if number and not is_file and not text.strip():
        # The product's own macro, where no root project adds anything.
        return Document({})
    try:
        return sml.read_file(text) if is_file else read(text)
    except ConfigProblem as problem:
        problem.source = number
        raise


@lru_cache(maxsize=16)
def _patterns(texts: tuple[str, ...]) -> tuple[tuple[str, ConfigProblem], ...]:
    """Return the patterns of files that documents name, each with how it is wrong.

    The checks refuse what is no list of texts.
    """
    found = []
    with suppress(ConfigProblem):
        config = layered(texts)
        patterns = config.values.get("sml")
        for number, pattern in enumerate(
            patterns if isinstance(patterns, list) else ()
        ):
            if isinstance(pattern, str) and pattern.strip():
                path = ("sml", number)
                problem = ConfigProblem(
                    "the config", f"'sml' names '{pattern}'", path,
                    config.line(path), config.source(path),
                )  # fmt: skip
                found.append((pattern, problem))
    return tuple(found)


def _state_of(files: dict[str, str]) -> dict[str, str]:
    """Return what differs where files of SML differ; nothing without any."""
    return {"sml_state": sha256(repr(files).encode()).hexdigest()} if files else {}


def _sentence(
    found: Sequence[ConfigProblem], sources: Sequence[Source], texts: Sequence[str]
) -> str:
    """Return one text of all mistakes, each with its document."""
    return problems.told(
        [sources[each.source].said(each, texts[each.source]) for each in found]
    )


def _places(
    config: Mapping[str, Any],
    document: Document,
    sources: Sequence[Source],
    texts: Sequence[str],
) -> dict[str, dict[Any, str]]:
    """Return where the entries of some parts stand, by their names or numbers."""
    found: dict[str, dict[Any, str]] = {}
    for part in ("datasets", "policies", "row_security"):
        entries = config.get(part) or {}
        names = entries if isinstance(entries, dict) else range(len(entries))
        for name in names:
            at = document.source((part, name))
            line = document.line((part, name))
            found.setdefault(part, {})[name] = sources[at].place(line, texts[at])
    return found


class CheckedConfig(dict):
    """A config that was read from text and checked.

    `places` has the file and line of the entries of some parts.
    """

    places: Mapping[str, Mapping[Any, str]] = {}


class SecureDatasets(Planner):
    """Reads, checks and plans the secure datasets for macros."""

    python_part = staticmethod(digest.python_part)
    # dbt's, where there is a project.
    manifest: Any = None
    _read: ClassVar[OrderedDict[Any, Any]] = OrderedDict()

    def __init__(
        self,
        models: Models | None = None,
        plan: ModuleType = plan,
        root: Path | None = None,
    ) -> None:
        super().__init__(plan)
        self.models = models or Models()
        # The folder of the root project.
        self.root = root

    def read(self, text: str, context: Any = None, added: Any = None) -> dict[str, Any]:
        """Return the checked config of a document; raise what is wrong with it.

        `added` is the macro with what a root project adds.
        """
        sources = self.sources(context, added)
        for source in sources:
            source.refuse_lost(context)
        texts = (text,) if added is None else (text, self.text_of(added, sources[1]))
        files = self._files(texts, sources)
        told = (*texts, *files.values())
        sources = (*sources[: len(texts)], *map(Source, files))
        key = (told, sources, repr(self.models))
        remembered = SecureDatasets._read
        if key not in remembered:
            try:
                config = layered(texts, tuple(files.values()))
                made = CheckedConfig(check(config, self.models) | _state_of(files))
                made.places = _places(made, config, sources, told)
                remembered[key] = made
            except ConfigProblem as problem:
                remembered[key] = _sentence([problem], sources, told)
            except ConfigProblems as found:
                remembered[key] = _sentence(found.problems, sources, told)
            while len(remembered) > REMEMBERED:
                remembered.popitem(last=False)
        found = remembered[key]
        if isinstance(found, str):
            self.stop(found)
        return found

    def _files(
        self, texts: tuple[str, ...], sources: tuple[Source, ...]
    ) -> dict[str, str]:
        """Return the files of SML that documents name, each with its text."""
        found = {}
        for pattern, problem in _patterns(texts):
            said = problem.problem
            try:
                for path in sml.files_of(self.root, pattern):
                    said = f"{problem.problem}, and {path.name} can't be read"
                    name = str(path.relative_to(self.root or path))
                    found[name] = path.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                is_unread = isinstance(error, OSError | UnicodeError)
                at = problem.source
                told = ConfigProblem(
                    problem.entry,
                    f"{said}: {error}" if is_unread else f"{said}, {error}",
                    problem.path, problem.line, at,
                )  # fmt: skip
                self.stop(sources[at].sentence(told, texts[at]))
        return found

    def places(self, config: Mapping[str, Any]) -> Mapping[str, Mapping[Any, str]]:
        """Return where entries of the config stand, by part and name or number."""
        # A config that a macro made itself was read from no text.
        return config.places if isinstance(config, CheckedConfig) else {}

    def checked(self, config: Any, is_unit_test: bool = False) -> dict[str, Any]:
        """Return a config that was read, or one that a unit test puts in its place."""
        if isinstance(config, CheckedConfig):
            return config
        if isinstance(config, str):
            return self.read(config)
        if not is_unit_test and isinstance(config, dict):
            self.stop(
                f"{MACRO}: the config: is not read by its reader: end the macro with"
                " 'return(adapter.secure_datasets().read(document, context))'."
            )
        try:
            if not isinstance(config, dict):
                raise ConfigProblem("the config", "is not a YAML mapping")
            if config.get("sml"):
                raise ConfigProblem(
                    "the config", "'sml' must not stand in the config of a unit test"
                )
            return CheckedConfig(check(Document(config), self.models))
        except ConfigProblem as problem:
            self.stop(Source().sentence(problem, ""))
        except ConfigProblems as found:
            self.stop(_sentence(found.problems, (Source(),), ("",)))

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
        remembered = SecureDatasets._read
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

    @contextmanager
    def _told_of(self, what: str) -> Iterator[None]:
        """Stop dbt at what can't be rendered for an engine, with what was asked for."""
        try:
            yield
        except problems.EngineProblem as problem:
            self.stop(f"{what}: {problem}.")

    def check_grants(self, engine: str, catalog: str | None) -> None:
        """Stop dbt at an engine whose grants are not known."""
        with self._told_of("render_grants"):
            grants.check(engine, catalog)

    def grants(
        self,
        engine: str,
        role: str,
        needs: list[Any],
        catalog: str | None = None,
    ) -> list[str]:
        """Return the grants that a role needs, in the words of an engine."""
        with self._told_of("render_grants"):
            return grants.grants(engine, role, map(tuple, needs), catalog)

    def printed(
        self,
        text: str,
        name: str,
        config: dict[str, Any],
        user: Any,
        alias: str,
        relation: str | None,
        dialect: str,
    ) -> str:
        """Return a rule of a dataset by itself, for a reader, in a dialect."""
        row = self._row(name, config, alias, relation)
        return self._printed(text, name, row, str(user), dialect).text

    def check_policies(self, engine: str, accounts: str) -> None:
        """Stop dbt at an engine whose policies are not known, or without accounts."""
        with self._told_of("render_policies"):
            problems.check_engine(engine, row_filters.ENGINES)
        # Another engine reads them, and may have them in any catalog.
        if not expressions.is_relation(accounts):
            self.stop(
                f"render_policies: accounts is '{accounts}'; it must be the relation"
                " that maps each account to a user_id, <schema>.<name>: name it by"
                " --accounts, or by the variable reader_accounts."
            )

    def readers_names(self, config: dict[str, Any]) -> dict[str, str]:
        """Return the names of the readers' views, each with the model that it shows."""
        names = {name: plan.PREFIX + name for name in config["datasets"]}
        for tier in config["tiers"].values():
            view = tier["access_view"]
            name = plan.readers_name(view)
            if name in config["datasets"]:
                self.stop(
                    f"{MACRO}: the dataset '{name}' and the access view '{view}' would"
                    " share the name of a readers' view: rename the dataset."
                )
            names[name] = view
        return names

    def check_readers_vars(self, given: dict[str, Any]) -> None:
        """Stop dbt at the first invalid variable about readers."""
        for name, problem in readers.problems_of_vars(given):
            self.stop(f"vars: {name} {problem}.")

    def row_predicate(self, rules: ByExists, name: str, *asked: Any) -> str:
        """Return the rule by which a user sees a row of a dataset's base."""
        alias = by_itself.base_alias(name, rules.config)
        return self._by_itself(rules, name, by_itself.row_rule, alias, *asked)

    def answer_predicate(self, rules: ByExists, name: str, *asked: Any) -> str:
        """Return the rule by which a user sees a line of a query's answer."""
        return self._by_itself(rules, name, by_itself.answer_rule, name, *asked)

    def mask_by_itself(
        self, rules: ByExists, name: str, column: str, *asked: Any
    ) -> str:
        """Return a column's value for a user, over the base or the answer."""
        rule, ruling = by_itself.mask_rule, self.ruling_dataset(name, rules.config)
        return self._by_itself(
            rules, name, partial(rule, column=column), ruling, *asked
        )

    def _by_itself(
        self,
        rules: ByExists,
        name: str,
        rule: Callable[[ByExists, str], str],
        alias: str,
        user: Any,
        relation: str | None = None,
        dialect: str = "spark",
    ) -> str:
        """Return a rule of a dataset in a dialect.

        alias     the name of the row in the rule
        user      SQL for the id of the user who reads
        relation  the row's relation, for columns that need it; else `alias`
        """
        text, config = rule(rules, name), rules.config
        return self.printed(text, name, config, user, alias, relation, dialect)

    def predicates(
        self, rules: ByExists, name: str, user: str, relation: str | None, dialect: str
    ) -> list[str]:
        """Return all rules of a dataset by themselves, each after a line about it."""
        config = self._has_entry(name, rules.config, "so that it has no predicate")
        entry = rules.ruling(name)
        star = self.star_query(entry, config)
        base = rules.ref(entry.get("base") or star["root"])
        called = relation or by_itself.base_alias(name, config)
        lines = [
            f"-- Which rows of {base} count for {user} in '{name}'; the base is called"
            f" {called}.",
            self.row_predicate(rules, name, user, relation, dialect),
        ]
        if "query" in entry:
            relation = None
            lines += [
                f"\n-- Which lines of the answer to these rows {user} sees; the answer"
                f" is called {name}.",
                self.answer_predicate(rules, name, user, None, dialect),
            ]
        for column in by_itself.masked_columns(rules, name):
            lines += [
                f"\n-- What {user} gets for {column}.",
                self.mask_by_itself(rules, name, column, user, relation, dialect),
            ]
        return lines

    def checked_rows(
        self, rules: ByExists, name: str, role: Any, rows: Any, user: str, clock: str
    ) -> str:
        """Return the query of rows that a role writes, each with the reason why not.

        clock  SQL for the moment: a data test finds only macros that its text names
        """
        config = rules.config
        if name not in config["datasets"]:
            self._stop_at(name, "has no entry, so that no rows can be checked for it")
        checks = plan.checks_of(
            name, plan.role_of(role), config, clock, rules.attributes, user
        )
        if not user and any(check["needs_user"] for check in checks):
            self._stop_at(
                name,
                "has a check that asks for attributes of the reader: say who writes,"
                " checked_rows(..., user='17')",
            )
        for made in checks:
            columns = config["datasets"][name]["columns"]
            if lacking := [c for c in made["columns"] if c not in columns]:
                instead = "give its policy 'check: false'"
                if made["dataset"] != name:
                    instead = "check the rows for that one"
                self._stop_at(
                    name,
                    f"lacks {', '.join(map(repr, lacking))}, which a check of"
                    f" '{made['dataset']}' names: {instead}",
                )
        reason = "cast(null as string)"
        if checks:
            reasons = "".join(
                f"\n        when ({check['sql']}) is not true"
                f" then {expressions.sql_text(check['reason'])}"
                for check in checks
            )
            reason = f"case{reasons}\n    end"
        return f"""select
    {name}.*,
    {reason} as rejection_reason
from {rows} as {name}"""

    def long_over(self, rules: ByExists, days: int) -> str:
        """Return the query of the policies whose time has been over for some days."""
        found = plan.long_over(rules.config, days, rules.clock)
        return texts_where(found, "is_over")

    def bare_tags(self, rules: ByExists, but: list[str]) -> str:
        """Return the query of the columns with tags on which there is no mask."""
        found = tags.bare(rules.config, self.models, but, rules.clock)
        return texts_where([each | {"reason": NO_MASK} for each in found], "is_bare")

    def _stop_at(self, name: str, problem: str) -> NoReturn:
        self.stop(f"{MACRO}: dataset '{name}': {problem}.")

    def _has_entry(self, name: str, config: dict[str, Any], without: str) -> Any:
        """Return the config; stop dbt if it has no dataset of a name."""
        if name not in config["datasets"]:
            near = self.listed(name, config["datasets"])
            self._stop_at(name, f"has no entry, {without}{near}")
        return config

    def policies(
        self,
        rules: ByExists,
        engine: str,
        name: str,
        accounts: str,
        schema: str | None = None,
    ) -> list[str]:
        """Return the statements that give an engine a dataset's rules.

        accounts  the relation that maps accounts to user ids
        schema    where functions and policies are made; else beside the base
        """
        config = self._has_entry(name, rules.config, "so that it has no policies")
        entry = rules.ruling(name)
        if "query" in entry:
            self._stop_at(
                name,
                "is a query, made anew for each reader, so that no table can hold its"
                " policies",
            )
        table = rules.ref(entry["base"])
        is_a_user = f"{by_itself.USER} is not null"
        predicate = by_itself.row_rule(rules, name, is_permissive=True)
        place = schema or str(table).replace("`", "").rpartition(".")[0]
        ruling = self.ruling_dataset(name, config)
        row = self._row(name, config, ruling, None, prefix=row_filters.PREFIX)
        reader = row_filters.reader_function(place)
        dialect = row_filters.ENGINES[engine]
        parts = [f"{is_a_user}\nand ({predicate})"]
        if restrictive := rules.restrictive_rule(name, by_itself.USER):
            parts.append(restrictive)
            if engine not in row_filters.WITH_RESTRICTIVE:
                parts = [f"{parts[0]}\nand ({restrictive})"]
        predicates = [self._printed(part, name, row, reader, dialect) for part in parts]
        masks = {
            column: self._printed(
                by_itself.mask_for_accounts(rules, name, column),
                *(name, row, reader, dialect),
            )
            for column in by_itself.masked_columns(rules, name)
        }
        account = row_filters.ACCOUNTS[engine]
        with self._told_of(f"render_policies: dataset '{name}'"):
            return row_filters.statements(
                engine,
                row_filters.Filtered(
                    dataset=name,
                    table=str(table),
                    place=place,
                    user=readers.user_of_the_account(
                        accounts, rules.ref("stg_users"), account
                    ),
                    predicate=predicates[0],
                    restrictive=predicates[1] if predicates[1:] else None,
                    masks=masks,
                    types=self.models.of(config["datasets"][ruling]["base"]),
                    shown=tuple(config["datasets"][name]["columns"]),
                    names=frozenset(row.types),
                    tags=tags.of_masks(name, config),
                ),
            )

    def _row(
        self,
        name: str,
        config: dict[str, Any],
        alias: str,
        relation: str | None,
        prefix: str | None = None,
    ) -> Row:
        """Return how the rules of a dataset call its rows."""
        ruling = self.ruling_dataset(name, config)
        dataset = config["datasets"][ruling]
        return Row(
            dataset=ruling,
            alias=alias,
            relation=relation,
            types=self._types_of(name, dataset, config),
            prefix=prefix,
            relations=self.models.columns,
        )

    def _printed(
        self, text: str, name: str, row: Row, user: str, dialect: str
    ) -> printing.Printed:
        """Return a rule in a dialect; stop dbt if the dialect lacks a part of it."""
        try:
            return printed(text, row, user, by_itself.READER, dialect)
        except ExpressionProblem as problem:
            said = str(problem).replace("{key}", "its rule")
            self.stop(f"{MACRO}: dataset '{name}': {said}.")

    def _types_of(
        self, name: str, dataset: dict[str, Any], config: dict[str, Any]
    ) -> dict[str, str]:
        """Return the types of the columns that a rule may name."""
        types: dict[str, str] = {}
        for relation in config.get("relations", {}).values():
            types |= relation["columns"]
        base = dataset.get("base") or plan.PREFIX + name
        known = self.models.of(base) or self.models.of(plan.PREFIX + name)
        return types | {column: kind for column, kind in known.items() if kind}

    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by its documentation; none without one."""
        return self.models.of(model).get(column)

    def sources(self, context: Any, added: Any) -> tuple[Source, ...]:
        """Return where the document stands, and what is added to it."""
        return (Source(), Source())

    def text_of(self, added: Any, source: Source) -> str:
        """Return the document of the macro that adds to the product's."""
        text = added()
        macro = getattr(added, "macro", None)
        is_products = getattr(macro, "package_name", None) == PACKAGE
        if is_products or (isinstance(text, str) and text.strip()):
            return text
        return self.stop(source.sentence(ConfigProblem("the config", NO_TEXT), ""))

    def stop(self, sentence: str) -> NoReturn:
        """Stop dbt with a sentence."""
        raise ConfigError(sentence)


class ProjectDatasets(SecureDatasets):
    """The same, in a dbt project."""

    def __init__(self, manifest: Any, root: Path | None = None) -> None:
        super().__init__(root=root)
        self.manifest = manifest

    def read(self, text: str, context: Any = None, added: Any = None) -> dict[str, Any]:
        """Return the checked config of the macro whose context this is.

        While dbt parses, only its context has the manifest: `ref` looks into it.
        """
        known = _manifest(context)
        # A unit test's own manifest has its inputs alone, and no files.
        if not getattr(known, "files", None) and self.manifest is not None:
            known = self.manifest
        self.models = models_of(known)
        if added is None and (context or {}).get("project_name", PACKAGE) != PACKAGE:
            self.stop(f"{MACRO}: the config: {NO_TEXT}.")
        config = super().read(text, context, added)
        for name in disabled_datasets(config, _manifest(context), context):
            self.stop(
                f"{MACRO}: dataset '{name}': its model is disabled, and the config"
                " offers it: to switch it off, write 'false' there; if that is what was"
                " changed, call dbt with --no-partial-parse, once."
            )
        return config

    def policies(self, *arguments: Any) -> list[str]:
        """Return the statements that give an engine a dataset's rules."""
        self.models = models_of(self.manifest)
        return super().policies(*arguments)

    def bare_tags(self, *arguments: Any) -> str:
        """Return the query of the columns with tags on which there is no mask."""
        self.models = models_of(self.manifest)
        return super().bare_tags(*arguments)

    def printed(self, *arguments: Any) -> str:
        """Return a rule of a dataset by itself."""
        self.models = models_of(self.manifest)
        return super().printed(*arguments)

    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by the documentation of its model; none without one.

        The adapter's manifest has all models in a unit test too, whose own manifest has
        its inputs alone. If two projects have the model, the root project's counts.
        """
        for node in sorted(self.manifest.nodes.values(), key=_is_of_the_product):
            if node.name == model and node.resource_type in ("model", "seed"):
                documented = node.columns.get(column)
                if documented is not None and documented.data_type:
                    return documented.data_type
        return None

    def sources(self, context: Any, added: Any) -> tuple[Source, ...]:
        """Return the macros and files of the documents."""
        manifest, root = _manifest(context), (context or {}).get("project_name")
        taken = getattr(added, "macro", None)
        for sentence in not_taken(manifest, taken):
            self.stop(sentence)
        if not is_noticed(manifest, taken):
            self.stop(
                f"{MACRO}: the config: dbt parsed only what had changed, and does not"
                f" see that '{taken.name}' ({taken.original_file_path}) is new: call"
                " dbt with --no-partial-parse, once."
            )
        return source_of(manifest, root), source_of(manifest, root, taken)


def _manifest(context: Any) -> Any:
    """Return the manifest that a macro's context is made of."""
    return getattr((context or {}).get("ref"), "manifest", None)


def secure_datasets(adapter: BaseAdapter) -> SecureDatasets:
    """Return the reader and planner of the project's config."""
    root = Path(adapter.config.project_root)
    return ProjectDatasets(adapter.get_macro_resolver(), root)


def refuse_grants(adapter: BaseAdapter, sql: str) -> None:
    """Raise if a statement grants what it must not, where the product is installed.

    Whatever sends it: a hook, a model's SQL, an operation, dbt for what `grants` say.
    """
    granted: list[granting.Grant] | None
    try:
        granted = [*granting.grants_of(sql)]
    except granting.UnreadableError:
        granted = None
    manifest = adapter.get_macro_resolver() if granted != [] else None
    if f"macro.{PACKAGE}.{MACRO}" not in getattr(manifest, "macros", {}):
        return
    if granted is None:
        raise DbtRuntimeError(granting.UNREADABLE)

    def told(macro: str) -> Any:
        return adapter.execute_macro(macro, project=PACKAGE)

    graph, config = manifest.flat_graph, told(MACRO)
    objects = told("readers_objects")
    held = installed.granting_of(
        [*graph["nodes"].values(), *graph["sources"].values()],
        config,
        is_clone=manifest.metadata.project_name == PACKAGE,
        readers_schema=objects.schema,
        functions=objects.functions(),
    )
    if refusal := held.refusal(granted, objects.have_views):
        raise DbtRuntimeError(refusal)


def models_of(manifest: Any) -> Models:
    """Return the models and seeds that dbt has found, with their documented columns.

    While dbt parses, it has read all files, and knows no other model's columns yet. A
    unit test has a manifest of its own, without files and with its inputs alone.
    """
    files = getattr(manifest, "files", None) or {}
    columns: dict[str, dict[str, str | None]] = {}
    documented: dict[str, dict[str, str | None]] = {}
    tagged: dict[str, dict[str, frozenset[str]]] = {}
    # If the product and the root project have one name, the root project's counts.
    for file in sorted(files.values(), key=_is_of_the_root):
        kind = getattr(getattr(file, "parse_file_type", None), "value", None)
        if kind in ("model", "seed", "snapshot"):
            columns.setdefault(Path(file.path.relative_path).stem, {})
        for part in ("models", "seeds", "snapshots"):
            for entry in (getattr(file, "dfy", None) or {}).get(part) or ():
                if isinstance(entry, dict) and "name" in entry:
                    said = {
                        column["name"]: column
                        for column in entry.get("columns") or ()
                        if isinstance(column, dict) and "name" in column
                    }
                    documented[entry["name"]] = {
                        name: column.get("data_type") for name, column in said.items()
                    }
                    tagged[entry["name"]] = {
                        name: found
                        for name, column in said.items()
                        if (found := tags.of_column(column))
                    }
    # A snapshot's file may have another name.
    for node in getattr(manifest, "nodes", {}).values():
        if node.resource_type in ("model", "seed", "snapshot"):
            columns.setdefault(node.name, {})
    return Models(columns | documented, is_known=bool(files), tags=tagged)


def disabled_datasets(
    config: dict[str, Any], manifest: Any, context: Any
) -> Iterator[str]:
    """Yield the product's datasets that the config offers and dbt does not build.

    While dbt parses it does not know yet.
    """
    disabled = getattr(manifest, "disabled", None) or {}
    for name in config["datasets"] if (context or {}).get("execute") else ():
        if f"model.{PACKAGE}.{plan.PREFIX}{name}" in disabled:
            yield name


def _is_of_the_product(node: Any) -> bool:
    return node.package_name == PACKAGE


def _is_of_the_root(file: Any) -> bool:
    return getattr(file, "project_name", PACKAGE) != PACKAGE


__all__ = ["ConfigError", "SecureDatasets", "models_of", "secure_datasets"]
