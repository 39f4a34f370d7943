"""Calls dbt in this process: what macros print is the answer; errors are one line."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any

from secure_datasets.project import Project

# How dbt wraps what it stops with.
WRAPPING = ("Encountered an error", "Runtime Error", "Compilation Error", ">")
# dbt's message about a dataset without a model; it names the node that reads it first.
WITHOUT_MODEL = re.compile(
    r"depends on a node named '(vw_secure_dataset_(\w+))' which was not found"
)
STEPS = ("LogStartLine", "LogModelResult", "LogSeedResult")


class Heard:
    """Handles dbt's events while it runs: prints answers, shows steps, keeps errors."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.shows_steps = sys.stderr.isatty()

    def __call__(self, event: Any) -> None:
        """Take one event of dbt."""
        name, text = event.info.name, event.info.msg
        if name == "PrintEvent":
            self.end_steps()
            print(text)
        elif event.info.level == "error":
            self.errors.append(text)
        elif name in STEPS and self.shows_steps:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)

    def end_steps(self) -> None:
        """Leave the line of the steps."""
        if self.shows_steps:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)


def call(project: Project, arguments: list[str]) -> int:
    """Return 0, or 2 where dbt can't do what is asked."""
    from dbt.cli.main import dbtRunner

    from secure_datasets.config.steering import without_steering

    heard = Heard()
    where = ["--project-dir", str(project.folder)]
    where += ["--profiles-dir", str(project.profiles)]
    if project.asked_target:
        # With it, dbt would read the whole project anew after a command without.
        where += ["--target", project.asked_target]
    # What is printed comes as an event, whatever else dbt would write.
    result = dbtRunner(callbacks=[heard]).invoke(
        ["--log-level", "none", *arguments, *where]
    )
    heard.end_steps()
    if result.success:
        return 0
    for line in sentence_of(result, heard.errors).splitlines():
        print(without_steering(line), file=sys.stderr)
    return 2


def sentence_of(result: Any, errors: list[str]) -> str:
    """Return what dbt stopped with, without its wrapping."""
    if result.exception is not None:
        texts = [getattr(result.exception, "msg", None) or str(result.exception)]
    else:
        results = getattr(result.result, "results", None) or ()
        failed = [each.message for each in results if each.status == "error"]
        texts = [*filter(None, failed), *errors]
    for text in texts:
        if missing := WITHOUT_MODEL.search(text):
            return (
                f"There is no model {missing[1]}: `secure-datasets models` writes it."
                " Or take the dataset out of the config: remove your entry, or switch"
                f" the product's off, {missing[2]}: false."
            )
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        told = [line for line in lines if not line.startswith(WRAPPING)]
        # One of several mistakes has a line of its own.
        parts = [f"\n{line}" if line.startswith("- ") else f" {line}" for line in told]
        if parts:
            return "".join(parts).strip()
    return "dbt has failed, see logs/dbt.log"
