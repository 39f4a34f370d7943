"""The project that `secure-datasets init` makes: files, what it shows, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import first_hour
import pytest
import yaml
from compiled import compiled, models_of
from customer_project import CONFIG
from oracle.contract import COLUMNS, evaluate, read_world
from projects import ROOT, SAMPLE, install_product
from quick import LAYER, QuickProject, seed_rows

from secure_datasets import new_project
from secure_datasets.cli import UNASKED, YES, main
from secure_datasets.new_project import NOTED_BY_PIP, package_at

ROLE = "Data Office"
SECURE, ACCESS = "vw_secure_dataset_projects", "vw_secure_user_project_access"
ROWS = f"select project_id, user_id from {LAYER}.{SECURE}"
GIT = "https://git.example.com/data/secure-datasets.git"


def made(folder: Path, *options: str) -> Path:
    """Make a project in a folder."""
    assert main(["init", str(folder), *options]) == YES
    return folder


def read(path: Path):
    """Return what a YAML file holds."""
    return yaml.safe_load(path.read_text())


def test_a_project_has_its_name_its_place_and_the_sample(tmp_path, capsys):
    folder = made(tmp_path / "acme")
    project = read(folder / "dbt_project.yml")
    assert [project["name"], project["profile"]] == ["acme", "acme"]
    assert project["vars"] == {"raw_schema": "repository_sample", "loads_sample": True}
    assert read(folder / "packages.yml") == {"packages": [{"local": str(ROOT)}]}
    assert ".yml" in (folder / ".gitignore").read_text()
    (workflow,) = (folder / ".github/workflows").iterdir()
    steps = read(workflow)["jobs"]["build"]["steps"]
    assert steps[-1]["run"] == "dbt build --exclude resource_type:unit_test"
    left = {"PROJECT_NAME", "RAW_SCHEMA", "LOADS_SAMPLE", "PACKAGE", "REQUIREMENT"}
    for path in filter(Path.is_file, folder.rglob("*")):
        assert not [name for name in left if name in path.read_text()], path
    printed = capsys.readouterr().out
    assert f"cd {folder}\ndbt deps " in printed
    assert "who hpark" in printed and "check --replica" not in printed


def test_its_profile_is_the_sample_customers_and_names_files_that_it_has(tmp_path):
    folder = made(tmp_path / "acme")
    bank = (ROOT / SAMPLE / "profiles.yml.example").read_text()
    bank = bank.replace("tarn_valley_bank", "acme")
    assert read(folder / "profiles.yml.example") == yaml.safe_load(bank)
    placed = bank.replace("PROJECT_FOLDER", str(folder))
    assert read(folder / "profiles.yml") == yaml.safe_load(placed)
    # What its comments say of the example is so, and can be typed.
    command = 'sed "s|PROJECT_FOLDER|$PWD|g" profiles.yml.example > profiles.yml'
    assert command in (folder / "profiles.yml").read_text()
    assert f"{folder}/dbt_packages/secure_datasets/conf/log4j2.properties" in placed
    assert (ROOT / "conf/log4j2.properties").is_file()


def test_its_selectors_are_the_sample_customers(tmp_path):
    folder = made(tmp_path / "acme")
    first, *others = read(folder / "selectors.yml")["selectors"]
    assert [first["name"], first["default"]] == ["first_build", True]
    assert others == read(ROOT / SAMPLE / "selectors.yml")["selectors"]


def test_its_seeds_are_the_packages_and_have_the_tag_of_a_comparison(tmp_path):
    folder = made(tmp_path / "acme")
    own = {path.name: path.read_text() for path in (folder / "seeds").rglob("*.csv")}
    assert own == {
        p.name: p.read_text() for p in (ROOT / "seeds/changes").glob("*.csv")
    }
    seeds = read(folder / "dbt_project.yml")["seeds"]
    assert seeds["acme"]["changes"] == {"+tags": "access_changes"}
    assert seeds["secure_datasets"] == {"changes": {"+enabled": False}}


def test_a_replica_and_a_revision_are_named(tmp_path, capsys):
    options = ("--name", "bank", "--raw-schema", "replica")
    folder = made(tmp_path / "x-1", *options, "--package", GIT, "--revision", "v0.3.0")
    project = read(folder / "dbt_project.yml")
    assert project["name"] == "bank"
    assert project["vars"] == {"raw_schema": "replica", "loads_sample": False}
    (package,) = read(folder / "packages.yml")["packages"]
    assert package == {"git": GIT, "revision": "v0.3.0"}
    workflow = read(folder / ".github/workflows/secure-datasets.yml")
    runs = [step.get("run") for step in workflow["jobs"]["build"]["steps"]]
    assert f'pip install "secure-datasets @ git+{GIT}@v0.3.0"' in runs
    # What reads the replica can't be built on the sample.
    assert runs[-1] == "secure-datasets test"
    printed = capsys.readouterr().out
    assert "check --replica" in printed and "folder of this machine" not in printed


def test_pip_reads_an_address_of_ssh_with_its_scheme():
    requirement = package_at("git@git.example.com:data/x.git", "v1").requirement
    assert (
        requirement == "secure-datasets @ git+ssh://git@git.example.com/data/x.git@v1"
    )


@pytest.mark.parametrize(
    ("noted", "package"),
    [
        ({"vcs_info": {"commit_id": "abc"}, "url": GIT}, package_at(GIT, "abc")),
        ({"dir_info": {}, "url": ROOT.as_uri()}, package_at(str(ROOT), None)),
        (None, None),
        ({"archive_info": {}, "url": "file:///x/secure_datasets.whl"}, None),
    ],
)
def test_the_package_is_where_pip_has_the_python_part_from(
    noted, package, tmp_path, monkeypatch, capsys
):
    texts = {NOTED_BY_PIP: noted and json.dumps(noted)}
    installed = SimpleNamespace(read_text=texts.get)
    monkeypatch.setattr(new_project, "distribution", lambda name: installed)
    code = main(["init", str(tmp_path / "acme")])
    if package is None:
        assert code == UNASKED and "--package" in capsys.readouterr().err
    else:
        written = (tmp_path / "acme/packages.yml").read_text()
        assert package.entry in written


@pytest.mark.parametrize(
    ("folder", "options", "says"),
    [
        ("full", (), "is not empty"),
        ("file", (), "is a file"),
        ("a b", ("--name", "acme"), "a space or another sign"),
        ("my-team", (), "'my-team' is no name of a dbt project"),
        ("new", ("--name", "7up"), "'7up' is no name of a dbt project"),
        ("new", ("--name", "true"), "'true' is no name of a dbt project"),
        ("new", ("--name", "Secure_Datasets"), "is taken by a package"),
        ("replica", ("--raw-schema", "Replica"), "in the schema of the raw tables"),
        ("new", ("--raw-schema", "a.b.c"), "'b.c' is no name of a schema"),
        ("new", ("--raw-schema", "lake.true"), "'true' is no name of a schema"),
        ("new", ("--raw-schema", "Spark_Catalog.raw"), "catalog: --raw-schema raw"),
        ("new", ("--package", "nowhere"), "neither a Git address nor a folder"),
        ("new", ("--package", GIT), "--revision <name>"),
        ("new", ("--package", str(ROOT), "--revision", "x"), "is no Git address"),
        ("new", ("--revision", "x"), "--revision needs --package"),
    ],
)
def test_a_mistake_is_one_line_and_makes_nothing(
    folder, options, says, tmp_path, capsys
):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").touch()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert main(["init", str(tmp_path / folder), *options]) == UNASKED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("init: ") and says in line
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def acme(product, tmp_path_factory):
    """A project as it is made, with the product's copy."""
    folder = tmp_path_factory.mktemp("made") / "acme"
    made(folder, "--package", str(product))
    return install_product(product, folder, "secure_datasets")


@pytest.fixture(scope="module")
def members():
    """The members of each project of the sample, by the oracle."""
    keys = [COLUMNS[ACCESS].index(name) for name in ("project_id", "user_id")]
    access = evaluate(read_world(ROOT / "seeds/repository")).relations[ACCESS]
    return {tuple(row[key] for key in keys) for row in access}


def built(folder: Path, manifest=None):
    """Return what asks the tenth dataset, and all that it reads, over the sample."""
    selection = ["--select", f"+{SECURE}", "--exclude", "file:*.py"]
    documents = compiled(folder, folder / "target", selection, manifest)
    quick = QuickProject(models_of(folder, documents), seeds=seed_rows())
    engine = quick.run(read_world(ROOT / "seeds/repository"))
    return lambda query: [tuple(row.values()) for row in engine.ask(query)]


@pytest.fixture(scope="module")
def parsed_acme(acme, dbt):
    """What dbt knows of the project, which parses without a warning."""
    parsed = dbt("--warn-error", "parse", "--quiet", folder=acme)
    assert parsed.success, parsed.exception
    return parsed.result


def test_the_first_build_is_small_and_sources_are_selected_too(acme, parsed_acme, dbt):
    def ls(*options: str) -> list[str]:
        return dbt("ls", "--quiet", *options, folder=acme, manifest=parsed_acme).result

    listed = {
        is_first: set(ls(*options))
        for is_first, options in ((True, ()), (False, ("--select", "*")))
    }
    left_out = {each.split(".")[1] for each in listed[False] - listed[True]}
    assert {"review", "privileges", "leaks"} <= left_out
    page = first_hour.PAGE.read_text(encoding="utf-8")
    for tag in ("review", "privileges", "leaks"):
        selected = ("--select", f"tag:{tag}", "--resource-type")
        models, tests = (len(ls(*selected, kind)) for kind in ("model", "test"))
        said = f"{models} models" if models > 1 else "a view"
        (line,) = re.findall(rf"^\| `{tag}` .*$", page, re.M)
        assert said.split()[0] in line and f"{tests} tests" in line, line
    first = " ".join(listed[True])
    # `why` reads it, and without it the raw tables, by Spark.
    assert "uncounted_deliveries" in first
    assert SECURE in first and "assert_nothing_leaks" in first
    assert "source:secure_datasets.repository.users" in listed[True]
    assert not any(each.startswith("unit_test:") for each in listed[True])
    for layer in ("access", "secure", "datasets", "governance", "view_authorization"):
        assert layer not in left_out


def test_a_made_project_shows_projects_to_their_members(acme, members, parsed_acme):
    shown = built(acme, parsed_acme)(ROWS)
    assert shown and sorted(shown) == sorted(members)


def test_the_policy_that_stands_as_a_comment_does_what_it_says(acme, members):
    config = (acme / CONFIG).read_text()
    policy = re.sub(r"^# (policies:|    - )", r"\1", config, flags=re.M)
    (acme / CONFIG).write_text(policy)
    ask = built(acme)
    role = (
        f"select user_id from {LAYER}.vw_secure_user_roles where role_name = '{ROLE}'"
    )
    allowed = {(7, user) for (user,) in ask(role)} & members
    assert allowed and sorted(ask(ROWS)) == sorted(allowed)


def test_the_first_hour_secures_a_dataset(tmp_path, product, capsys):
    """Its files, judged by its own cases; tests/deployments has its commands."""
    folder, commands = tmp_path / "acme", []
    made(folder, "--package", str(product))
    install_product(product, folder, "secure_datasets")
    place = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
    for part, text in first_hour.steps():
        if part != "$":
            first_hour.write(folder, part, text)
            continue
        commands.append(text.split()[:2])
        if text == "secure-datasets models":
            assert main(["models", *place]) == YES
    known = [word for word, *_ in commands]
    assert set(known) == {"pip", "secure-datasets", "cd", "dbt"} and len(known) > 12
    assert main(["test", *place]) == YES, capsys.readouterr().out
