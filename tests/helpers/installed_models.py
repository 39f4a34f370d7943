"""Models of the product and of a root project, as dbt's graph has them."""

from __future__ import annotations

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
