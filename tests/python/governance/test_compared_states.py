"""Which two states can be compared: D4's seeds, and bad input, each in one sentence."""

from __future__ import annotations

import csv
import fnmatch
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import CompilationError
from projects import ROOT

from dbt_secure_spark import versions
from dbt_secure_spark.settings import schema_name
from secure_datasets.questions.changes import states

PAGE = (ROOT / "docs/changes.md").read_text(encoding="utf-8")
CODE = re.sub(
    # Sentences stand on several lines there.
    r'"\s*\n\s*f?"',
    "",
    "".join(
        (ROOT / path).read_text(encoding="utf-8")
        for path in (
            "src/secure_datasets/questions/changes/states.py",
            "src/dbt_secure_spark/settings.py",
        )
    ),
)
NEEDED = dict.fromkeys(states.NEEDED, "")
PROJECT = '{"keys": ["project_id"]}'
RESULTS = '{"keys": ["project_id", "meta_data_source_id"]}'


def told_dataset(name: str) -> tuple[str, str, str]:
    """Return what a state says of a secure dataset, in short."""
    return "dataset", name, json.dumps({"relation": f"vw_secure_dataset_{name}"})


class Metastore:
    """An adapter over schemas with their relations."""

    def __init__(self, monkeypatch, **schemas: dict[str, str]) -> None:
        self.schemas = {"a": NEEDED, "b": NEEDED, "a_versions": {}, "b_versions": {}}
        self.schemas |= schemas
        self.config = SimpleNamespace(
            credentials=SimpleNamespace(versions_catalog=None)
        )
        self.version = "1.0.0"
        self.defined: list[tuple[str, str]] = []
        self.datasets = {"a": [told_dataset("tests")], "b": [told_dataset("jobs")]}
        monkeypatch.setattr(states, "definitions", self.definitions)
        monkeypatch.setattr(states, "rows_of", self.rows_of)
        monkeypatch.setattr(versions, "definitions", self.definitions)

    def definitions(self, adapter, schema, pattern="*"):
        found = self.schemas.get(schema, {})
        patterns = pattern.split("|")
        return {
            name: told
            for name, told in found.items()
            if any(fnmatch.fnmatch(name, each) for each in patterns)
        }

    def rows_of(self, adapter, query):
        if query == "show schemas":
            return [(name,) for name in self.schemas]
        if query == "select kind, name, definition from a.state_definitions":
            return [("tier", "project", PROJECT), *self.datasets["a"]]
        if query == "select kind, name, definition from b.state_definitions":
            return [("tier", "results", RESULTS), *self.datasets["b"]]
        if query.startswith("select kind, definition from"):
            return self.defined
        if query.endswith(".stg_user_groups where is_live"):
            return [(17, "Risk"), (18, None)]
        return [(self.version,)]

    def execute(self, statement, fetch):
        # No run has found again what versions here were read from.
        assert statement.startswith("describe schema extended ")
        return None, SimpleNamespace(rows=[])

    def product_version(self) -> str:
        return "1.0.0"

    def schema_name(self, *given):
        return schema_name(None, *given)


@pytest.fixture
def metastore(monkeypatch) -> Metastore:
    return Metastore(monkeypatch)


def told(call, *given) -> str:
    """Return the sentence with which a call stops."""
    with pytest.raises(CompilationError) as stopped:
        call(*given)
    return str(stopped.value.msg)


def test_two_finished_states_can_be_compared(metastore):
    states.check_states(metastore, "a", "B")
    schema = "access_changes_a_to_b"
    states.check_comparison(metastore, "a", "B", {"m": schema}, [], [])


LACKING = [
    ({"b": {key: "" for key in NEEDED if key != name}}, f"'b' has no {name}: build it")
    for name in states.NEEDED
]


@pytest.mark.parametrize(
    ("schemas", "sentence"),
    [
        ({"b": {"sales": ""}}, "The schema 'b' was not built by this project"),
        *LACKING,
        (
            {"b_versions": {"live_run_20260101000000_0123abcd": ""}},
            "The schema 'b' is being built, or the run that built it was killed",
        ),
    ],
)
def test_a_schema_that_is_no_finished_state_is_named(metastore, schemas, sentence):
    metastore.schemas |= schemas
    assert sentence in told(states.check_states, metastore, "a", "b")


V1, V2 = (f"__v2026010{day}000000_0123abcd" for day in (1, 2))


@pytest.mark.parametrize(
    ("shown", "now", "is_refused"),
    [
        (V1, V2, True), (V2, V2, False), (None, V2, False), (V1, None, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("view", "below"),
    [
        ("explained_access_paths", "int_access_paths"),
        ("vw_secure_dataset_tests", "vw_dataset_tests"),
        ("vw_secure_dataset_tests", "vw_secure_user_project_access"),
    ],
)
def test_D1_a_view_of_before_what_it_shows_is_refused(
    metastore, view, below, shown, now, is_refused
):
    """As after a run that rebuilds a base, and leaves its secure dataset as it was.

    A mask that was taken off would be held against values of another run: no change.
    """
    of, kept = f"b_versions.{below}", "Table Properties: [kept_versions="
    metastore.defined = [
        dataset("VW_secure_dataset_tests"),
        dataset("vw_secure_dataset_not_built"),
    ]
    metastore.schemas["b"] = NEEDED | {
        "vw_secure_dataset_tests": "",
        view: f"View Text: select * from b_versions.stg_users{V1}, {of}{shown or ''}",
        below: f"View Text: select * from {of}{now or ''}, {kept}{of}{V1}]",
    }
    metastore.schemas["a"] = NEEDED | {"vw_secure_dataset_tests": ""}
    if is_refused:
        found = told(states.check_states, metastore, "a", "b")
        assert f"'b', {view} shows {below} as it was before a later run" in found
        assert f"dbt run --select +{view}, and compare then" in found
    else:
        states.check_states(metastore, "a", "b")


def dataset(relation: str, *columns: str) -> tuple[str, str]:
    """Return what a state says of a dataset."""
    said = {"relation": relation, "columns": columns}
    said |= dict.fromkeys(states.SAID, ())
    return "dataset", json.dumps(said)


def test_D1_a_state_whose_datasets_say_less_is_to_be_built_again(metastore):
    """Commits of one version may differ."""
    for key in states.SAID:
        kind, said = dataset("vw_secure_dataset_jobs")
        said = {k: v for k, v in json.loads(said).items() if k != key}
        metastore.defined = [(kind, json.dumps(said))]
        found = told(states.check_states, metastore, "a", "b")
        assert found.endswith("say less of themselves: build it again with this one.")


def reads(table: str, run: str, content: int | None = None) -> str:
    """Return what the metastore tells of a version: what it was read from."""
    read = versions.RawRead(f"raw.{table}", run, 1, content)
    return f"Table Properties: [raw_reads={versions.encoded(str(read))}]"


@pytest.mark.parametrize(
    ("newer", "of_before"),
    [
        ("int_access_paths", "vw_secure_user_project_access"),
        ("vw_secure_user_project_access", "int_access_paths"),
        ("stg_users", "int_access_paths"),
        ("vw_secure_user_roles", "int_access_paths"),
    ],
)
@pytest.mark.parametrize(
    ("run", "content", "is_refused"),
    [(1, None, False), (2, None, True), (2, 7, True), (2, 8, False)],
)
def test_D2_what_decides_access_is_of_the_same_raw_rows(
    metastore, newer, of_before, run, content, is_refused
):
    """As after a run of the paths alone: causes would be those of another access."""
    runs = {day: f"2026010{day}000000_0123abcd" for day in (1, 2)}
    metastore.defined = [("tier", '{"relation": "vw_secure_user_project_access"}')]
    names = (
        *("int_access_paths", "vw_secure_user_project_access", "stg_users"),
        *("vw_secure_user_roles", "stg_jobs"),
    )
    metastore.schemas["b"] = NEEDED | {
        name: f"View Text: select * from b_versions.{name}{V1}" for name in names
    }
    # Nobody's access is decided by these.
    told_of = {f"stg_jobs{V1}": reads("jobs", runs[2])}
    for name in names[:-1]:
        is_newer = name == newer or (newer, of_before) == (name, names[0])
        told_of[f"{name}{V1}"] = (
            reads("users", runs[run], content)
            if is_newer
            else reads("users", runs[1], 8)
        )
    metastore.schemas["b_versions"] = told_of
    metastore.schemas["a"] = NEEDED | dict.fromkeys(names, "")
    if not is_refused:
        states.check_states(metastore, "a", "b")
        return
    found = told(states.check_states, metastore, "a", "b")
    assert f"was not built again since {newer} read other rows of users" in found
    assert "run dbt run --selector access, and compare then" in found
    # Without it the secure datasets would be left behind.
    metastore.defined.append(dataset("vw_secure_dataset_jobs"))
    metastore.schemas["b"]["vw_secure_dataset_jobs"] = ""
    found = told(states.check_states, metastore, "a", "b")
    assert "run dbt run --selector rights, and compare then" in found


@pytest.mark.parametrize(
    ("shown", "is_refused"),
    [
        (("job_id", "name", "user_id", "access_type"), False),
        (("JOB_ID", "Name", "user_id"), False),
        (("job_id", "name", "secret", "user_id"), True),
        (("job_id", "user_id"), True),
        ((), False),
    ],
)
def test_D1_a_state_says_which_columns_it_shows(metastore, shown, is_refused):
    """A new column would be compared with nothing, and pass all limits."""
    metastore.defined = [dataset("vw_secure_dataset_jobs", "job_id", "name")]
    lines = "".join(f" |-- {column}: string (nullable = true)\n" for column in shown)
    metastore.schemas["b"] = NEEDED | {
        "vw_secure_dataset_jobs": f"View Text: select 1\nSchema: root\n{lines}"
    }
    if is_refused:
        found = told(states.check_states, metastore, "a", "b")
        assert "vw_secure_dataset_jobs shows other columns than state_def" in found
        assert "--select state_definitions +vw_secure_dataset_jobs, and" in found
    else:
        states.check_states(metastore, "a", "b")


def test_an_unknown_schema_is_named(metastore):
    found = told(states.check_states, metastore, "a", "c")
    assert found.startswith("There is no schema 'c' to compare")


def test_a_state_of_another_version_is_named(metastore):
    metastore.version = "0.9.0"
    found = told(states.check_states, metastore, "a", "b")
    assert "The schema 'a' was built by version 0.9.0 of secure_datasets" in found


@pytest.mark.parametrize(
    "value",
    [
        *("a-b", "", 7, ["a"], "a.b", "a; drop table x"),
        *("a b", 'a"b', "a'b", "`a`", "a\nb", "a\x1b[2J", "\u00e4", "a/../b"),
    ],
)
def test_what_is_no_schema_is_told_before_anything_is_asked(value):
    assert "it must be the name of a schema" in told(
        states.check_states, SimpleNamespace(), "a", value
    )
    assert "it must be the name of a schema" in told(
        schema_name, None, "mine", None, "a", value
    )


@pytest.mark.parametrize(
    ("before", "after", "as_of", "sentence"),
    [
        ("a", None, None, "give both."),
        (None, "a", None, "give both."),
        ("a", "A", None, "a state is compared with another one."),
        ("a", "b", "2026-01-01", "and as_of one to build: leave it out."),
        ("a" * 60, "b" * 60, None, "build the states in schemas with shorter names."),
        ("a" * 100, "B", None, "build the states in schemas with shorter names."),
    ],
)
def test_two_states_are_named_and_no_third(before, after, as_of, sentence):
    assert sentence in told(schema_name, None, "mine", as_of, before, after)


def test_the_schema_of_a_comparison_is_called_after_both():
    assert schema_name(None, "mine", None, "A", "b") == "access_changes_a_to_b"
    for name in ("access_changes_a_to_b", "ACCESS_CHANGES_A_TO_B"):
        assert "as those of comparisons are" in told(schema_name, None, name)
    assert schema_name(None, "access_changes") == "access_changes"


def test_nothing_but_the_comparison_is_built(metastore):
    schema = "access_changes_a_to_b"
    found = told(
        states.check_comparison, metastore, "a", "b", {"m": schema}, ["y", "x"], []
    )
    assert "add --select tag:access_changes, which leaves out x and 1 more." in found
    found = told(states.check_comparison, metastore, "a", "b", {"m": "mine"}, [], [])
    assert "m would be built in the schema 'mine'" in found


LIMIT = dict.fromkeys(states.COLUMNS[states.LIMITS], "") | {
    "limit_name": "a", "tier": "project", "most_users_gain": "3",
}  # fmt: skip
APPROVAL = {
    "limit_name": "a", "changes": "0f", "approver": "Ines", "reason": "meant",
    "expires_on": "2027-12-31",
}  # fmt: skip


def seed(folder: Path, *rows: dict[str, str]) -> Path:
    """Write a seed."""
    path = folder / "seed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("name", "row"), [(states.LIMITS, LIMIT), (states.APPROVALS, APPROVAL)]
)
def test_D4_seeds_have_their_columns(tmp_path, name, row):
    states.check_seed(name, seed(tmp_path, row))
    for column in row:
        left = {key: value for key, value in row.items() if key != column}
        assert told(states.check_seed, name, seed(tmp_path, left)) == (
            f"The seed {name} has no column {column}; its columns are"
            f" {', '.join(states.COLUMNS[name])}."
        )


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"limit_name": ""}, "limit_name is empty"),
        ({"dataset": "tests"}, "about a tier or about a dataset: give one of them"),
        ({"tier": ""}, "about a tier or about a dataset: give one of them"),
        ({"tier": "", "dataset": "tests", "object": "x"}, "an object is one of a tier"),
        ({"most_rows_gain": "1"}, "rows are those of a dataset"),
        ({"most_users_gain": ""}, "it limits nothing: give one of most_users_gain"),
        ({"tier": "p*t"}, "tier is 'p*t'; a pattern may begin or end with *"),
        ({"object": "project_id=*, a=1"}, "object is 'project_id=*, a=1'; a pattern"),
        ({"tier": "\u00a0"}, "about a tier or about a dataset: give one of them"),
        ({"most_users_gain": "few"}, "most_users_gain is 'few'; it must be a whole"),
        ({"most_users_gain": "-1"}, "most_users_gain is '-1'; it must be a whole"),
    ],
)
def test_D4_a_limit_that_says_nothing_is_told(tmp_path, edit, sentence):
    path = seed(tmp_path, LIMIT, LIMIT | edit)
    found = told(states.check_seed, states.LIMITS, path)
    assert found.startswith("The seed access_change_limits, line 3: ")
    assert sentence in found


OF_DATASET = {"tier": "", "dataset": "tests"}


@pytest.mark.parametrize(
    "edit",
    [
        {}, {"tier": "Results"}, {"tier": "*"}, {"tier": "*roj*"}, {"role": "Risk"},
        {"role": "\u00a0Risk"}, {"role": "Global Admin"}, OF_DATASET,
        {"role": "{group: 17}"}, {"role": "{ group:18}"},
        OF_DATASET | {"dataset": "jo*"},
    ],
    ids=str,
)  # fmt: skip
def test_D4_a_limit_is_of_what_one_of_the_states_knows(tmp_path, metastore, edit):
    path = seed(tmp_path, LIMIT | edit)
    states.check_comparison(metastore, "a", "B", {}, [], [(states.LIMITS, path)])


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            {"tier": "projects"},
            "neither state has a tier 'projects'; near it is 'project', so that the",
        ),
        ({"tier": "jobs"}, "neither state has a tier 'jobs'"),
        (OF_DATASET | {"dataset": "test"}, "neither state has a dataset 'test'"),
        (OF_DATASET | {"dataset": "vw_*"}, "neither state has a dataset 'vw_*'"),
        ({"role": "risk"}, "neither state has a role 'risk'"),
        ({"role": "{group: 4}"}, "neither state has a role '{group: 4}'"),
    ],
    ids=str,
)
def test_D4_a_limit_of_nothing_is_told(tmp_path, metastore, edit, sentence):
    seeds = [(states.LIMITS, seed(tmp_path, LIMIT, LIMIT | edit))]
    found = told(states.check_comparison, metastore, "a", "b", {}, [], seeds)
    assert found.startswith("The seed access_change_limits, line 3: ")
    assert sentence in found


@pytest.mark.parametrize("is_of_base", [False, True])
def test_D4_a_limit_of_a_dataset_that_one_state_has_not_built_is_told(
    tmp_path, metastore, is_of_base
):
    """Its rows are not compared, so that the limit would hold whatever they are."""
    shown = {"vw_secure_dataset_tests": "", "vw_secure_dataset_jobs": ""}
    metastore.datasets = {
        each: [told_dataset("tests"), told_dataset("jobs")] for each in "ab"
    }
    metastore.schemas |= {"a": NEEDED | shown, "b": NEEDED | shown}
    seeds = [(states.LIMITS, seed(tmp_path, LIMIT | OF_DATASET | {"dataset": "te*"}))]
    given = (metastore, "a", "b", {}, [], seeds, is_of_base)
    states.check_comparison(*given)
    del metastore.schemas["b"]["vw_secure_dataset_jobs"]
    states.check_comparison(*given)
    metastore.schemas["b"] |= shown
    del metastore.schemas["b"]["vw_secure_dataset_tests"]
    assert "line 2: it limits the dataset 'tests', which 'b' has and has not built" in (
        told(states.check_comparison, *given)
    )


def test_D4_a_seed_that_a_comparison_does_not_load_is_told_before_it(metastore):
    given = (metastore, "a", "b", {}, [], [], False, [states.LIMITS])
    assert told(states.check_comparison, *given) == (
        "The seed access_change_limits has no tag access_changes, so that a comparison"
        " would not load it: write +tags: access_changes for it under seeds of"
        " dbt_project.yml."
    )


def test_D4_limits_of_the_base_may_be_about_nothing(tmp_path, metastore):
    """Who renames a group would stop every change else, one that mends it too."""
    limits = [LIMIT, LIMIT | {"role": "risk"}, LIMIT | {"object": "id=1"}]
    seeds = [(states.LIMITS, seed(tmp_path, *limits))]
    states.check_comparison(metastore, "a", "b", {}, [], seeds, True)
    found = states.limits_about_nothing(metastore, "a", "b", seeds)
    assert [each.split(": ")[0] for each in found] == [
        "The seed access_change_limits, line 3", "The seed access_change_limits, line 4"
    ]  # fmt: skip
    # What can't be read is told whose ever it is.
    broken = [(states.LIMITS, seed(tmp_path, LIMIT | {"tier": ""}))]
    assert "a limit is about a tier or" in told(
        states.check_comparison, metastore, "a", "b", {}, [], broken, True
    )


OF_RESULTS = "project_id=1, meta_data_source_id=6"


@pytest.mark.parametrize(
    ("tier", "objects"),
    [
        ("project", ("project_id=12", "Project_id=1", "project_id=-3", "project_id=0",
                     "*=1", "*", "**", "project_id=1*", "*id=1*", "*2", "*01", "p*")),
        ("results", (OF_RESULTS, "project_id=1, *", "project_id=1,*", "*, meta_data*",
                     "*source_id=6", "*1, m*", "project_id=-*")),
        ("*", ("project_id=1", OF_RESULTS)),
    ],
)  # fmt: skip
def test_D4_an_object_is_one_that_the_tier_can_have(tmp_path, metastore, tier, objects):
    limits = [LIMIT | {"tier": tier, "object": each} for each in objects]
    path = seed(tmp_path, *limits)
    states.check_comparison(metastore, "a", "b", {}, [], [(states.LIMITS, path)])


@pytest.mark.parametrize(
    ("tier", "objects"),
    [
        ("project", ("project_id", "project 1", "project_id = 1*", "1", "project_id=",
                     "project_id=x", "project_id=01", "*=01", "id=1", OF_RESULTS,
                     "*project_id=1, *", "project_id=1.0", "project_id='1'")),
        ("results", ("project_id=1,meta_data_source_id=6", "project_id=1",
                     "meta_data_source_id=6, project_id=1", "project_id=, *",
                     "meta_data*", "project_id=1,  *", "*,meta_data_source_id=6")),
        ("*", ("data_source_id=1", "report_id*")),
    ],
)  # fmt: skip
def test_D4_an_object_that_no_object_can_be_is_told(tmp_path, metastore, tier, objects):
    for each in objects:
        path = seed(tmp_path, LIMIT, LIMIT | {"tier": tier, "object": each})
        seeds = [(states.LIMITS, path)]
        found = told(states.check_comparison, metastore, "a", "b", {}, [], seeds)
        assert found.startswith("The seed access_change_limits, line 3: no object of")
        assert f"{tier!r} is called {each!r}; one is 'project_id=1" in found


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        *(({key: " "}, f"{key} is empty") for key in APPROVAL if key != "expires_on"),
        ({"expires_on": ""}, "expires_on is ''; it must be a day"),
        ({"expires_on": "31.12.2027"}, "expires_on is '31.12.2027'; it must be a day"),
        ({"expires_on": "20271231"}, "expires_on is '20271231'; it must be a day"),
        ({"expires_on": "2027-02-30"}, "expires_on is '2027-02-30'; it must be a day"),
    ],
)
def test_D4_an_approval_is_somebodys_with_a_reason_and_an_end(tmp_path, edit, sentence):
    found = told(states.check_seed, states.APPROVALS, seed(tmp_path, APPROVAL | edit))
    assert found.startswith("The seed access_change_approvals, line 2: ")
    assert sentence in found


def test_the_page_tells_what_dbt_says():
    table = PAGE.split("## What is refused")[1]
    rows = re.findall(r"^\| [^|]+ \| `(.+)` \|$", table, re.M)
    assert len(rows) > 12
    for sentence in rows:
        parts = sentence.replace("access_change_limits", "{name}").split("approver")
        assert all(part in CODE for part in parts if part.strip()), sentence
