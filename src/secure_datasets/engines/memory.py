"""What the quick engine has worked out about queries, kept for the next command.

    with kept_in(Path("target/quick_engine")):
        sql = remembered(("translation", query), lambda: translate(query))

It depends on the query, the types that it reads and the code alone, never on a row.
Where a file can't be read or written, it is worked out anew.
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
# So many values are kept, those that were used last: a timeline uses some two hundred.
MOST = 2000


class _Memory:
    """A folder of values, each in a file by the digest of what it was made of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = (python_part(), version("sqlglot"), version("duckdb"))

    def value(self, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        digest = sha256(repr((*self.code, *of)).encode()).hexdigest()
        path = self.folder / digest
        with suppress(OSError, ValueError):
            # A file of another name, or half of one, is none.
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
        """Remove what nobody has used for longest."""
        with suppress(OSError):
            files = [(each.stat().st_mtime_ns, each) for each in self.folder.iterdir()]
            for _, path in sorted(files)[:-MOST]:
                path.unlink()


_open: list[_Memory] = []


def remembered(of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return a value of JSON, as it is made now or was made of the same before.

    of   all that it depends on beside the code, each with a `repr` of its own
    """
    return _open[-1].value(of, make) if _open else make()


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Let what is remembered lie in a folder, which its owner alone may read."""
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
    """Say whether a folder is of this user alone: what lies in it is run as SQL."""
    try:
        folder.mkdir(OWNER_ALONE, parents=True, exist_ok=True)
        told = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return True
    is_shared = stat.S_IMODE(told.st_mode) & ~OWNER_ALONE
    return stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid() and not is_shared
