"""What a root project must leave as it is of the product that it installs."""

from __future__ import annotations

import pytest

from secure_config.installed import problems_of

CONFIG = {
    "tiers": {"own": {"access_view": "access"}},
    "datasets": {"jobs": {"base": "all_jobs"}, "totals": {}},
    "relations": {
        "fct_runs": {"kind": "fact"},
        "dim_units": {"kind": "dimension"},
        "dim_days": {"kind": "dimension"},
    },
    "relationships": [
        {"from": {"dataset": "fct_runs"}, "to": {"dataset": "dim_units"}},
        {"from": {"dataset": "fct_runs"}, "to": {"dataset": "dim_days"}},
        {"from": {"dataset": "dim_units"}, "to": {"row_security": "units"}},
    ],
}


def model(name: str, folder: str = "own", package: str = "acme", **config) -> dict:
    """Return a model as dbt's graph has it."""
    return {
        "name": name,
        "resource_type": "model",
        "package_name": package,
        "fqn": [package, folder, name],
        "relation_name": f"s.{name}",
        "config": {"materialized": "published_view", **config},
    }


def of_product(name: str, folder: str, **config) -> dict:
    """Return a model of the product."""
    return model(name, folder, "secure_datasets", **config)


FINE = [
    of_product("stg_jobs", "staging"),
    of_product("leaks", "leaks", materialized="view"),
    of_product(
        *("view_outcomes", "view_authorization"), materialized="view", reads_latest=True
    ),
    of_product(
        *("vw_secure_dataset_jobs", "secure"),
        **{"materialized": "view", "inline_views": True, "grants": {"select": ["HR"]}},
    ),
    model("access", grants={"select": ["hr"]}),
    model("all_jobs", grants={"select": ["admins"]}),
    model("report", grants={"select": ["hr"]}, materialized="table"),
    model("dim_days", grants={"select": ["hr"]}),
    of_product("role_permissions", "_seeds", materialized="seed")
    | {"resource_type": "seed"},
]


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


def test_an_ephemeral_model_is_told_how_it_is_to_be_kept():
    node = of_product("stg_users", "staging", materialized="ephemeral")
    (told,) = problems_of([node | {"relation_name": None}], CONFIG, [])
    assert "is to be materialized: published_view" in told
