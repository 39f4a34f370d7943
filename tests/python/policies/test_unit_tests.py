"""E1: a dbt unit test of a masked dataset of one's own is rendered without dbt's graph.

Inside a unit test dbt gives macros an empty `graph`, and `this` is none.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from dbt.artifacts.resources import ColumnInfo
from own_config import together
from rendering import Macros, Stopped

from secure_datasets.engines.duckdb import DuckDB, Rows, View
from secure_datasets.macro_methods import ProjectDatasets

# As a customer wrote it.
UNIT_TEST = """
model: vw_secure_dataset_authorized_projects
given:
  - input: ref('dim_projects')
    rows: [{project_id: 7, project_name: A}]
  - input: ref('vw_secure_user_project_access')
    rows: [{project_id: 7, user_id: 8, access_type: Group}]
  - input: ref('user_role_names')
    format: sql
    rows: select cast(8 as bigint) as user_id, array('Data Office') as role_names
  - input: ref('view_outcomes')
    rows: [{user_id: 8, view_name: vw_secure_dataset_authorized_projects, outcome: Transform}]
expect:
  rows: [{project_id: 7, project_name: project 7, user_id: 8, access_type: Group}]
"""  # noqa: E501
TYPES = {
    "dim_projects": {"project_id": "bigint", "project_name": "string"},
    "vw_secure_user_project_access": {
        "project_id": "bigint",
        "user_id": "bigint",
        "access_type": "string",
    },
    "view_outcomes": {"user_id": "bigint", "view_name": "string", "outcome": "string"},
}
DOCUMENT = yaml.safe_dump(together(), sort_keys=False)
ALL_TYPES = {
    name: relation["columns"] for name, relation in together()["relations"].items()
}


def rendered(types, name="authorized_projects") -> str:
    """Render a dataset as dbt does inside a unit test."""
    macros = Macros(DOCUMENT, ref="lake.{}".format, types=types)
    macros.stand_in(graph={}, this=None)
    return macros.secure_dataset(name)


def relation(given):
    """Return the rows that a unit test gives an input."""
    name = given["input"].removeprefix("ref('").removesuffix("')")
    if given.get("format") == "sql":
        return f"lake.{name}", View(given["rows"])
    types = TYPES[name]
    rows = [[row.get(column) for column in types] for row in given["rows"]]
    return f"lake.{name}", Rows(types, rows)


def answer(unit_test):
    """Return what the dataset shows of the inputs."""
    engine = DuckDB(dict(map(relation, unit_test["given"])))
    return engine.ask(rendered({"dim_projects": TYPES["dim_projects"]}))


def test_E1_a_unit_test_of_a_masked_dataset_runs():
    unit_test = yaml.safe_load(UNIT_TEST)
    assert answer(unit_test) == unit_test["expect"]["rows"]


def test_E1_a_unit_test_sees_the_value_where_the_outcome_is_allow_and_nothing_by_deny():
    unit_test = yaml.safe_load(UNIT_TEST)
    (outcome,) = unit_test["given"][-1]["rows"]
    outcome["outcome"] = "Allow"
    (row,) = unit_test["expect"]["rows"]
    assert answer(unit_test) == [row | {"project_name": "A"}]
    outcome["outcome"] = "Deny"
    assert answer(unit_test) == []


@pytest.mark.parametrize("name", together()["datasets"])
def test_E1_a_unit_test_is_of_the_text_that_a_run_publishes(name):
    macros = Macros(DOCUMENT, ref="lake.{}".format, types=ALL_TYPES)
    assert rendered(ALL_TYPES, name) == macros.secure_dataset(name)


def test_E1_a_mask_has_its_column_s_type_in_a_unit_test_too():
    types = {"dim_projects": {"project_id": "bigint", "project_name": "varchar(3)"}}
    assert "as varchar(3))" in rendered(types)


def test_E1_a_mask_on_a_column_without_a_documented_type_stops():
    with pytest.raises(Stopped, match="does not say the column's data_type"):
        rendered({"dim_projects": {"project_id": "bigint", "project_name": ""}})


def node(package, data_type, kind="model"):
    """Return a model `jobs` as dbt's manifest has it."""
    column = ColumnInfo(name="job_name", data_type=data_type)
    return SimpleNamespace(
        name="jobs",
        package_name=package,
        resource_type=kind,
        columns={"job_name": column},
    )


def type_by(*nodes):
    """Return the type of a column by the documentation of these models."""
    manifest = SimpleNamespace(nodes=dict(enumerate(nodes)))
    return ProjectDatasets(manifest).column_type("jobs", "job_name")


def test_a_column_s_type_comes_from_the_documentation_of_the_adapter_s_manifest():
    assert type_by(node("bank", "date")) == "date"
    assert type_by(node("bank", None)) is None
    assert type_by(node("bank", "date", kind="test")) is None
    assert type_by() is None


def test_the_root_project_s_type_counts_where_both_projects_have_the_model():
    product = node("secure_datasets", "string")
    assert type_by(product, node("bank", "date")) == "date"
    assert type_by(product, node("bank", None)) == "string"
