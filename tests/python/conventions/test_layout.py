"""Where tests stand, and what they share; and that a path that is named is there."""

from __future__ import annotations

import ast
import re

import pytest
from projects import ROOT, tracked_files

TEST_MODULES = sorted(ROOT.glob("tests/*/**/test_*.py"))
# A path in a text: from one of these folders on, as a pattern perhaps.
OURS = ("tests", "benchmarks", "scripts", "docs")
PATH = r"(?<![\w./~-])(?:{})/[\w./*-]*[\w*]"
# What is about this project alone. Pages also speak of the models of who reads them.
OF_THIS_PROJECT = [
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "Makefile",
    "pyproject.toml",
]
# What a project has that installs this one.
OF_THEIRS = "tests/access"
FOLDERS = (*OURS, "conf", "examples", "macros", "models", "seeds", "src")


def missing(text: str, folders: tuple[str, ...]) -> list[str]:
    """Return the paths that a text names and that are not there."""
    named = set(re.findall(PATH.format("|".join(folders)), text))
    return sorted(
        path
        for path in named
        if not path.startswith(OF_THEIRS) and not any(ROOT.glob(path))
    )


def test_a_path_that_a_file_names_is_there():
    wrong = {
        path.relative_to(ROOT).as_posix(): missing(
            path.read_text(encoding="utf-8", errors="ignore"), OURS
        )
        for path in tracked_files()
    }
    assert {path: paths for path, paths in wrong.items() if paths} == {}


@pytest.mark.parametrize("file", OF_THIS_PROJECT)
def test_what_is_said_of_this_project_names_files_that_are_there(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert missing(text, FOLDERS) == []
    there = [f"/{path.relative_to(ROOT).as_posix()}" for path in tracked_files()]
    for name in re.findall(r"(?<![\w./*-])[\w/]+\.py\b", text):
        assert any(path.endswith(f"/{name}") for path in there), name


@pytest.mark.parametrize(
    "text", ["see `{}/python/test_gone.py`", "all {}/python/gone_*.py", "in {}/gone."]
)
def test_a_path_that_is_not_there_is_noticed(text):
    assert missing(text.format("tests"), OURS) != []


def imported(source: str) -> set[str]:
    """Return the last names of the modules that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.rpartition(".")[2] for name in names}


def test_no_test_module_is_imported():
    modules = {"conftest", *(path.stem for path in TEST_MODULES)}
    assert len(modules) > 40
    wrong = {
        path.relative_to(ROOT).as_posix(): imported(path.read_text()) & modules
        for path in ROOT.glob("tests/**/*.py")
    }
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_test_module_stands_in_the_folder_of_its_subject():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(tests/python/\w+)` \|", page, re.M)
    folders = {
        path.parent.relative_to(ROOT).as_posix()
        for path in ROOT.glob("tests/python/**/test_*.py")
    }
    assert sorted(folders) == sorted(told)


def test_each_law_is_made_of_datasets_in_one_place():
    for path in sorted(ROOT.glob("tests/dbt/assert_*.sql")):
        text = path.read_text(encoding="utf-8")
        assert "datasets.items()" not in text, path.name
        # One may be about the tiers or about what the star joins.
        others = "tiers.items()" in text or "config.relationships" in text
        assert "union_of(" not in text or others, path.name
