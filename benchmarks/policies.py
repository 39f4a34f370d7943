"""Two more secure datasets: conditions and masks over a tier, and a security object.

The sample's policies name its own groups. These name groups of the generated world:
everyone who is in a group at all is in group 1, about half of them in group 2 to 4.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import yaml

CONFIG = "macros/secure_datasets_config.sql"
MASKED_COLUMNS = [
    "data_source_id",
    "data_source_name",
    "schema_id",
    "schema_name",
    "table_id",
    "table_name",
    "column_id",
    "column_name",
    "full_path",
    "data_type",
    "sequence",
]
# By role: which rows it sees, and what it gets in a column's place.
CONDITIONS = {"group 1": "sequence < 6", "group 2": "sequence >= 6"}
MASKS = {
    "full_path": ("group 1", "sequence >= 3", "'hidden'"),
    "data_type": ("group 2", "sequence = 7", "upper(data_type)"),
}


def add_datasets(project: Path) -> None:
    """Add both to a copy of the sample."""
    star = yaml.safe_load(_document(project))["datasets"]["star_test_executions"]
    datasets = {
        "masked_columns": {
            "base": "vw_secure_dataset_columns",
            "columns": MASKED_COLUMNS,
            "unique_key": ["column_id"],
        },
        "unit_results": star,
    }
    policies = [
        {"role": role, "resource": "masked_columns", "condition": condition}
        for role, condition in CONDITIONS.items()
    ] + [
        {
            "role": role,
            "resource": f"masked_columns.{column}",
            "condition": condition,
            "mask": mask,
        }
        for column, (role, condition, mask) in MASKS.items()
    ]
    text = (project / CONFIG).read_text()
    before, after = text.split("\npolicies:\n")
    text = f"{before}\n{_indented(datasets)}\npolicies:\n{_indented(policies)}{after}"
    (project / CONFIG).write_text(text)
    for name in datasets:
        file = project / "models" / "secure" / f"vw_secure_dataset_{name}.sql"
        file.write_text(
            "{{ config(contract={'enforced': false}) }}\n"
            f"{{{{ secure_datasets.secure_dataset('{name}') }}}}\n"
        )


def _document(project: Path) -> str:
    """The YAML that is the config's macro."""
    text = (project / CONFIG).read_text().split("{% macro ")[1]
    return text.split("%}", 1)[1].split("{% endmacro %}")[0]


def _indented(value: object) -> str:
    return indent(yaml.safe_dump(value, sort_keys=False), " " * 4)
