"""The ways to what users are shown, and digests of them as reviewers see them."""

from __future__ import annotations

from dataclasses import dataclass

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.review.models.parts import template
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import indented, same, union

# A digest of a user's access to an object as a reviewer sees it: object, user and all
# ways. The query groups by object and user. The digest begins with letters and a dash,
# so that no spreadsheet reads it as a number.
SEEN = "concat('v1-', left(sha2(concat_ws(';', object_type, cast(object_id as string), cast(user_id as string), array_join(array_sort(collect_set(unnamed_way)), ';')), 256), 32))"
# The present digest of each access, from the ways of `shown_ways`.
SEEN_NOW = f"""seen_now as (

    select
        user_id,
        object_type,
        object_id,
        {SEEN} as seen
    from ways
    group by user_id, object_type, object_id

)"""
# The names of the first five linked objects, and the number of further ones.
FIRST_LINKED = """concat(
    ' in ',
    array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, called) end)), each -> each.called), ', '),
    case when count(*) > 5 then concat(' and ', count(*) - 5, ' more') else '' end
)"""


def reviewed_tiers(built: Built) -> dict[str, Facts]:
    """Return the tiers that a pack covers, with rights on data sources or projects."""
    return {
        name: tier
        for name, tier in built.config["tiers"].items()
        if tier.get("right")
        and tier["right"]["object_type"] in ("Data Source", "Project")
    }


def latest(*times: str) -> str:
    """Return the latest of several times, unless one is not known."""
    known = " and ".join(f"{time} is not null" for time in times)
    last = f"greatest({', '.join(times)})" if times[1:] else times[0]
    return f"case\n    when {known}\n        then {last}\nend"


def earliest(time: str) -> str:
    """Return the earliest time of a group, unless one is not known."""
    return f"case when count({time}) = count(*) then min({time}) end"


# Since when a way is there: its permission and, if it goes by a group, the membership.
# Null if not known.
WAY_SINCE = f"""case
    when paths.user_group_member_id is null then paths.date_created
    else {latest("paths.date_created", "paths.member_date_created")}
end"""


def shown_ways(
    built: Built, within: str, keys: list[str], is_told: bool = False
) -> str:
    """Return two CTEs of access to data sources and projects.

    `shown` has each right that shows a user something, from the access views of the
    tiers; `ways` has each way to such a right.

    within   a CTE; only rows with its keys count
    keys     the keys of that CTE
    is_told  people read the ways, so each names the linked objects and the day since
             when
    """
    shown = [
        _Shown(built, view, parts, within, keys, is_told).query()
        for view, parts in _views(built)
    ]
    return template(
        built,
        "shown_ways",
        shown=union(shown, "union"),
        way_since=WAY_SINCE,
        since_linked=latest(WAY_SINCE, "shown.linked_since"),
        within=within,
        same=same("paths", within, keys),
    )


def shown_by_tiers(built: Built) -> str:
    """Return the query of accesses from the access views, one row for each view."""
    own = [(view, parts["rights"][0]) for view, parts in _views(built)]
    return union(
        f"select user_id, {sql_text(right['object_type'])} as object_type, {right['key']} as object_id\n"
        f"from {built.ref(view)}"
        for view, right in own
    )


def _views(built: Built) -> list[tuple[str, Facts]]:
    """Return the access views of the reviewed tiers, with what each tier requires."""
    return [
        (tier["access_view"], built.tier_parts(name))
        for name, tier in reviewed_tiers(built).items()
    ]


@dataclass
class _Shown:
    """A tier: its access view, and what it requires."""

    built: Built
    view: str
    parts: Facts
    within: str
    keys: list[str]
    is_told: bool

    def query(self) -> str:
        """Return the rights that show a user something, with the linked objects."""
        own, others = self.parts["rights"][0], self._others()
        is_linked = bool(others) and self.is_told
        rows = f"{self.built.ref(self.view)} as seen\n{self._asked('seen')}"
        linked, since, group = "cast(null as string)", "cast(null as timestamp)", ""
        if others:
            group = f"\ngroup by user_id, {own['key']}"
            each = "".join(f", cast({key} as string)" for key in others)
            # It changes when the set of links changes.
            linked = f"left(sha2(array_join(array_sort(collect_set(concat_ws('/'{each}))), ','), 256), 32)"
        if is_linked:
            rows, since = self._linked(others), earliest("linked_since")
        return f"""-- There is one row for each linked object.
select{"" if others else " distinct"}
    user_id,
    {sql_text(own["object_type"])} as object_type,
    {own["key"]} as object_id,
    {sql_text(own["permission"])} as permission_name,
    {indented(FIRST_LINKED) if is_linked else "''"} as shown_with,
    {is_linked} as is_linked,
    {since} as linked_since,
    {linked} as linked
from {rows}{group}"""

    def _others(self) -> dict[str, str | None]:
        """Return the type of object of each key but the one of the tier's own right.

        The type is None if the config does not know it, as can happen in a customer's
        own tier.
        """
        own = self.parts["rights"][0]["key"]
        types = {right["key"]: right["object_type"] for right in self.parts["rights"]}
        return {key: types.get(key) for key in self.parts["keys"] if key != own}

    def _asked(self, alias: str) -> str:
        """Return the semi join that keeps the rows whose keys are asked for."""
        own, within = self.parts["rights"][0], self.within
        of_user = f"\n        and {alias}.user_id = {within}.user_id"
        return f"""left semi join {within}
    on
        {within}.object_type = {sql_text(own["object_type"])}
        and {alias}.{own["key"]} = {within}.object_id{of_user * ("user_id" in self.keys)}"""

    def _linked(self, others: dict[str, str | None]) -> str:
        """Return the rows of the access view with the names of the linked objects.

        Each has its place among the links, and the time since when it shows there,
        which is null if it is not known.
        """
        own = self.parts["rights"][0]["key"]
        names, joins = [], []
        for key, kind in others.items():
            number = f"concat({sql_text(f'{kind or key} ')}, linked.{key})"
            if kind:
                named = f"named_{key}"
                number = f"coalesce(concat(nullif({named}.object_name, ''), ' (', linked.{key}, ')'), {number})"
                joins.append(
                    f"left join {self.built.ref('int_securable_objects')} as {named}\n"
                    f"    on {named}.object_type = {sql_text(kind)} and linked.{key} = {named}.object_id"
                )
            names.append(number)
        times = self._times()
        since = latest(*times) if self.parts["is_whole"] else "cast(null as timestamp)"
        columns = "\n        ".join(f"linked.{key}," for key in others)
        joined = indented("\n".join([self._asked("linked"), *times.values(), *joins]))
        return f"""(
    select
        linked.user_id,
        linked.{own},
        {columns}
        concat_ws(' with ', {", ".join(names)}) as called,
        row_number() over (
            partition by linked.user_id, linked.{own}
            order by {", ".join(f"linked.{key}" for key in others)}
        ) as place,
        {indented(since, 8)} as linked_since
    from {self.built.ref(self.view)} as linked
    -- Only rows that are shown are looked up.
    {joined}
) as linked_by_name"""

    def _times(self) -> dict[str, str]:
        """Return the times that decide since when linked objects show, and their joins.

        They are the times of the rights on the other objects, and of the links.
        """
        keys = self.parts["keys"]
        of_user = f"""
    left semi join {self.within}
        on paths.user_id = {self.within}.user_id""" * ("user_id" in self.keys)
        times = {
            f"days_{right['key']}.since": f"""left join (
    select
        user_id,
        object_id,
        {earliest(WAY_SINCE)} as since
    from {self.built.ref("explained_access_paths")} as paths{of_user}
    where object_type = {sql_text(right["object_type"])} and permission_name = {sql_text(right["permission"])}
    group by user_id, object_id
) as days_{right["key"]}
    on linked.user_id = days_{right["key"]}.user_id and linked.{right["key"]} = days_{right["key"]}.object_id"""
            for right in self.parts["rights"][1:]
        }
        return times | {
            f"{link['table']}.date_created": f"""left join (
    -- Several rows may link the same objects.
    select
        {", ".join(keys)},
        {earliest("date_created")} as date_created
    from {self.built.ref(f"stg_{link['table']}")}
    where is_live
    group by {", ".join(keys)}
) as {link["table"]}
    on {same("linked", link["table"], keys)}"""
            for link in self.parts["links"]
        }
