"""Distinguishes different code of one version.

A wheel carries the digest of the macros and models of its commit, so that an install
knows the dbt package that belongs to it. An editable install carries none: whoever
edits the product runs both from one checkout. A published state carries the digest of
the Python part that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

CARRIED = Path(__file__).parent / "package_digest.txt"
# What Python and dbt work on together; seeds and YAML of tests are read by dbt alone.
FOLDERS = ("macros", "models")
KINDS = (".sql", ".py", ".yml", ".md")


@lru_cache
def digest_of(package: Path) -> str:
    """Return the digest of a dbt package's macros and models, by path and text."""
    return _digest(package, (package / folder for folder in FOLDERS), KINDS)


@lru_cache
def python_part() -> str:
    """Return the digest of the Python that writes and reads published states."""
    packages = Path(__file__).parents[1]
    read = (packages / name for name in ("secure_datasets", "dbt_secure_spark"))
    return _digest(packages, read, (".py", ".sql"))


def _digest(root: Path, folders: Iterable[Path], kinds: tuple[str, ...]) -> str:
    """Return the digest of the files of some kinds below folders of a root."""
    found = sha256()
    for path in sorted(
        path.relative_to(root).as_posix()
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in kinds and path.is_file()
    ):
        # Git may write the ends of lines as the system has them.
        text = (root / path).read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{path}\0{len(text)}\0".encode() + text)
    return found.hexdigest()


@lru_cache
def carried() -> str | None:
    """Return the digest that the wheel carries; None where the install is editable."""
    return CARRIED.read_text(encoding="utf-8").strip() if CARRIED.is_file() else None
