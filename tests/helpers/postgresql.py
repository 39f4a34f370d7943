"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Debian's, the newest first.
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@contextmanager
def postgresql() -> Iterator[Callable[[str], str]]:
    """Start a server on loopback, for what it gives to run scripts; stop it after."""
    # initdb refuses root, so there a user that owns nothing else runs the server.
    as_owner = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
    owner = "nobody" if as_owner else getpass.getuser()
    data = Path("/tmp") / f"postgres_{os.getpid()}"
    data.mkdir()
    shutil.chown(data, owner)

    def run(program: str, *arguments: str, **options: Any) -> str:
        done = subprocess.run(
            [*as_owner, str(BINARIES[0] / program), *arguments],
            check=False, cwd="/", capture_output=True, text=True, **options,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    try:
        run("initdb", "-D", str(data), "-U", "tests", "-A", "trust", "-E", "UTF8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-p {port} -h 127.0.0.1 -k {data} -c fsync=off"
        log = data / "log"
        # Its output goes to a file, or else the server would hold the pipe.
        subprocess.run(
            [*as_owner, str(BINARIES[0] / "pg_ctl"), "-D", str(data), "-o", options,
             "-l", str(log), "-w", "start"],
            check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        place = ["-h", "127.0.0.1", "-p", str(port), "-U", "tests", "-d", "postgres"]
        try:
            yield lambda text: run(
                "psql", *place, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1",
                input=text,
            )  # fmt: skip
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(data)
