"""A dataset's rules as the row filter and the masks of an engine's own table.

PostgreSQL runs them: an account sees through its policy the rows of the printed
predicate. What the other engines would be given is compared with golden text, which a
parser of their dialect reads; nothing was ever run there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import duckdb
import pytest
import sqlglot
from oracle.policies import Case
from policy_tables import script, tables_of
from projects import ROOT
from random_policies import USERS, document, random_case
from rendering import Macros, Stopped
from sqlglot import exp

from secure_datasets.config.models import Models
from secure_datasets.macro_methods import SecureDatasets
from secure_datasets.render.by_itself import mask_for_accounts
from secure_datasets.render.row_filters import ENGINES, PREFIX

GOLDEN = ROOT / "tests/golden/policies"
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, unit, day, amount, cost]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
    open_runs:
        base: all_runs
        columns: [run_id, team_id, unit, day, amount, cost, secret]
        unique_key: [run_id]
        visible_to: everyone
policies:
    - {role: it's A, resource: runs, condition: "day >= date'2026-01-31'"}
    - {role: B, resource: runs.unit, mask: "concat('unit ', run_id)", mask_order: 2}
    - {role: C, resource: runs.unit, mask: "'none'"}
    - {except: [C], resource: runs.amount, condition: amount > 3, mask: "0"}
    - {except: [C], resource: runs, as: restrictive, condition: cost <=> 'x'}
    - {role: D, resource: open_runs}
"""
TYPES = {
    "all_runs": {
        "run_id": "bigint", "team_id": "bigint", "unit": "string", "day": "date",
        "amount": "decimal(9,4)", "cost": "string", "secret": "string",
    }
}  # fmt: skip


SEEDS = range(30)


def rendered(engine: str, dataset: str = "runs", text: str = DOCUMENT, **more) -> list:
    """Return the statements that the operation prints."""
    macros = Macros(text, types=TYPES, ref="lake.{}".format)
    macros.render_policies(dataset, engine, **more)
    return macros.printed


@pytest.mark.parametrize("engine", ENGINES)
def test_the_statements_for_each_engine(engine, request):
    text = "\n".join(rendered(engine))
    golden = GOLDEN / f"{engine}.sql"
    if request.config.getoption("--renew-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parser_of_the_dialect_reads_each_body_and_its_names_are_arguments(engine):
    dialect = ENGINES[engine]
    bodies = 0
    for statement in rendered(engine):
        head, *body = re.split(r"\nreturn\n|->\n", statement.rstrip(";"))
        if not body:
            continue
        arguments = set(re.findall(rf"{PREFIX}\w+", head))
        tree = sqlglot.parse_one(body[0], dialect=dialect)
        columns = list(tree.find_all(exp.Column))
        named = {column.name for column in columns if not column.table}
        assert named <= arguments, statement
        # The first of a mask is its column, be it looked at or not.
        assert arguments - named <= {f"{PREFIX}unit", f"{PREFIX}amount"}
        bodies += 1
    assert bodies == (2 if engine == "postgres" else 3)


def test_databricks_functions_are_read_whole():
    trees = [
        sqlglot.parse_one(statement, dialect="databricks")
        for statement in rendered("unity_catalog")
        if statement.startswith("create")
    ]
    assert [type(tree) for tree in trees] == [exp.Create] * 4


def test_functions_and_policies_are_made_where_it_is_said():
    text = "\n".join(rendered("unity_catalog", schema="main.security"))
    assert "create or replace function main.security.filter_runs(" in text
    assert "held.user_id = main.security.current_reader()" in text
    assert "set row filter main.security.filter_runs on (cost, day, team_id)" in text


def test_accounts_are_those_of_the_variable_or_of_the_argument():
    assert "from security.accounts as accounts" in rendered("postgres")[0]
    (first, *_) = rendered("postgres", accounts="other.people")
    assert "from other.people as accounts" in first
    statements = rendered("unity_catalog", accounts="main.other.people")
    assert "from main.other.people as accounts" in "\n".join(statements)


def test_a_policy_of_snowflake_has_an_argument_though_it_decides_by_none():
    text = "\n".join(rendered("snowflake", "open_runs"))
    assert f"as ({PREFIX}run_id BIGINT)\nreturns boolean" in text
    assert 'add row access policy lake.filter_open_runs on ("RUN_ID");' in text
    text = "\n".join(rendered("unity_catalog", "open_runs"))
    assert "lake.filter_open_runs()\nreturns boolean" in text
    assert "set row filter lake.filter_open_runs on ();" in text


def with_policy(policy: str) -> str:
    """Return the document with one more policy."""
    return f"{DOCUMENT}    - {policy}\n"


@pytest.mark.parametrize(
    ("engine", "text", "said"),
    [
        (
            "snowflake",
            with_policy("{role: E, resource: runs.day, mask: 'null'}"),
            "dataset 'runs': snowflake takes a column in one policy only, .* day: make",
        ),
        (
            "snowflake",
            with_policy(
                "{role: E, resource: runs.cost, mask: '0', condition: unit = 'X'}"
            ),
            "snowflake takes a column in one policy only, .* unit: make",
        ),
        ("oracle", DOCUMENT, "unknown engine 'oracle'; known are unity_catalog, snow"),
        (
            "postgres",
            with_policy("{role: E, resource: runs, condition: own.my_function(unit)}"),
            "postgres can't say 'my_function'",
        ),
    ],
)
def test_what_an_engine_can_t_be_given_is_one_sentence(engine, text, said):
    with pytest.raises(Stopped, match=said):
        rendered(engine, text=text)


def test_the_operation_needs_no_spark(dbt, parsed, capfd):
    arguments = "{dataset: tests, engine: postgres, accounts: security.people}"
    command = ("run-operation", "render_policies", "--args", arguments)
    capfd.readouterr()
    result = dbt("--quiet", *command, manifest=parsed)
    assert result.success, result.exception
    statements = capfd.readouterr().out.split(";\n")
    assert "from security.people as accounts" in statements[0]
    assert "secure_datasets.filter_tests(this_row_project_id BIGINT)" in statements[4]
    assert statements[-2].endswith('using (secure_datasets.filter_tests("project_id"))')


BY_TAG = (
    """{except: [C], resource: {tag: pii}, mask: {string: "'none'", default: "0"}}"""
)
TAGS = {"all_runs": {"cost": ["pii"], "unit": ["pii"], "amount": ["pii"]}}


def by_tag(engine: str, policy: str, monkeypatch) -> str:
    """Return the statements with a mask on a tag in the place of what names columns."""
    monkeypatch.setattr("rendering.TAGS", TAGS)
    named = ("resource: runs.", "cost <=>")
    lines = [
        line for line in DOCUMENT.splitlines() if not any(n in line for n in named)
    ]
    text = "\n".join([*lines, f"    - {policy}"])
    return "\n".join(rendered(engine, text=text))


def test_M16_a_mask_on_a_tag_is_a_policy_on_the_tag_where_the_engine_has_them(
    monkeypatch,
):
    text = by_tag("unity_catalog", BY_TAG, monkeypatch)
    assert text.count("create or replace function lake.mask_pii_string(") == 1
    assert text.count("create or replace function lake.mask_pii_decimal(") == 1
    for column, kind in {
        "cost": "string",
        "unit": "string",
        "amount": "decimal",
    }.items():
        tagged = f"alter column {column} set tags ('pii' = '{kind}');"
        assert text.count(tagged) == 1
    assert text.count("match columns has_tag_value('pii', 'string') as tagged") == 1
    assert "create or replace policy mask_pii_string on table lake.all_runs\n" in text
    assert "set mask" not in text
    text = by_tag("snowflake", BY_TAG, monkeypatch)
    assert (
        text.count("create masking policy if not exists lake.mask_pii_varchar\n") == 1
    )
    assert "alter tag lake.pii set masking policy lake.mask_pii_number force;" in text
    assert text.count("set tag lake.pii = 'varchar';") == 2
    assert "set masking policy lake.mask_runs" not in text
    # A mask that reads another column is put on by name.
    policy = BY_TAG.replace("\"'none'\"", '"cast(day as string)"')
    text = by_tag("unity_catalog", policy, monkeypatch)
    assert "alter column cost set mask lake.mask_runs_cost using columns (day)" in text
    assert "alter column cost set tags" not in text
    # PostgreSQL has no masks.
    assert "'pii'" not in by_tag("postgres", BY_TAG, monkeypatch)


@pytest.mark.parametrize("engine", ["unity_catalog", "snowflake"])
@pytest.mark.parametrize(
    "policy",
    [
        BY_TAG.replace("except: [C]", "except: [C], condition: run_id > 1"),
        BY_TAG.replace("pii", "pii-2"),
        BY_TAG.replace("except: [C]", "shown_to: [{role: C, where: run_id > 1}]"),
        BY_TAG + "\n    - {role: B, resource: runs.unit, mask: \"'b'\", mask_order: 1}"
        "\n    - {role: B, resource: runs.amount, mask: '1', mask_order: 1}"
        "\n    - {role: B, resource: runs.cost, mask: \"'b'\", mask_order: 1}",
    ],
)
def test_M16_what_a_policy_on_a_tag_can_t_say_is_a_mask_by_name(
    engine, policy, monkeypatch
):
    tags = {"all_runs": {column: ["pii", "pii-2"] for column in TAGS["all_runs"]}}
    monkeypatch.setattr(f"{__name__}.TAGS", tags)
    text = by_tag(engine, policy, monkeypatch)
    assert text.count(" mask lake.mask_runs_") + text.count(
        " masking policy lake.mask_runs_"
    ) == 3 * (1 if engine == "unity_catalog" else 2)
    assert " set tag" not in text


def test_what_was_never_run_says_so():
    for engine in ENGINES:
        is_said = "and never run there" in rendered(engine)[0]
        assert is_said == (engine != "postgres")


def test_what_is_no_table_of_rows_has_no_policies():
    with pytest.raises(Stopped, match="has no policies; known are runs"):
        rendered("postgres", "reports")
    case = next(
        case
        for case in map(random_case, SEEDS)
        if any(dataset.is_query for dataset in case.datasets)
    )
    (name, *_) = [dataset.name for dataset in case.datasets if dataset.is_query]
    types = {table: columns for table, (columns, _) in tables_of(case).items()}
    macros = Macros(document(case), types=types)
    with pytest.raises(Stopped, match=f"'{name}': is a query, made anew for each read"):
        macros.render_policies(name, "postgres")
    assert macros.printed == []


@pytest.mark.parametrize("accounts", ["people", "a b.c", "x.y; drop z", "a.b.c.d"])
def test_the_accounts_must_be_a_relation(accounts):
    with pytest.raises(Stopped, match=r"accounts is '.+'; it must be the relation"):
        rendered("postgres", accounts=accounts)


def test_a_column_without_a_type_can_t_be_an_argument(monkeypatch):
    monkeypatch.setitem(TYPES["all_runs"], "day", "")
    with pytest.raises(Stopped, match="says no data_type of 'day', which an argument"):
        rendered("unity_catalog")


def test_a_column_that_is_called_as_arguments_are_is_refused(monkeypatch):
    monkeypatch.setitem(TYPES["all_runs"], f"{PREFIX}x", "string")
    with pytest.raises(Stopped, match=f"a column is called '{PREFIX}x', and arguments"):
        rendered("unity_catalog")


def test_a_part_of_a_column_can_t_be_an_argument(monkeypatch):
    monkeypatch.setitem(TYPES["all_runs"], "unit", "struct<name:string>")
    text = with_policy("{role: E, resource: runs, condition: \"unit.name = 'x'\"}")
    text = text.replace("mask: \"concat('unit ', run_id)\"", "mask: 'null'")
    text = text.replace("mask: \"'none'\"", "mask: 'null'")
    with pytest.raises(Stopped, match=r"names 'unit\.name', a part of a column, which"):
        rendered("unity_catalog", text=text)


def mask_for(column: str, user: str) -> str:
    """Return what an account gets for a column, for DuckDB."""
    macros = Macros(DOCUMENT, types=TYPES)
    config = macros.secure_datasets_config()
    text = mask_for_accounts(macros.rules(config), "runs", column)
    datasets = SecureDatasets(Models(TYPES))
    return datasets.printed(text, "runs", config, user, "runs", None, "duckdb")


@pytest.mark.parametrize(
    ("user", "unit", "amount"),
    [
        # Nobody: the mask of the highest order.
        ("cast(null as bigint)", "unit 7", 0),
        # B, then B and C, then C, who alone is spared the mask of the amount.
        ("1", "unit 7", 2),
        ("2", "unit 7", 2),
        ("3", "none", 2),
        ("4", "true", 2),
    ],
)
def test_an_account_without_a_user_gets_masks_for_values(user, unit, amount):
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "create table vw_secure_user_roles as select * from (values (1, 'B'),"
            " (2, 'B'), (2, 'C'), (3, 'C')) as t(user_id, role_name)"
        )
        masks = ", ".join(mask_for(column, user) for column in ("unit", "amount"))
        (found,) = connection.execute(
            f"select {masks} from (select 7 as run_id, 'true' as unit,"
            " cast(2 as decimal(9,4)) as amount) as runs"
        ).fetchall()
    assert found == (unit, amount)


ACCOUNTS = {f"reader_{user}": user for user in USERS}
# Without a user, with two, with one who is not live, and not in the relation.
NOBODY = ["reader_without", "reader_of_two", "reader_gone", "reader_unknown"]
GONE = 99


def made(case: Case, schema: str) -> Iterator[str]:
    """Write the statements that make the tables of a case, and its accounts."""
    yield from script(case, schema, "postgres")
    yield "create table accounts (account text, user_id bigint)"
    for name, user in [
        *ACCOUNTS.items(),
        ("reader_without", "null"),
        ("reader_of_two", USERS[0]),
        ("reader_of_two", USERS[1]),
        ("reader_gone", GONE),
    ]:
        yield f"insert into accounts values ('{name}', {user})"
    # What one who is not live held must not count.
    yield f"insert into stg_users values ({GONE}, false)"
    yield f"insert into access select team_id, {GONE} from teams"
    yield (
        f"insert into vw_secure_user_roles select {GONE}, user_group_id, role_name"
        " from vw_secure_user_roles"
    )
    yield f"grant usage on schema {schema} to public"
    # What a reader's own path finds must not stand for what a rule reads.
    yield "reset search_path"


def asked(case: Case, schema: str) -> Iterator[str]:
    """Ask for each account's rows, through the policy and by the predicate."""
    types = {name: columns for name, (columns, _) in tables_of(case).items()}
    macros = Macros(document(case), types=types, ref=f"{schema}.{{}}".format)
    config = macros.secure_datasets_config()
    for dataset in case.datasets:
        if dataset.is_query:
            continue
        name = dataset.name
        ruling = macros.rules(config).ruling(name)
        base = f"{schema}.{ruling['base']}"
        row = f"json_build_array({', '.join(map('f.{}'.format, dataset.columns))})"
        macros.printed.clear()
        macros.render_policies(name, "postgres", f"{schema}.accounts")
        yield "".join(f"{text}\n" for text in macros.printed).rstrip().rstrip(";")
        yield f"grant select on {base} to public"
        for account in [*ACCOUNTS, *NOBODY]:
            yield f"set session authorization {account}"
            yield (
                f"select json_build_array('{name}', '{account}', 'policy', {row})"
                f" from {base} as f"
            )
            yield "reset session authorization"
        for account, user in ACCOUNTS.items():
            predicate = macros.row_predicate(name, config, user, "f", "postgres")
            yield (
                f"select json_build_array('{name}', '{account}', 'predicate', {row})"
                f" from {base} as f where {predicate}"
            )
        yield f"drop policy filter_{name} on {base}"
        yield f"drop policy if exists restrict_{name} on {base}"
        yield f"alter table {base} disable row level security"
        yield f"revoke select on {base} from public"


def test_an_account_sees_through_the_policy_the_rows_of_its_user(request):
    run: Callable[[str], str] = request.getfixturevalue("psql")
    run("".join(f"create role {name} login;" for name in [*ACCOUNTS, *NOBODY]))
    sights = set()
    for seed in SEEDS:
        case, schema = random_case(seed), f"policies_{seed}"
        statements = [*made(case, schema), *asked(case, schema)]
        seen: dict[tuple[str, str, str], list[str]] = {}
        for line in filter(None, run(";\n".join(statements) + ";").split("\n")):
            name, account, how, row = json.loads(line)
            seen.setdefault((name, account, how), []).append(json.dumps(row))
        for dataset in case.datasets:
            for account in ACCOUNTS:
                through = sorted(seen.get((dataset.name, account, "policy"), []))
                wanted = sorted(seen.get((dataset.name, account, "predicate"), []))
                assert through == wanted, (seed, dataset.name, account)
                sights.add(tuple(wanted))
            for account in NOBODY:
                assert (dataset.name, account, "policy") not in seen
    assert len(sights) >= len(SEEDS)


LOGINS = """
tiers:
    team: {access_view: access, object_keys: [team_id], carries: []}
datasets:
    logins:
        base: all_logins
        columns: [login_id, user, since, release_day]
        unique_key: [login_id]
        visible_to: everyone
policies:
    - role: A
      resource: logins
      condition: >-
        user <> 'root' and since >= release_day and since >= '2026-12-01 00:00:00'
        and release_day <= date'2026-12-01'
"""


def test_neither_the_session_of_a_reader_nor_a_columns_name_has_a_say(request):
    run: Callable[[str], str] = request.getfixturevalue("psql")
    types = {
        "all_logins": {
            "login_id": "bigint", "user": "string", "since": "timestamp",
            "release_day": "date",
        }
    }  # fmt: skip
    macros = Macros(LOGINS, types=types, ref="logins.{}".format)
    macros.render_policies("logins", "postgres", "logins.accounts")
    run(
        "create schema logins; set search_path to 'logins';"
        "create role login_reader login;"
        'create table all_logins (login_id bigint, "user" text, since timestamptz,'
        " release_day date);"
        "insert into all_logins values"
        " (1, 'ann', '2026-12-01 00:00:00+00', '2026-12-01'),"
        " (2, 'ann', '2026-11-30 23:59:59+00', '2026-12-01'),"
        " (3, 'ann', '2026-11-30 23:59:59+00', '2026-11-01'),"
        " (4, 'ann', '2026-12-02 00:00:00+00', '2026-12-02'),"
        " (5, 'root', '2026-12-01 00:00:00+00', '2026-12-01');"
        "create table stg_users (user_id bigint, is_live boolean);"
        "insert into stg_users values (1, true);"
        "create table vw_secure_user_roles (user_id bigint, role_name text);"
        "insert into vw_secure_user_roles values (1, 'A');"
        "create table accounts (account text, user_id bigint);"
        "insert into accounts values ('login_reader', 1);"
        # Nor has the session of whoever makes the functions.
        "reset search_path; set timezone = 'Pacific/Kiritimati';"
        "set datestyle = 'SQL, DMY';"
        + "\n".join(macros.printed)
        + "grant usage on schema logins to public;"
        "grant select on logins.all_logins to public;"
    )
    for setting in (
        "timezone = 'UTC'", "timezone = 'Pacific/Kiritimati'",
        "timezone = 'Pacific/Niue'", "datestyle = 'German'", "datestyle = 'SQL, DMY'",
    ):  # fmt: skip
        seen = run(
            f"set session authorization login_reader; set {setting};"
            "select login_id from logins.all_logins order by login_id;"
        )
        assert seen.split() == ["1"], setting
    # A time zone of the reader's would make moments of what has none.
    for kind in ("timestamp", "date"):
        run(
            "drop policy filter_logins on logins.all_logins;"
            f"alter table logins.all_logins alter column since type {kind};"
        )
        with pytest.raises(AssertionError, match="must be a timestamp with time zone"):
            run("\n".join(macros.printed))
        run("create policy filter_logins on logins.all_logins for select using (true);")


EVENTS = """
tiers:
    team: {access_view: access, object_keys: [team_id], carries: []}
datasets:
    events:
        base: all_events
        columns: [event_id, team_id, context]
        unique_key: [event_id]
        switch:
            column: context
            cases:
                Team: {tier: team, keys: {team_id: team_id}}
                Global: {visible_to: everyone}
"""


RESTRICTED = """
tiers:
    team: {access_view: access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
policies:
    - {role: A, resource: runs, as: restrictive, condition: run_id > 1}
"""


def test_an_account_without_a_user_does_not_even_see_public_rows(request):
    run: Callable[[str], str] = request.getfixturevalue("psql")
    types = {
        "all_events": {"event_id": "bigint", "team_id": "bigint", "context": "string"}
    }
    macros = Macros(EVENTS, types=types, ref="events.{}".format)
    macros.render_policies("events", "postgres", "events.accounts")
    names = ["events_of_one", "events_of_gone", "events_of_nobody"]
    run(
        "create schema events; set search_path to 'events';"
        + "".join(f"create role {name} login;" for name in names)
        + "create table all_events (event_id bigint, team_id bigint, context text);"
        "insert into all_events values (1, 10, 'Team'), (2, 20, 'Team'),"
        " (3, null, 'Global'), (4, 10, 'Odd');"
        "create table access (team_id bigint, user_id bigint);"
        "insert into access values (10, 1), (10, 2);"
        "create table stg_users (user_id bigint, is_live boolean);"
        "insert into stg_users values (1, true), (2, false);"
        "create table accounts (account text, user_id bigint);"
        "insert into accounts values ('events_of_one', 1), ('events_of_gone', 2);"
        "reset search_path;"
        + "\n".join(macros.printed)
        + "grant usage on schema events to public;"
        "grant select on events.all_events to public;"
    )
    ask = "select event_id from events.all_events order by event_id;"
    seen = [run(f"set session authorization {name}; {ask}").split() for name in names]
    assert seen == [["1", "3"], [], []]


def test_R16_a_further_policy_opens_nothing_that_a_restrictive_rule_hides(request):
    run: Callable[[str], str] = request.getfixturevalue("psql")
    types = {"all_runs": {"run_id": "bigint", "team_id": "bigint"}}
    macros = Macros(RESTRICTED, types=types, ref="restricted.{}".format)
    macros.render_policies("runs", "postgres", "restricted.accounts")
    run(
        "create schema restricted; set search_path to 'restricted';"
        "create role restricted_reader login; create role free_reader login;"
        "create table all_runs (run_id bigint, team_id bigint);"
        "insert into all_runs values (1, 10), (2, 10), (3, 20), (null, 20);"
        "create table access (team_id bigint, user_id bigint);"
        "insert into access values (10, 1), (10, 2);"
        "create table stg_users (user_id bigint, is_live boolean);"
        "insert into stg_users values (1, true), (2, true);"
        "create table vw_secure_user_roles (user_id bigint, role_name text);"
        "insert into vw_secure_user_roles values (1, 'A');"
        "create table accounts (account text, user_id bigint);"
        "insert into accounts values ('restricted_reader', 1), ('free_reader', 2);"
        "reset search_path;"
        + "\n".join(macros.printed)
        + "grant usage on schema restricted to public;"
        "grant select on restricted.all_runs to public;"
    )

    def seen(account: str) -> list[str]:
        ask = "select coalesce(run_id, 0) from restricted.all_runs order by run_id;"
        return run(f"set session authorization {account}; {ask}").split()

    assert (seen("restricted_reader"), seen("free_reader")) == (["2"], ["1", "2"])
    run("create policy more on restricted.all_runs for select using (true);")
    assert seen("restricted_reader") == ["2", "3"]
    assert seen("free_reader") == ["1", "2", "3", "0"]
    # Without the rule in the config, the statements take its policy off the table.
    text = RESTRICTED.split("policies:")[0]
    macros = Macros(text, types=types, ref="restricted.{}".format)
    macros.render_policies("runs", "postgres", "restricted.accounts")
    run("\n".join(macros.printed) + "drop policy more on restricted.all_runs;")
    assert seen("restricted_reader") == seen("free_reader") == ["1", "2"]


def test_nobody_but_the_owner_reads_what_decides(request):
    """The functions read with their owner's rights, which readers have not."""
    run: Callable[[str], str] = request.getfixturevalue("psql")
    case, schema = random_case(0), "decides"
    run("drop role if exists reader_alone; create role reader_alone login;")
    run(";\n".join(made(case, schema)) + ";")
    for name in tables_of(case):
        with pytest.raises(AssertionError, match="permission denied"):
            run(f"set session authorization reader_alone; table {schema}.{name};")
