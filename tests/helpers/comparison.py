"""What the oracle expects, in a form with which any engine's rows are compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

from oracle.contract import COLUMNS, Evaluation

# What the oracle knows the rows of, the cheapest to work out first.
COMPARED = (
    *("vw_dataset_jobs", "vw_dataset_tables", "vw_dataset_columns"),
    *("vw_dataset_metadata_objects", "vw_dataset_event_history"),
    *("vw_dataset_job_executions", "vw_dataset_test_executions", "vw_dataset_tests"),
    *("vw_dataset_template_test_executions", "vw_secure_user_project_access"),
    *("vw_secure_user_data_source_access", "vw_secure_user_results_access"),
    *(name for name in COLUMNS if name.startswith("vw_secure_dataset_")),
    *("rejected_rows", "dangling_references", "vw_dataset_effective_user_permissions"),
)
# A text in a comparison, where a column's own text can't be taken for it.
NULL, END = "\ue000", "\ue001"


def comparable_value(value: Any) -> str:
    """Return an oracle's value as the text that Spark gives for the same."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "timestamp"):
        days = value.toordinal() - 719163  # 1 January 1970
        seconds = (days * 24 + value.hour) * 3600 + value.minute * 60 + value.second
        return str(seconds * 1_000_000 + value.microsecond)
    return str(value)


def comparable(rows: list[tuple]) -> Counter:
    """Count an oracle's rows in the same form."""
    return Counter(END.join(map(comparable_value, row)) for row in rows)


def wanted_rows(expected: Evaluation) -> dict[str, list[tuple]]:
    """Return what the oracle expects of each relation that is compared."""
    rejected = [
        (table, None if reason == "conflict" else raw_id, reason, loaded)
        for table, raw_id, reason, loaded in expected.rejected
    ]
    return expected.relations | {
        "rejected_rows": rejected,
        "dangling_references": expected.dangling,
    }


def values_of(row: str) -> tuple[str | None, ...]:
    return tuple(None if text == NULL else text for text in row.split(END))


def described(found: dict[str, list], rows: int = 3) -> str:
    """Return differences as text: each relation with its first few rows."""
    lines = []
    for name, differing in found.items():
        lines.append(f"{name}: {len(differing)} rows differ")
        columns = COLUMNS.get(name, ())
        for kind, values in differing[:rows]:
            names = (
                columns if len(columns) == len(values) else range(1, len(values) + 1)
            )
            row = ", ".join(f"{n}={v}" for n, v in zip(names, values, strict=True))
            lines.append(f"    {kind}: {row}")
    return "\n".join(lines)
