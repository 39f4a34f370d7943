"""Show the rows of a version that hold at the moment of reading.

A version with the columns `holds_from` and `holds_until` has all rows, independent of
the moment at which it is written. Its view shows the rows that hold when it is read,
without these columns. So a row appears and disappears without a run. A stored model
with the setting `in_time` reads the whole versions of its parents with this setting,
and passes the two columns on.

The setting may be the name of a flag column instead. Then the view shows every row, and
the flag is true while the row holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

FROM, UNTIL = "holds_from", "holds_until"
NOW = "current_timestamp()"
CLOCK = r"(?P<clock>current_timestamp\(\)|timestamp '[0-9 :.-]+Z')"
SHOWN = re.compile(
    rf"select \* except \((?:`(?P<flag>\w+)`, )?`{FROM}`, `{UNTIL}`\).*?"
    rf"\({CLOCK} >= `{FROM}` and (?P=clock) < `{UNTIL}`\)"
    r"(?: as `(?P=flag)`, `(?P=flag)` as `\w+` from [\w.`]+)?",
    re.S,
)


@dataclass(frozen=True)
class InTime:
    """How a view shows the rows of a version that hold for a time.

    flag   the column that is true while a row holds; None if such rows alone are shown
    clock  SQL for the moment of reading
    """

    flag: str | None
    clock: str

    def published_rows(self, version: str) -> str:
        """Return the query of the rows as they are published."""
        holds = f"({self.clock} >= `{FROM}` and {self.clock} < `{UNTIL}`)"
        if self.flag is None:
            return f"select * except (`{FROM}`, `{UNTIL}`) from {version} where {holds}"
        return (
            f"select * except (`{self.flag}`, `{FROM}`, `{UNTIL}`),"
            f" `{self.flag}` and {holds} as `{self.flag}`,"
            f" `{self.flag}` as `{self.flag}_in_its_time` from {version}"
        )

    @classmethod
    def read(cls, definition: str | None) -> InTime | None:
        """Return how a view shows its version, from its definition in the metastore."""
        found = SHOWN.search(definition or "")
        return cls(found["flag"], found["clock"]) if found else None


def holds_in_time(nodes: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Return whether a node's rows hold for a time, by its own or its parents' flag."""
    setting = node["config"].get("in_time")
    if isinstance(setting, str):
        return True
    if not setting:
        return False
    parents = map(nodes.get, node["depends_on"].get("nodes", ()))
    return any(holds_in_time(nodes, parent) for parent in parents if parent)


def without_shown(sql: str) -> str:
    """Return a query without the queries that show versions by the time."""
    return SHOWN.sub("", sql)


def of_columns(columns: Collection[str], clock: str = NOW) -> InTime | None:
    """Return how a version with these columns is shown; None if rows always hold."""
    if not {FROM, UNTIL} <= {*columns}:
        return None
    return InTime("is_live" if "is_live" in columns else None, clock)
