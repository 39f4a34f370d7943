"""The files that `secure-datasets models` writes, from the config and YAML of bases."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from customer_project import CONFIG, config_macro
from projects import ROOT

from secure_datasets.cli import NO, UNASKED, YES, main
from secure_datasets.model_files import written
from secure_datasets.questions.asked import QuestionError

SHOWN = ["schema_id", "data_source_id", "schema_name"]
SCHEMAS = """\
    schemas:
        base: vw_dataset_schemas
        columns: [schema_id, data_source_id, schema_name]
        unique_key: [schema_id]
        tier: data_source
        keys: {meta_data_source_id: data_source_id}
"""
BASE, SECURE = "vw_dataset_schemas", "vw_secure_dataset_schemas"
BASES, SECURED = (
    "models/datasets/_datasets__models.yml",
    "models/secure/_secure__models.yml",
)
PROFILE = {"acme": {"target": "local", "outputs": {"local": {"schema": "acme"}}}}


def customer(
    folder: Path, document: str = f"datasets:\n{SCHEMAS}", **files: str
) -> Path:
    """Make a project with the product's files beside it, and the SQL of a base."""
    texts = {
        "dbt_project.yml": yaml.safe_dump({"name": "acme", "profile": "acme"}),
        "profiles.yml": yaml.safe_dump(PROFILE),
        CONFIG: config_macro(document),
        f"models/datasets/{BASE}.sql": "select 1 as schema_id",
        **files,
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages/secure_datasets").symlink_to(ROOT)
    return folder


def models(folder: Path, *options: str) -> int:
    """Call the command."""
    place = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
    return main(["models", *options, *place])


def entry(path: Path, name: str) -> dict:
    """Return what a file says of a model."""
    said = yaml.safe_load(path.read_text())["models"]
    return next(model for model in said if model["name"] == name)


def doc(name: str) -> str:
    return f"{{{{ doc('secure_datasets', '{name}') }}}}"


def test_a_dataset_needs_an_entry_and_the_sql_of_its_base(tmp_path, capsys):
    folder = customer(tmp_path)
    assert models(folder) == YES
    line = "{{ secure_datasets.secure_dataset('schemas') }}\n"
    assert (folder / f"models/secure/{SECURE}.sql").read_text() == line
    base, secure = entry(folder / BASES, BASE), entry(folder / SECURED, SECURE)
    assert base["description"].startswith("One row per schema. The base of")
    said = {c["name"]: (c["data_type"], c["description"]) for c in base["columns"]}
    assert said == {
        "schema_id": ("bigint", doc("col_schema_id")),
        "data_source_id": ("bigint", doc("col_data_source_id")),
        "schema_name": ("string", doc("col_schema_name")),
    }
    objects = [c.get("config", {}).get("meta") for c in base["columns"]]
    assert objects == [
        {"refers_to": "stg_meta_schemas"}, {"refers_to": "stg_meta_data_sources"}, None
    ]  # fmt: skip
    assert [c.get("data_tests") for c in base["columns"]] == [
        ["not_null", "unique"], None, None
    ]  # fmt: skip
    assert secure["description"].startswith("One row per schema and user who may see")
    (test,) = secure["data_tests"]
    keys = ["schema_id", "user_id"]
    assert test == {"secure_datasets.unique_rows": {"arguments": {"columns": keys}}}
    *shown, user, access_type = secure["columns"]
    assert {c["name"]: (c["data_type"], c["description"]) for c in shown} == said
    assert (user["name"], user["data_tests"]) == ("user_id", ["not_null"])
    assert access_type["description"].startswith(doc("col_access_type"))
    # Once is enough.
    capsys.readouterr()
    assert models(folder, "--check") == YES and capsys.readouterr().out == ""


def test_a_secure_dataset_follows_its_base_and_keeps_what_people_wrote(tmp_path):
    folder = customer(tmp_path)
    models(folder)
    base, secure = folder / BASES, folder / SECURED
    base.write_text(
        base.read_text().replace(
            f'"{doc("col_schema_name")}"', '"The name: in full."', 1
        )
    )
    mine = secure.read_text().replace(
        f'"{doc("col_schema_id")}"\n',
        f'"{doc("col_schema_id")} Never null."  # as the tier asks\n',
    )
    mine = mine.replace(
        f"""\
        data_type: string
        description: "{doc("col_schema_name")}"
""",
        """\
        data_type: int
        description: A name.
        data_tests:
          - not_null
""",
    ).replace("One row per schema and user", "One row per schema, and user", 1)
    secure.write_text(f"# By hand.\n{mine}\nexposures: []\n")
    assert models(folder) == YES
    expected = secure.read_text()
    assert "# By hand." in expected and expected.endswith("\nexposures: []\n")
    assert 'Never null."  # as the tier asks\n' in expected
    said = entry(secure, SECURE)
    assert said["description"].startswith("One row per schema, and user")
    assert said["columns"][2] == {
        "name": "schema_name",
        "data_type": "string",
        "description": "The name: in full.",
        "data_tests": ["not_null"],
    }


@pytest.mark.parametrize(
    "columns",
    [
        "[{name: schema_name, tests: [unique]}, {name: gone}]",
        "\n      - {name: schema_name, tests: [unique]}\n      - {name: gone}",
    ],
)
def test_columns_in_one_line_are_written_as_lines(tmp_path, columns):
    folder = customer(tmp_path)
    models(folder)
    secure, text = (
        folder / SECURED,
        f"models:\n  - name: {SECURE}\n    columns: {columns}\n",
    )
    secure.write_text(f"{text}  - name: another\n    columns: []\n")
    assert models(folder) == YES
    names = [column["name"] for column in entry(secure, SECURE)["columns"]]
    assert names == [*SHOWN, "user_id", "access_type"]
    assert entry(secure, SECURE)["columns"][2]["tests"] == ["unique"]
    assert entry(secure, "another") == {"name": "another", "columns": []}


def test_an_alias_is_written_as_what_it_stands_for(tmp_path):
    folder = customer(tmp_path)
    models(folder)
    secure = folder / SECURED
    text = secure.read_text()
    named = "- name: data_source_id\n        data_type: bigint\n"
    begin = text.index(named)
    end = text.index("      - name: schema_name")
    item = text[begin:end].replace("- name", "- &id\n        name")
    text = f"{text[:begin]}- *id\n{text[end:]}".replace("models:", "models:\n", 1)
    secure.write_text(f"anchors:\n      {item}\n{text}")
    models(folder)
    said = entry(secure, SECURE)["columns"]
    assert [column["name"] for column in said] == [*SHOWN, "user_id", "access_type"]


def test_columns_that_nothing_describes_are_left_to_a_person(tmp_path, capsys):
    document = f"datasets:\n{SCHEMAS.replace('schema_name', 'colour')}"
    folder = customer(tmp_path, document)
    assert models(folder, "--check") == NO
    assert not (folder / BASES).exists() and not (folder / "models/secure").exists()
    assert models(folder) == NO
    printed = capsys.readouterr().out
    for key in ("data_type", "description"):
        assert f"- {BASES}: write the {key} of colour of {BASE}\n" in printed
    text = (folder / BASES).read_text()
    text = text.replace("name: colour", "name: colour\n        data_type: string")
    (folder / BASES).write_text(text)
    assert models(folder) == YES
    assert entry(folder / SECURED, SECURE)["columns"][2]["data_type"] == "string"


def test_a_dataset_over_another_one_and_rows_for_everyone(tmp_path):
    document = """\
datasets:
    events:
        base: vw_secure_dataset_event_history
        columns: [event_id, context]
        unique_key: [event_id]
"""
    files = written(customer(tmp_path, document)).files
    text = files[tmp_path / SECURED]
    (said,) = yaml.safe_load(text)["models"]
    assert said["columns"][2]["description"].endswith("which is for everyone.")
    assert not any("data_tests" in column for column in said["columns"])
    assert "shows to that user. Always filter" in " ".join(text.split())


def test_the_access_view_of_a_tier_is_documented_by_its_keys(tmp_path):
    document = """\
tiers:
    teams:
        access_view: team_access
        object_keys: [project_id, user_group_id, team_id]
        carries: [colour]
"""
    view = {"models/access/team_access.sql": "select 1 as team_id"}
    made = written(customer(tmp_path, document, **view))
    path = tmp_path / "models/access/_access__models.yml"
    (said,) = yaml.safe_load(made.files[path])["models"]
    assert said["description"].startswith(
        "One row per project, user group and team and"
    )
    project, group, team, user, colour = said["columns"]
    assert project["config"] == {"meta": {"refers_to": "stg_projects"}}
    # As the staged table has it, whose key it is.
    assert group == {
        "name": "user_group_id",
        "data_type": "bigint",
        "description": "Id of the user group.",
        "config": {"meta": {"refers_to": "stg_user_groups"}},
        "data_tests": ["not_null"],
    }
    assert "config" not in team and user["data_tests"] == ["not_null"]
    assert colour == {"name": "colour"}
    assert [told.partition(": ")[2] for told in made.missing] == [
        "write the data_type of team_id, colour of team_access",
        "write the description of colour of team_access",
    ]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("datasets:\n    x: {base: y}\n", "dataset 'x'"),
        ("datasets: {{ nowhere() }}\n", "can't be rendered without dbt"),
    ],
)
def test_a_mistake_in_the_config_is_one_line(tmp_path, capsys, document, says):
    assert models(customer(tmp_path, document)) == UNASKED
    assert says in capsys.readouterr().err
    assert not (tmp_path / "models/secure").exists()


def test_without_the_package_its_installation_is_asked_for(tmp_path):
    folder = customer(tmp_path)
    (folder / "dbt_packages/secure_datasets").unlink()
    with pytest.raises(QuestionError, match="run `dbt deps`"):
        written(folder)


def test_what_it_would_write_of_the_product_is_what_stands_there(tmp_path):
    for part in ("models", "macros"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "dbt_project.yml", tmp_path)
    path, name = tmp_path / SECURED, "vw_secure_dataset_event_history"
    text = path.read_text()
    path.write_text(text[: text.index(f"\n  - name: {name}\n")])
    (tmp_path / f"models/secure/{name}.sql").unlink()
    made = written(tmp_path)
    assert made.missing == [] and len(made.files) == 2
    path.write_text(made.files[path])
    stands, draft = entry(ROOT / SECURED, name), entry(path, name)
    assert stands["data_tests"] == draft["data_tests"]
    for column, drafted in zip(stands["columns"], draft["columns"], strict=True):
        assert column["description"].startswith(drafted.pop("description"))
        assert column == drafted | {"description": column["description"]}
