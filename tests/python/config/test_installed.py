"""What a root project must leave as it is of the product that it installs."""

from __future__ import annotations

import pytest
from installed_models import CONFIG, FINE, model, of_product
from projects import ROOT

from secure_datasets.installed import FOLDERS, problems_of


def test_models_as_they_come_are_no_problem():
    assert list(problems_of(FINE, CONFIG, ["app"])) == []


READS = "' reads secure datasets and is granted '"
PROBLEMS = {
    "a table": (
        of_product("stg_users", "staging", materialized="table"),
        "'stg_users' of secure_datasets is to be materialized: published_view,"
        " reads_latest: false, inline_views: false, and dbt_project.yml says otherwise",
    ),
    "views that change": (
        of_product("vw_secure_dataset_tests", "secure", materialized="view"),
        "materialized: view, reads_latest: false, inline_views: true, and dbt_project",
    ),
    "quoted": (
        of_product("stg_users", "staging") | {"relation_name": "`s`.`stg_users`"},
        "would be called `s`.`stg_users`, and versions are found by names without",
    ),
    "the latest of a base": (
        model("all_jobs", reads_latest=True),
        "The model 'all_jobs' has reads_latest: true, and a secure dataset is made of",
    ),
    "the latest of rights": (model("access", reads_latest=True), "'access' has reads_"),
    "a base": (model("all_jobs", grants={"select": ["Hr"]}), f"'Hr{READS}all_jobs', w"),
    "a base that is a seed": (
        model("all_jobs", grants={"select": ["hr"]}) | {"resource_type": "seed"},
        f"'hr{READS}all_jobs', which shows the rows of all users",
    ),
    "a seed of the product": (
        of_product("users", "_seeds", materialized="seed", grants={"select": ["hr"]})
        | {"resource_type": "seed"},
        f"'hr{READS}users', which shows the rows of all users",
    ),
    "a fact": (model("fct_runs", grants={"select": ["hr"]}), f"'hr{READS}fct_runs', w"),
    "a dimension with row security": (
        model("dim_units", grants={"select": ["hr"]}),
        f"'hr{READS}dim_units', which shows the rows of all users",
    ),
    "the audit": (
        of_product("audit", "access", grants={"all": ["x", "app"]}),
        f"'app{READS}audit', which shows the rows of all users: let dbt_project.yml",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_dbt_project_says_of_models_and_must_not_is_a_sentence(name):
    node, sentence = PROBLEMS[name]
    others = [other for other in FINE if other["name"] != node["name"]]
    (told,) = problems_of([*others, node], CONFIG, ["APP"])
    assert sentence in told


def test_a_clone_of_the_product_is_asked_for_grants_and_keeps_models_as_it_will():
    in_it = of_product("report", "reports", grants={"select": ["hr"]})
    nodes = [*FINE, of_product("stg_users", "staging", materialized="table"), in_it]
    assert list(problems_of(nodes, CONFIG, [], is_clone=True)) == []
    granted = of_product("stg_rows", "staging", grants={"select": ["hr"]})
    (told,) = problems_of([*nodes, granted], CONFIG, [], is_clone=True)
    assert f"'hr{READS}stg_rows'" in told


def test_the_folders_of_the_product_are_known():
    found = {
        path.stem
        for part in ("models", "seeds")
        for path in (ROOT / part).iterdir()
        if (path.is_dir() and path.name != "_docs") or path.suffix == ".csv"
    }
    assert found == FOLDERS


def test_an_ephemeral_model_is_told_how_it_is_to_be_kept():
    node = of_product("stg_users", "staging", materialized="ephemeral")
    (told,) = problems_of([node | {"relation_name": None}], CONFIG, [])
    assert "is to be materialized: published_view" in told


def test_the_product_s_own_models_are_kept_as_it_says(parsed):
    nodes = [node.to_dict() for node in parsed.nodes.values()]
    kept = [node for node in nodes if node["resource_type"] in ("model", "seed")]
    assert list(problems_of(kept, CONFIG, [])) == []
