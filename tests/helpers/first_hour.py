"""The page of the first hour, step by step: the files that it writes, the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from customer_project import CONFIG
from projects import ROOT

PAGE = ROOT / "docs/building-on-it.md"
BLOCK = re.compile(
    r"^(?:(?P<before>[^\n]+)\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
FILE = re.compile(r"`([\w/]+\.(?:sql|yml))`")
# Where the page puts an entry and a policy into the config.
ENTRIES, END = "\ndatasets:\n", "{% endmacro %}"


def steps() -> Iterator[tuple[str, str]]:
    """Yield what the page does: a file with its text, or `$` with a command."""
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["kind"] == "sh":
            for line in block["text"].splitlines():
                yield "$", line.partition("#")[0].strip()
        elif block["text"].startswith("policies:"):
            yield END, block["text"]
        elif block["text"].startswith("    "):
            yield ENTRIES, block["text"]
        else:
            yield FILE.findall(block["before"])[-1], block["text"]


def write(folder: Path, place: str, text: str) -> None:
    """Write what a step says into a project."""
    if place in (ENTRIES, END):
        config = (folder / CONFIG).read_text(encoding="utf-8")
        assert config.count(place) == 1
        said = place + text if place == ENTRIES else text + place
        place, text = CONFIG, config.replace(place, said)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text(text, encoding="utf-8")
