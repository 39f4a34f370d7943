"""Report which folder of Spark's is full or read-only, in place of the JVM's stack.

The engine's error for a full or read-only disk differs with the moment: a library that
can't be unpacked, a metastore that can't be instantiated, a folder that can't be made.
So this module tries to write to the folders that the profile names.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

WAREHOUSE = "the warehouse"
# With less left than this nothing can be built.
TRIED_BYTES = 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT)
# Java's messages count even if the disk has space again after the failed write.
FULL_IN_JAVA = ("No space left on device", "Disk quota exceeded")
READ_ONLY_IN_JAVA = ("Read-only file system",)
# A file or folder in its messages.
NAMED_IN_JAVA = re.compile(r"file:(/[^\s,;:()\[\]'\"]+)")
REPAIRS = "then run the same command again, which repairs what this one has left."
TEMPORARY = "the temporary folders of driver, server and executors"
# SQLSTATE classes of errors in a query or a value, unrelated to the disk.
SQLSTATE = re.compile(r"SQLSTATE: (\w{5})")
ABOUT_THE_QUERY = ("42", "22", "21", "P0")


def folders(parameters: dict[str, Any]) -> dict[Path, str]:
    """Return the local folders that a session writes to, each with its name."""
    java_options = str(parameters.get("spark.driver.extraJavaOptions", ""))
    metastore = str(parameters.get("spark.hadoop.javax.jdo.option.ConnectionURL", ""))
    named = [
        (WAREHOUSE, str(parameters.get("spark.sql.warehouse.dir", ""))),
        *re.findall("(databaseName)=([^;]+)", metastore),
        *(
            ("spark.local.dir", part.strip())
            for part in str(parameters.get("spark.local.dir", "")).split(",")
        ),
        *re.findall(r"(java\.io\.tmpdir)=(\S+)", java_options),
    ]
    found: dict[Path, str] = {}
    for name, text in named:
        parts = urlsplit(text)
        if text and parts.scheme in ("", "file"):
            name = "the metastore" if name == "databaseName" else name
            found.setdefault(Path(unquote(parts.path) if parts.scheme else text), name)
    return found


def nearest(folder: Path) -> Path:
    """Return the longest part of a path that exists."""
    while not os.path.lexists(folder):
        folder = folder.parent
    return folder


def trouble(folder: Path) -> OSError | None:
    """Return why a folder, existing or to be made, can't be written; None if it can."""
    try:
        with tempfile.TemporaryFile(dir=nearest(folder), buffering=0) as file:
            written = file.write(b"\1" * TRIED_BYTES)
            os.fsync(file.fileno())
    except OSError as failure:
        return failure
    if written < TRIED_BYTES:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return None


def sentence(folder: Path, name: str, failure: OSError) -> str:
    """Return a message with a folder's trouble and its remedy."""
    if failure.errno in FULL:
        return f"The disk of {name} is full ({folder}): free space there, {REPAIRS}"
    return (
        f"Nothing can be written to {name} ({folder}: {os.strerror(failure.errno)}):"
        f" make it writable, or let profiles.yml name another folder, {REPAIRS}"
    )


def told_of_folders(
    parameters: dict[str, Any], but: Collection[str] = ()
) -> str | None:
    """Return a message about the first unwritable folder; None if all are writable."""
    for folder, name in folders(parameters).items():
        if name not in but and (failure := trouble(folder)):
            return sentence(folder, name, failure)
    return None


def told_of_disk(failure: BaseException, parameters: dict[str, Any]) -> str | None:
    """Return a message about the disk if it caused a failure; None if not."""
    state = getattr(failure, "getSqlState", lambda: None)()
    if not state and (named_state := SQLSTATE.search(str(failure))):
        state = named_state[1]
    if str(state or "").startswith(ABOUT_THE_QUERY):
        return None
    if told := told_of_folders(parameters):
        return told
    # Java's causes are in the trace that PySpark keeps, not in its message.
    text = f"{failure}\n{getattr(failure, '_stackTrace', '')}"
    named = sorted(set(map(Path, NAMED_IN_JAVA.findall(text))))
    if "spark.remote" not in parameters:
        # A schema may lie outside the warehouse.
        for path in map(nearest, named):
            if met := trouble(path):
                return sentence(path, "a folder of Spark's", met)
    if any(mark in text for mark in READ_ONLY_IN_JAVA):
        return (
            "A disk that Spark writes to is read-only: make it writable where the"
            f" warehouse and {TEMPORARY} are, {REPAIRS}"
        )
    if not any(mark in text for mark in FULL_IN_JAVA):
        return None
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for folder, name in folders(parameters).items():
        if any(path.is_relative_to(folder) for path in named):
            return sentence(folder, name, full)
    return (
        "A disk that Spark writes to is full: free space where the warehouse and"
        f" {TEMPORARY} are, {REPAIRS}"
    )
