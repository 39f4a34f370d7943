"""`vars: feeds:` is read and checked: what is wrong with it is one sentence."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import yaml
from oracle.contract import TABLES
from own_config import PRODUCTS, document_of
from projects import ROOT
from rendering import VARS, Macros, Stopped

from secure_datasets.config.feeds import (
    PRESETS,
    Feed,
    FeedProblem,
    limit_columns,
    loader_columns,
    problems_of,
    problems_of_replica,
    read_feeds,
)
from secure_datasets.config.feeds import told as told_of_replica

RAW = Macros(document_of(PRODUCTS)).repository_tables()
LOG = "kind: log, moment: at, deleted_when: \"op = 'd'\""


def feeds(text: str) -> dict:
    """Return the feeds that a YAML mapping declares."""
    return read_feeds(yaml.safe_load(text), RAW)


MISTAKES = {
    "no mapping": ("[users]", "feeds must map raw tables to what is said"),
    "no such table": ("user: {}", "; near it is 'users'"),
    "a table's feed is no mapping": ("users: log", "users: must be a mapping of keys"),
    "an unknown key": (
        "users: {delete_when: a}",
        "unknown key 'delete_when'; known are",
    ),
    "an unknown key of reads": ("users: {reads: {yes: [Y]}}", "'reads.true' has no"),
    "an unknown kind": (
        "users: {kind: daily}",
        "'kind' is 'daily'; known are appended",
    ),
    "an unknown loader": ("users: {loader: x}", "'loader' is 'x'; known are fivetran"),
    "a loader and a kind": (
        "users: {loader: fivetran, kind: log}",
        "'loader' is 'fivetran', which says the kind: leave out 'kind'",
    ),
    "a log without a moment": (
        "users: {kind: log, deleted_when: a}",
        "the key 'moment' is missing: the kind 'log' is a log",
    ),
    "a log without deletions": (
        "users: {kind: log, moment: at}",
        "the key 'deleted_when' is missing: a log says what is deleted",
    ),
    "snapshots without a moment": (
        "users: {kind: snapshots}",
        "the key 'moment' is missing: it tells the loads of whole tables apart",
    ),
    "a preset without its moment": (
        "users: {loader: dms}",
        "the loader 'dms' is a log",
    ),
    "periods without an end": (
        "users: {kind: periods, valid_from: a}",
        "the key 'valid_to' is missing: the kind 'periods' has periods",
    ),
    "a moment of the present": (
        "users: {kind: current, moment: at}",
        "'moment' is not for the kind 'current': it holds one moment",
    ),
    "a period of a log": (
        f"users: {{{LOG}, valid_to: a}}",
        "'valid_to' is not for the kind 'log', which has no periods",
    ),
    "a mark of a load of a log": (
        f"users: {{{LOG}, complete_when: a}}",
        "'complete_when' is not for the kind 'log': only the loads of snapshots",
    ),
    "a moment that is written as nothing": (
        "users: {moment_in: position}",
        "'moment_in' has no 'moment' to be written so",
    ),
    "a period by positions": (
        "users: {kind: periods, valid_from: a, valid_to: b, moment_in: position}",
        "'moment_in' is 'position', and a period begins and ends at times",
    ),
    "a position with a position": (
        "users: {kind: log, deleted_when: a, moment: [b, c], moment_in: position}",
        "name the position alone",
    ),
    "a deletion that is no boolean": (
        "users: {deleted_when: \"'d'\"}",
        "'deleted_when' is a constant, and must be true or false",
    ),
    "a deletion that is a number": (
        "users: {deleted_when: a + 1}",
        "'deleted_when' is of the type number, and must be true or false",
    ),
    "a deletion that reads another table": (
        "users: {deleted_when: exists (select 1 from gone where gone.id = 1)}",
        "'deleted_when' reads another table: it may name the raw table's columns only",
    ),
    "a deletion by the clock": (
        "users: {deleted_when: at < now()}",
        "'deleted_when' has 'now', which depends on the time",
    ),
    "a deletion that can fail": (
        "users: {deleted_when: parse_json(a) is null}",
        "'deleted_when' has 'parse_json', which fails on some values",
    ),
    "a deletion by the session": (
        "users: {deleted_when: a = current_user()}",
        "'deleted_when' has 'current_user', which depends on the session",
    ),
    "a deletion by a cast with a length": (
        "users: {deleted_when: cast(a as varchar(1)) = 'D'}",
        "'deleted_when' casts to varchar(1), which cuts and fills nothing",
    ),
    "a deletion that is read in two orders": (
        "users: {deleted_when: a = 1 = true}",
        "that are read in more than one order",
    ),
    "a deletion that can't be read": ("users: {deleted_when: 'a =='}", "can't be read"),
    "a deletion with two statements": ("users: {deleted_when: 'a; b'}", "semicolon"),
    "a column that the table has not": (
        "users: {columns: {nam: full_name}}",
        "'columns' has 'nam', which users has not: is 'last_name' meant?",
    ),
    "a table without its key": (
        "users: {columns: {id: null}}",
        "'columns' has no column for 'id', without which no row counts",
    ),
    "a table without what it needs": (
        "default: {columns: {user_id: null}}",
        "'columns' has no column for 'user_id', without which no row counts",
    ),
    "a column without a name": ("users: {columns: {email: 5}}", "must be the name"),
    "a word that YAML took for a flag": (
        "users: {reads: {true: [yes]}}",
        "'reads.true' has 'True', which is no text: quote it",
    ),
    "a text that means true and false": (
        "users: {reads: {true: [Y, t], false: [T]}}",
        "users: 'reads' takes 't' for true and false",
    ),
    "a text that means the opposite": (
        "users: {reads: {true: ['0']}}",
        "users: 'reads' takes '0' for true and false",
    ),
    "rows of before an update that no log writes": (
        "users: {before_when: a}",
        "'before_when' is not for the kind 'appended': only a log writes rows as they",
    ),
    "times that nobody writes": (
        "users: {reads: {timestamps: rfc}}",
        "'reads.timestamps' is 'rfc'; known are iso, epoch_seconds",
    ),
    "an unknown key of the default": ("default: {knd: log}", "default: unknown key"),
}
MISTAKES["an unknown key of reads"] = (
    "users: {reads: {maybe: [Y]}}",
    "unknown key 'reads.maybe'; known are timestamps, true, false",
)
MISTAKES["a column that the table has not"] = (
    "users: {columns: {emial: mail}}",
    "'columns' has 'emial', which users has not; known are id,",
)


@pytest.mark.parametrize(("text", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence(text, sentence):
    with pytest.raises(FeedProblem) as stopped:
        feeds(text)
    assert sentence in str(stopped.value)
    assert str(stopped.value).startswith("feeds")


def test_a_table_takes_the_keys_of_the_default_that_it_does_not_have():
    found = feeds(
        "default: {deleted_when: gone, columns: {email: mail}}\n"
        "users: {columns: {last_name: surname}}\n"
        "tests: {kind: current}"
    )
    assert set(found) == set(TABLES)
    assert found["users"]["sources"]["email"] == "mail"
    assert found["users"]["sources"]["last_name"] == "surname"
    assert found["users"]["deleted_when"] == "gone"
    assert found["jobs"]["deleted_when"] == "gone"
    assert found["tests"]["deleted_when"] is None, "loaded in another way"


def test_the_moment_stands_in_the_place_of_the_load_time():
    assert feeds(f"users: {{{LOG}}}")["users"]["sources"]["sf_date_created"] == "at"
    by_position = feeds(f"users: {{{LOG}, moment_in: position}}")["users"]
    assert by_position["sources"]["sf_date_created"] == "sf_date_created"
    assert by_position["positions"] == ["at"]


def test_f10_each_loader_has_its_preset():
    assert set(PRESETS) == {
        *("fivetran", "fivetran_history", "airbyte", "debezium", "dms"),
        *("dbt_snapshot", "snowflake_stream"),
    }


def columns_with(*more: str) -> dict[str, str]:
    """Return the columns of raw users, and others beside them."""
    return dict.fromkeys([*TABLES["users"], *more], "string")


def told(feed: str | None, *more: str) -> list[str]:
    """Return what is wrong between raw users with more columns and their feed."""
    declared = feeds(f"users: {feed}")["users"] if feed else None
    return list(problems_of("users", declared, columns_with(*more), RAW["users"]))


@pytest.mark.parametrize("known", loader_columns(), ids=lambda known: known.column)
def test_f9_a_loader_s_column_without_a_feed_is_told_with_what_declares_it(known):
    (sentence,) = told(None, known.column.upper())
    assert sentence.startswith(f"users has the column {known.column} of {known.loader}")
    assert "no feed reads it. Write in dbt_project.yml\n    vars:\n" in sentence
    written = sentence.partition("dbt_project.yml\n")[2].partition("\n    or,")[0]
    declared = yaml.safe_load(written)["vars"]["feeds"]["users"]
    assert declared == known.declare
    declared = {k: "at" if str(v).startswith("<") else v for k, v in declared.items()}
    assert read_feeds({"users": declared}, RAW)["users"], (
        "what is told to write is read"
    )
    assert known.source.startswith("https://")


@pytest.mark.parametrize("known", loader_columns(), ids=lambda known: known.column)
def test_f9_what_is_told_to_write_is_enough(known):
    declared = {
        k: "date_modified" if str(v).startswith("<") else v
        for k, v in known.declare.items()
    }
    text = yaml.safe_dump(declared, default_flow_style=True)
    assert not [s for s in told(text, known.column) if "no feed reads it" in s]


def test_f9_a_feed_that_reads_another_column_overlooks_a_loader_s():
    said = told(
        "{loader: dbt_snapshot}", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted"
    )
    assert len(said) == 1
    assert "dbt_is_deleted of a dbt snapshot, hard_deletes: new_record" in said[0]


def test_f9_a_column_that_a_loader_would_write_is_told_with_what_else_to_declare():
    _, deleted = told("{loader: airbyte}")
    assert "no column '_ab_cdc_deleted_at'" in deleted
    assert (
        "Airbyte, change data capture writes it; a table that is loaded in" in deleted
    )
    (own,) = told("{kind: current, deleted_when: gone}")
    assert own.endswith("no column 'gone', which its feed names")


def test_f9_ignores_says_that_a_column_means_nothing():
    assert told(None, "op")
    assert told("{kind: appended, ignores: [op]}", "op") == []
    assert told("{kind: appended, ignores: [OP]}", "op") == []
    assert len(told("{kind: appended, ignores: [op]}", "op", "__deleted")) == 1


GIVING = [name for name, table in RAW.items() if table["gives_rights"]]


def with_column(name: str, column: str, feed: str = "{}") -> list[str]:
    """Return what is wrong with a raw table that has one more column."""
    columns = dict.fromkeys([*RAW[name]["columns"], column], "string")
    declared = feeds(f"{name}: {feed}")[name]
    return list(problems_of(name, declared, columns, RAW[name]))


def test_the_tables_that_give_rights_are_those_of_permissions_and_memberships():
    assert [
        *("user_global_roles", "user_group_members", "data_source_permissions"),
        *("project_permissions", "project_data_sources", "report_permissions"),
    ] == GIVING


@pytest.mark.parametrize(
    ("name", "column"),
    [("user_group_members", each) for each in limit_columns()]
    + [(each, "expires_at") for each in GIVING],
)
def test_a_limit_of_rights_that_nothing_reads_is_told(name, column):
    (sentence,) = with_column(name, column.upper())
    assert f"{name} has the column {column.upper()}".lower() in sentence.lower()
    assert f"ignores: [{column}]" in sentence.lower()
    assert with_column(name, column, f"{{ignores: [{column}]}}") == []
    said = f"{{columns: {{{limit_columns()[column]}: {column}}}}}"
    assert said in sentence.replace(column.upper(), column)
    declared = {name: {"columns": {limit_columns()[column]: column.upper()}}}
    macros = Macros(document_of(PRODUCTS), types={})
    macros.stand_in(var=lambda name, default=None: (VARS | {"feeds": declared})[name])
    table = macros.repository_tables()[name]
    columns = dict.fromkeys([*RAW[name]["columns"], column.upper()], "string")
    feed = read_feeds(declared, {name: table})[name]
    assert list(problems_of(name, feed, columns, table)) == []


@pytest.mark.parametrize(
    "column",
    [
        "expiresAt",
        "EXPIRESAT",
        "validUntil",
        "ended_at",
        "valid_to_date",
        "Valid_Until",
    ],
)
def test_a_limit_of_rights_is_told_in_any_spelling(column):
    (sentence,) = with_column("user_group_members", column)
    assert f"{{columns: {{valid_until: {column}}}}}" in sentence
    assert with_column("user_group_members", column, f"{{ignores: [{column}]}}") == []


def test_a_limit_that_another_column_stands_for_is_told():
    declared = {"user_group_members": {"columns": {"valid_until": "expires_at"}}}
    macros = Macros(document_of(PRODUCTS), types={})
    macros.stand_in(var=lambda name, default=None: (VARS | {"feeds": declared})[name])
    table = macros.repository_tables()["user_group_members"]
    there = [*RAW["user_group_members"]["columns"], "expires_at", "valid_until"]
    feed = read_feeds(declared, {"user_group_members": table})["user_group_members"]
    (sentence,) = problems_of(
        "user_group_members", feed, dict.fromkeys(there, "string"), table
    )
    assert "has the column valid_until" in sentence


def test_limits_are_columns_where_a_feed_names_them():
    declared = yaml.safe_load(
        "default: {columns: {valid_until: ends}}\n"
        "user_group_members: {columns: {valid_until: null, valid_from: begins}}\n"
        "project_permissions: {kind: current}"
    )
    macros = Macros(document_of(PRODUCTS), types={})
    macros.stand_in(var=lambda name, default=None: (VARS | {"feeds": declared})[name])
    tables = macros.repository_tables()
    limits = {
        name: [limit for limit in ("valid_from", "valid_until") if limit in columns]
        for name, columns in ((n, table["columns"]) for n, table in tables.items())
    }
    assert limits.pop("user_group_members") == ["valid_from"]
    assert limits.pop("project_permissions") == [], "loaded in another way"
    assert {n for n, found in limits.items() if found == ["valid_until"]} == {
        *GIVING
    } - {"user_group_members", "project_permissions"}
    assert macros.rights_in_time() == [n for n in GIVING if n != "project_permissions"]
    found = read_feeds(declared, tables)
    assert found["report_permissions"]["sources"]["valid_until"] == "ends"
    assert found["user_group_members"]["sources"]["valid_from"] == "begins"
    with pytest.raises(FeedProblem, match="'valid_until', which users has not"):
        read_feeds({"users": {"columns": {"valid_until": "ends"}}}, tables)


def test_a_limit_that_a_feed_reads_as_a_period_is_none_of_a_right():
    periods = "{kind: periods, valid_from: valid_from, valid_to: valid_to}"
    columns = dict.fromkeys(
        [*RAW["user_group_members"]["columns"], "valid_from", "valid_to"], "string"
    )
    declared = feeds(f"user_group_members: {periods}")["user_group_members"]
    table = RAW["user_group_members"]
    assert not list(problems_of("user_group_members", declared, columns, table))
    assert with_column("jobs", "expires_at") == [], "jobs give no rights"


def test_columns_that_are_missing_are_told_all_at_once():
    columns = columns_with("at")
    del columns["email"], columns["time_zone"]
    declared = feeds("users: {kind: snapshots, moment: load, columns: {time_zone: tz}}")
    said = list(problems_of("users", declared["users"], columns, RAW["users"]))
    assert [sentence.partition(":")[0] for sentence in said] == [
        "users has no column 'email', which is read",
        "users has no column 'tz', which is read as its time_zone",
        "users has no column 'load', which is read as its sf_date_created",
    ]
    assert "; `default` for the table's name means all tables" in said[0]


WRONG_TYPES = {
    "a nested column": (
        {"email": "array<string>"},
        None,
        "array<string>, of which no string",
    ),
    "a time as a number": (
        {"date_created": "bigint"},
        None,
        "of which no timestamp is read: write `feeds: {users: {reads: {timestamps:",
    ),
    "a moment as a number": (
        {"at": "bigint"},
        f"{{{LOG}}}",
        "no timestamp is read: write `feeds: {users: {moment_in: epoch_millis}}`",
    ),
    "a time as an id": (
        {"id": "timestamp"},
        None,
        "timestamp, of which no bigint is read",
    ),
    "a flag as a double": (
        {"is_active": "double"},
        None,
        "of which no boolean is read",
    ),
}


PERIODS = "{kind: periods, valid_from: at, valid_to: until}"
POSITIONED = "{kind: log, moment: [at, pos], deleted_when: \"op = 'd'\"}"
WRONG_TYPES |= {
    f"a position of the type {kind}": (
        {"pos": kind},
        POSITIONED,
        f"the column 'pos' of users is of the type {kind}, of which no position is"
        " read: name a column of whole numbers",
    )
    for kind in (
        *("timestamp", "timestamp_ntz", "date", "boolean", "binary", "float"),
        *("array<int>", "struct<a:int>", "map<string,int>", "interval day"),
    )
}
WRONG_TYPES |= {
    "a position alone": (
        {"at": "timestamp"},
        f"{{{LOG}, moment_in: position}}",
        "timestamp, of which no position is read",
    ),
    "an end as a number": (
        {"until": "bigint"},
        PERIODS,
        "the column 'until' of users is of the type bigint, of which no timestamp is"
        " read: write `feeds: {users: {moment_in: epoch_millis}}`",
    ),
    "an end as a flag": (
        {"until": "boolean"},
        PERIODS,
        "boolean, of which no timestamp is read",
    ),
    "an epoch as a float": (
        {"until": "float", "at": "bigint"},
        PERIODS.replace("}", ", moment_in: epoch_millis}"),
        "the column 'until' of users is of the type float, of which no timestamp",
    ),
    "a day as an epoch": (
        {"until": "date", "at": "timestamp"},
        PERIODS.replace("}", ", moment_in: epoch_millis}"),
        "type date, of which no timestamp is read by epoch_millis: write `feeds:"
        " {users: {moment_in: timestamp}}`",
    ),
    "a time as a mark": (
        {"Gone": "timestamp"},
        "{kind: current, deleted_when: gone}",
        "the column 'gone' of users is of the type timestamp, of which no flag is read:"
        " write what is true of a deleted row, such as `deleted_when: gone is not"
        " null`",
    ),
    "a list as a mark": (
        {"gone": "array<boolean>"},
        "{kind: current, deleted_when: not gone}",
        "array<boolean>, of which no flag is read",
    ),
    "a deletion that is a number by its column": (
        {"gone": "int"},
        "{kind: current, deleted_when: 'coalesce(gone, 0)'}",
        "users: 'deleted_when' is of the type number, and must be true or false",
    ),
    "a deletion that is a text by its column": (
        {"Gone": "string"},
        "{kind: current, deleted_when: 'coalesce(gone, op)'}",
        "users: 'deleted_when' is of the type string, and must be true or false",
    ),
    "a deletion that a text is a part of": (
        {"gone": "string"},
        "{kind: current, deleted_when: 'gone or op = 1'}",
        "users: 'deleted_when' has 'gone' where something true or false must be",
    ),
    "a deletion by a function of its own": (
        {},
        "{kind: current, deleted_when: 'app.is_gone(op)'}",
        "'deleted_when' has 'app.is_gone(op)', of which no type is known: write"
        " `try_cast(app.is_gone(op) as boolean)`",
    ),
    "a finished load by its number": (
        {"state": "int"},
        "{kind: snapshots, moment: at, complete_when: state}",
        "users: 'complete_when' is of the type number, and must be true or false",
    ),
}


@pytest.mark.parametrize(
    ("types", "feed", "sentence"), WRONG_TYPES.values(), ids=WRONG_TYPES
)
def test_a_type_of_which_nothing_is_read_is_told(types, feed, sentence):
    declared = feeds(f"users: {feed}")["users"] if feed else None
    columns = columns_with(*(declared["names"] if declared else [])) | types
    (said,) = problems_of("users", declared, columns, RAW["users"])
    assert sentence in said


def test_an_epoch_that_is_declared_is_read_of_numbers():
    declared = feeds(f"users: {{{LOG}, moment_in: epoch_millis}}")["users"]
    columns = columns_with("op") | {"at": "bigint"}
    assert list(problems_of("users", declared, columns, RAW["users"])) == []


def test_all_that_is_wrong_with_a_replica_is_one_list():
    found = {"users": columns_with("op"), "jobs": None}
    problems = problems_of_replica(found, "replica", {}, RAW)
    assert len(problems) == 2
    sentence = told_of_replica(problems, "replica")
    assert "The raw tables in replica can't be read as declared. 2 things" in sentence
    assert "replica has no table jobs: if the application has none, write" in sentence


def test_tables_that_a_replica_lacks_are_one_sentence():
    absent = "write `vars: {absent_tables: [jobs, tests]}`"
    found = {"jobs": None, "users": columns_with(), "tests": None}
    (said,) = problems_of_replica(found, "replica", {}, RAW)
    assert said.startswith("replica has no tables jobs, tests: if the application")
    assert said.endswith(absent)
    # A schema that has none of them is perhaps another one.
    (said,) = problems_of_replica(dict.fromkeys(("jobs", "tests")), "other", {}, RAW)
    assert "`vars: {raw_schema: <where>}`" in said and said.endswith(absent)


@pytest.fixture
def replica():
    """The macros over raw tables of which four are not as declared."""
    macros = Macros(document_of(PRODUCTS), types={})
    sources = {
        name: {
            **{"package_name": "secure_datasets", "name": name},
            **{"relation_name": f"replica.{name}"},
        }
        for name in RAW
    }
    there = {
        f"replica.{name}": dict.fromkeys(table["columns"], "string")
        for name, table in RAW.items()
    }
    there["replica.users"] |= {"op": "string"}
    there["replica.jobs"] = None
    del there["replica.events"]["category"]
    there["replica.user_group_members"] |= {"Expires_At": "timestamp"}
    variables = VARS | {"raw_schema": "replica"}
    macros.stand_in(
        adapter=SimpleNamespace(
            secure_datasets=macros.secure_datasets, raw_columns=there.get
        ),
        flags=SimpleNamespace(INTROSPECT=True),
        graph=SimpleNamespace(sources=sources),
        reads_sample=lambda: False,
        selected_resources=[f"model.secure_datasets.stg_{name}" for name in RAW],
        var=lambda name, default=None: variables.get(name, default),
    )
    return macros


WRONG = (
    *("users has the column op", "no table jobs", "events has no column 'category'"),
    "user_group_members has the column Expires_At, which says until when a right holds",
)


@pytest.mark.parametrize("ask", ["check_feeds", "check_replica"])
def test_f9_a_run_and_the_check_tell_all_that_is_wrong_before_anything(replica, ask):
    with pytest.raises(Stopped) as stopped:
        getattr(replica, ask)()
    said = str(stopped.value)
    assert "4 things are wrong" in said
    assert all(each in said for each in WRONG)


@pytest.mark.parametrize(("staged", "is_stopped"), [("tests", False), ("events", True)])
def test_f9_a_run_looks_at_the_raw_tables_that_it_stages(replica, staged, is_stopped):
    replica.stand_in(selected_resources=[f"model.secure_datasets.stg_{staged}"])
    stops = pytest.raises(Stopped, match="events has no column") if is_stopped else None
    with stops or nullcontext():
        replica.check_feeds()


def test_f9_a_run_is_stopped_before_it_writes_anything():
    project = yaml.safe_load((ROOT / "dbt_project.yml").read_text(encoding="utf-8"))
    calls = [hook.strip("{ }") for hook in project["on-run-start"]]
    assert calls.index("secure_datasets.check_feeds()") < calls.index("begin_run()")


def test_every_key_of_a_feed_is_on_the_page_about_feeds():
    page = (ROOT / "docs" / "feeds.md").read_text(encoding="utf-8")
    for name in Feed.model_fields:
        assert f"`{name}`" in page
    for loader in PRESETS:
        assert f"`loader: {loader}`" in page
