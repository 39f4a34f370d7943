"""What the quick engine has worked out about queries, kept for the next command.

    with kept_in(Path("target/quick_engine.sqlite")):
        sql = remembered(("translation", query), lambda: translate(query))

It depends on the query, the types that it reads and the code alone, never on a row.
Where the file can't be read or written, it is worked out anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from secure_datasets.digest import python_part

FILE = "quick_engine.sqlite"
OWNER_ALONE = 0o600
# So many values are kept, those that were used last: a timeline uses some two hundred.
MOST = 2000
# Seconds to wait for another command that writes.
PATIENCE = 1.0
TABLE = (
    "create table if not exists known"
    " (digest text primary key, value text not null, used integer not null)"
)


class _Memory:
    """A file of values, by the digest of what they were made of."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self.file = file
        self.code = (python_part(), version("sqlglot"), version("duckdb"))
        self.used: dict[str, str] = {}
        self.file.execute(TABLE)

    def value(self, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        digest = sha256(repr((*self.code, *of)).encode()).hexdigest()
        if digest not in self.used:
            found = self._read(digest)
            self.used[digest] = json.dumps(make()) if found is None else found
        return json.loads(self.used[digest])

    def _read(self, digest: str) -> str | None:
        query = "select value from known where digest = ?"
        with suppress(sqlite3.Error):
            if found := self.file.execute(query, (digest,)).fetchone():
                return found[0]
        return None

    def write(self) -> None:
        """Write what was used as the newest, and leave the oldest out."""
        with self.file:
            query = "select coalesce(max(used), 0) + 1 from known"
            (now,) = self.file.execute(query).fetchone()
            self.file.executemany(
                "insert or replace into known values (?, ?, ?)",
                [(digest, value, now) for digest, value in self.used.items()],
            )
            self.file.execute(
                "delete from known where digest not in"
                " (select digest from known order by used desc limit ?)",
                (MOST,),
            )


_open: list[_Memory] = []


def remembered(of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return a value of JSON, as it is made now or was made of the same before.

    of   all that it depends on beside the code, each with a `repr` of its own
    """
    return _open[-1].value(of, make) if _open else make()


@contextmanager
def kept_in(path: Path) -> Iterator[None]:
    """Let what is remembered lie in a file, which its owner alone may read."""
    memory = _opened(path)
    if memory is None:
        yield
        return
    with closing(memory.file):
        _open.append(memory)
        try:
            yield
        finally:
            _open.pop()
            with suppress(sqlite3.Error):
                memory.write()


def _opened(path: Path) -> _Memory | None:
    """Return the memory in a file; None if it is somebody else's, or can't be had."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        file = os.open(path, flags, OWNER_ALONE)
        told = os.fstat(file)
        os.close(file)
        if hasattr(os, "geteuid") and told.st_uid != os.geteuid():
            return None
        path.chmod(OWNER_ALONE)
        return _Memory(sqlite3.connect(path, timeout=PATIENCE))
    except (OSError, sqlite3.OperationalError):
        return None
    except sqlite3.DatabaseError:
        # It is damaged: the next command begins anew.
        path.unlink(missing_ok=True)
        return None
