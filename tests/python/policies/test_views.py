"""I: secure datasets obey the outcomes of view authorization.

A small project is compiled without Spark; what dbt compiled, the resolution of the
outcomes included, then answers over small tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from policy_sandbox import Sandbox, config, view_name
from rendering import Macros, Stopped
from small_project import documented, small_project

SCHEMA = "small_authorized"
OWNER, SECOND_OWNER, ALICE, BEN, CARL = 1, 5, 2, 3, 4
PREFIX = "vw_secure_dataset_"
CONFIG = """{% macro secure_datasets_config() %}
    {% set document %}
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs:
        base: all_runs
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    notes:
        base: vw_secure_dataset_runs
        columns: [run_id, amount]
        unique_key: [run_id]
        view_authorization: true
    joined:
        base: joined_runs
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    drafts:
        base: only_text
        columns: [run_id, team_id, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
        view_authorization: true
    copies:
        base: vw_secure_dataset_runs
        columns: [run_id, amount]
        unique_key: [run_id]
policies:
    - {role: A, resource: runs, condition: unit = 'X'}
    - {role: A, resource: runs.amount, mask: "0"}
    - role: B
      resource: runs
      condition: unit in (select a.unit from {{ ref('allowed') }} as a)
    - {role: A, resource: notes, condition: false}
    - {role: A, resource: notes.amount, mask: "1"}
    - {role: A, resource: joined, condition: unit = 'X'}
    {% endset %}
    {{ return(adapter.secure_datasets().read(document, context)) }}
{% endmacro %}
"""
STORED = "select 1 as run_id"
OF_BASES = {
    base: {"run_id": "nothing", "team_id": "team_access", "unit": "nothing"}
    for base in ("all_runs", "joined_runs", "only_text")
}
REFERENCES = documented({"team_access": {"team_id": "team_access"}, **OF_BASES})
# A masked column has a type.
for base in OF_BASES:
    REFERENCES = REFERENCES.replace(
        f"- name: {base}\n  columns:\n",
        f"- name: {base}\n  columns:\n  - {{name: amount, data_type: bigint}}\n",
    )


def a_view(text: str, owner: int | None = OWNER) -> str:
    """A model that stores nothing, with an owner."""
    meta = f", meta={{'owner_user_id': {owner}}}" if owner else ""
    return f"{{{{ config(materialized='view'{meta}) }}}}{text}"


MODELS = {
    **dict.fromkeys(["all_runs", "more_runs", "stg_users", "team_access"], STORED),
    "user_role_names": STORED,
    "allowed": STORED,
    "joined_runs": a_view(
        "select * from {{ ref('all_runs') }} union all"
        " select * from {{ ref('more_runs') }}"
    ),
    "only_text": "{{ config(materialized='ephemeral') }}"
    " select * from {{ ref('all_runs') }}",
    f"{PREFIX}runs": a_view("{{ secure_datasets.secure_dataset('runs') }}"),
    f"{PREFIX}notes": a_view(
        "{{ secure_datasets.secure_dataset('notes') }}", SECOND_OWNER
    ),
    f"{PREFIX}joined": a_view("{{ secure_datasets.secure_dataset('joined') }}"),
    f"{PREFIX}drafts": a_view("{{ secure_datasets.secure_dataset('drafts') }}"),
    f"{PREFIX}copies": a_view("{{ secure_datasets.secure_dataset('copies') }}", None),
}
RUNS = [(1, 10, "X", 5), (2, 10, "Y", 7), (3, 20, "X", 9)]
ALL, OF_X = {1: 5, 2: 7}, {1: 0}
SHORT = {"A": "Allow", "T": "Transform", "TD": "Transform to Deny", "D": "Deny"}
RUNS_ALLOWED = {(OWNER, "all_runs"): "A"}
NOTES_ALLOWED = RUNS_ALLOWED | {(SECOND_OWNER, f"{PREFIX}runs"): "A"}


def a_project(project, folder, models: dict[str, str]):
    """The small project with these models."""
    return small_project(
        folder,
        project,
        SCHEMA,
        {f"models/{name}.sql": text for name, text in models.items()}
        | {
            "macros/config/secure_datasets_config.sql": CONFIG,
            "models/references.yml": REFERENCES,
        },
        copied=("models/view_authorization", "seeds/view_authorization"),
    )


@pytest.fixture(scope="module")
def compiled(project, tmp_path_factory, dbt) -> dict[str, dict]:
    """The nodes of the small project, compiled without Spark."""
    small = a_project(project, tmp_path_factory.mktemp("views") / "project", MODELS)
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--indirect-selection", "empty", "--select", "view_outcomes", f"{PREFIX}*"),
        folder=small,
    )
    assert result.success, result.exception
    nodes = json.loads((small / "target/manifest.json").read_text())["nodes"]
    return {node["name"]: node for node in nodes.values()}


def publish(sandbox: Sandbox, compiled: dict[str, dict], name: str) -> None:
    """Make a view of what dbt compiled, as text: as with dbt's, each read asks anew."""
    text = compiled[name].get("compiled_code") or MODELS[name].split("}}", 1)[1]
    text = re.sub(r"{{ ref\('(\w+)'\) }}", rf"{SCHEMA}.\1", text)
    query = re.sub(rf"\b{SCHEMA}\.(\w+)", lambda found: view_name(found[1]), text)
    sandbox.view(view_name(name), query)


@pytest.fixture(scope="module")
def sandbox(compiled) -> Sandbox:
    """Small tables, and over them the views that dbt compiled."""
    sandbox = Sandbox()
    schema = "run_id bigint, team_id bigint, unit string, amount bigint"
    sandbox.table("all_runs", schema, RUNS)
    sandbox.table("more_runs", schema, [(4, 10, "X", 1), (5, 10, "Z", 2)])
    sandbox.table("allowed", "unit string", [("Y",)])
    everybody = [OWNER, SECOND_OWNER, ALICE, BEN, CARL]
    sandbox.table(
        "team_access", "team_id bigint, user_id bigint", [(10, u) for u in everybody]
    )
    sandbox.roles({user: [] for user in everybody} | {ALICE: ["A"], BEN: ["A"]})
    decide(sandbox, {})
    for name in ["joined_runs", "view_outcomes", *(n for n in MODELS if PREFIX in n)]:
        publish(sandbox, compiled, name)
    return sandbox


def decide(sandbox: Sandbox, decisions: dict[tuple[int, str], str | None]) -> None:
    """Put these in the place of all decisions."""
    rows = [(*key, SHORT[short]) for key, short in decisions.items() if short]
    schema = "user_id bigint, object_name string, decision string"
    sandbox.table("view_decisions", schema, rows)


@pytest.fixture
def seen(sandbox) -> Callable[..., dict]:
    """Who sees which runs with which amounts of a dataset, by these decisions."""

    def call(dataset: str, decisions: dict) -> dict[int, dict[int, int]]:
        decide(sandbox, decisions)
        view = view_name(f"{PREFIX}{dataset}")
        found: dict[int, dict[int, int]] = {}
        for user, run, amount in sandbox.rows(
            f"select user_id, run_id, amount from {view}"
        ):
            assert run not in found.setdefault(user, {})
            found[user][run] = amount
        return found

    return call


def test_I_e_deny_shows_nothing_transform_what_the_rules_leave_allow_everything(seen):
    view = f"{PREFIX}runs"
    decisions = RUNS_ALLOWED | {
        (ALICE, view): "A",
        (ALICE, "all_runs"): "T",
        (BEN, view): "A",
        (CARL, view): "D",
    }
    # The owner has no decision on the own view, which denies as well.
    assert seen("runs", decisions) == {ALICE: OF_X, BEN: ALL}
    assert seen("runs", decisions | {(BEN, view): "TD", (CARL, view): "A"}) == {
        ALICE: OF_X,
        CARL: ALL,
    }


@pytest.mark.parametrize(
    ("on_table", "rows"),
    [("A", ALL), ("T", OF_X), ("TD", ALL), ("D", ALL), (None, ALL)],
)
def test_I_e_what_the_user_may_do_with_the_table_matters_for_transform_alone(
    seen, on_table, rows
):
    decisions = {(ALICE, f"{PREFIX}runs"): "A", (ALICE, "all_runs"): on_table}
    assert seen("runs", RUNS_ALLOWED | decisions) == {ALICE: rows}


def test_I_e_who_holds_no_role_sees_nothing_by_transform(seen):
    decisions = {(CARL, f"{PREFIX}runs"): "A", (CARL, "all_runs"): "T"}
    assert seen("runs", RUNS_ALLOWED | decisions) == {}


def test_I_e_a_policy_on_the_view_is_ignored_with_a_warning(sandbox):
    text = CONFIG.split("{% set document %}")[1].split("{% endset %}")[0]
    macros = sandbox.macros(text)
    macros.secure_dataset("notes")
    assert [warning.split(":")[1] for warning in macros.warnings] == [
        f" the policy of 'A' on '{place}' is ignored"
        for place in ("notes", "notes.amount")
    ]
    macros.secure_dataset("runs")
    assert len(macros.warnings) == 2


@pytest.mark.parametrize("revoked", ["TD", "D", None])
def test_I_a_revoking_the_owner_stops_the_dataset_for_everybody_at_the_next_read(
    seen, revoked
):
    decisions = RUNS_ALLOWED | {
        (user, f"{PREFIX}runs"): "A" for user in (OWNER, ALICE, BEN, CARL)
    }
    assert set(seen("runs", decisions)) == {OWNER, ALICE, BEN, CARL}
    assert seen("runs", decisions | {(OWNER, "all_runs"): revoked}) == {}
    assert seen("runs", decisions | {(OWNER, "all_runs"): "T"}).keys() >= {ALICE}


def test_I_b_rules_act_at_the_end_of_the_chain_and_those_on_the_view_are_ignored(seen):
    view = f"{PREFIX}notes"
    decisions = NOTES_ALLOWED | {
        **{(user, view): "A" for user in (ALICE, BEN, CARL)},
        (ALICE, "all_runs"): "T",
        # Transform on a view of the chain is no rule.
        (BEN, f"{PREFIX}runs"): "T",
        (CARL, view): "T",
    }
    # The condition on `notes`, false, would show nothing, and its mask a 1.
    assert seen("notes", decisions) == {ALICE: OF_X, BEN: ALL, CARL: ALL}


@pytest.mark.parametrize(
    ("owner", "read"), [(OWNER, "all_runs"), (SECOND_OWNER, f"{PREFIX}runs")]
)
def test_I_b_each_owner_of_the_chain_can_stop_it(seen, owner, read):
    decisions = NOTES_ALLOWED | {(ALICE, f"{PREFIX}notes"): "A"}
    # Alice needs nothing on what the view reads.
    assert seen("notes", decisions) == {ALICE: ALL}
    assert seen("notes", decisions | {(owner, read): "D"}) == {}


@pytest.mark.parametrize(
    ("of_owner", "of_user", "rows"),
    [
        (("A", "A"), (None, None), {1: 5, 2: 7, 4: 1, 5: 2}),
        (("T", "A"), ("D", "A"), {1: 5, 2: 7, 4: 1, 5: 2}),
        (("A", "A"), ("T", None), {1: 5, 4: 1}),
        (("A", "A"), ("D", "T"), {1: 5, 4: 1}),
        (("A", "D"), ("T", "T"), None),
        (("A", None), ("A", "A"), None),
    ],
)
def test_I_c_of_several_tables_one_can_deny_and_one_can_transform(
    seen, of_owner, of_user, rows
):
    tables = ("all_runs", "more_runs")
    decisions = {(OWNER, "joined_runs"): "A", (ALICE, f"{PREFIX}joined"): "A"}
    decisions |= {(OWNER, t): d for t, d in zip(tables, of_owner, strict=True)}
    decisions |= {(ALICE, t): d for t, d in zip(tables, of_user, strict=True)}
    assert seen("joined", decisions) == ({ALICE: rows} if rows else {})


def test_M8_a_dataset_over_it_that_is_not_under_it_shows_what_it_shows(seen):
    decisions = RUNS_ALLOWED | {
        (ALICE, f"{PREFIX}runs"): "A",
        (ALICE, "all_runs"): "T",
        (BEN, f"{PREFIX}runs"): "A",
    }
    assert seen("copies", decisions) == {ALICE: OF_X, BEN: ALL}


@pytest.mark.parametrize("outcome", ["Deny", "allow", "Grant", None])
def test_what_is_no_outcome_to_see_by_shows_nothing(sandbox, compiled, outcome):
    dataset = (
        "items: {base: all_runs, columns: [run_id, unit], unique_key: [run_id],"
        " visible_to: everyone, view_authorization: true}"
    )
    schema = "user_id bigint, view_name string, outcome string"
    rows = [(ALICE, f"{PREFIX}items", outcome), (BEN, f"{PREFIX}item", "Allow")]
    sandbox.table("view_outcomes", schema, rows)
    view = sandbox.secure(config(dataset=dataset), "items")
    found = sandbox.rows(f"select * from {view}")
    publish(sandbox, compiled, "view_outcomes")
    assert found == []


def test_the_outcomes_depend_on_no_secure_dataset_nor_on_a_condition(compiled):
    read, found = ["view_outcomes"], set()
    while read:
        for parent in compiled[read.pop()]["depends_on"].get("nodes", []):
            name = parent.split(".")[-1]
            found.add(name)
            read.append(name)
    assert found == {"view_decisions", "stg_users"}


def test_the_owner_answers_for_where_the_rows_come_from_and_for_nothing_else(compiled):
    text = compiled["view_outcomes"]["compiled_code"]
    gates = re.search(r"gates .*?values(.*?)\n\),", text, re.S)[1]
    assert sorted(re.findall(r"\('(\w+)', '(\d)', '(\w+)'\)", gates)) == sorted(
        [
            (f"{PREFIX}runs", "1", "all_runs"),
            (f"{PREFIX}notes", "5", f"{PREFIX}runs"),
            (f"{PREFIX}notes", "1", "all_runs"),
            (f"{PREFIX}joined", "1", "joined_runs"),
            (f"{PREFIX}joined", "1", "all_runs"),
            (f"{PREFIX}joined", "1", "more_runs"),
            ("joined_runs", "1", "all_runs"),
            ("joined_runs", "1", "more_runs"),
            # What an ephemeral model reads, its reader reads.
            (f"{PREFIX}drafts", "1", "all_runs"),
        ]
    )


def test_a_dataset_under_view_authorization_needs_an_owner(project, tmp_path, dbt):
    without = {
        f"{PREFIX}runs": a_view("{{ secure_datasets.secure_dataset('runs') }}", None)
    }
    small = a_project(project, tmp_path / "project", MODELS | without)
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--indirect-selection", "empty", "--select", "view_outcomes"),
        folder=small,
    )
    assert not result.success
    said = str(result.exception or [r.message for r in result.result])
    assert f"'{PREFIX}runs' is under view authorization and has no owner" in said


def test_a_view_is_not_switched_to_outcomes_that_do_not_know_what_it_reads():
    view = view_name("runs")
    known = {"views": [[view]], "gates": [[view, "1", "a"]], "tables": [[view, "a"]]}
    other = {"views": [["v"]], "gates": [["v", None, "b"]], "tables": [["v", "b"]]}
    references = {key: known[key] + other[key] for key in known}
    macros = Macros("")
    shown = "\n".join(
        f"({name}) as ({macros.values_query(rows, 3)})"
        for name, rows in references.items()
    )
    texts = {"s.view_outcomes": shown}
    model = {"name": "view_outcomes", "resource_type": "model"}
    macros.stand_in(
        view_references=lambda: references,
        graph={"nodes": {"m": model | {"relation_name": "s.view_outcomes"}}},
        adapter={"text_of_view": texts.get},
    )
    macros._check_outcomes(view)
    # Of another view it may know less: that one is asked when it is run.
    other["tables"][0][1] = references["tables"][1][1] = "c"
    macros._check_outcomes(view)
    for key, row in (("tables", [view, "b"]), ("gates", [view, "2", "a"])):
        references[key] = [*references[key], row]
        with pytest.raises(Stopped, match=f"does not know {', '.join(row)}, by which"):
            macros._check_outcomes(view)
        references[key].pop()
    references["views"] = [["vw_secure_dataset_new"], *references["views"]]
    with pytest.raises(Stopped, match="does not know vw_secure_dataset_new, by which"):
        macros._check_outcomes("vw_secure_dataset_new")
    # Where there is no view yet, who reads it is told so.
    texts.clear()
    macros._check_outcomes("vw_secure_dataset_new")


def test_what_a_view_reads_newly_is_missed_in_outcomes_of_before(
    project, dbt, compiled, tmp_path, monkeypatch
):
    before = compiled["view_outcomes"]["compiled_code"]
    asked = []
    monkeypatch.setattr(
        SecureSparkAdapter,
        "text_of_view",
        lambda adapter, view: asked.append(view) or before,
    )
    # The view over two tables reads a third one now.
    newly = MODELS["joined_runs"] + " union all select * from {{ ref('allowed') }}"
    for name, models in {"as_before": {}, "newly": {"joined_runs": newly}}.items():
        folder = a_project(project, tmp_path / name, MODELS | models)
        # Only a run asks for what is published: here compiling is taken for one.
        macro = folder / "macros/render/secure_dataset.sql"
        text = macro.read_text()
        of_runs = "flags.WHICH in ['build', 'run']"
        assert of_runs in text
        macro.write_text(text.replace(of_runs, "flags.WHICH == 'compile'"))
        result = dbt(
            *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
            *("--indirect-selection", "empty", "--select", f"{PREFIX}*"),
            folder=folder,
        )
        if name == "as_before":
            assert result.success, result.exception
            assert asked and set(asked) == {f"{SCHEMA}.view_outcomes"}
    results = result.result or []
    said = " ".join([str(result.exception), *(str(each.message) for each in results)])
    assert not result.success
    assert "'view_outcomes' does not know vw_secure_dataset_" in said
    assert ", allowed, by which it decides who reads 'vw_secure_dataset_" in said
