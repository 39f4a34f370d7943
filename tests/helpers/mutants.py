"""Make small wrong edits of syntax trees, one at a time, and check that tests fail.

    python tests/helpers/mutants.py [NUMBER [SEED]]

The seed chooses NUMBER edits of SQL (of compiled models, and of queries that macros
render) and NUMBER edits of Python modules. Each edit is made in a child process, which
runs the tests about the edited place. The exit code is 1 if more than a tenth survive:
some edits have no visible effect.
"""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from difflib import unified_diff
from importlib.machinery import SourceFileLoader
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import duckdb
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from projects import ROOT
from sql_edits import Edit, edited, edits_of

SLOW_TO_IMPORT = ("dbt.adapters.base", "dbt.cli.main", "pydantic", "jinja2")
GOVERNANCE = "tests/python/governance"
WHY = [f"{GOVERNANCE}/test_{name}.py" for name in ("why", "why_not", "nearest_grants")]
LAST = f"{GOVERNANCE}/test_last_support.py"
CHANGES = f"{GOVERNANCE}/test_access_changes.py"
TIMELINE = "tests/python/oracle/test_timeline.py"
POLICIES = [
    f"tests/{name}.py"
    for name in ("python/policies/test_star", "meaning/test_policies")
]
# The tests about the compiled models.
MODELS = [
    "tests/meaning/test_contract.py",
    "tests/meaning/test_laws.py",
    "tests/meaning/test_view_authorization.py",
]
# The tests about the queries of macros, and about the modules in a folder or a file.
QUERIES = {
    "secure_dataset": POLICIES,
    "gates_query": [*WHY, LAST],
}
MODULES = {
    "models": ["tests/meaning/test_contract.py"],
    **{
        f"src/secure_datasets/questions/changes/{name}.py": [CHANGES]
        for name in (
            *("access_queries", "limit_queries", "macro_methods", "row_queries"),
        )
    },
    "src/secure_datasets/questions/changes/report.py": [
        f"{GOVERNANCE}/test_change_report.py",
        CHANGES,
    ],
    "src/secure_datasets/questions/changes/states.py": [
        f"{GOVERNANCE}/test_compared_states.py",
        CHANGES,
    ],
    "src/secure_datasets/questions": [*WHY, LAST, f"{GOVERNANCE}/test_why_docs.py"],
    **{
        f"src/secure_datasets/questions/timeline/{name}.py": [TIMELINE]
        for name in ("changes", "models", "questions", "selection", "text")
    },
    **{
        f"src/secure_datasets/leaks/{name}.py": [
            "tests/python/graph/test_leak_proof.py"
        ]
        for name in ("proof", "scope", "understood")
    },
    "src/secure_datasets/config/plan.py": [
        "tests/python/policies/test_plan.py",
        *POLICIES,
    ],
}
# Without a decorator, results are no longer cached, but they are the same.
NO_RULES = ("core/RemoveDecorator",)
AT_ONCE = 2
SECONDS, MEMORY = 600, 8 << 30
LIMITS = {"memory_limit": "2GB", "temp_directory": ""}
MOST_SURVIVORS = 0.1
# The layers of the models that random worlds test, and the number of renderings of a
# query that are edited.
LAYERS = ("staging", "intermediate", "access", "datasets", "secure")
IN_A_QUERY = 5


class Mutant(NamedTuple):
    """A small wrong edit, and the tests that should notice it.

    The new text of a module's edit is the whole module.
    """

    kind: str
    place: str
    edit: Edit
    tests: list[str]


def rules_of(code: str) -> str:
    """Return Python code as a tree, without comments and types."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None):
                setattr(node, name, ast.Constant(None))
    return ast.dump(tree)


def places_in_module(path: Path) -> Iterator[tuple[Path, str, int]]:
    """Yield where the operators of Cosmic Ray can edit a module."""
    nodes = list(ast_nodes(get_ast(path.read_text(encoding="utf-8"))))
    for name in operator_names():
        operator = get_operator(name)
        if name not in NO_RULES and not operator.arguments():
            count = sum(len([*operator().mutation_positions(node)]) for node in nodes)
            yield from ((path, name, number) for number in range(count))


def of_module(place: tuple[Path, str, int], tests: list[str]) -> Mutant | None:
    """Return an edit of a module; None if it is no Python, or changes only types."""
    path, name, number = place
    code = path.read_text(encoding="utf-8")
    new = mutate_code(code, get_operator(name)(), number)
    try:
        is_wrong = rules_of(new) != rules_of(code)
    except SyntaxError:
        return None
    edit = Edit(name, number, new)
    return (
        Mutant("module", f"{path.relative_to(ROOT)}", edit, tests) if is_wrong else None
    )


def make(mutant: Mutant | None, seen: dict[str, set[str]]) -> None:
    """Make an edit in this process; without an edit, note the queries to edit."""
    if mutant is not None and mutant.kind == "module":
        make_in_module(mutant)
        return
    place = mutant.place if mutant else None

    def judged(name: str, query: Any) -> Any:
        if name not in QUERIES or not isinstance(query, str):
            return query
        if mutant is None:
            seen.setdefault(name, set()).add(query)
        return edited(query, mutant.edit) if name == place else query

    # Others import it by its name.
    gates = importlib.import_module("secure_datasets.render.gates")
    gates_query = gates.gates_query
    if mutant is None or mutant.kind == "query":
        gates.gates_query = lambda *given: judged("gates_query", gates_query(*given))
    compiled, rendering, questions = map(
        importlib.import_module,
        ("compiled", "rendering", "secure_datasets.questions.macros"),
    )

    def of_query(call: Callable) -> Callable:
        def called(self: Any, name: str, *given: Any, **named: Any) -> Any:
            return judged(name, call(self, name, *given, **named))

        return called

    def of_models(variables: dict[str, str], kept=compiled._kept) -> dict[str, Any]:
        models = kept(variables)
        for model in models["models"]:
            if model["name"] == place:
                model["sql"] = edited(model["sql"], mutant.edit)
        return models

    if mutant is None or mutant.kind == "query":
        rendering.Macros._call = of_query(rendering.Macros._call)
        questions.Package._compiled = of_query(questions.Package._compiled)
    else:
        compiled._kept = of_models


def make_in_module(mutant: Mutant) -> None:
    """Make an edit of a module that nothing in this process has imported yet."""
    changed = ROOT / mutant.place
    code_of, text_of = SourceFileLoader.get_code, Path.read_text
    SourceFileLoader.get_code = lambda loader, name: (
        compile(mutant.edit.new, loader.path, "exec")
        if Path(loader.path) == changed
        else code_of(loader, name)
    )
    Path.read_text = lambda path, *given, **named: (
        mutant.edit.new if path == changed else text_of(path, *given, **named)
    )


def run_tests(mutant: Mutant | None, tests: list[str], printed: int, noted: Path):
    """Run tests in this child process with an edit, and import our modules anew."""
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    signal.alarm(SECONDS if mutant else 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    connect = duckdb.connect

    def limited(*given: Any, **named: Any) -> Any:
        named["config"] = {**LIMITS, **named.get("config", {})}
        return connect(*given, **named)

    duckdb.connect = limited
    # Libraries stay imported: some of them can't be imported a second time.
    ours = tuple(f"{ROOT / folder}/" for folder in ("src", "tests"))
    for name, module in list(sys.modules.items()):
        is_ours = str(getattr(module, "__file__", None)).startswith(ours)
        if is_ours and name != "__main__":
            del sys.modules[name]
    sys.dont_write_bytecode = True
    seen: dict[str, set[str]] = {}
    make(mutant, seen)
    options = ["-x", "-q", "-p", "no:cacheprovider"]
    code = pytest.main(
        [*options, "-m", "not spark and not deployment and not nightly", *tests]
    )
    noted.write_bytes(pickle.dumps(seen))
    os._exit(code)


def tried(jobs: list[tuple[Mutant | None, list[str]]], folder: Path) -> Iterator[tuple]:
    """Run the tests of each job; yield the job, its failure if any, and the seconds."""
    waiting, running = list(enumerate(jobs)), {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            number, job = waiting.pop(0)
            printed = tempfile.TemporaryFile("w+")  # noqa: SIM115
            child = os.fork()
            if child == 0:
                run_tests(*job, printed.fileno(), folder / str(number))
            running[child] = (job, printed, time.monotonic())
        child, status = os.wait()
        job, printed, started = running.pop(child)
        with printed:
            printed.seek(0)
            text = printed.read()
        named = re.search(r"^(?:FAILED|ERROR) \S*?::(.*?)(?: - .*)?$", text, re.M)
        found = named[1] if named else f"an error: {text[-300:]}"
        yield *job, found if status else None, time.monotonic() - started


def chosen(number: int, seed: int, folder: Path) -> list[Mutant]:
    """Choose edits of SQL and of Python; exit if a test fails without an edit."""
    every = {*chain(MODELS, *QUERIES.values(), *MODULES.values())}
    control = [(None, [test]) for test in sorted(every)]
    for _, tests, found, seconds in tried(control, folder):
        if found:
            sys.exit(f"without any edit: {tests[0]}: {found}")
        print(f"{tests[0]}: {seconds:.0f} s", flush=True)
    queries: dict[str, set[str]] = {}
    for file in folder.iterdir():
        for name, found in pickle.loads(file.read_bytes()).items():
            queries.setdefault(name, set()).update(found)
    chance = random.Random(seed)
    of_models = [
        Mutant("model", model.name, edit, MODELS)
        for model in importlib.import_module("compiled").kept_models()
        if model.sql is not None and model.path.parent.name in LAYERS
        for edit in edits_of(model.sql)
    ]
    of_queries = [
        Mutant("query", name, edit, QUERIES[name])
        for name, found in sorted(queries.items())
        for query in chance.sample(sorted(found), min(IN_A_QUERY, len(found)))
        for edit in edits_of(query)
    ]
    of_modules = [
        (place, tests)
        for name, tests in MODULES.items()
        for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]
        for place in places_in_module(path)
    ]
    chance.shuffle(of_modules)
    python = islice(filter(None, starmap(of_module, of_modules)), number)
    half = number // 2
    print(f"{len(of_models)} edits of models, {len(of_queries)} of queries,")
    print(f"{len(of_modules)} of modules", flush=True)
    return [
        *chance.sample(of_models, min(number - half, len(of_models))),
        *chance.sample(of_queries, min(half, len(of_queries))),
        *python,
    ]


def described(mutant: Mutant) -> str:
    """Return where an edit is, and what it changes."""
    if mutant.kind != "module":
        return f"{mutant.place}: {mutant.edit.old} #{mutant.edit.number}" + (
            f" -> {mutant.edit.new or 'nothing'}"
        )
    texts = ((ROOT / mutant.place).read_text(encoding="utf-8"), mutant.edit.new)
    lines = unified_diff(*(text.splitlines() for text in texts), n=0, lineterm="")
    return "\n    ".join([mutant.place, *list(lines)[3:]])


def main() -> NoReturn:
    """Try edits of SQL and of Python, and print the killed and the surviving ones."""
    number, seed = (*map(int, sys.argv[1:]), *(40, 0)[len(sys.argv) - 1 :])
    for module in SLOW_TO_IMPORT:
        importlib.import_module(module)
    killed = survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mutants = chosen(number, seed, folder)
        jobs = [(mutant, mutant.tests) for mutant in mutants]
        for mutant, _, found, seconds in tried(jobs, folder):
            killed += found is not None
            survived += found is None
            verdict = f"killed by {found}" if found else "SURVIVED"
            print(f"{verdict} ({seconds:.0f} s): {described(mutant)}", flush=True)
    print(f"{killed} killed, {survived} survived")
    sys.exit(survived > MOST_SURVIVORS * len(mutants))


if __name__ == "__main__":
    main()
