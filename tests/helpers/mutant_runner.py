"""What all that make small wrong edits share: which edits, whether they fit, a verdict.

The edits stand in a mapping of a file to tuples of name, old text and new text; the old
text stands in the file exactly once.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from projects import ROOT

SLOW_TO_IMPORT = ("dbt.adapters.base", "duckdb", "sqlglot", "pydantic", "jinja2")

Edits = dict[str, list[tuple[str, str, str]]]


class Mutant(NamedTuple):
    """A small wrong edit of one file."""

    name: str
    file: str
    old: str
    new: str


def chosen(edits: Edits, names: list[str]) -> list[Mutant]:
    """Return the mutants of these names, or all; stop if any of them can't be made."""
    mutants = [
        Mutant(name, f, *texts) for f, of in edits.items() for name, *texts in of
    ]
    problems = [
        f"{mutant.file} has the old text of {mutant.name!r} {count} times"
        for mutant in mutants
        if (count := (ROOT / mutant.file).read_text("utf-8").count(mutant.old)) != 1
    ]
    known = [mutant.name for mutant in mutants]
    problems += [f"two mutants are {name!r}" for name in known if known.count(name) > 1]
    problems += [f"no mutant is {name!r}" for name in names if name not in known]
    if problems:
        sys.exit("\n".join(problems))
    return [mutant for mutant in mutants if not names or mutant.name in names]


def try_all(mutants: list[Mutant], killer: Callable[[Mutant], str | None]) -> NoReturn:
    """Try mutants, tell of each what kills it, and end with 1 if any survives."""
    survived = 0
    for mutant in mutants:
        started = time.monotonic()
        found = killer(mutant)
        survived += found is None
        verdict = f"killed by {found}" if found else "SURVIVED"
        seconds = time.monotonic() - started
        print(f"{mutant.name}: {verdict} ({seconds:.0f} s)", flush=True)
    print(f"{len(mutants) - survived} killed, {survived} survived")
    sys.exit(1 if survived else 0)


@contextmanager
def made_in(project: Path, mutant: Mutant):
    """Make the edit in a copy of the project, and take it back."""
    path = project / mutant.file
    right = path.read_text(encoding="utf-8")
    try:
        path.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
        yield
    finally:
        path.write_text(right, encoding="utf-8")


def failing_test(project: Path, tests: list[str]) -> str | None:
    """Return the first test that fails in a copy of the project, without Spark.

    The tests run in a child of this process, so that what is slow to import is there.
    """
    for module in SLOW_TO_IMPORT:
        importlib.import_module(module)
    with tempfile.TemporaryFile("w+") as printed:
        child = os.fork()
        if child == 0:
            _run_in_child(project, tests, printed.fileno())
        _, status = os.waitpid(child, 0)
        if status == 0:
            return None
        printed.seek(0)
        told = printed.read()
    named = re.search(r"^(?:FAILED|ERROR) \S*?::(.*?)(?: - .*)?$", told, re.M)
    return named[1] if named else f"an error: {told[-300:]}"


def _run_in_child(project: Path, tests: list[str], printed: int) -> NoReturn:
    """Run tests of a copy with the copy's modules, and none of those known here."""
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.chdir(project)
    # Libraries stay: not every one of them can be imported a second time.
    ours = tuple(f"{ROOT / folder}/" for folder in ("src", "tests"))
    for name, module in list(sys.modules.items()):
        is_ours = str(getattr(module, "__file__", None)).startswith(ours)
        # dbt looks at what stands in the main module, and stops where there is none.
        if is_ours and name != "__main__":
            del sys.modules[name]
    own = [str(ROOT / folder) for folder in ("src", "tests/helpers")]
    sys.path[:] = [str(project / "src"), *(p for p in sys.path if p not in own)]
    sys.dont_write_bytecode = True
    options = ["-x", "-q", "-p", "no:cacheprovider"]
    os._exit(pytest.main([*options, "-m", "not spark and not deployment", *tests]))
