"""The page of the first hour, as a customer follows it: each command, in Spark."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import first_hour
import pytest
from projects import ROOT


@pytest.mark.deployment
def test_each_command_of_the_first_hour_does_what_the_page_says(tmp_path):
    folder, printed = tmp_path, {}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for place, text in first_hour.steps():
        if place != "$":
            first_hour.write(folder, place, text)
        elif text.startswith("cd "):
            folder /= text.split()[1]
        elif not text.startswith("pip "):
            given = f"{text} --package {ROOT}" if " init " in text else text
            done = subprocess.run(
                shlex.split(given),
                cwd=folder,
                env=os.environ | {"PATH": path},
                capture_output=True,
                text=True,
            )
            printed[text] = done.stdout
            # Exit code 1 is no: a user who does not see a row.
            assert done.returncode == 0 or text.startswith("secure-datasets why"), (
                f"{text}\n{done.stdout[-3000:]}\n{done.stderr}"
            )
            assert done.returncode < 2, done.stderr
    assert "project" in printed["secure-datasets who hpark"]
