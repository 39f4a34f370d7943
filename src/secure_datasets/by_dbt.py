"""Calls dbt in this process: what it prints is the answer; errors are one line."""

from __future__ import annotations

import sys

from secure_datasets.project import Project


def call(project: Project, arguments: list[str]) -> int:
    """Return 0, 1 where a test fails, or 2 where dbt can't do what is asked."""
    from dbt.cli.main import dbtRunner

    from secure_config.steering import without_steering

    command = arguments[0]
    where = ["--project-dir", str(project.folder), "--target", project.target]
    where += ["--profiles-dir", str(project.profiles)]
    result = dbtRunner().invoke(["--quiet", *arguments, *where])
    if result.success:
        return 0
    if command == "test" and result.exception is None:
        return 1
    sentence = _sentence(result)
    print(f"{arguments[1]}: {without_steering(sentence)}", file=sys.stderr)
    return 2


def _sentence(result: object) -> str:
    """Return what dbt stopped with, without its wrapping."""
    exception = getattr(result, "exception", None)
    if exception is not None:
        text = getattr(exception, "msg", None) or str(exception)
    else:
        failed = getattr(getattr(result, "result", None), "results", None) or ()
        messages = (str(each.message or "") for each in failed)
        text = next(filter(None, messages), "dbt has failed, see logs/dbt.log")
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Compilation Error", ">"))]
    return " ".join(told or lines)
