"""What the Makefile calls dbt and the command of the product by."""

import os
import subprocess

from projects import ROOT


def called_by_make(target: str, *given: str) -> subprocess.CompletedProcess[str]:
    """Return what make says, with commands that print their options, each on a line."""
    # Nothing is set up for it: it is there already. Called by make itself, it would say
    # which folder it enters.
    command = ["make", "--no-print-directory", "--assume-old=setup", target, *given]
    calls = ["DBT=printf '%s\\n'", "ASK=printf '%s\\n'"]
    environment = os.environ | {"USER": "somebody"}
    return subprocess.run(
        [*command, *calls], cwd=ROOT, env=environment, capture_output=True, text=True
    )
