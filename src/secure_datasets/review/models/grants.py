"""The access that would go with each live row that gives rights, or leads to some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.review.models import parts
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented, same, union


class Tier(NamedTuple):
    """A tier with a right: its config, and what it requires, its own right first."""

    config: Facts
    links: list[Facts]
    rights: list[Facts]


def judged_grants(built: Built, given: Facts) -> str:
    """Return the query of the verdict on each live row that gives or leads to rights.

    The rows are permissions, global roles, memberships, and rows that link objects. A
    row is redundant exactly if no row of an access view and no right of the audit
    disappears without it.
    """
    tiers = _tiers(built)
    # The rights whose kinds of way a tier's access_type shows.
    carried = [t.rights[0] for t in tiers if "access_type" in t.config["carries"]]
    linked = _linked(tiers)
    links = _links(tiers)
    # A column within the text.
    object_type = "', lower(grants.object_type), '"
    return parts.template(
        built,
        "judged_grants",
        named_users=parts.users_by_name,
        named_things=parts.things_by_name,
        shown_by_links=lambda built: _shown_by_links(built, linked),
        is_linked=_is_right("ways", [tier.rights[0] for tier in linked]),
        is_carried=_is_right("judged_ways", carried),
        grants=_grants,
        numbered_object=parts.numbered("", "grants.object_id", "named_objects.name"),
        numbered_group=parts.numbered(
            "group", "grants.user_group_id", "named_groups.name"
        ),
        holding_user=parts.not_live("user", "grants.user_id", "named_users", "person"),
        holding_group=parts.not_live("group", "grants.user_group_id", "named_groups"),
        object=parts.not_live(object_type, "grants.object_id", "named_objects"),
        member=parts.not_live("user", "members.user_id", "named_users", "person"),
        group_of_member=parts.not_live(
            "group", "members.user_group_id", "named_things"
        ),
        judged_links=lambda built: "\n".join(
            f"union all\n{_judged_links(built, built.tables[name], shown_in)}"
            for name, shown_in in links.items()
        ),
        equal_links=lambda built: "\n".join(
            f"union\n{_equal_links(built, built.tables[name])}" for name in links
        ),
    )


def _tiers(built: Built) -> list[Tier]:
    """Return the tiers with rights."""
    found = []
    for name, config in built.config["tiers"].items():
        if config.get("right"):
            required = built.tier_parts(name)
            found.append(Tier(config, required["links"], required["rights"]))
    return found


def _linked(tiers: list[Tier]) -> list[Tier]:
    """Return the tiers whose rights show nothing unless objects are linked."""

    def right(tier: Tier) -> tuple[str, str]:
        return tier.rights[0]["object_type"], tier.rights[0]["permission"]

    alone = {right(tier) for tier in tiers if len(tier.config["object_keys"]) == 1}
    several = [tier for tier in tiers if len(tier.config["object_keys"]) > 1]
    return [tier for tier in several if right(tier) not in alone]


def _links(tiers: list[Tier]) -> dict[str, list[Tier]]:
    """Return the raw tables that link objects, with the tiers that use each."""
    found: dict[str, list[Tier]] = {}
    for tier in tiers:
        for link in tier.links if len(tier.config["object_keys"]) > 1 else ():
            found.setdefault(link["table"], []).append(tier)
    return found


def _is_right(alias: str, rights: Iterable[Facts]) -> str:
    """Return the condition that a path leads to one of some rights."""
    conditions = (
        f"({alias}.object_type = {sql_text(right['object_type'])}"
        f" and {alias}.permission_name = {sql_text(right['permission'])})"
        for right in rights
    )
    return f"({' or '.join(conditions) or 'false'})"


def _shown_by_links(built: Built, linked: list[Tier]) -> str:
    """Return the rights that show a user something only through linked objects."""
    shown = (
        f"""select distinct
    user_id,
    {sql_text(tier.rights[0]["object_type"])} as object_type,
    {tier.rights[0]["key"]} as object_id,
    {sql_text(tier.rights[0]["permission"])} as permission_name
from {built.ref(tier.config["access_view"])}"""
        for tier in linked
    )
    none = "select distinct user_id, object_type, object_id, permission_name from ways where false"
    return union(shown, "union") or none


def _grants(built: Built) -> str:
    """Return the live rows that give rights by a role, with their holders."""
    queries = []
    for name, table in built.tables.items():
        if not table.get("object_type"):
            continue
        held_by = ("user_id", "user_group_id")
        keys = [key for key in table["references"] if key not in held_by]
        has_groups = "user_group_id" in table["references"]
        group = "user_group_id" if has_groups else "cast(null as bigint)"
        kind = f"'{table['object_type']}'" if keys else "cast(null as string)"
        key = keys[0] if keys else "cast(null as bigint)"
        queries.append(f"""select
    '{name}' as grant_table,
    {table["key"]} as grant_id,
    user_id,
    {group} as user_group_id,
    {kind} as object_type,
    {key} as object_id,
    role_name
from {built.ref(f"stg_{name}")}
where is_live""")
    return union(queries)


def _judged_links(built: Built, table: Facts, shown_in: list[Tier]) -> str:
    """Return the judged rows of one raw table that links objects.

    shown_in  the tiers whose access views show the rows
    """
    types = {k: parts.TYPES.get(of, of) for k, of in table["references"].items()}
    first, columns = next(iter(types)), ", ".join(types)
    shown = union(
        (
            f"select distinct {columns}, true as is_shown\nfrom {built.ref(tier.config['access_view'])}"
            for tier in shown_in
        ),
        "union",
    )
    joins = "".join(
        f"\nleft join named_things as named_{key}"
        f"\n    on named_{key}.object_type = '{kind}' and links.{key} = named_{key}.object_id"
        for key, kind in types.items()
    )
    return f"""select
    '{table["name"]}' as grant_table,
    links.{table["key"]} as grant_id,
    cast(null as bigint) as user_id,
    cast(null as bigint) as user_group_id,
    -- The row is listed with the first of the objects that it links.
    '{types[first]}' as object_type,
    links.{first} as object_id,
    cast(null as string) as role_name,
    case
        when shown.is_shown is null then 'gives nothing'
        when links.number_of_links > 1 then 'redundant'
        else 'counts'
    end as verdict,
    case when shown.is_shown is null then {indented(_missing_of_link(types, shown_in))} end as missing
from (
    select *, count(*) over (partition by {columns}) as number_of_links
    from {built.ref(f"stg_{table['name']}")}
    where is_live
) as links{joins}
left join (
    -- There is one row for each user.
    {indented(shown)}
) as shown
    on {same("links", "shown", types)}"""


def _missing_of_link(types: dict[str, str], shown_in: list[Tier]) -> str:
    """Return the reasons why a row that links objects gives nothing.

    An object is not live, or nobody holds the rights.
    """
    objects = "".join(
        f"\n    case when named_{key}.is_live is not true then concat('object: ', {parts.not_live(kind.lower(), f'links.{key}', f'named_{key}')}) end,"
        for key, kind in types.items()
    )
    are_live = " and ".join(f"named_{key}.is_live" for key in types)
    return f"""concat_ws(
    '; ',{objects}
    case
        when {are_live}
            then concat({_not_held(types, shown_in)})
    end
)"""


def _not_held(types: dict[str, str], shown_in: list[Tier]) -> str:
    """Return the rights that nobody holds, in the words of each tier."""
    told = []
    for tier in shown_in:
        rights = (
            f"{sql_text(right['permission'] + ' on ')}, "
            + parts.numbered(
                right["object_type"].lower(),
                f"links.{right['key']}",
                f"named_{right['key']}.name",
            )
            for right in tier.rights
            if right["key"] in types
        )
        begin = "; nor" if told else "holder: nobody holds"
        told.append(f"'{begin} both ', " + ", ' and ', ".join(rights))
    return ", ".join(told)


def _equal_links(built: Built, table: Facts) -> str:
    """Return the pairs of live rows of a raw table that link the same objects."""
    name, key = table["name"], table["key"]
    relation = built.ref(f"stg_{name}")
    return f"""select '{name}' as grant_table, mine.{key} as grant_id, '{name}' as other_table, twins.{key} as other_id
from {relation} as mine
inner join {relation} as twins
    on mine.{key} != twins.{key} and {same("mine", "twins", table["references"])}
where mine.is_live and twins.is_live"""
