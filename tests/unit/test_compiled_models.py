"""The models of a compiled project come after what they read."""

from pathlib import Path

from secure_datasets.engines import compiled
from secure_datasets.engines.compiled import models_of


def manifest(**reads: list[str]) -> dict:
    """Return dbt's manifest of models, by what each reads."""
    nodes = {
        f"model.acme.{name}": {
            "name": name,
            "resource_type": "model",
            "language": "sql",
            "package_name": "acme",
            "original_file_path": f"models/{name}.sql",
            "relation_name": f"`s`.`{name}`",
            "config": {"materialized": "view"},
            "depends_on": {"nodes": keys},
        }
        for name, keys in reads.items()
    }
    return {"nodes": nodes, "metadata": {"project_name": "acme"}}


def test_a_model_may_be_called_as_the_table_that_it_reads_or_one_of_the_product():
    found = manifest(
        report=["model.acme.staff", "model.acme.users"],
        staff=["source.acme.hr.staff"],
        users=["model.acme.stg_users"],
        stg_users=["source.secure_datasets.repository.users"],
    )
    names = [model.name for model in models_of(Path(), found)]
    assert sorted(names) == ["report", "staff", "stg_users", "users"]
    assert names.index("stg_users") < names.index("users") < names.index("report")
    assert names.index("staff") < names.index("report")


def test_a_compiled_project_is_kept_only_for_the_code_that_wrote_its_queries(
    tmp_path, monkeypatch
):
    """Any room of the product may write the query of a model."""
    for name in ("dbt_project.yml", "profiles.yml"):
        (tmp_path / name).write_text("{}\n")
    given = (tmp_path, tmp_path, "local")
    before = compiled._digest(*given)
    assert compiled._digest(*given) == before
    monkeypatch.setattr(compiled, "python_part", lambda: "of a later commit")
    assert compiled._digest(*given) != before
