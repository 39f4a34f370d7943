"""What a root project must leave as it is of the product that it installs."""

from __future__ import annotations

import pytest

from secure_config.hooks import granted_by_hooks
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


GRANTS = "grant select on {{ this }} to analysts"
OF_ALL = "' shows the rows of all users, and a hook of it grants: take the hook away"


@pytest.mark.parametrize("key", ["pre-hook", "post-hook"])
@pytest.mark.parametrize(
    "node",
    [
        of_product("stg_users", "staging"),
        of_product("users", "_seeds", materialized="seed") | {"resource_type": "seed"},
        *map(model, ("all_jobs", "fct_runs", "dim_units")),
    ],
    ids=lambda node: node["name"],
)
def test_no_hook_grants_what_shows_the_rows_of_all_users(node, key):
    node = node | {"config": node["config"] | {key: [{"sql": GRANTS}]}}
    others = [other for other in FINE if other["name"] != node["name"]]
    (told,) = problems_of([*others, node], CONFIG, [])
    assert f"'{node['name']}{OF_ALL}, and let `grants` in dbt_project.yml say" in told


def test_a_hook_may_grant_what_grants_may():
    hook = {"post-hook": [{"sql": GRANTS}]}
    for name in ("report", "dim_days", "access", "vw_secure_dataset_jobs"):
        nodes = [
            node | {"config": node["config"] | hook} if node["name"] == name else node
            for node in FINE
        ]
        assert list(problems_of(nodes, CONFIG, [])) == []


def test_who_is_granted_a_secure_dataset_by_a_hook_reads_it():
    hook = "grant select on {{ this }} to `Analysts`, role other"
    nodes = [
        node | {"config": node["config"] | {"post-hook": [{"sql": hook}]}}
        if node["name"] == "vw_secure_dataset_jobs"
        else node
        for node in FINE
    ]
    base = model("fct_runs", grants={"select": ["analysts"]})
    (told,) = problems_of([*nodes, base], CONFIG, [])
    assert f"'analysts{READS}fct_runs', which shows the rows of all users" in told


@pytest.mark.parametrize(
    ("hook", "is_grant"),
    [
        (GRANTS, True),
        ("GRANT\nSELECT /* all */ ON TABLE {{ this }} TO `analysts`", True),
        ("analyze table {{ this }}; grant all privileges on {{ this }} to a", True),
        ("{% if target.name == 'prod' %}" + GRANTS + "{% endif %}", True),
        ("{{ 'grant select on ' ~ this ~ ' to analysts' }}", True),
        ("{% do run_query('grant select on ' ~ this ~ ' to a') %}", True),
        ("{{ 'grant' }} {{ privilege }} on {{ this }} to {{ target.user }}", True),
        ("begin grant select on {{ this }} to a; end", True),
        ("execute immediate 'grant select on s.t to a'", True),
        # What can't be read may be one.
        ("grant select on {{ this }} to 'a", True),
        ("grant select on s.t to a {{ ' }}", True),
        ("analyze table {{ this }} compute statistics", False),
        ("-- grant select on {{ this }} to analysts\nanalyze table a", False),
        ("/* grant select on a to b */ analyze table a", False),
        ("{# grant select on a to b #} analyze table a", False),
        ("comment on table a is 'grant select on a to b'", False),
        ("insert into grants select `grant` from a join b on true -- to", False),
        ("revoke select on {{ this }} from analysts", False),
        ("{{ grant_to(this) }}", False),
        ("", False),
        (None, False),
    ],
)
def test_a_grant_in_a_hook_is_found_where_spark_would_run_it(hook, is_grant):
    assert bool(granted_by_hooks({"config": {"post-hook": [{"sql": hook}]}})) is (
        is_grant
    )


def test_the_hooks_of_a_node_that_has_none_grant_nothing():
    assert granted_by_hooks({"config": {}}) == {}


def test_an_ephemeral_model_is_told_how_it_is_to_be_kept():
    node = of_product("stg_users", "staging", materialized="ephemeral")
    (told,) = problems_of([node | {"relation_name": None}], CONFIG, [])
    assert "is to be materialized: published_view" in told
