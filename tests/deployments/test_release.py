"""A release without its last step: built, installed in an empty environment, tried."""

from __future__ import annotations

import subprocess
import sys

import pytest
from projects import ROOT


@pytest.mark.deployment
def test_a_dry_run_builds_and_tries_the_last_commit_and_leaves_nothing(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    for name, value in {"name": "a", "email": "a@example.com"}.items():
        setting = ["config", f"user.{name}", value]
        subprocess.run(["git", "-C", clone, *setting], check=True)
    # A release takes these away; the next ones must not fail because of that.
    for name, old, new in (
        ("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- A line.\n"),
        ("docs/upgrading.md", "\n## ", "\n## To the next version\n\n## "),
    ):
        text = (clone / name).read_text(encoding="utf-8").replace(old, new, 1)
        (clone / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "-C", clone, "commit", "-qam", "Add notes"], check=True)
    call = [sys.executable, clone / "scripts/release.py", "99.0.0", "--dry-run"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "A package of another commit is refused." in done.stdout
    for asked in (["status", "--porcelain"], ["tag", "--list", "v99.0.0"]):
        found = subprocess.run(
            ["git", "-C", clone, *asked], capture_output=True, text=True
        )
        assert not found.stdout
