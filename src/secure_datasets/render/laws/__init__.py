"""The laws of policies' roles, as queries that macros ask for.

A file of SQL has places for values, and names relations: `$stg_user_groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from secure_datasets.render.laws.roles import (
    masks_in_doubt,
    roles_of_several_groups,
    roles_without_a_group,
)

QUERIES: dict[str, Callable[..., str]] = {
    "masks_in_doubt": masks_in_doubt,
    "roles_of_several_groups": roles_of_several_groups,
    "roles_without_a_group": roles_without_a_group,
}


def law_of_roles(
    adapter: Any,
    law: str,
    macros: Mapping[str, Callable[..., Any]],
    ref: Callable[[str], Any],
    config: dict[str, Any],
    **given: Any,
) -> str:
    """Return the query of a law: role, resource and reason. A method for macros.

    given  further arguments of the law
    """
    return QUERIES[law](macros, ref, config, **given)
