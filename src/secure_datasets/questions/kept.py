"""Past states, computed for a question and kept by day for the next question.

A day is kept as Parquet files in dbt's target folder, which only its owner may read:
the relations that decide access. It belongs to one published state: the digest of the
state's text names its folder, so that nothing of it is read after the next run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING

from secure_datasets.engines.published import State

if TYPE_CHECKING:
    from secure_datasets.engines.duckdb import DuckDB

FOLDER = "past_states"
OWNER_ALONE = 0o700
END = ".parquet"
# A relation that reads the present moment depends on more than a past day.
CLOCK = re.compile(
    r"current_(?:date|time)|(?:now|curdate|localtimestamp)\s*\(|judged_on", re.I
)


class Kept:
    """The days of one published state."""

    def __init__(self, folder: Path, state: State, most: int) -> None:
        """Take the folder of all states, and how many days there are at most.

        The state has listed the files of its raw tables: different files may hold
        different rows of the same days.
        """
        self.all, self.most = folder, most
        read = state.text + repr(sorted(state.seen.items())).encode()
        self.own = folder / hashlib.sha256(read).hexdigest()[:32]
        self.names = _deciding(state) if most and not _reads_elsewhere(state) else set()

    def files(self, moment: datetime) -> dict[str, Path]:
        """Return the files of a day's relations by name; none within a day."""
        folder = self._folder(moment)
        try:
            if folder is None or not folder.is_dir():
                return {}
            os.utime(folder)
            return {path.stem: path for path in folder.iterdir() if path.suffix == END}
        except OSError:
            # Perhaps somebody else owns the files: the state is computed anew.
            return {}

    def keep(self, moment: datetime, engine: DuckDB, schema: str) -> None:
        """Keep the computed relations of a moment, if it is the beginning of a day."""
        folder = self._folder(moment)
        if folder is None:
            return
        for name in self.names:
            path = folder / f"{name}{END}"
            if not path.exists() and engine.is_table(f"{schema}.{name}"):
                folder.mkdir(OWNER_ALONE, parents=True, exist_ok=True)
                self.all.chmod(OWNER_ALONE)
                written = path.with_suffix(f".{os.getpid()}")
                engine.save(f"{schema}.{name}", written)
                written.replace(path)
        self._leave(self.all.iterdir() if self.all.is_dir() else ())

    def _folder(self, moment: datetime) -> Path | None:
        is_day = moment.time() == time.min
        return self.own / f"{moment:%Y-%m-%d}" if self.names and is_day else None

    def _leave(self, states: Iterable[Path]) -> None:
        """Remove other states, and the least recently used days."""
        for other in states:
            if other != self.own:
                shutil.rmtree(other, ignore_errors=True)
        if self.own.is_dir():
            days = sorted(self.own.iterdir(), key=lambda day: day.stat().st_mtime)
            for day in days[: -self.most]:
                shutil.rmtree(day, ignore_errors=True)


def _reads_elsewhere(state: State) -> bool:
    """Return whether raw tables are in another catalog, whose files nobody lists."""
    sources = state.values["graph"]["sources"].values()
    return any((each["relation_name"] or "").count(".") > 1 for each in sources)


def _deciding(state: State) -> set[str]:
    """Return the relations that decide access and read no present moment."""
    nodes = state.values["graph"]["nodes"]
    tiers = state.document["config"]["tiers"].values()
    views = {tier["access_view"] for tier in tiers} | {"explained_access_paths"}
    waiting = [key for key, node in nodes.items() if node["name"] in views]
    found: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in found and nodes.get(key, {}).get("resource_type") == "model":
            found.add(key)
            waiting += nodes[key]["depends_on"]["nodes"]
    if any(CLOCK.search(nodes[key].get("raw_code", "")) for key in found):
        return set()
    return {nodes[key]["alias"] for key in found}
