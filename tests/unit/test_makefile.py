"""The Makefile prints an answer that is no, and fails where there is none."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from projects import ROOT


@pytest.mark.parametrize(("code", "is_answer"), [(0, True), (1, True), (2, False)])
def test_Q1_a_question_fails_only_where_it_could_not_be_asked(
    tmp_path, code, is_answer
):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "profiles.yml.example", tmp_path)
    command = tmp_path / "command"
    command.write_text(f"#!/bin/sh\necho $@\nexit {code}\n")
    command.chmod(0o700)
    constraints = ("constraints.txt", "constraints-without-spark.txt")
    for name in ("pyproject.toml", *constraints, ".venv/.set-up"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    given = ["--silent", "why", f"ASKED_BY={command}", "ASK=hpark --dataset tests"]
    made = subprocess.run(
        ["make", *given], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.stdout == "why hpark --dataset tests\n"
    assert (made.returncode == 0) is is_answer
    assert bool(made.stderr) is not is_answer
