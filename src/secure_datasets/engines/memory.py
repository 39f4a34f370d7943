"""Results of the quick engine about queries, kept for the next command.

    with kept_in(Path("target/quick_engine")):
        sql = remembered(("translation", query), lambda: translate(query))

A result depends only on the query, the types that it reads and the code, never on a
row. If a file can't be read or written, the result is computed anew.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from secure_datasets.digest import python_part

FOLDER = "quick_engine"
OWNER_ALONE = 0o700
# The most recently used values are kept: a timeline uses about two hundred.
MOST = 2000


class _Memory:
    """A folder of values, each in a file named by the digest of its inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = (python_part(), version("sqlglot"), version("duckdb"))

    def value(self, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        digest = sha256(repr((*self.code, *of)).encode()).hexdigest()
        path = self.folder / digest
        with suppress(OSError, ValueError):
            # A file with a different name, or half of a file, is ignored.
            found = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.get("digest") == digest:
                os.utime(path)
                return found["value"]
        value = make()
        with suppress(OSError):
            written = path.with_suffix(f".{os.getpid()}")
            document = json.dumps({"value": value, "digest": digest})
            written.write_text(document, encoding="utf-8")
            written.replace(path)
        return value

    def leave_oldest(self) -> None:
        """Remove the least recently used values."""
        with suppress(OSError):
            files = [(each.stat().st_mtime_ns, each) for each in self.folder.iterdir()]
            for _, path in sorted(files)[:-MOST]:
                path.unlink()


_open: list[_Memory] = []


def remembered(of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return a value of JSON: the kept one of the same inputs, or else a new one.

    of   all inputs beside the code, each with a distinct `repr`
    """
    return _open[-1].value(of, make) if _open else make()


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Keep values in a folder that only its owner may read."""
    if not _is_own(folder):
        yield
        return
    memory = _Memory(folder)
    _open.append(memory)
    try:
        yield
    finally:
        _open.pop()
        memory.leave_oldest()


def _is_own(folder: Path) -> bool:
    """Return whether a folder is this user's alone: its content is run as SQL."""
    try:
        folder.mkdir(OWNER_ALONE, parents=True, exist_ok=True)
        told = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return True
    is_shared = stat.S_IMODE(told.st_mode) & ~OWNER_ALONE
    return stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid() and not is_shared
