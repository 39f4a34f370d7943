"""Makes a release: version, changelog, wheel and sources, all tried, then a local tag.

    .venv/bin/python scripts/release.py 0.3.0 [--dry-run]

Works in a clone, so that a release that fails leaves nothing behind; with --dry-run the
clone is all there is. Nothing is uploaded or pushed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")
OF_PROJECT = re.compile(r'^version: "([^"]+)"$', re.M)
OF_CHANGES = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.M | re.S)
CUSTOMER = "a_customer"
BUILD = "from setuptools import build_meta as b; b.build_{}('dist')"


class NotReleased(Exception):
    """No release is made; the message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Release the version that is named; return 0, or 2 with a sentence."""
    parser = argparse.ArgumentParser(
        prog="release", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            release(options.version, options.dry_run, Path(folder))
    except NotReleased as why:
        print(f"release: {why}.", file=sys.stderr)
        return 2
    return 0


def release(version: str, is_dry: bool, folder: Path) -> None:
    """Make, build and try a release in a folder; take it over, unless it is dry."""
    if _git(ROOT, "status", "--porcelain"):
        raise NotReleased("there are changes that are not committed: commit them first")
    if _git(ROOT, "tag", "--list", f"v{version}"):
        raise NotReleased(f"the tag v{version} is there already")
    clone = folder / "clone"
    _git(ROOT, "clone", "--quiet", str(ROOT), str(clone))
    for name, text in edited(clone, version).items():
        (clone / name).write_text(text, encoding="utf-8")
    for setting in ("user.name", "user.email"):
        _git(clone, "config", setting, _git(ROOT, "config", setting))
    _git(clone, "commit", "--quiet", "--all", "--message", f"Release {version}")
    _git(clone, "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    wheel, sources = built(clone)
    print(f"Built {wheel.name} and {sources.name}.", flush=True)
    unpacked = unpacked_sources(sources, folder)
    again = built(unpacked)[0]
    if contents(again) != contents(wheel):
        raise NotReleased("the sources and the clone don't build the same wheel")
    tried(wheel, clone, version, folder)
    if is_dry:
        print(f"A dry run: no commit, no tag. v{version} can be released.")
        return
    _git(ROOT, "pull", "--quiet", "--ff-only", str(clone), "HEAD")
    _git(
        ROOT,
        "fetch",
        "--quiet",
        str(clone),
        f"refs/tags/v{version}:refs/tags/v{version}",
    )
    (ROOT / "dist").mkdir(exist_ok=True)
    for file in (wheel, sources):
        shutil.copy(file, ROOT / "dist")
    print(f"v{version} is tagged here, and dist has its files. Nothing is published.")


def edited(folder: Path, version: str) -> dict[str, str]:
    """Return the files that name the version, with the new one."""
    texts = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("dbt_project.yml", "CHANGELOG.md", "docs/upgrading.md")
    }
    (known,) = OF_PROJECT.findall(texts["dbt_project.yml"])
    if not VERSION.fullmatch(version) or _parts(version) <= _parts(known):
        raise NotReleased(f"'{version}' is no version after {known}, such as 0.10.0")
    changes = OF_CHANGES.search(texts["CHANGELOG.md"])
    if not changes or not changes[1].strip():
        raise NotReleased("CHANGELOG.md has nothing under '## Unreleased'")
    if "## To the next version" not in texts["docs/upgrading.md"]:
        raise NotReleased(
            "docs/upgrading.md has no section '## To the next version': write what a"
            " team does, or that there is nothing to do"
        )
    return {
        "dbt_project.yml": OF_PROJECT.sub(
            f'version: "{version}"', texts["dbt_project.yml"]
        ),
        "CHANGELOG.md": texts["CHANGELOG.md"].replace(
            "## Unreleased\n", f"## Unreleased\n\n## {version}\n", 1
        ),
        "docs/upgrading.md": texts["docs/upgrading.md"].replace(
            "## To the next version", f"## From {known} to {version}", 1
        ),
    }


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def built(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the archive of the sources, built in a folder."""
    for kind in ("wheel", "sdist"):
        _run(sys.executable, "-c", BUILD.format(kind), cwd=folder)
    dist = folder / "dist"
    (wheel,), (sources,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    return wheel, sources


def unpacked_sources(sources: Path, folder: Path) -> Path:
    """Return the folder that the archive of the sources holds."""
    shutil.unpack_archive(sources, folder / "sources")
    (unpacked,) = (folder / "sources").iterdir()
    return unpacked


def contents(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel with the sums of what is in them."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def tried(wheel: Path, package: Path, version: str, folder: Path) -> None:
    """Install a wheel in an empty environment, and try a customer's project on it."""
    home = folder / "installed"
    venv.create(home, with_pip=True)
    binaries = home / "bin"
    _run(
        *(binaries / "python", "-m", "pip", "install", "--quiet"),
        *("--constraint", package / "constraints.txt", wheel),
    )
    command = binaries / "secure-datasets"
    said = _run(command, "--version").strip()
    if said != version:
        raise NotReleased(f"what is installed calls itself {said}")
    licences = home.glob("lib/*/site-packages/secure_datasets-*/licenses/LICENSE")
    if not list(licences):
        raise NotReleased("the wheel has no LICENSE")
    customer = folder / CUSTOMER
    _run(command, "init", customer, "--package", package)
    for call in (
        (binaries / "dbt", "--quiet", "deps"),
        (binaries / "dbt", "--quiet", "--warn-error", "parse"),
        (command, "check"),
        (command, "test"),
    ):
        _run(*call, cwd=customer)
    print("A new customer's project parses on it, and its check and its cases pass.")
    # A package of another commit must not go with it.
    macro = package / "macros/config/config_error.sql"
    macro.write_text(macro.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    other = _run(command, "check", cwd=customer, fails=True)
    if "of two commits" not in other:
        raise NotReleased(f"a package of another commit is not refused: {other}")
    _git(package, "checkout", "--quiet", ".")
    print("A package of another commit is refused.", flush=True)


def _git(folder: Path, *arguments: str) -> str:
    return _run("git", "-C", folder, *arguments).strip()


def _run(*call: str | Path, cwd: Path | None = None, fails: bool = False) -> str:
    """Return what a call prints; stop where it does not end as it is to."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DBT_")}
    done = subprocess.run(
        [*map(str, call)], cwd=cwd, env=environment, capture_output=True, text=True
    )
    printed = done.stdout + done.stderr
    if (done.returncode != 0) != fails:
        called = " ".join(map(str, call))
        raise NotReleased(f"{called} ends with {done.returncode}:\n{printed.strip()}")
    return printed if fails else done.stdout


if __name__ == "__main__":
    sys.exit(main())
