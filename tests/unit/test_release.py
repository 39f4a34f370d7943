"""A release: the texts that it edits, and what it refuses; packages of two commits."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dbt.adapters.secure_spark.__version__ import version
from dbt_common.exceptions import CompilationError
from projects import ROOT

from secure_datasets import adapter_methods, digest

RELEASE = SimpleNamespace(**runpy.run_path(str(ROOT / "scripts/release.py")))
TEXTS = {
    "dbt_project.yml": 'name: x\nversion: "0.9.0"\nconfig-version: 2\n',
    "CHANGELOG.md": "# C\n\n## Unreleased\n\n- A thing.\n\n## 0.9.0\n\n- Old.\n",
    "docs/upgrading.md": "# Upgrading\n\n## To the next version\n\n1. Run.\n",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with what a release edits."""
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_release_names_its_version_in_each_file(folder):
    texts = RELEASE.edited(folder, "0.10.0")
    assert yaml.safe_load(texts["dbt_project.yml"])["version"] == "0.10.0"
    changes = texts["CHANGELOG.md"].replace("\n\n", "\n")
    assert "## Unreleased\n## 0.10.0\n- A thing.\n## 0.9.0" in changes
    assert "## From 0.9.0 to 0.10.0\n\n1. Run." in texts["docs/upgrading.md"]


@pytest.mark.parametrize(
    ("version", "file", "old", "says"),
    [
        ("0.9.0", "CHANGELOG.md", "", "no version after 0.9.0"),
        ("0.8.9", "CHANGELOG.md", "", "no version after 0.9.0"),
        ("v1.0.0", "CHANGELOG.md", "", "no version after 0.9.0"),
        ("1.0.0", "CHANGELOG.md", "- A thing.\n", "nothing under '## Unreleased'"),
        ("1.0.0", "docs/upgrading.md", "## To the next version", "has no section"),
    ],
)
def test_a_release_is_refused(folder, version, file, old, says):
    (folder / file).write_text(TEXTS[file].replace(old, "") if old else TEXTS[file])
    with pytest.raises(RELEASE.NotReleased, match=says):
        RELEASE.edited(folder, version)


def package(folder: Path, text: bytes = b"select 1\n") -> Path:
    """Make a dbt package of one model."""
    (folder / "models").mkdir(parents=True)
    (folder / "models/a.sql").write_bytes(text)
    return folder


def test_a_digest_is_that_of_macros_and_models_whatever_ends_their_lines(tmp_path):
    one = digest.digest_of(package(tmp_path / "one"))
    assert digest.digest_of(package(tmp_path / "two", b"select 1\r\n")) == one
    assert digest.digest_of(package(tmp_path / "three", b"select 2\n")) != one
    other = package(tmp_path / "four")
    (other / "models/a.sql").rename(other / "models/b.sql")
    assert digest.digest_of(other) != one


def test_a_digest_of_the_python_part_is_also_that_of_its_sql(tmp_path, monkeypatch):
    room = tmp_path / "secure_datasets"
    room.mkdir()
    monkeypatch.setattr(digest, "__file__", str(room / "digest.py"))
    found = set()
    for text in ("select 1", "select 2"):
        (room / "steps.sql").write_text(text)
        found.add(digest.python_part.__wrapped__())
    assert len(found) == 2


@pytest.mark.parametrize(
    ("of_version", "carried", "says"),
    [
        (version, None, None),
        (version, "own", None),
        (version, "other", "of two commits.*pip install '"),
        ("0.0.1", None, "is of version 0.0.1.*pip install '"),
        ("0.0.1", "own", "is of version 0.0.1.*pip install '"),
    ],
)
def test_a_package_goes_with_the_python_part_of_its_commit_alone(
    tmp_path, monkeypatch, of_version, carried, says
):
    folder = package(tmp_path / "p")
    own = digest.digest_of(folder)
    known = own if carried == "own" else carried
    monkeypatch.setattr(digest, "carried", lambda: known)
    found = SimpleNamespace(version=of_version, project_root=str(folder))
    adapter = SimpleNamespace(
        config=SimpleNamespace(load_dependencies=lambda: {"p": found}),
        type=lambda: "secure_spark",
        product_version=lambda: version,
    )
    check = lambda: adapter_methods.check_package(adapter, "p")  # noqa: E731
    if says is None:
        check()
    else:
        with pytest.raises(CompilationError, match=says):
            check()
