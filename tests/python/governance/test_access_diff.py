"""What the script for pull requests builds, and where: with a dbt that only says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from projects import ROOT

# Stands for dbt: notes how it is called, and lists one relation and a raw table's seed.
DBT = r"""#!/usr/bin/env bash
profiles=${@: -1}
echo "$PWD $*" >> "$CALLS"
case "$*" in
    *tag:access_changes*)
        mkdir -p target && cat seeds/*.csv > target/access_changes.md
        ;;
    *run-operation*)
        [ -z "$REFUSED" ] || { echo "a limit is about nothing"; exit 1; }
        ;;
    *" access_change_"*)
        name=$(sed 's/.* \(access_change_[a-z]*\) .*/\1/' <<< "$*")
        seed='"original_file_path": "seeds/'$name'.csv"'
        [ -z "$ELSEWHERE" ] || [[ $PWD == */after* ]] || cd "$ELSEWHERE"
        echo '{"root_path": "'"$PWD"'", '"$seed"'}'
        ;;
    *" ls "*)
        schema=$(sed -n 's/ *schema: //p' "$profiles/profiles.yml")
        echo '{"name": "a", "schema": "'"${SCHEMA:-$schema}"'"}'
        echo '{"name": "b", "schema": "'"${schema}_marts"'"}'
        ;;
esac
"""


@pytest.fixture
def diff(tmp_path):
    """Call the script on two commits; returns how it ended, and how dbt was called."""
    checkout = tmp_path / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    (checkout / ".venv/bin").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/access_diff.sh", checkout / "scripts")
    outputs = {"local": {"type": "secure_spark", "schema": "published"}}
    profile = {"acme": {"target": "local", "outputs": outputs}}
    (checkout / "profiles.yml").write_text(yaml.safe_dump(profile))
    (checkout / ".venv/bin/python").symlink_to(sys.executable)
    dbt = checkout / ".venv/bin/dbt"
    dbt.write_text(DBT)
    dbt.chmod(0o755)

    def git(*arguments: str) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *name, *arguments], cwd=checkout, check=True)

    git("init", "--quiet")
    (checkout / "seeds").mkdir()
    for message in ("first", "base", "head"):
        for seed in ("access_change_approvals", "access_change_limits"):
            (checkout / f"seeds/{seed}.csv").write_text(f"{seed} of {message}\n")
        git("add", "scripts", "seeds")
        git("commit", "--quiet", "--message", message)
    calls = tmp_path / "calls"
    calls.touch()

    def call(**environment: str) -> tuple[subprocess.CompletedProcess, list[str]]:
        nothing = {"CALLS": str(calls), "ELSEWHERE": "", "REFUSED": ""}
        ended = subprocess.run(
            ["bash", "scripts/access_diff.sh", "HEAD~1", "HEAD"],
            cwd=checkout,
            env=os.environ | nothing | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended, calls.read_text().splitlines()

    return call


def test_both_sides_are_built_in_schemas_of_their_own_on_the_same_raw_rows(diff):
    ended, calls = diff()
    assert ended.returncode == 0, ended.stderr
    sides = [(Path(c.split()[0]).name, c.split()[2]) for c in calls]
    commands = (
        ("before", ["ls", "seed", "build"]),
        ("after", ["ls", "build", "ls"]),
        ("before", ["ls", "ls"]),
        ("after", ["ls", "run-operation"]),
        ("before", ["build"]),
    )
    assert sides == [(side, c) for side, of_side in commands for c in of_side]
    # The base's seeds are those that it reads, whichever project brings them.
    assert "--select +tag:access +tag:secure" in calls[1]
    builds = [c for c in calls if " build " in c and "tag:access_changes" not in c]
    assert all("--exclude fqn:*.repository.*" in c for c in builds)


def test_dbt_is_that_of_the_checkout_or_else_the_command(diff, tmp_path, monkeypatch):
    bin, elsewhere = tmp_path / "checkout/.venv/bin", tmp_path / "bin"
    bin.rename(elsewhere)
    ended, calls = diff(PATH=f"{elsewhere}:{os.environ['PATH']}")
    assert (ended.returncode, len(calls)) == (0, 11), ended.stderr
    (elsewhere / "dbt").unlink()
    ended, _ = diff(PATH="/usr/bin:/bin")
    assert ended.returncode == 1
    assert ended.stderr.startswith("There is no dbt in .venv of the checkout")


def test_D4_limits_are_those_of_the_base_and_approvals_those_of_the_head(diff):
    """Or who raises a limit would be judged by the own one."""
    ended, calls = diff()
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "access_change_approvals of head", "access_change_limits of base",
    ]  # fmt: skip
    (comparison,) = [c for c in calls if "tag:access_changes" in c]
    assert Path(comparison.split()[0]).parts[-1] == "before"
    assert "limits_are_of_base: true" in comparison


def test_D4_limits_may_be_those_of_another_commit(diff):
    """Or who branches off before a limit would not be held by it."""
    ended, _ = diff(LIMITS="HEAD~2")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "access_change_approvals of head", "access_change_limits of first",
    ]  # fmt: skip
    ended, _ = diff(LIMITS="nowhere")
    assert "There is no commit 'nowhere'" in ended.stderr
    assert ended.returncode == 1


def test_D4_limits_that_would_hold_up_later_commits_are_refused(diff):
    ended, calls = diff(REFUSED="yes")
    assert ended.returncode == 1
    assert "a limit is about nothing" in ended.stderr
    (checked,) = [c for c in calls if "run-operation" in c]
    assert Path(checked.split()[0]).parts[-1] == "after"
    assert "limits_are_of_base: false" in checked
    assert not any("tag:access_changes" in c for c in calls)


def test_D4_limits_that_are_as_they_were_may_be_about_nothing_by_now(diff):
    """As where a group was renamed: a change of something else is not held up."""
    _, calls = diff(LIMITS="HEAD")
    (checked,) = [c for c in calls if "run-operation" in c]
    assert "limits_are_of_base: true" in checked


def test_D4_approvals_of_a_package_elsewhere_are_not_written_to(diff, tmp_path):
    seed = tmp_path / "package/seeds/access_change_approvals.csv"
    seed.parent.mkdir(parents=True)
    seed.write_text("of the package\n")
    ended, _ = diff(ELSEWHERE=str(tmp_path / "package"))
    assert ended.returncode == 0, ended.stderr
    assert seed.read_text() == "of the package\n"


@pytest.mark.parametrize("schema", ["for_readers", "Published", "access_diff_"])
def test_a_schema_that_is_no_side_s_own_is_not_built_in(diff, schema):
    ended, calls = diff(SCHEMA=schema)
    assert ended.returncode == 1
    told = f"'a' would be built in the schema {schema.lower()!r}, which is not this"
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [c.split()[2] for c in calls] == ["ls"], "nothing is built"
