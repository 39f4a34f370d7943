"""Says whether the SQL in a node's configuration may look at more than a row.

dbt writes these texts into the statements that make, merge and store rows.
"""

from __future__ import annotations

import re
from typing import Any

from dbt.contracts.graph.nodes import ManifestSQLNode
from sqlglot import exp

from secure_datasets.leaks.proof import USER
from secure_datasets.leaks.understood import is_of_a_row, parse

NAME_OF_COLUMN = re.compile(r"\w+|`[^`]+`")
# A partition of Iceberg may be made of a column: `days(day)`, `bucket(16, id)`.
PARTITION = re.compile(rf"(?:{NAME_OF_COLUMN.pattern})|\w+\((?:\d+, *)?\w+\)")
# Nothing in it ends the quotes around it.
WITHIN_QUOTES = re.compile(r"[^'\"\\]*")
# The configurations with names, or with texts that dbt writes within quotes.
OF_NAMES = {
    **dict.fromkeys(("cluster_by", "clustered_by", "file_format"), NAME_OF_COLUMN),
    **dict.fromkeys(("merge_exclude_columns", "merge_update_columns"), NAME_OF_COLUMN),
    "partition_by": PARTITION,
    "location_root": WITHIN_QUOTES,
}
# The configurations of two texts: a name, and a value within quotes.
OF_PAIRS = ("options", "tblproperties")
NAME_OF_OPTION = re.compile(r"[\w.-]+")
# Conditions that dbt joins by `and`, and SQL in the statements of a snapshot.
CONDITIONS = ("incremental_predicates", "predicates")
OF_SNAPSHOTS = ("check_cols", "dbt_valid_to_current", "updated_at")
# The names of the columns that a snapshot adds.
ADDED_BY_SNAPSHOTS = "snapshot_table_column_names"


def sql_in_config(node: ManifestSQLNode, is_rendered: bool) -> str | None:
    """Return the key of a configuration with SQL over more than one row, if any.

    is_rendered  whether the product's macro makes the node's text and its `narrowing`
    """
    config = node.config
    for name, pattern in OF_NAMES.items():
        if not all(map(pattern.fullmatch, texts_of(config.get(name)))):
            return name
    for name in OF_PAIRS:
        for option, value in (config.get(name) or {}).items():
            is_name = NAME_OF_OPTION.fullmatch(option)
            if not (is_name and WITHIN_QUOTES.fullmatch(str(value))):
                return name
    for name in CONDITIONS:
        if not all(map(_is_no_choice, texts_of(config.get(name)))):
            return name
    # A reader's statement has it, if the reader is made in batches or from a sample.
    if not is_of_one_row(config.get("event_time")):
        return "event_time"
    if node.resource_type == "snapshot" and (name := _sql_of_snapshot(config)):
        return name
    if config.get("contract") and config.contract.enforced:
        columns = [column.name for column in node.columns.values() if not column.quote]
        if not all(map(NAME_OF_COLUMN.fullmatch, columns)):
            return "columns"
    types = (config.get("column_types") or {}).values()
    if not is_of_one_row([f"try_cast(a as {each})" for each in types]):
        return "column_types"
    masks = (config.get("narrowing") or {}).get("masks") or {}
    is_known = is_rendered or is_of_one_row(list(masks.values()))
    return None if is_known else "narrowing"


def _sql_of_snapshot(config: Any) -> str | None:
    """Return the key of a snapshot's configuration with SQL over more than one row."""
    for name in OF_SNAPSHOTS:
        if not is_of_one_row(config.get(name)):
            return name
    added = [str(name) for name in (config.get(ADDED_BY_SNAPSHOTS) or {}).values()]
    are_names = all(map(NAME_OF_COLUMN.fullmatch, added))
    if not are_names or USER in [name.strip("`").lower() for name in added]:
        return "snapshot_meta_column_names"
    return None


def texts_of(value: Any) -> list[str]:
    """Return the texts of a configuration's value, single or in a list."""
    if value is None:
        return []
    return list(map(str, value)) if isinstance(value, list | tuple) else [str(value)]


def is_of_one_row(value: Any) -> bool:
    """Whether SQL of a configuration reads one row only."""
    # A comment would swallow the text that dbt writes after it.
    return not any(
        "--" in text or "/*" in text or not is_of_a_row(text)
        for text in texts_of(value)
    )


def _is_no_choice(predicate: str) -> bool:
    """Whether a condition on one row keeps its meaning when joined by `and`."""
    if not is_of_one_row(predicate):
        return False
    return not isinstance(parse(f"select {predicate} from rows").selects[0], exp.Or)
