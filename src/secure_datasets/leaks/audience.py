"""Says which of the product's models are for administrators, by folder.

Staging, the resolution of access, the audit and the monitoring models hold the rows of
all users. dbt takes a model's package and folders from its file, so no config, tag or
name makes a root project's model one of these. A run refuses a package that differs
from the one that the Python part was built with; an editable checkout holds both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secure_datasets.config.plan import PACKAGE

if TYPE_CHECKING:
    from dbt.contracts.graph.nodes import ManifestSQLNode

# The source of the raw tables.
RAW_SOURCE = "repository"
# All folders of the product's models but `secure`.
FOLDERS = {
    *("staging", "intermediate", "access", "datasets", "view_authorization"),
    *("leaks", "privileges", "governance", "review", "changes"),
}


def is_for_administrators(node: ManifestSQLNode) -> bool:
    """Whether a node is a model of the product that holds the rows of all users."""
    is_model = (node.package_name, node.resource_type) == (PACKAGE, "model")
    return is_model and node.fqn[1] in FOLDERS
