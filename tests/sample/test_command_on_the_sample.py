"""The command on the sample: the bytes of dbt's operations, and those of the page."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from lanes import nightly_but
from projects import ROOT
from why_page import SHOWN

from secure_datasets.cli import NO, YES, main
from secure_datasets.engines.duckdb import DuckDB, NotExact, Rows

pytestmark = pytest.mark.spark

PAGE = ROOT / "docs/asking.md"
BLOCK = re.compile(
    r"```sh\nsecure-datasets ([^\n]*)\n```\n\n```(?:text|json)\n(.*?)\n```", re.S
)


@pytest.fixture
def ask(built, project, capfd):
    """Ask by the command: `ask("who", "8")` gives the code and what is printed."""
    assert built.success
    place = ["--project-dir", str(project), "--profiles-dir", str(project)]

    def call(*arguments: str) -> tuple[int, str]:
        capfd.readouterr()
        code = main([*arguments, *place])
        printed = capfd.readouterr()
        assert printed.err == ""
        return code, printed.out

    return call


@pytest.fixture
def operation(built, dbt, parsed, capfd):
    """Ask by dbt: `operation("who", user="8")` gives what it prints."""

    def call(name: str, **given) -> str:
        capfd.readouterr()
        asked = ("--args", json.dumps(given))
        result = dbt("--quiet", "run-operation", name, *asked, manifest=parsed)
        assert result.success, result.exception
        return capfd.readouterr().out

    return call


# An operation takes half a minute: one user stands for all.
@pytest.mark.parametrize(
    "user", nightly_but(["hpark"], ["hpark", "praman", "dvolkov", "7"])
)
def test_Q3_who_has_the_same_bytes_from_both_engines(ask, operation, user):
    assert ask("who", user) == (YES, operation("who", user=user))


def told_of_the_sample(project: str, asked: str, shown: str) -> str:
    """Return what a page's answer says of the bank too, in which more can be gained."""
    if project:
        return shown
    is_whole = "tier:" in asked
    return re.split(r"\n\n(?:Mend|Nearest|Last)", shown)[0] if is_whole else ""


def named_options(given: dict) -> list[str]:
    """Return what `why` is asked with, of a question of the page."""
    named = [f"--{key}={given[key]}" for key in ("dataset", "tier") if key in given]
    for part in ("row", "object"):
        keys = given.get(part, {})
        text = ", ".join(f"{key}={value}" for key, value in keys.items())
        named += [f"--{part}={text}"] * bool(keys)
    return named


@pytest.mark.parametrize(
    ("owner", "question", "shown"),
    [each[1:] for each in SHOWN],
    ids=[each[2] for each in SHOWN],
)
def test_W3_why_has_the_page_s_bytes(ask, owner, question, shown):
    given = yaml.safe_load(question)
    code, printed = ask("why", str(given["user"]), *named_options(given))
    wanted = told_of_the_sample(owner, question, shown)
    assert printed.strip("\n").startswith(wanted)
    first = printed.strip().splitlines()[0]
    assert code == (YES if re.search(r" (sees|has access) ", first) else NO)


@pytest.mark.nightly
@pytest.mark.parametrize("question", [question for *_, question, _ in SHOWN])
def test_Q3_why_has_the_same_bytes_from_both_engines(ask, operation, question):
    given = yaml.safe_load(question)
    named = named_options(given)
    _, printed = ask("why", str(given["user"]), *named)
    assert printed == operation("why", **given)
    _, printed = ask("why", str(given["user"]), *named, "--format=json")
    found = json.loads(printed)
    assert found.pop("engine") == "duckdb"
    assert found.pop("state")["schema"] == "secure_datasets"
    told = operation("why", **given, format="json")
    assert json.dumps(found, indent=2) == told.strip("\n")


WHY = "why hpark --dataset tests --row test_id=12"


@pytest.mark.parametrize(
    "asked",
    nightly_but(
        [WHY],
        [
            *(WHY, "who hpark", "who --object 'project 1'", "compare hpark praman"),
            "why tnkosi --dataset authorized_projects --row project_id=1",
        ],
    ),
)
def test_Q3_spark_answers_the_same_queries_alike(ask, asked):
    given = shlex.split(asked)
    assert ask(*given, "--engine", "spark") == ask(*given, "--engine", "duckdb")


@pytest.mark.nightly
def test_V6_a_pack_has_the_same_bytes_from_both_engines(ask, operation, project):
    def files() -> dict[str, bytes]:
        folder = project / "target/review"
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    campaign = {"campaign": "Autumn", "deadline": "2026-10-31"}
    named = [f"--{key}={value}" for key, value in campaign.items()]
    code, printed = ask("review", "--owner=praman", "--months=0", *named)
    quick = files()
    told = operation("review", owner="praman", **campaign)
    assert (code, printed) == (YES, told) and len(quick) > 5
    assert files() == quick


def test_the_page_shows_what_the_command_prints(ask, request):
    page = PAGE.read_text(encoding="utf-8")
    renewed, blocks = page, BLOCK.findall(page)
    assert len(blocks) >= 5
    for command, shown in blocks:
        _, printed = ask(*shlex.split(command))
        block = f"secure-datasets {command}\n```\n\n```text\n"
        renewed = renewed.replace(block + shown, block + printed.strip("\n"))
    if request.config.getoption("--renew-golden"):
        PAGE.write_text(renewed, encoding="utf-8")
    else:
        assert page.splitlines() == renewed.splitlines()


def test_Q3_what_questions_ask_beyond_the_models_is_exact(spark):
    texts = ["plain", "", " ", 'a "quote"', "back\\slash", "line\nbreak", "Zoë \u674e"]
    documents = [json.dumps({"a": text}, ensure_ascii=False) for text in texts]
    documents += ['{"a":null}', '{"b":"x"}', "{}", "[]", None]
    rows = [(place, place % 3, text) for place, text in enumerate(documents)]
    columns = {"n": "bigint", "part": "bigint", "j": "string"}
    spark.createDataFrame(
        rows, ", ".join(f"{name} {kind}" for name, kind in columns.items())
    ).createOrReplaceTempView("told")
    query = (
        "select n, get_json_object(j, '$.a') as a, rank() over newest as place,"
        " first_value(j) over newest as newest_j, startswith(j, concat('{', '\"a')) as"
        " is_of_a, last_value(case when n % 2 = 0 then n end) ignore nulls over"
        " (partition by part order by j, n range between unbounded preceding and"
        " current row) as even_n from told window newest as"
        " (partition by part order by j desc, n asc) order by n"
    )
    found = DuckDB({"told": Rows(columns, rows)}).ask(query)
    assert found == [row.asDict() for row in spark.sql(query).collect()]
    for text in ('{"a":1}', '{"a":{"b":"c"}}', "{"):
        engine = DuckDB({"told": Rows(columns, [(1, 1, text)])})
        with pytest.raises(NotExact):
            engine.ask("select get_json_object(j, '$.a') as a from told")
