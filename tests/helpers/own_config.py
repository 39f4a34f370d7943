"""The product's config, the sample's, and what a root project has of both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from projects import ROOT, SAMPLE

PRODUCTS = ROOT / "macros/config/secure_datasets_config.sql"
SAMPLES = ROOT / SAMPLE / "macros/secure_datasets_config.sql"


def document_of(macro: Path) -> str:
    """Return the YAML document that a macro holds."""
    text = macro.read_text(encoding="utf-8")
    # The product's is a block of its macro; a root project's macro is nothing else.
    block = re.search(r"{% set document %}\n(.*?){% endset %}", text, re.S)
    return (block or re.search(r"{% macro .*?%}\n(.*?){% endmacro %}", text, re.S))[1]


def together() -> dict[str, Any]:
    """Return the product's document with what the sample adds to it."""
    product, sample = (yaml.safe_load(document_of(m)) for m in (PRODUCTS, SAMPLES))
    for part, added in sample.items():
        if isinstance(added, dict):
            product[part] = product.get(part, {}) | added
        else:
            product[part] = product.get(part, []) + added
    return product
