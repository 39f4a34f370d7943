"""The command `secure-datasets`: what it answers, and what it says of what it can't."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from oracle.contract import TABLES
from projects import ROOT
from published_worlds import RUN, PublishedWorld

from secure_datasets import cli
from secure_datasets.cli import NO, UNASKED, YES, main
from secure_datasets.engines import memory, translation
from secure_datasets.engines.duckdb import NotRead, View
from secure_datasets.engines.published import SHAPE_OF_DOCUMENT
from secure_datasets.engines.spark import OtherCatalogs
from secure_datasets.project import NoProject, find
from secure_datasets.questions import lookups, names
from secure_datasets.questions.configs import ADDED
from secure_datasets.questions.names import Named

COMMANDS = (
    *("who", "why", "compare", "timeline", "as-of", "diff", "review", "decisions"),
    *("since", "what-if", "print", "render", "check", "test"),
    *("init", "models", "completion"),
)
DAY = "2026-01-01 00:00:00"


def row(table: str, key: int, **values: str) -> dict[str, str]:
    """Return a raw row: what is not said is null."""
    common = {"id": str(key), "is_active": "true", "date_created": DAY}
    common |= {"sf_date_created": DAY, "date_modified": DAY, "created_by": "ada"}
    return dict.fromkeys(TABLES[table]) | common | values


def small_world() -> dict[str, list[dict[str, str]]]:
    """Ada and two called Park: Ada has a project, and one Park another, by a group."""
    world: dict[str, list] = {table: [] for table in TABLES}
    for key, login, first, last in (
        (1, "ada", "Ada", "Byron"),
        (2, "hpark", "Hyun-woo", "Park"),
        (3, "npark", "Nora", "Park"),
        (5, "quinn4", "Quinn", "Ödegård"),
    ):
        email = f"{login}@example.com"
        world["users"].append(
            row("users", key, login_name=login, first_name=first, last_name=last)
            | {"email": email}
        )
    world["user_groups"] = [
        row("user_groups", 1, name="Staff"),
        row("user_groups", 2, name="Data Quality", parent_user_group_id="1"),
        row("user_groups", 3, name="Former Staff", is_active="false"),
    ]
    world["user_group_members"] = [
        row("user_group_members", 5, user_group_id="2", user_id="2")
    ]
    world["projects"] = [
        row("projects", 7, name="Card Settlement"),
        row("projects", 8, name="Card Issuing"),
        row("projects", 9, name="Plan 42"),
    ]
    world["reports"] = [row("reports", 4, name="Plan 42")]
    world["project_permissions"] = [
        row("project_permissions", 9, project_id="7", user_group_id="1"),
        row("project_permissions", 10, project_id="8", user_id="1"),
    ]
    world["tests"] = [
        row("tests", 12, project_id="7", name="Totals agree"),
        row("tests", 13, project_id="8", name="Cards are new"),
    ]
    return world


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> PublishedWorld:
    return PublishedWorld(tmp_path_factory.mktemp("published"), small_world())


@pytest.fixture
def ask(published, capsys):
    """Ask: `ask("who", "hpark")` gives the code, what is printed, and the notes."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--state", str(published.path)])
        told = capsys.readouterr()
        return code, told.out, told.err

    yield call
    published.write()
    published.path.with_name("published.run.json").unlink(missing_ok=True)


def test_Q1_the_answer_is_no_or_yes_or_could_not_be_asked(ask):
    row = ("--dataset", "vw_secure_dataset_tests", "--row", "test_id=12")
    code, out, err = ask("why", "hpark", *row)
    assert (code, err) == (YES, "")
    assert "Hyun-woo Park (hpark, user 2) sees test_id=12 of 'tests'." in out
    assert "row 9 of project_permissions" in out
    code, out, err = ask("why", "npark", *row)
    assert (code, err) == (NO, "")
    assert "does not see test_id=12 of 'tests': tier: " in out
    code, out, err = ask("why", "nobody", *row)
    assert (code, out) == (UNASKED, "")
    assert err == "why: there is no user 'nobody'.\n"


def test_Q1_an_answer_has_colour_on_a_terminal_and_none_in_a_pipe(ask, monkeypatch):
    question = ("why", "npark", "--dataset", "tests", "--row", "test_id=12")
    plain = ask(*question)
    assert "\033" not in plain[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for name, has_colour in (("NO_COLOR", False), ("COLOR", True)):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv(name, "1")
        code, out, err = ask(*question)
        assert ("\033[31mclosed\033[0m" in out) is has_colour
        bare = re.sub(r"\033\[[0-9]+m", "", out)
        assert (code, bare, err) == plain
    _, document, _ = ask(*question, "--format", "json")
    assert json.loads(document)["engine"] == "duckdb" and "\033" not in document


def test_Q1_the_answer_as_data_says_which_engine_answered_and_of_which_run(ask):
    question = ("why", "2", "--tier", "project", "--object", "project_id=7")
    code, out, _ = ask(*question, "--format", "json")
    found = json.loads(out)
    assert code == YES
    assert found["engine"] == "duckdb" and found["state"]["run"] == RUN
    assert found["answers"][0]["seen"] is True
    # The tier that has these keys is meant.
    assert ask("why", "2", "--object", "project_id=7") == ask(*question)
    code, out, _ = ask("who", "hpark", "--format", "json")
    (objects, datasets, *_) = json.loads(out)["tables"]
    assert objects["rows"] == [
        {"tier": "project", "object": "Card Settlement"}
        | {"access type": "Group", "through": 'Group "Staff"'}
    ]
    counts = {r["secure dataset"]: r["rows"] for r in datasets["rows"]}
    assert counts["vw_secure_dataset_tests"] == "1"
    _, out, _ = ask("who", "hpark", "--format", "csv")
    (first, *_) = csv.DictReader(io.StringIO(out))
    assert (first["tier"], first["object"]) == ("project", "Card Settlement")


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("2", "User 2, Hyun-woo Park (hpark)"),
        ("HPARK", "User 2, Hyun-woo Park (hpark)"),
        ("hpark@example.com", "User 2, Hyun-woo Park (hpark)"),
        ("hyun-woo park", "User 2, Hyun-woo Park (hpark)"),
        ("nora", "User 3, Nora Park (npark)"),
        ("user 3", "User 3, Nora Park (npark)"),
        ("quinn4", "User 5, Quinn Ödegård (quinn4)"),
        ("hyun par", "User 2, Hyun-woo Park (hpark)"),
    ],
)
def test_Q4_a_user_is_found_by_id_login_email_or_words(ask, user, said):
    code, out, _ = ask("who", user)
    assert code == YES and said in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["who", "park"], "'park' may be Nora Park (npark, user 3);"
         " Hyun-woo Park (hpark, user 2): write the id."),
        (["who", "hparc"], "there is no user 'hparc'; near it are"
         " Hyun-woo Park (hpark, user 2)"),
        # A part of a word is a candidate, and no match.
        (["who", "ora"], "there is no user 'ora'; near it are Nora Park (npark, user"),
        (["who", "--object", "card"], "'card' may be Card Issuing (project 8); Card"
         " Settlement (project 7): write the type and the id, as in 'project 8'."),
        (["who", "--object", "project card"], "Card Settlement (project 7): write the"
         " id."),
        (["who", "--object", "plan"], "'plan' may be Plan 42 (report 4); Plan 42"
         " (project 9): write the type before it, as in 'report plan'."),
        (["who", "--object", "test 12"], "there is no object 'test 12'; an object is of"
         " one of these types: project, report. Ask about a row of a dataset by why"
         " USER --dataset NAME --row KEYS."),
        (["who", "--object", "project 99"], "there is no project '99'."),
        (["who", "--object", "7"], "'7' is an id of no known type"),
        # No id is a part of other things' names, as that of an e-mail address.
        (["who", "4"], "there is no user '4'"),
        (["who", "-4"], "there is no user '-4'"),
        (["who", "04"], "there is no user '04'"),
        (["who", "4.0"], "there is no user '4.0'"),
        (["why", "1", "--object", "project 42"], "there is no project '42'"),
        (["why", "1", "--dataset", "tests", "--row", "test_id=12, test_id=13"],
         "'test_id' is given 2 times: give it once."),
        (["who", "--group", "x"], "there is no group 'x'."),
        (["who"], "name one of these: a user, --object, --group."),
        (["who", "1", "--group", "1"], "name one of these: a user, --object, --group;"
         " a user and --group are given."),
        (["who", "1", "--permission", "x"], "--permission is a right on an object"),
        (["why", "1"], "ask about a row, --dataset NAME --row KEYS, or about an object,"
         " --object OBJECT."),
        (["timeline"], "name one of these: a user, --object."),
        (["timeline", "1", "--object", "x"], "; a user and --object are given."),
        (["timeline", "park"], "'park' may be Nora Park"),
        (["timeline", "ora"], "there is no user 'ora'; near it are Nora Park"),
        (["timeline", "--object", "plan"], "as in 'report plan'"),
        (["why", "1", "--dataset", "tests", "--row", "test_id=99"], "is nowhere"),
    ],
)  # fmt: skip
def test_Q4_nothing_is_guessed_and_an_error_is_one_line(ask, arguments, sentence):
    code, out, err = ask(*arguments)
    assert (code, out) == (UNASKED, "")
    assert err.count("\n") == 1 and err.startswith(f"{arguments[0]}: ")
    assert sentence in err


def test_Q6_who_has_an_object_and_through_what(ask):
    code, out, _ = ask("who", "--object", "project card settlement", "--format", "json")
    found = json.loads(out)
    assert found["answer"] == (
        "1 user has Project Member on Card Settlement (project 7)."
    )
    assert [(r["user_id"], r["by"]) for r in found["tables"][0]["rows"]] == [
        (2, "row 9 of project_permissions, row 5 of user_group_members"),
    ]
    right = ("--permission", "member")
    code, out, _ = ask("who", "--object", "project 7", *right)
    assert code == YES and "Hyun-woo Park (hpark, user 2)" in out
    code, out, err = ask("who", "--object", "project 7", "--permission", "nonsense")
    assert code == UNASKED and err == (
        "who: there is no permission 'nonsense' on a project; the permissions that"
        " somebody has on one are Project Member.\n"
    )


def test_Q6_a_group_gives_what_those_above_it_give(ask):
    code, out, _ = ask("who", "--group", "former")
    assert (code, out) == (
        YES,
        "\nFormer Staff (group 3) is switched off, deleted or rejected: it gives"
        " nothing, and nobody is in it.\n\n",
    )
    code, out, _ = ask("who", "--group", "data quality", "--format", "json")
    gives, has = json.loads(out)["tables"]
    assert code == YES
    assert [row["by"] for row in gives["rows"]] == ["row 9 of project_permissions"]
    assert [(row["user_id"], row["through"]) for row in has["rows"]] == [(2, "in it")]
    _, out, _ = ask("who", "--group", "1", "--format", "json")
    _, has = json.loads(out)["tables"]
    assert [r["through"] for r in has["rows"]] == ["Data Quality (group 2)"]


def test_Q6_two_users_are_compared(ask):
    code, out, _ = ask("compare", "hpark", "ada", "--format", "json")
    one, other = json.loads(out)["tables"]
    assert code == YES
    assert [row["object"] for row in one["rows"]] == ["Card Settlement (project 7)"]
    assert [row["object"] for row in other["rows"]] == ["Card Issuing (project 8)"]
    code, out, _ = ask("compare", "hpark", "hpark")
    same = "Hyun-woo Park (hpark, user 2) is compared with the same user."
    assert (code, out.strip()) == (NO, same)


def test_Q3_a_state_that_can_t_be_asked_is_one_sentence(ask, published):
    values = published.values
    product = values["documents"]["secure_datasets"]
    cases = [
        ({"format": 2}, "is of format 2"),
        ({"documents": {}}, "without the secure datasets"),
        (
            {"documents": {"secure_datasets": product | {"version": "0.1.0"}}},
            f"written by version 0.1.0, and this command is of version"
            f" {version('secure-datasets')}",
        ),
        (
            {"documents": {"secure_datasets": product | {"python_part": "0"}}},
            f"by version {version('secure-datasets')} with different Python code",
        ),
    ]
    for changes, sentence in cases:
        published.write(**changes)
        code, out, err = ask("who", "1")
        assert (code, out) == (UNASKED, "") and sentence in err
        assert err.count("\n") == 1
    damaged = json.loads(json.dumps(values))
    del damaged["versions"][next(iter(damaged["versions"]))]["location"]
    for changes in (
        *({key: None} for key in ("relations", "versions", "graph", "documents")),
        *({key: 7} for key in ("run", "written_at", "project", "schema", "versions")),
        {"graph": {}},
        {"relations": {"secure_datasets.stg_users": {}}},
        {"versions": damaged["versions"]},
        *(
            {"documents": {"secure_datasets": product | {key: None}}}
            for key in [*SHAPE_OF_DOCUMENT, "version", "python_part"]
        ),
        {"documents": {"secure_datasets": []}},
    ):
        published.write(**changes)
        code, out, err = ask("who", "1")
        assert (code, out, err.count("\n")) == (UNASKED, "", 1)
        assert "run dbt" in err or "without the secure datasets" in err
    published.path.write_text("[" * 100_000)
    assert "is no published state" in ask("who", "1")[2]
    published.path.write_text("{")
    assert "is no published state" in ask("who", "1")[2]
    published.path.unlink()
    assert "no run of this target has finished" in ask("who", "1")[2]
    published.write()
    assert (
        "is of the schema secure_datasets, not x" in ask("who", "1", "--schema", "x")[2]
    )


def test_Q3_what_can_t_be_read_is_one_sentence(ask, published, monkeypatch):
    path = published.path
    path.unlink()
    published.begin_run(RUN)
    assert "no run of this target has finished" in ask("who", "1")[2]
    path.mkdir()
    code, out, err = ask("who", "1")
    path.rmdir()
    assert (code, out) == (UNASKED, "")
    assert err == f"who: {path} can't be read: Is a directory.\n"
    published.write()
    place = published.folder / f"stg_users__v{RUN}" / "part-0.parquet"
    whole = place.read_bytes()
    place.write_bytes(whole[::-1])
    code, out, err = ask("who", "1", "--engine", "duckdb")
    place.write_bytes(whole)
    assert (code, out, err.count("\n")) == (UNASKED, "", 1)
    assert "part-0.parquet" in err

    opened = type(path).open
    for file in (path.name, place.name):

        def refuse(self, *given, file=file, **named):
            if self.name == file:
                raise PermissionError(13, "Permission denied")
            return opened(self, *given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(type(path), "open", refuse)
            code, out, err = ask("who", "1")
        assert (code, out, err.count("\n")) == (UNASKED, "", 1)
        assert f"{file} can't be read: Permission denied" in err


@pytest.mark.parametrize("option", ["--target", "--schema", "--state", "--engine"])
def test_Q1_an_option_of_one_value_is_given_once(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["who", "1", option, "spark", option, "duckdb"])
    told = capsys.readouterr()
    assert (ended.value.code, told.out, told.err.count("\n")) == (UNASKED, "", 1)
    assert f"argument {option}" in told.err and "is given twice" in told.err


@pytest.mark.parametrize("is_of_right", [True, False], ids=["right", "access view"])
def test_Q4_an_object_of_a_tier_that_is_switched_off_is_one_sentence(
    ask, published, is_of_right
):
    values = json.loads(json.dumps(published.values))
    tiers = values["documents"]["secure_datasets"]["config"]["tiers"]
    view = tiers["project"]["access_view"]
    named = ("--object", "project 7")
    if is_of_right:
        del tiers["project"]["right"]
        said = "no tier asks for a right on Card Settlement (project 7): name one,"
        asked = {
            ("who", *named): f"{said} --permission",
            ("why", "2", *named): "no tier asks about Card Settlement (project 7); the",
        }
    else:
        del values["graph"]["nodes"][f"model.secure_datasets.{view}"]
        del values["relations"][f"secure_datasets.{view}"]
        said = f"the project has no relation {view}"
        asked = dict.fromkeys(
            [("why", "2", *named), ("who", "2"), ("compare", "1", "2")], said
        )
    published.path.write_text(json.dumps(values))
    for question, sentence in asked.items():
        code, out, err = ask(*question)
        assert (code, out, err.count("\n")) == (UNASKED, "", 1), err
        assert sentence in err
    code, out, _ = ask("who", *named, "--permission", "Project Member")
    assert code == YES and "Hyun-woo Park" in out


def test_Q3_a_file_that_is_gone_or_another_is_no_answer(ask, published):
    version = published.values["relations"]["secure_datasets.stg_users"]["version"]
    values = json.loads(json.dumps(published.values))
    (file,) = values["versions"][version]["files"]
    file[1] += 1
    published.path.write_text(json.dumps(values))
    assert "is another file than the run has written" in ask("who", "1")[2]
    file[0] = "gone.parquet"
    published.path.write_text(json.dumps(values))
    code, out, err = ask("who", "1")
    assert (code, out) == (UNASKED, "")
    assert "gone.parquet is no longer there: another" in err
    assert err.endswith("so run dbt once more.\n")


def test_Q3_an_answer_over_a_state_that_moves_is_given_up(ask, published, monkeypatch):
    answered = []
    by_engines = cli._by_engines

    def moved(*given):
        found = by_engines(*given)
        answered.append(found)
        published.write(written_at=f"later {len(answered)}")
        return found

    monkeypatch.setattr(cli, "_by_engines", moved)
    code, out, err = ask("who", "1")
    assert (code, out) == (UNASKED, "")
    assert len(answered) == 2 and "moves while it is read" in err


def test_Q3_a_run_that_has_not_ended_is_told_of(ask, published):
    published.begin_run("20260702000000_00000001")
    code, out, err = ask("who", "1")
    assert code == YES and "Ada Byron" in out
    assert err.startswith("Note: the run 20260702000000_00000001 has begun")
    for sign in ("", "{}", "[]", '{"format": 1}'):
        published.path.with_name("published.run.json").write_text(sign)
        code, out, err = ask("who", "1")
        assert (code, out) == (UNASKED, "") and "whether the last run has ended" in err
    # What was killed after it had written the state has switched nothing since.
    published.begin_run(RUN)
    assert ask("who", "1")[2] == ""


def test_Q3_what_duckdb_can_t_say_is_asked_of_spark_or_refused(ask, published):
    name = "secure_datasets.int_securable_objects"
    values = json.loads(json.dumps(published.values))
    values["relations"][name]["query"] += " where soundex(object_name) is not null"
    published.path.write_text(json.dumps(values))
    code, _, err = ask("who", "--object", "project 7", "--engine", "duckdb")
    assert code == UNASKED and "does not answer as Spark would" in err
    code, _, err = ask("who", "--object", "project 7")
    assert code == UNASKED
    note, sentence = err.splitlines()
    assert note.startswith("Note: asked of Spark, because DuckDB")
    assert sentence == "who: Spark can't be asked without a project: leave out --state."


@pytest.mark.parametrize(
    "attack",
    [
        "modules.re.enum.sys.modules['os'].system('touch {file}')",
        "adapter.state.path.with_name('broken').write_text('x')",
        "secure_datasets.state.path.with_name('broken').write_text('x')",
        "secure_datasets.engine.connection.execute(\"copy (select 1) to '{file}'\")",
        "secure_datasets['engine'].connection.execute(\"copy (select 1) to '{file}'\")",
        "secure_datasets['__dict__']['state'].path.with_name('broken').write_text('x')",
        "(secure_datasets | attr('state')).path.with_name('broken').write_text('x')",
        "([secure_datasets] | map(attribute='state') | first).path.touch('{file}')",
        "run_query(\"copy (select 1) to '{file}'\")",
        "run_query.__func__.__globals__['re'].enum.sys.modules['os'].mkdir('{file}')",
        "cycler.__init__.__globals__.os.mkdir('{file}')",
    ],
)
def test_Q3_a_state_runs_nothing_but_questions(ask, published, attack):
    file = published.path.with_name("broken")
    product = json.loads(json.dumps(published.values["documents"]["secure_datasets"]))
    call = attack.replace("{file}", str(file))
    # A macro that has the name of an attribute opens no way to that.
    for name in ("engine", "state"):
        product["macros"][name] = f"{{% macro {name}() %}}{{% endmacro %}}"
    product["macros"]["who"] = (
        f"{{% macro who(user) %}}{{% do {call} %}}{{% endmacro %}}"
    )
    published.write(documents={"secure_datasets": product})
    code, out, err = ask("who", "1", "--engine", "duckdb")
    assert (code, out, err.count("\n")) == (UNASKED, "", 1)
    assert not file.exists()


def test_Q1_a_failure_is_one_line_and_never_no(ask, published, monkeypatch):
    def fail(*given):
        raise KeyError("broken")

    monkeypatch.setattr(cli, "_by_engines", fail)
    code, out, err = ask("why", "1", "--dataset", "tests", "--row", "test_id=12")
    assert (code, out) == (UNASKED, "")
    assert err == "why: it fails: KeyError: 'broken'.\n"


def test_Q1_an_answer_that_nobody_reads_or_can_show_is_no_traceback(published):
    asked = f"{sys.executable} -m secure_datasets.cli who 5 --state '{published.path}'"
    for way, code in (("| true", 2), ("> /dev/full", 2), ("| cat", 0)):
        found = subprocess.run(
            ["bash", "-c", f"PYTHONIOENCODING=ascii {asked} {way}; exit $PIPESTATUS"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == code, found.stderr
        assert "Traceback" not in found.stderr and found.stderr.count("\n") < 2
    assert "Quinn \\xd6deg\\xe5rd" in found.stdout


def test_V7_filled_tables_come_with_the_form_of_their_days(tmp_path, capsys):
    header = "object type,object id,user id,seen,decision,decided by,decided on"
    line = f"Project,1,2,v1-{'0' * 32},keep,praman,"
    table, seed = tmp_path / "-a b.csv", tmp_path / "seed.csv"
    table.write_text(f"{header}\n{line}20.11.2025\n{line}\n")
    options = ("--seed", str(seed), "--dates", "DD.MM.YYYY", "--on", "2025-11-21")
    assert main(["decisions", *options, "--", str(table)]) == YES
    assert "2 keep, 0 remove" in capsys.readouterr().out
    assert "2025-11-20" in seed.read_text() and "2025-11-21" in seed.read_text()


def test_Q1_every_command_has_help_with_an_example(capsys):
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        assert f"example: secure-datasets {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["who", "--nonsense"], "unrecognized arguments: --nonsense;"),
        (
            ["who", "--objekt", "x"],
            "who: unrecognized arguments: --objekt; near it is --object; see"
            " secure-datasets who --help",
        ),
        (["what-if", "--remove-usr=1"], "near it is --remove-user;"),
        (["who", "hyun-woo", "park"], "arguments: park; put what has several words"),
        (["whoo", "1"], "argument COMMAND: invalid choice: 'whoo'; known are init,"),
        (["whoo", "1"], "; near it is 'who'; see secure-datasets --help"),
        # The beginning of an option is none.
        (["who", "1", "--project=x"], "unrecognized arguments: --project=x;"),
        # An answer to why is no table.
        (["why", "1", "--format", "csv"], "argument --format: invalid choice: 'csv'"),
        (["timeline", "1", "--format", "csv"], "argument --format: invalid choice:"),
    ],
)
def test_Q1_an_option_that_is_not_known_is_one_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    told = capsys.readouterr()
    assert (ended.value.code, told.out, told.err.count("\n")) == (UNASKED, "", 1)
    assert said in told.err


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("wh", "who why what-if"),
        ("who --gr", "--group"),
        ("who hpark --format j", "json"),
        ("why hpark --state publ", "published.json"),
        ("completion z", "zsh"),
    ],
)
def test_Q1_bash_completes_commands_options_and_values(
    published, capsys, typed, wanted
):
    assert main(["completion", "bash"]) == YES
    words = ["secure-datasets", *typed.split()]
    script = (
        f"{capsys.readouterr().out}\nCOMP_WORDS=({' '.join(words)})\n"
        f"COMP_CWORD={len(words) - 1}\n_shtab_secure_datasets\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    found = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        cwd=published.folder,
        check=True,
    )
    assert sorted(found.stdout.split()) == sorted(wanted.split()), found.stderr


def test_Q1_zsh_completes_too(capsys):
    assert main(["completion", "zsh"]) == YES
    printed = capsys.readouterr().out
    assert printed.startswith("#compdef secure-datasets") and "--remove-user" in printed


def test_Q2_neither_dbt_nor_spark_is_imported(published):
    script = (
        "import sys\nfrom secure_datasets.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "heavy = {name.split('.')[0] for name in sys.modules}\n"
        "print(code, sorted(heavy & {'dbt', 'dbt_common', 'pyspark', 'pydantic'}))"
    )
    asked = ["why", "3", "--tier", "project", "--object", "project_id=7"]
    for question in (["who", "hpark"], asked):
        done = subprocess.run(
            [sys.executable, "-c", script, *question, "--state", str(published.path)],
            capture_output=True,
            text=True,
        )
        assert done.stdout.splitlines()[-1] in ("0 []", "1 []"), done.stderr


PROFILES = """
bank:
  target: "{{ env_var('WHERE_TO', 'local') }}"
  outputs:
    local:
      type: secure_spark
      method: session
      schema: "{{ env_var('SCHEMA') }}"
      server_side_parameters: {spark.sql.warehouse.dir: warehouse}
    remote:
      method: session
      schema: there
      server_side_parameters: {spark.remote: "sc://x", spark.sql.warehouse.dir: /w}
    lake: {method: session, schema: a,
      server_side_parameters: {spark.sql.warehouse.dir: "hdfs://x/w"}}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("DBT_PROJECT_DIR", "DBT_PROFILES_DIR", "DBT_TARGET"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "dbt_project.yml").write_text("name: bank\nprofile: bank\n")
    (tmp_path / "profiles.yml").write_text(PROFILES)
    monkeypatch.setenv("SCHEMA", "Vault")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_Q1_project_and_target_are_found_as_dbt_finds_them(project, monkeypatch):
    found = find(str(project), None, None)
    assert (found.name, found.target, found.schema) == ("bank", "local", "Vault")
    folder = project / "warehouse" / "vault_versions.db"
    assert found.state_path() == folder / "published.json"
    assert found.state_path("Pr_1").parent.name == "pr_1_versions.db"
    (project / "models").mkdir()
    monkeypatch.chdir(project / "models")
    assert find(None, None, None).folder == project


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--target", "nowhere"],
            "has no target 'nowhere'; it has lake, local, remote",
        ),
        (["--target", "remote"], "is a server's, which is no folder of this machine"),
        (["--target", "lake"], "is hdfs://x/w, which is no folder of this machine"),
        (["--profiles-dir", "/nowhere"], "there is no profiles.yml in /nowhere"),
        ([], "no run of this target has finished"),
    ],
)
def test_Q1_what_is_wrong_with_project_or_target_is_one_line(
    project, capsys, arguments, sentence
):
    code = main(["who", "1", "--project-dir", str(project), *arguments])
    told = capsys.readouterr()
    assert (code, told.out) == (UNASKED, "")
    assert told.err.count("\n") == 1 and sentence in told.err


def test_Q1_no_project_is_one_line(tmp_path, monkeypatch):
    monkeypatch.delenv("DBT_PROJECT_DIR", raising=False)
    with pytest.raises(NoProject, match="is no dbt project"):
        find(str(tmp_path), None, None)


def test_Q3_another_project_s_state_and_an_edited_config_are_noticed(
    project, published, capsys
):
    state = project / "warehouse" / "vault_versions.db" / "published.json"
    state.parent.mkdir(parents=True)
    asked = ["who", "1", "--project-dir", str(project)]

    def ask_of(**changes) -> tuple[int, str]:
        state.write_text(json.dumps(published.values | {"schema": "vault"} | changes))
        return main(asked), capsys.readouterr().err

    code, err = ask_of()
    assert code == UNASKED and "is the project 'secure_datasets'" in err
    code, err = ask_of(project="bank", schema="other")
    assert code == UNASKED and "is of the schema other, not vault" in err
    # As is the state of one target, asked as that of another.
    ask_of(project="bank")
    code = main([*asked, "--state", str(state), "--target", "remote"])
    assert code == UNASKED
    assert "is of the schema vault, not there" in capsys.readouterr().err
    (project / "macros").mkdir()
    (project / "macros/config.sql").write_text("x")
    product = published.values["documents"]["secure_datasets"]
    unchanged = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    for sha, note in ((unchanged, ""), ("0", "macros/config.sql of bank was edited")):
        file = {"package": "bank", "path": "macros/config.sql", "sha256": sha}
        documents = {"secure_datasets": product | {"config_files": [file]}}
        code, err = ask_of(project="bank", documents=documents)
        assert code == YES and note in err and bool(note) is bool(err)


@pytest.fixture
def asked_of_dbt(project, published, monkeypatch):
    """Take what dbt would be called with, beside a state whose config is as it was."""
    calls: list[tuple[str, dict]] = []

    def take(_, arguments: list[str]) -> int:
        calls.append((arguments[1], json.loads(arguments[3])))
        return YES

    monkeypatch.setattr("secure_datasets.by_dbt.call", take)
    config = project / "macros/config.sql"
    config.parent.mkdir()
    config.write_text("x")
    read = {"package": "bank", "path": "macros/config.sql"}
    read["sha256"] = hashlib.sha256(b"x").hexdigest()
    told = published.values["documents"]["secure_datasets"] | {"config_files": [read]}
    state = project / "warehouse/vault_versions.db/published.json"
    state.parent.mkdir(parents=True)
    changes = {"project": "bank", "documents": {"secure_datasets": told}}
    state.write_text(json.dumps(published.values | changes))
    return calls


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("print nothing", "there is no dataset 'nothing'; known are tables, columns,"),
        ("render --dataset vw_secure_dataset_x", "there is no dataset 'x'; known are"),
        ("print tests --user hpark", "--user 'hpark' is no SQL for the id of whoever"),
        ("print tests --user h@x.org", "secure-datasets who tells a user's id"),
        ("print tests --dialect klingon", "unknown dialect 'klingon'; known are spark"),
        ("render", "name one of these: --role, --dataset."),
        ("render --role r --engine unity_catalog", "catalog: add --catalog <name>."),
        ("render --role r --catalog c", "--catalog <name> is for unity_catalog alone."),
        ("render --role r --accounts a.b", "--accounts is for --dataset alone."),
        ("render --dataset tests --catalog c", "--catalog is for --role alone."),
        ("render --dataset tests --engine x", "unknown engine 'x'; known are unity_c"),
        ("as-of yesterday", "'yesterday' is no day or moment in UTC, such as 2026-"),
        ("as-of 2999-01-01", "'2999-01-01' lies in the future."),
        ("diff pr_12 PR_12", "both states are 'pr_12': name two."),
        ("test macros", "macros has no file of cases, <name>.yml."),
    ],
)
def test_Q1_what_dbt_can_t_answer_is_refused_before_it_starts(
    asked_of_dbt, capsys, asked, sentence
):
    assert main(asked.split()) == UNASKED and not asked_of_dbt
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1) and sentence in told.err


def test_Q1_the_operations_get_what_the_options_say(asked_of_dbt, project):
    printed = {"dataset": "tests", "user": ":user_id", "dialect": "spark"}
    for given, operation, wanted in (
        ("print tests", "print_predicate", printed),
        ("print vw_secure_dataset_tests", "print_predicate", printed),
        ("print tests --user 8", "print_predicate", printed | {"user": "8"}),
        ("print tests --user f(x)", "print_predicate", printed | {"user": "f(x)"}),
        ("render --dataset tests --engine postgres --accounts a.b --schema s",
         "render_policies", {"dataset": "tests", "engine": "postgres",
                             "accounts": "a.b", "schema": "s"}),
        ("render --role r --engine unity_catalog --catalog c", "render_grants",
         {"role": "r", "engine": "unity_catalog", "catalog": "c"}),
    ):  # fmt: skip
        assert main(given.split()) == YES
        assert asked_of_dbt.pop() == (operation, wanted)
    # An edited config may have it: dbt tells.
    (project / "macros/config.sql").write_text("y")
    assert main(["print", "new"]) == YES and asked_of_dbt.pop()[1]["dataset"] == "new"


def test_Q1_a_folder_of_cases_is_its_files(project, capsys):
    folder = project / "cases"
    folder.mkdir()
    (folder / "first.yml").write_text("x: y")
    assert main(["test", str(folder)]) == UNASKED
    assert "first.yml" in capsys.readouterr().err


def test_Q1_a_profile_that_is_not_there_is_made_from_the_example(
    project, capsys, monkeypatch
):
    (project / "profiles.yml").rename(project / "profiles.yml.example")
    monkeypatch.setenv("HOME", str(project / "home"))
    assert main(["who", "1"]) == UNASKED
    assert capsys.readouterr().err == (
        f"who: there is no profiles.yml in {project}, {project / 'home/.dbt'}: copy"
        f" {project / 'profiles.yml.example'}, and write your folders in it.\n"
    )


@pytest.mark.parametrize(
    ("first", "login", "email", "said"),
    [
        ("Ann", "ann", None, "Ann (ann, user 7)"),
        (None, "ann", "a@b.org", "ann (user 7)"),
        (None, None, "a@b.org", "a@b.org (user 7)"),
        (None, None, None, "(no name) (user 7)"),
    ],
)
def test_Q4_a_user_without_a_name_is_called_by_login_or_address(
    first, login, email, said
):
    row = {"user_id": 7, "first_name": first, "last_name": None}
    assert str(lookups._user(row | {"login_name": login, "email": email})) == said


def test_Q4_the_nearest_stands_first():
    people = [Named("user", str(n), name) for n, name in enumerate(
        ["Carl Parkinson", "Ann Spark", "Park Min", "Min Park Jr", "Bo"])]  # fmt: skip
    found = [(rank, one.name) for rank, one in names.matches("park", people)]
    assert found == [
        (names.SAME, "Park Min"),
        (names.SAME, "Min Park Jr"),
        (names.BEGINS, "Carl Parkinson"),
        (names.PART, "Ann Spark"),
    ]


PROFILE = """
secure_datasets:
  target: local
  outputs: {local: {type: secure_spark, method: session, schema: secure_datasets}}
"""


def test_Q4_a_name_with_fewer_other_words_is_nearer():
    called = ("rust-lang/ena", "rust-lang/rust", "rust-lang/rust-forge")
    known = [Named("project", str(key), name) for key, name in enumerate(called)]
    found = [one.name for _, one in names.matches("rust", known)]
    assert found[0] == "rust-lang/rust"


def test_a_check_names_the_roles_that_nobody_could_hold(project, asked_of_dbt, capsys):
    """By the groups of the last run; without one it says so, and nothing is wrong."""
    text = "policies:\n    - {role: Staf, resource: tests}\n"
    added = f"{{% macro {ADDED}() %}}\n{text}{{% endmacro %}}\n"
    (project / "macros/config.sql").write_text(added)
    check = ["check", "--project-dir", str(project)]
    assert main(check) == NO
    told = capsys.readouterr()
    said = "a policy on tests names the role Staf, and no live group bears it; near"
    assert told.out == f"- {said} it is 'Staff'\n"
    (project / "macros/config.sql").write_text(added.replace("Staf,", "Staff,"))
    assert (main(check), capsys.readouterr().out) == (YES, "")
    (project / "warehouse/vault_versions.db/published.json").unlink()
    assert main(check) == YES
    assert "roles of policies were not held against groups" in capsys.readouterr().err
    assert asked_of_dbt == [("check_project", {})] * 3


@pytest.fixture
def in_project(ask, tmp_path):
    """Ask with the project at hand, whose Python models another state runs."""
    (tmp_path / "profiles.yml").write_text(PROFILE)
    place = ["--project-dir", str(ROOT), "--profiles-dir", str(tmp_path)]
    return lambda *arguments: ask(*arguments, *place)


def test_Q6_questions_about_a_past_moment_need_no_build(in_project):
    code, out, err = in_project("who", "hpark", "--as-of", DAY)
    assert (code, err) == (YES, "") and "Card Settlement" in out
    row = ("--dataset", "tests", "--row", "test_id=12")
    code, out, err = in_project("why", "hpark", *row, "--as-of", DAY)
    assert (code, err) == (YES, "") and "row 9 of project_permissions" in out
    code, out, err = in_project("who", "hpark", "--as-of", "2025-12-31")
    assert (code, out) == (UNASKED, "")
    assert err == "who: as of 2025-12-31 there is no user 'hpark'.\n"
    named = ("who", "--object", "project 7", "--as-of", DAY, "--format", "json")
    found = json.loads(in_project(*named)[1])
    assert (found["as_of"], found["engine"]) == (DAY, "duckdb")


def test_Q2_the_next_question_takes_the_queries_of_the_last(
    in_project, ask, monkeypatch, tmp_path
):
    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path / "target"))
    made = []

    def translate(query):
        made.append(query)
        return real(query)

    real = translation._translate
    monkeypatch.setattr(translation, "_translate", translate)
    told = []
    for _ in range(2):
        translation.translated.cache_clear()
        told.append(in_project("timeline", "hpark"))
    assert told[0] == told[1]
    assert len(made) == len({*made}) > 50
    kept = tmp_path / "target" / memory.FOLDER
    assert kept.is_dir()
    shutil.rmtree(kept)
    # A state that is named alone is of no project, and has no folder of its own.
    ask("who", "hpark")
    assert not kept.exists()


@pytest.mark.parametrize(
    "question",
    [
        ("who", "hpark", "--as-of", DAY),
        ("since", DAY, "--user", "hpark"),
        ("timeline", "hpark"),
    ],
)
@pytest.mark.parametrize(
    ("feed", "said"),
    [
        (
            {"has_history": False, "kind": "current"},
            "the feed of users is of the kind 'current': it",
        ),
        ({"has_history": True}, "no files are known of repository_sample.users"),
    ],
)
def test_Q6_what_holds_the_present_alone_has_no_past(
    in_project, published, monkeypatch, question, feed, said
):
    document = published.values["documents"]["secure_datasets"]
    monkeypatch.setitem(document, "feeds", {"users": feed})
    monkeypatch.delitem(published.values["relations"], "repository_sample.users")
    published.write()
    code, out, err = in_project(*question, "--engine", "duckdb")
    assert (code, out) == (UNASKED, "")
    assert f"{question[0]}: {said}" in err


def test_Q6_what_another_catalog_keeps_of_the_past_is_asked_of_spark(
    in_project, published, monkeypatch
):
    """A table there that holds the present may keep snapshots."""
    sources = published.values["graph"]["sources"].values()
    (users,) = (each for each in sources if each["name"] == "users")
    monkeypatch.setitem(users, "relation_name", "lake.raw.users")
    document = published.values["documents"]["secure_datasets"]
    monkeypatch.setitem(document, "feeds", {"users": {"has_history": False}})
    monkeypatch.delitem(published.values["relations"], "repository_sample.users")
    published.write()
    for question in (("who", "hpark", "--as-of", DAY), ("timeline", "hpark")):
        code, _, err = in_project(*question, "--engine", "duckdb")
        assert code == UNASKED
        assert "lake.raw.users is in another catalog, whose files are not read" in err


def test_Q6_a_past_reads_copies_of_the_raw_tables_of_another_catalog(
    in_project, published, monkeypatch
):
    question = ("who", "hpark", "--as-of", DAY)
    plain = in_project(*question)
    sources = published.values["graph"]["sources"].values()
    (users,) = (each for each in sources if each["name"] == "users")
    monkeypatch.setitem(users, "relation_name", "lake.raw.users")
    monkeypatch.setitem(published.values["documents"]["secure_datasets"]["vars"],
                        "kept_days", 3)  # fmt: skip
    published.write()
    copied = []

    def relation(_, name: str):
        copied.append(name)
        return View("select * from repository_sample.users")

    monkeypatch.setattr(OtherCatalogs, "__init__", lambda *_: None)
    monkeypatch.setattr(OtherCatalogs, "relation", relation)
    kept = []
    monkeypatch.setattr("secure_datasets.questions.kept.Kept.files",
                        lambda of, _: kept.append(of.names) or {})  # fmt: skip
    assert in_project(*question) == plain
    assert {*copied} == {"lake.raw.users"}
    # Nobody sees whether a table there has changed since a day was kept.
    assert kept == [set()]


def test_Q6_what_holds_the_present_elsewhere_is_read_as_of_the_moment(monkeypatch):
    project = SimpleNamespace(target="lake", method="session", settings={})
    asked, read = [], []
    found = OtherCatalogs(project, DAY, lambda _: None)
    monkeypatch.setattr(found, "ask", lambda query: read.append(query) or [])

    def write(folder: str) -> None:
        Path(folder.removeprefix("file://")).mkdir()
        (Path(folder.removeprefix("file://")) / "part-0.parquet").touch()

    found.session = MagicMock()
    found.session.sql.return_value.write.parquet = write

    def past(adapter, table, relation, moment):
        asked.append((table, relation, moment))
        return f"{relation} version as of 17" if table == "users" else None

    monkeypatch.setattr("dbt_secure_spark.raw_tables.raw_rows_as_of", past)
    assert found.as_of("users", "lake.raw.users") == "lake.raw.users__then"
    assert found.as_of("tests", "lake.raw.tests") is None
    assert asked[0] == ("users", "lake.raw.users", DAY)
    assert found.relation("lake.raw.users__then").columns == {}
    assert read == ["describe query select * from lake.raw.users version as of 17"]
    # A table of the session's own catalog is not copied, nor what is no name.
    for name in ("raw.users", "lake.raw.users; drop table x", "lake.raw.../users"):
        assert found.relation(name) is None
        assert found.as_of("users", name) is None
    assert len(asked) == 2 and len(read) == 1
    # Workers with disks of their own leave nothing here.
    found.session.sql.return_value.write.parquet = lambda _: None
    with pytest.raises(NotRead, match=r"no copy of lake\.raw\.tests on this"):
        found.relation("lake.raw.tests")


@pytest.mark.parametrize(
    "settings", [{"spark.remote": "sc://there:15002"}, {"spark.master": "spark://it"}]
)
def test_Q6_a_spark_of_other_machines_copies_nothing(settings):
    project = SimpleNamespace(target="lake", method="session", settings=settings)
    found = OtherCatalogs(project, DAY, print)
    assert found.relation("raw.users") is None
    for asked in (found.relation, lambda name: found.as_of("users", name)):
        with pytest.raises(NotRead, match="catalog, and Spark works on other machines"):
            asked("lake.raw.users")


def test_T1_a_table_without_a_past_hides_the_past_of_its_datasets_alone(
    in_project, published, monkeypatch
):
    document, table = (
        published.values["documents"]["secure_datasets"],
        "test_executions",
    )
    feed = {"has_history": False, "kind": "current"}
    monkeypatch.setitem(document, "feeds", {table: feed})
    monkeypatch.delitem(published.values["relations"], f"repository_sample.{table}")
    published.write()
    code, out, err = in_project("who", "hpark", "--as-of", DAY)
    assert (code, err) == (YES, "")
    assert re.search(r"project +Card Settlement +Group", out)
    # A test shows its last execution.
    assert re.findall(r"vw_secure_dataset_(\w+) .* not known\n", out) == [
        "tests",
        table,
    ]
    assert "Not known: the past of test_executions. The feed" in out
    # The objects are those of the day, and the answer says what it leaves out.
    _, out, err = in_project("since", DAY)
    shown = "vw_secure_dataset_tests, vw_secure_dataset_test_executions"
    left_out = f"because the feed of {table} holds the present alone: {shown}."
    assert err == "" and left_out in out
    code, _, err = in_project("since", DAY, "--format", "csv")
    assert code == YES and left_out in err
    _, document, err = in_project("since", DAY, "--format", "json")
    assert err == "" and left_out in json.loads(document)["left_out"]
    row = ("--dataset", table, "--row", "test_execution_id=1")
    code, out, err = in_project("why", "hpark", *row, "--as-of", DAY)
    assert (code, out) == (UNASKED, "")
    assert f"the feed of {table} is of the kind 'current'" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hyun-woo park"], "User 2, hpark"),
        (["--object", "project settlement"], "Project 7, Card Settlement"),
        (["--object", "settlement"], "Project 7, Card Settlement"),
    ],
)
def test_T4_a_timeline_finds_names_as_who_does(in_project, arguments, said):
    code, out, err = in_project("timeline", *arguments)
    assert (code, err) == (YES, "") and out.splitlines()[1] == said
    assert re.search(r"hpark +project +Card Settlement +gained", out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["who", "1", "--as-of", "2999-01-01"], "'2999-01-01' lies in the future."),
        (["since", "yesterday"], "'yesterday' is no day or moment in UTC, such as 20"),
        (["who", "1", "--as-of", DAY, "--engine", "spark"], "Spark is not asked about"),
        (["who", "1", "--as-of", DAY], "its file is in no project"),
        (["review", "--engine", "spark"], "leave out --state"),
        (["what-if"], "say what goes or comes: --remove"),
        (["what-if", "--config"], "is for a project that installs the package"),
        (["what-if", "--config", "--remove", "21"], "one after the other"),
        (["what-if", "--remove", "21"], "'21' names no row"),
        (["what-if", "--remove", "row 1 of nothing"], "no raw table 'nothing'"),
        (["what-if", "--remove", "row 99 of project_permissions"],
         "there is no live row 99 of project_permissions"),
        (["what-if", "--remove-user", "park"], "'park' may be"),
        (["what-if", "--add", "tests: project_id=7"], "gives nobody a right"),
        (["what-if", "--add", "project_permissions: project_id=7"],
         "is for one holder"),
        (["what-if", "--add", "project_permissions: user_id=1"], "needs project_id"),
        (["what-if", "--add", "project_permissions: x=1"], "'x=1' is no part of"),
        (["what-if", "--add", "project_permissions: project_id=99, user_id=1"],
         "there is no project '99'"),
    ],
)  # fmt: skip
def test_Q6_another_state_that_can_t_be_asked_is_one_line(ask, arguments, sentence):
    code, out, err = ask(*arguments)
    assert (code, out, err.count("\n")) == (UNASKED, "", 1)
    assert err.startswith(f"{arguments[0]}: ") and sentence in err


BY_DBT = (
    ("timeline", "hpark"),
    ("as-of", "2026-05-01"),
    ("diff", "a", "b"),
    ("review",),
    ("print", "tests"),
    ("render", "--dataset", "tests"),
    ("test",),
)


@pytest.mark.parametrize("arguments", BY_DBT)
def test_Q1_what_dbt_answers_is_refused_in_one_line_outside_a_project(
    arguments, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    code = main([*arguments])
    told = capsys.readouterr()
    assert (code, told.out, told.err.count("\n")) == (UNASKED, "", 1)
    assert told.err.startswith(f"{arguments[0]}: ")
    assert "is in no dbt project" in told.err
