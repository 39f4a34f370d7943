"""Small root projects that install the product, for tests of the package."""

from __future__ import annotations

from pathlib import Path

import yaml
from projects import install_product

CONFIG = "macros/secure_datasets_config.sql"


def config_macro(document: str, name: str = "default__secure_datasets_config") -> str:
    """Return the macro with what a root project adds to the product's config."""
    return f"{{% macro {name}() %}}\n{document}{{% endmacro %}}\n"


def customer_project(
    folder: Path,
    product: Path,
    files: dict[str, str] | None = None,
    settings: dict | None = None,
    name: str = "acme",
) -> Path:
    """Make a root project of these files, and install the product in it.

    It has what a new team writes: a name, a profile and the schema of its raw tables;
    `settings` take the place of these in dbt_project.yml.
    """
    project = {
        "name": name,
        "version": "1.0.0",
        "config-version": 2,
        "profile": name,
        "vars": {"raw_schema": "replica"},
        "models": {
            name: {"+materialized": "published_view", "+file_format": "parquet"}
        },
        "flags": {"send_anonymous_usage_stats": False},
    }
    written = {
        "dbt_project.yml": yaml.safe_dump(project | (settings or {}), sort_keys=False),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(product)}]}),
        **(files or {}),
    }
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return install_product(product, folder, f"{name}_secure")
