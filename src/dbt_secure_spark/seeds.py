"""A seed's file, read where dbt runs: what writes its rows may run elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

# Of characters in a field; Python's own limit is 131,072.
LONGEST_FIELD = 2**31 - 1


def seed_text(adapter: SparkAdapter, seed: dict[str, Any], delimiter: str) -> str:
    """Return a seed as JSON: its `file`, its columns (`header`), and its `rows`.

    An empty field is null. Raises DbtRuntimeError if the file is no table.
    """
    path = Path(seed["root_path"], seed["original_file_path"])
    csv.field_size_limit(LONGEST_FIELD)
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file, delimiter=delimiter))
    if not lines:
        raise DbtRuntimeError(
            f"{path.name} is empty: its first line names the columns."
        )
    header, *lines = lines
    # As the engine compares them.
    if len({name.lower() for name in header}) != len(header):
        raise DbtRuntimeError(f"{path.name} names a column twice: {', '.join(header)}.")
    for number, line in enumerate(lines, start=1):
        if len(line) != len(header):
            raise DbtRuntimeError(
                f"row {number} of {path.name} has {len(line)} fields, its header"
                f" {len(header)}."
            )
    rows = [
        {name: value or None for name, value in zip(header, line, strict=True)}
        for line in lines
    ]
    return json.dumps({"file": path.name, "header": header, "rows": rows})
