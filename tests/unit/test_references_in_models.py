"""A customer's model may name another by its package, as dbt lets it."""

from pathlib import Path

import pytest

from secure_datasets.engines.published import State
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.macros import Package

NODES = {
    f"model.{package}.stg_projects": {
        "name": "stg_projects",
        "package_name": package,
        "relation_name": f"{package}.stg_projects",
    }
    for package in ("acme", "secure_datasets")
}
DOCUMENT = {"vars": {}, "macros": {}, "config": {}, "raw_tables": {}, "feeds": {}}


@pytest.mark.parametrize(
    ("names", "relation"),
    [
        (["stg_projects"], "secure_datasets.stg_projects"),
        (["secure_datasets", "stg_projects"], "secure_datasets.stg_projects"),
        (["acme", "stg_projects"], "acme.stg_projects"),
    ],
)
def test_a_model_is_named_alone_or_after_its_package(names, relation):
    assert ref(*names) == relation


def test_what_is_not_there_is_named_as_it_was():
    with pytest.raises(QuestionError, match=r"no relation other\.stg_projects"):
        ref("other", "stg_projects")


def ref(*names: str) -> str:
    values = {
        "graph": {"nodes": NODES, "sources": {}},
        "documents": {"secure_datasets": DOCUMENT},
        "relations": {},
        "project": "acme",
        "target": {},
    }
    package = Package(State(Path(), b"", values, None), None, None)
    return package.context["ref"](*names)
