"""What a run reads and does not build, and the sentence that it stops with."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.lineage import read_unbuilt
from secure_datasets.installed import unbuilt
from secure_datasets.macro_methods import SecureDatasets


def node(name: str, *parents: str, kind: str = "model", schema: str = "lake", **config):
    """Return a node or source as dbt knows it."""
    return {
        "name": name,
        "resource_type": kind,
        "relation_name": None if kind == "test" else f"`{schema}`.`{name}`",
        "config": {"materialized": "published_view"} | config,
        "depends_on": {"nodes": [*parents]},
    }


NODES = {
    each["name"]: each
    for each in (
        node("roles", kind="seed"),
        # The raw table of the sample is a seed, and that of a replica is none.
        node("users", kind="seed", schema="raw"),
        node("staged", "raw_users", "raw_jobs"),
        node("inlined", "staged", "inlined", materialized="ephemeral"),
        node("access", "inlined", "roles"),
        node("base", "staged"),
        node("secure", "base", "access", "nowhere"),
        node("law", "secure", "roles", kind="test"),
        node("texts", "secure", meta={"reads_rows": False}),
    )
}
SOURCES = {
    "raw_users": node("users", kind="source", schema="raw"),
    "raw_jobs": node("jobs", kind="source", schema="raw"),
}
GRAPH = {"nodes": NODES, "sources": SOURCES}


@pytest.mark.parametrize(
    ("selected", "read"),
    [
        ([*NODES], {}),
        (["staged"], {"users": ["staged"]}),
        (["staged", "users"], {}),
        (["access"], {"staged": ["access"], "roles": ["access"]}),
        (["secure"], {"base": ["secure"], "access": ["secure"]}),
        # A data test may look first whether what it reads is there.
        (["law"], {}),
        (["secure", "law", "roles", "access", "base"], {"staged": ["access", "base"]}),
        (["texts"], {}),
        (["another project's"], {}),
    ],
)
def test_what_a_run_reads_and_does_not_build(selected, read):
    assert read_unbuilt(GRAPH, selected) == read


@pytest.mark.parametrize(
    ("missing", "kind", "says"),
    [
        ({}, "run", None),
        (
            {"roles": ["access"]},
            "run",
            "'access' reads the seed 'roles', which is not built: run `dbt seed` once,"
            " without a selection, before this.",
        ),
        ({"roles": ["access"]}, "build", "not built: run `dbt build` once"),
        (
            {"base": ["secure"], "roles": ["access"], "users": ["staged"]},
            "run",
            "'access' reads the seed 'roles', which is not built, and 2 more are"
            " missing: run `dbt build` once",
        ),
        ({"base": ["secure"]}, "run", "'secure' reads the model 'base', which is not"),
    ],
)
def test_a_run_says_what_to_build_first(missing, kind, says):
    said = unbuilt(missing, NODES, kind)
    assert said is says if says is None else says in said


@pytest.mark.parametrize("there", [["base", "access"], ["base"]])
def test_a_run_is_stopped_where_what_its_models_read_is_not_there(there):
    nodes = {
        key: node | {"database": None, "schema": "lake", "alias": key}
        for key, node in NODES.items()
    }
    asked = (GRAPH | {"nodes": nodes}, ["secure"], "build")
    stops = pytest.raises(DbtRuntimeError, match="'secure' reads the model 'access'")
    with nullcontext() if "access" in there else stops:
        SecureDatasets().check_built_before(*asked, lambda *place: place[-1] in there)
