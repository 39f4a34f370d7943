"""What readers' views and functions are made of, by what is published."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import sqlglot
from dbt_common.exceptions import CompilationError
from rendering import Macros
from sqlglot import exp

from dbt_secure_spark.catalogs import with_catalog
from dbt_secure_spark.queries import shows_rows_of_nobody
from secure_datasets.readers import ReadersObjects
from secure_datasets.render.readers import problems_of_vars

ACCOUNTS = "security.reader_accounts"
READ = {
    "s.vw_secure_dataset_runs",
    "s.vw_secure_dataset_news",
    "s.team_access",
    "s.vw_secure_user_project_access",
    "s.stg_users",
}
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs: {base: r, columns: [a], unique_key: [a], tier: team, keys: {team_id: a}}
    news:
        base: n
        columns: [a]
        unique_key: [a]
        switch:
            column: a
            cases:
                x: {visible_to: everyone}
                y: {tier: team, keys: {team_id: a}}
"""
COLUMNS = {"a": "bigint", "user_id": "bigint"}
RESTRICTED = "policies: [{role: A, resource: news, condition: 'a = 1'}]"


class Catalogue:
    """An adapter that answers as if all of this were published; notes what is asked."""

    def __init__(self, catalog: str = "spark_catalog") -> None:
        self.catalog = catalog

    def execute(self, query: str, fetch: bool) -> tuple:
        """Answer a query of the session's catalog."""
        assert query == "select current_catalog()"
        return None, SimpleNamespace(rows=[(self.catalog,)])


class Relation(str):
    """A relation, written as its name."""

    @property
    def identifier(self) -> str:
        """Return its name in its schema."""
        return self.rpartition(".")[2]


class Publishing:
    """The macros that publish readers' objects, over relations that are there."""

    def __init__(self, document: str = DOCUMENT, **of_vars: object) -> None:
        self.made: list[str] = []
        # The descriptions of functions that are there before.
        self.told: dict[str, str] = {}
        # What the catalogue tells of a function that was made; none for the statement.
        self.instead: str | None = None
        # The engine's functions.
        self.functions = {"current_path"}
        # Relations of an earlier version.
        self.without_path: set[str] = set()
        # The columns of the accounts; none where the relation is not there.
        self.columns: dict[str, str] | None = None
        # The query of each relation that is published; of the others none is told.
        self.texts: dict[str, str] = {}
        # What the metastore tells of relations.
        self.kept: dict[str, str] = {}
        # What views are told to have been switched to.
        self.switched: dict[str, str] = {}
        self.macros = Macros(document)
        nodes = {
            name: {
                "name": name.split(".")[1],
                "alias": name.split(".")[1],
                "schema": "s",
                "relation_name": name,
                "resource_type": "model",
                "package_name": "secure_datasets",
                "config": {},
            }
            for name in READ
        }
        given = {"readers_views": True, "readers_functions": True, "readers": []}
        given |= {"reader_accounts": ACCOUNTS, "reader_applications": [], **of_vars}
        adapter = SimpleNamespace(
            secure_datasets=self.macros.secure_datasets,
            readers_objects=lambda *given: ReadersObjects(adapter, *given),
            definitions=self.definitions,
            definition_of=lambda relation: (
                "" if str(relation) in self.without_path else "\nSQL Path: system"
            ),
            check_schema_exists=lambda database, schema: True,
            get_relation=lambda database, schema, name: self.columns and name,
            set_for_views=lambda: self.made.append("set"),
            get_columns_in_relation=lambda relation: [
                SimpleNamespace(column=name, dtype=data_type)
                for name, data_type in (self.columns or COLUMNS).items()
            ],
            with_catalog=lambda name: with_catalog(Catalogue(), name),
            shows_public_rows=lambda relation: shows_rows_of_nobody(
                self.texts.get(relation)
            ),
            note_switch=self.switched.__setitem__,
            execute=self.execute,
        )
        self.macros.stand_in(
            execute=True,
            flags=SimpleNamespace(WHICH="run"),
            target={"database": None},
            graph=SimpleNamespace(nodes=nodes),
            var=lambda name, default=None: given.get(name, default),
            project_schema=lambda: "s",
            hold_run=lambda: True,
            apply_grants=lambda view, grants, should_revoke: self.made.append(
                f"grant on {view}: {grants}"
            ),
            _revoke_plain_datasets=lambda sources: self.made.append("revoke"),
            api=SimpleNamespace(
                Relation=SimpleNamespace(
                    create=lambda schema, identifier, type: Relation(
                        f"{schema}.{identifier}"
                    )
                )
            ),
            adapter=adapter,
        )

    def definitions(self, schema: str, name: str | None = None) -> dict[str, str]:
        """Return what the metastore tells of a schema's relations, or of one."""
        if name:
            return {name: self.kept.get(f"{schema}.{name}", "")}
        places = [(each.rpartition("."), told) for each, told in self.kept.items()]
        return {name: told for (place, _, name), told in places if place == schema}

    def execute(self, statement: str, fetch: bool = False) -> tuple:
        """Answer what is asked of the catalogue; note what is made."""
        rows: list[tuple[str]] = []
        asked = statement.rpartition(" ")[2]
        if statement.startswith("show user functions in "):
            rows = [(f"spark_catalog.{name}",) for name in self.told]
        elif statement.startswith("show system functions like "):
            rows = [
                (name,) for name in asked[1:-1].split("|") if name in self.functions
            ]
        elif statement.startswith("describe function extended "):
            made = [each for each in self.made if f"function {asked}(" in each]
            rows = [(self.instead or made[-1],)] if made else [(self.told[asked],)]
        else:
            self.made.append(statement)
        return None, SimpleNamespace(rows=rows)

    def publish(self) -> list[str]:
        """Publish views and functions; return their queries."""
        self.made.clear()
        self.macros.readers_objects().publish()
        return [
            statement.split("\nas\n" if "view" in statement else "\nreturn\n")[1]
            for statement in self.made
            if statement.startswith(("create view", "create or replace function"))
        ]


def tables(query: str) -> Iterator[exp.Table]:
    """Yield the relations that a query reads."""
    tree = sqlglot.parse_one(query, dialect="spark")
    yield from tree.find_all(exp.Table)


@pytest.mark.parametrize(
    ("catalog", "name", "wanted"),
    [
        ("spark_catalog", "a.b", "spark_catalog.a.b"),
        ("spark_catalog", "`a.x`.b", "spark_catalog.`a.x`.b"),
        ("one-of`ours", "a.b", "`one-of``ours`.a.b"),
        ("spark_catalog", "main.a.b", "main.a.b"),
        ("spark_catalog", "`ma``in`.`a`.`b.c`", "`ma``in`.`a`.`b.c`"),
    ],
)
def test_a_relation_s_name_gets_the_catalog_that_it_has_in_the_session(
    catalog, name, wanted
):
    assert with_catalog(Catalogue(catalog), name) == wanted


def test_what_readers_objects_read_is_named_with_its_catalog():
    queries = Publishing().publish()
    found = [table for query in queries for table in tables(query)]
    assert {table.catalog for table in found} == {"spark_catalog"}
    assert {f"{table.db}.{table.name}" for table in found} == {*READ, ACCOUNTS}


@pytest.mark.parametrize("catalog", ["lake", "spark_catalog"])
def test_accounts_of_another_catalog_are_not_looked_for_in_this_one(catalog):
    given = {"readers_views": True, "readers_functions": False}
    given |= {"reader_accounts": ACCOUNTS, "reader_applications": []}
    assert [*problems_of_vars(given)] == []
    given["reader_accounts"] = f"{catalog}.{ACCOUNTS}"
    ((_, problem),) = problems_of_vars(given)
    assert problem.endswith("<schema>.<name>, of the project's own catalog")


def test_what_a_hook_has_set_is_set_again_before_views_and_functions_are_made():
    publishing = Publishing()
    done, macros = publishing.made, publishing.macros
    macros.stand_in(
        hold_run=lambda: not done.append("held"), check_readers_vars=lambda: ""
    )
    macros.publish_readers_objects()
    assert done[:2] == ["held", "set"]
    made = [statement.split("(")[0].split("\n")[0] for statement in done]
    assert {"create view s_readers.runs", "create or replace function s.runs_of"} <= {
        *made
    }
    # A run that was suspended may have lost its lock meanwhile.
    sent = [number for number, each in enumerate(done) if each not in ("held", "set")]
    assert all(done[number - 1] == "held" for number in sent)


def test_nothing_is_published_beside_another_run():
    publishing = Publishing()
    publishing.macros.stand_in(hold_run=lambda: False)
    with pytest.raises(CompilationError, match="another dbt run is building: wait"):
        publishing.macros.publish_readers_objects()
    assert publishing.made == []


def test_no_reader_holds_a_plain_dataset_and_a_view_at_once():
    publishing = Publishing(readers=["r"], readers_functions=False)
    publishing.publish()
    assert [made.split("\n")[0] for made in publishing.made] == [
        "create schema if not exists s_readers",
        "revoke",
        *(
            line
            for name in ("runs", "news", "team_access")
            for line in (
                f"create view s_readers.{name}",
                f"grant on s_readers.{name}: {{'select': ['r']}}",
            )
        ),
    ]


OURS = "Table Properties: [rendered_by=secure_datasets]"
COMMENT = "Comment: Rendered by secure_datasets, columns md5. For nobody by name."


def test_a_view_that_is_there_is_altered_and_one_without_a_dataset_is_dropped():
    publishing = Publishing(readers_functions=False)
    publishing.kept["s_readers.runs"] = publishing.kept["s_readers.old"] = OURS
    publishing.kept["s_readers.theirs"] = "Table Properties: [of=somebody]"
    publishing.publish()
    made = [statement.split("\n")[0] for statement in publishing.made]
    assert "alter view s_readers.runs as" in made
    assert [each for each in made if "drop" in each] == [
        "drop view if exists s_readers.old"
    ]


def test_a_function_of_other_applications_or_without_a_dataset_is_dropped():
    publishing = Publishing(readers_views=False, reader_applications=["app"])
    publishing.told = {"s.runs_of": COMMENT, "s.old_of": COMMENT, "s.sum_of": "theirs"}
    publishing.publish()
    made = [statement.split("(")[0] for statement in publishing.made]
    assert made[:3] == [
        "drop function if exists s.runs_of",
        "create or replace function s.runs_of",
        "grant execute on function s.runs_of to `app`",
    ]
    assert [each for each in made[3:] if "drop" in each] == [
        "drop function if exists s.old_of"
    ]


@pytest.mark.parametrize(
    ("name", "is_view"), [("s_readers.runs", True), ("s.runs_of", False)]
)
def test_what_somebody_else_made_is_left_alone(name, is_view):
    publishing = Publishing(readers_views=is_view, readers_functions=not is_view)
    (publishing.kept if is_view else publishing.told)[name] = "of somebody"
    with pytest.raises(CompilationError, match=f"{name} exists, and was not made by"):
        publishing.publish()


@pytest.mark.parametrize("command", ["run", "run-operation"])
def test_only_the_operation_drops_all_that_no_variable_asks_for(command):
    publishing = Publishing(readers_views=False, readers_functions=False)
    publishing.macros.stand_in(flags=SimpleNamespace(WHICH=command))
    publishing.kept["s_readers.runs"] = OURS
    publishing.told["s.runs_of"] = COMMENT
    publishing.publish()
    if command == "run-operation":
        dropped = ["view if exists s_readers.runs", "function if exists s.runs_of"]
        assert publishing.made == [f"drop {each}" for each in dropped]
        assert publishing.macros.warnings == []
        return
    assert publishing.made == []
    assert publishing.macros.warnings == [
        f"This run was not asked for {name}, of which there are 1: they stay as they"
        " are. If they are to go, dbt run-operation publish_readers_objects drops them."
        for name in ("readers_views", "readers_functions")
    ]


@pytest.mark.parametrize("knows_paths", [True, False])
def test_datasets_that_an_earlier_version_made_without_a_path_are_warned_of(
    knows_paths,
):
    publishing = Publishing()
    publishing.functions = {"current_path"} if knows_paths else set()
    publishing.without_path = {"s.vw_secure_dataset_runs", "s.team_access"}
    publishing.publish()
    assert publishing.macros.warnings == knows_paths * [
        "In these a reader's own functions may stand before Spark's, since an earlier"
        " version made them: run team_access, vw_secure_dataset_runs."
    ]


@pytest.mark.parametrize(
    ("accounts", "columns", "said"),
    [
        ("a.b", None, "names a.b, which does not exist"),
        # The run may build it.
        ("s.stg_users", None, None),
        ("a.b", {"Account": "string", "USER_ID": "int"}, None),
        ("a.b", {"account": "string", "user_id": "string"}, "names a.b, which needs"),
        ("a.b", {"account": "int", "user_id": "bigint"}, "names a.b, which needs"),
        ("a.b", {"user_id": "bigint"}, "names a.b, which needs the columns account"),
    ],
)
def test_accounts_are_a_relation_of_an_account_and_a_user_id(accounts, columns, said):
    publishing = Publishing(as_of=None, before=None, reader_accounts=accounts)
    publishing.columns = columns
    if said is None:
        publishing.macros.check_readers_vars()
    else:
        with pytest.raises(CompilationError, match=f"vars: reader_accounts {said}"):
            publishing.macros.check_readers_vars()


def test_each_view_is_read_back_by_the_query_that_it_was_made_with():
    publishing = Publishing()
    publishing.publish()
    assert len(publishing.switched) > 1
    assert publishing.switched == {
        made.split("\n")[0].removeprefix("create view "): made.split("\nas\n")[1]
        for made in publishing.made
        if made.startswith("create view")
    }


def test_a_function_that_the_catalogue_takes_without_effect_stops_the_run():
    publishing = Publishing()
    publishing.instead = "an older one"
    with pytest.raises(CompilationError, match=r"and s\.runs_of is not what it was"):
        publishing.publish()


@pytest.mark.parametrize("name", ["readers_views", "readers_functions"])
@pytest.mark.parametrize(
    ("functions", "is_safe"),
    [
        (set(), False),
        # 4.2 and newer; Databricks.
        ({"current_path"}, True),
        ({"current_metastore"}, True),
    ],
)
def test_an_engine_that_takes_a_reader_s_functions_for_its_own_gets_no_readers(
    name, functions, is_safe
):
    asked = {"readers_views": False, "readers_functions": False, name: True}
    accounts = {"reader_accounts": "s.stg_users"}
    publishing = Publishing(**asked, **accounts, as_of=None, before=None)
    publishing.functions = functions
    if is_safe:
        publishing.macros.check_readers_vars()
        return
    said = f"vars: {name} needs Spark 4.2 or newer: in"
    with pytest.raises(CompilationError, match=said):
        publishing.macros.check_readers_vars()


def test_a_function_s_id_is_a_text_that_is_read_strictly():
    publishing = Publishing()
    publishing.publish()
    functions = [made for made in publishing.made if "create or replace fun" in made]
    assert functions
    for made in functions:
        assert "_of(reader string)\n" in made
        assert made.count("_of.reader") == made.count("_of.reader as bigint)") > 0


def test_a_function_that_names_no_catalog_is_made_anew():
    publishing = Publishing()
    publishing.publish()
    functions = [made for made in publishing.made if "function" in made]
    assert functions
    for before in ("", "spark_catalog."):
        publishing.told = {
            made.split("(")[0].rpartition(" ")[2]: made.replace(
                "spark_catalog.", before
            )
            + "\nSQL Path: system.builtin"
            for made in functions
        }
        publishing.publish()
        again = [made for made in publishing.made if "function" in made]
        assert again == ([] if before else functions)


# ---------------------------------------------------------------------------
# Public rows
# ---------------------------------------------------------------------------


def secure_dataset(document: str, name: str) -> str:
    """Return the query of a secure dataset, as a run publishes it."""
    return Macros(document, ref=lambda name: f"s.{name}").secure_dataset(name)


@pytest.mark.parametrize("published", [DOCUMENT, DOCUMENT + RESTRICTED])
@pytest.mark.parametrize("config", [DOCUMENT, DOCUMENT + RESTRICTED])
def test_who_gets_public_rows_is_decided_by_what_is_published(published, config):
    publishing = Publishing(config)
    for name in ("runs", "news"):
        text = secure_dataset(published, name)
        publishing.texts[f"s.vw_secure_dataset_{name}"] = text
    queries = publishing.publish()
    of_public = [query for query in queries if "dataset.user_id is null" in query]
    assert all("news" in query for query in of_public)
    # A view and a function.
    assert len(of_public) == (0 if RESTRICTED in published else 2)


@pytest.mark.parametrize("config", [DOCUMENT, DOCUMENT + RESTRICTED])
def test_where_no_text_is_told_the_config_says_who_gets_public_rows(config):
    queries = Publishing(config).publish()
    of_public = [query for query in queries if "dataset.user_id is null" in query]
    assert len(of_public) == (0 if RESTRICTED in config else 2)


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        (None, None),
        ("select 'that does not end", None),
        ("select a, CAST(NULL AS BIGINT)\n    as user_id from b", True),
        ("select a from (\nselect cast(null as bigint) as user_id\n) as base", True),
        ("select a, user_id from b", False),
        ("select a, cast(null as bigint) as user_ids, user_id from b", False),
        ("select 'cast(null as bigint) as user_id' as a, user_id from b", False),
        ("select user_id -- cast(null as bigint) as user_id\nfrom b", False),
    ],
)
def test_rows_for_everyone_are_told_by_a_query(text, is_shown):
    assert shows_rows_of_nobody(text) is is_shown


# ---------------------------------------------------------------------------
# The accounts
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "is_warned_of"),
    [
        ("Type: EXTERNAL\nProvider: parquet\n", True),
        ("Type: MANAGED\nProvider: PARQUET\n", True),
        ("Type: MANAGED\nProvider: hive\n", True),
        ("Type: MANAGED\nProvider: delta\n", False),
        ("Type: MANAGED\nProvider: iceberg\n", False),
        ("Type: MANAGED\nProvider: jdbc\n", False),
        ("Type: VIEW\nView Text: select * from a\n", False),
        ("", False),
    ],
)
def test_accounts_in_files_that_sessions_remember_are_warned_of(told, is_warned_of):
    publishing = Publishing()
    publishing.kept[ACCOUNTS] = told
    publishing.publish()
    said = (
        f"reader_accounts names {ACCOUNTS}, a table in files: a session that has read"
        " it goes on reading the files that it knew."
    )
    assert [said in warning for warning in publishing.macros.warnings] == (
        [True] * is_warned_of
    )
