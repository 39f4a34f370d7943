"""The laws of the roles that policies name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from secure_datasets.config.plan import (
    Config,
    Role,
    role_called,
    role_of,
    roles_asked_by,
    roles_named_by,
)
from secure_datasets.render.staging.reading import (
    ascii_lower,
    delivered_value,
    read_value,
    trimmed_text,
)
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented, template, union_of

Macros = Mapping[str, Callable[..., Any]]
Ref = Callable[[str], Any]
Pair = tuple[Role, str]
# Except the roles that may be missing.
NOT_LISTED = """where
    not exists (
        select 1
        from (
            {}
        ) as listed (role_name, group_id, resource)
        where named.role_name = listed.role_name and named.group_id <=> listed.group_id
    )"""


def roles_of_policies(
    config: Config, ref: Ref, of_masks_by_role: bool = False
) -> list[Pair]:
    """Return the roles that policies name, as pairs of role and resource.

    Roles in subqueries are included, unless only masks and restrictive conditions by
    role are wanted.
    """
    pairs: list[Pair] = []
    for policy in config.get("policies") or []:
        if not of_masks_by_role:
            roles = roles_asked_by(policy, str(ref("vw_secure_user_roles")))
        elif "role" in policy and (
            "mask" in policy or policy.get("as") == "restrictive"
        ):
            roles = roles_named_by(policy)
        else:
            continue
        pairs += [(role, policy["resource"]) for role in roles]
    return pairs


def masks_in_doubt(
    macros: Macros, ref: Ref, config: Config, may_be_missing: list[Any]
) -> str:
    """Return the query of the masks by `role` that might miss a user with the role.

    An unusable row of groups, memberships or global roles that could lead to the role
    takes the mask off. Rows that certainly don't lead there, or were never a grant, are
    left out.
    """
    pairs = roles_of_policies(config, ref, of_masks_by_role=True)
    if not pairs:
        return union_of([])
    listed = _as_rows([(role_of(role), "") for role in may_be_missing])
    # An inactive row was no grant. Only one of several rows in conflict is kept, and
    # its rivals may hold anything.
    is_active = ascii_lower(delivered_value("is_active"))
    is_no_revocation = (
        "rejection_reason = 'conflict' or"
        f" coalesce({is_active}, 'true') not in ('false', '0')"
    )
    return template(
        __package__,
        "masks_in_doubt",
        ref,
        named=_as_rows(pairs),
        delivered_name=delivered_value("name"),
        delivered_parent=delivered_value("parent_user_group_id"),
        delivered_group=delivered_value("user_group_id"),
        delivered_role=ascii_lower(delivered_value("role_name")),
        known_role=ascii_lower("known_roles.role_name"),
        is_no_revocation=is_no_revocation,
        rejected_id=_rejected_id("rejected_groups"),
        linked_id=read_value("link", "bigint"),
        not_listed=NOT_LISTED.format(indented(listed, 12)) if may_be_missing else "",
    )


def roles_of_several_groups(macros: Macros, ref: Ref, config: Config) -> str:
    """Return the query of the roles whose name several live groups have, with these.

    An editor of groups could add one whose members get the role.
    """
    pairs = roles_of_policies(config, ref)
    if not config.get("policies"):
        return union_of([])
    everybody = template(__package__, "groups_called_everybody", ref)
    if not pairs:
        return everybody
    return template(
        __package__,
        "roles_of_several_groups",
        ref,
        named=_as_rows(pairs),
        groups_called_everybody=everybody,
    )


def roles_without_a_group(
    macros: Macros,
    ref: Ref,
    config: Config,
    may_be_missing: Iterable[Any],
    are_listed: bool,
) -> str:
    """Return the query of the roles of policies without a live group.

    Global roles are left out.

    may_be_missing  the roles that may be missing
    are_listed      whether to look at these, or only at the other roles
    """
    listed = [role_of(role) for role in may_be_missing]
    pairs = [
        (role, resource)
        for role, resource in roles_of_policies(config, ref)
        if (role in listed) == are_listed
    ]
    if not pairs:
        return union_of([])
    return template(
        __package__,
        "roles_without_a_group",
        ref,
        named=_as_rows(pairs),
        delivered_name=delivered_value("name"),
        rejected_id=_rejected_id("rejected"),
    )


def _as_rows(pairs: Iterable[Pair]) -> str:
    """Return pairs as rows: the role's name, the id of a group, the resource."""
    rows = (
        f"({sql_text(role_called(role))},"
        f" cast({role if isinstance(role, int) else 'null'} as bigint),"
        f" {sql_text(resource)})"
        for role, resource in pairs
    )
    return "values\n    " + ",\n    ".join(rows)


def _rejected_id(groups: str) -> str:
    """Return the id of a group whose row is rejected, as a number."""
    return read_value(trimmed_text(f"{groups}.raw_id"), "bigint")
