"""How many rows of secure datasets users gain and lose between two states, as queries.

`self` is the `AccessChanges` of the comparison. Each query is the model of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from secure_datasets.config.references import referenced_table
from secure_datasets.questions.changes.access_queries import SIDES
from secure_datasets.sql.expressions import sql_text
from secure_datasets.sql.writing import (
    indented,
    listed,
    same,
    union,
    values_query,
    with_steps,
)

if TYPE_CHECKING:
    from secure_datasets.questions.changes.macro_methods import AccessChanges

State = dict[str, Any]
# A dataset in two states, from `AccessChanges.pairs`.
Pair = dict[str, Any]
Tables = Mapping[str, Mapping[str, Any]]
Ref = Callable[[str], Any]
ROWS_NAMED = 10
TOLD = ("newly_covered", "newly_shown", "masked_otherwise")
VALUES = tuple(f"values_{change}" for change in TOLD)
IN_BOTH = "before_rows.is_seen and after_rows.is_seen"
# The counts of `changed_row_counts`, in the order of its columns; the default is 0.
COUNTS = (
    *("rows_gained", "rows_lost", "rows_came", "rows_went", *VALUES, "rows_digest"),
    *("rows_moved", "rows_by_access", "rows_unexplained", "rows_redefined"),
)
ZERO = "cast(0 as bigint)"
# The digest of a user's changed rows, in any order: it covers the row, the columns whose
# values are covered or shown, and the values that masks give. An approval holds for
# exactly these rows.
DIGEST = "xxhash64(row_key, is_before, is_after, changed_values)"
ROWS_DIGEST = (
    f"concat(hex(bit_xor({DIGEST})), '-', cast(sum(cast({DIGEST} as decimal(38, 0)))"
    " as string))"
)


class Value(NamedTuple):
    """A possible change of a column's values, and the SQL condition for it."""

    column: str
    change: str
    is_value: str


class Way(NamedTuple):
    """A change of access that may explain the change of a row.

    keys     the columns of the base by key of the tier
    held     the only state that has the access
    base     the base whose columns name the object of the row
    applies  the base's column that shows whether the way applies to the row
    """

    name: str
    tier: str
    keys: dict[str, str]
    held: str
    base: str
    applies: str


# The counts


def changed_row_counts(self: AccessChanges, states: list[State], ref: Ref) -> str:
    """Count the rows of each dataset that each user gains and loses, by explanation.

    It is a separate relation: in one query with `row_changes`, Spark plans far too much.
    """
    queries = [
        _in_both(pair, ref) if pair["before"] and pair["after"] else _in_one(pair)
        for pair in self.pairs(states, "datasets")
    ]
    types = {"dataset": "string", "user_id": "bigint", "rows_digest": "string"}
    nothing = {
        name: f"cast(null as {types[name]})" if name in types else ZERO
        for name in ("dataset", "user_id", *COUNTS)
    }
    return union(queries or [f"select\n{_named(nothing)}\nwhere false"])


def _named(columns: Mapping[str, str]) -> str:
    """Return columns by name, each with its SQL."""
    return listed(
        sql if sql == name else f"{sql} as {name}" for name, sql in columns.items()
    )


def _counted(pair: Pair, counts: Mapping[str, str]) -> str:
    """Return the columns of `changed_row_counts`."""
    counts = dict.fromkeys(COUNTS, ZERO) | counts | {"rows_digest": ROWS_DIGEST}
    return _named({"dataset": sql_text(pair["name"]), "user_id": "user_id"} | counts)


def _in_both(pair: Pair, ref: Ref) -> str:
    """Return the query of the changes of a dataset that both states have."""
    before, after, has_bases = pair["before"], pair["after"], pair["has_bases"]
    keys, values = after["keys"], list(_values(pair))
    ways = [*_ways_of_access(pair)] if has_bases else []
    sums = {
        "rows_gained": "count_if(not is_before)",
        "rows_lost": "count_if(not is_after)",
        "rows_came": "count_if(not is_before and not was_there)",
        "rows_went": "count_if(not is_after and not is_there)",
        **{f"values_{each}": f"coalesce(sum({each}), 0)" for each in TOLD},
        "rows_moved": "count_if(is_moved)",
        # Without the bases, the key that makes a row visible is unknown.
        "rows_by_access": "count_if(is_by_access)"
        if has_bases
        else "cast(null as bigint)",
        "rows_unexplained": "count_if(is_unexplained and not is_moved and not is_by_access)",
        "rows_redefined": "count_if(is_redefined)",
    }
    there = [
        f"coalesce({side}_base.is_there, false)" if has_bases else "true"
        for side in SIDES
    ]
    columns = {
        "user_id": "coalesce(before_rows.user_id, after_rows.user_id)",
        "is_before": "before_rows.is_seen is not null",
        "is_after": "after_rows.is_seen is not null",
        "was_there": there[0],
        "is_there": there[1],
        **{change: _sum_of(change, values) for change in TOLD},
        "changed_values": _texts(_changed_values(pair, values)),
        "row_key": _row_key(keys, *(f"{side}_rows" for side in SIDES)),
        **_explained(pair, values, ways),
    }
    both = [
        f"(select *, true as is_seen from {side['schema']}.{side['relation']})"
        for side in (before, after)
    ]
    bases = [_base_of(pair, s) for s in (before, after)] if has_bases else []
    joins = "\n".join([*bases, *(_way_to_rows(way, ref) for way in ways)])
    return f"""select
{_counted(pair, sums)}
from (
    select
        {indented(_named(columns).strip())}
    from {both[0]} as before_rows
    full outer join {both[1]} as after_rows
        on
            -- A row for everyone bears no user.
            {same("before_rows", "after_rows", ["user_id", *keys], "<=>")}
    {indented(joins)}
) as compared
where not is_before or not is_after or {" + ".join(TOLD)} > 0
group by user_id"""


def _in_one(pair: Pair) -> str:
    """Return the query of the changes of a dataset that only one state has."""
    side = pair["before"] or pair["after"]
    gained, lost = ("count(*)" if pair[s] else ZERO for s in ("after", "before"))
    counts = {"rows_gained": gained, "rows_lost": lost, "rows_redefined": "count(*)"}
    shown = (
        _told("given" if column in pair["given"] else "newly_shown", column)
        for column in pair["new"]
    )
    return f"""select
{_counted(pair, counts)}
from (
    select
        user_id,
        {str(bool(pair["before"])).lower()} as is_before,
        {str(bool(pair["after"])).lower()} as is_after,
        {_texts(shown)} as changed_values,
        {_row_key(side["keys"], f"{side['side']}_rows")} as row_key
    from {side["schema"]}.{side["relation"]} as {side["side"]}_rows
) as compared
group by user_id"""


def _base_of(pair: Pair, side: dict[str, Any]) -> str:
    """Return the join to a state's base, with the columns to compare."""
    alone = pair["new" if side["side"] == "after" else "gone"]
    columns = [
        *(*side["keys"], *pair["masked"], *(c for c in alone if c in side["masked"])),
        *pair["masked_by"],
        *(column for way in side["ways"] for column in way["keys"].values()),
    ]
    applies = [
        f"{way['applies']} as applies_{number}"
        for number, way in enumerate(side["ways"])
    ]
    base = f"{side['side']}_base"
    is_it = " and ".join(
        f"coalesce(before_rows.{key}, after_rows.{key}) <=> {base}.{key}"
        for key in side["keys"]
    )
    return f"""left join (
    select
        {indented(listed([*dict.fromkeys(columns), *applies, "true as is_there"]).strip())}
    from {side["schema"]}.{side["base"]}
) as {base}
    on {is_it}"""


def _ways_of_access(pair: Pair) -> Iterator[Way]:
    """Yield the changes of access that may explain the change of a row.

    The loss of access to a moved row's new object explains the loss of the row, too:
    with that access, the user would still see it.
    """
    for side, held in (("before", "before"), ("after", "after"), ("after", "before")):
        for number, way in enumerate(pair[side]["ways"]):
            yield Way(
                f"{held}_way_{side}_{number}", way["tier"], way["keys"], held,
                f"{side}_base", f"applies_{number}",
            )  # fmt: skip


def _way_to_rows(way: Way, ref: Ref) -> str:
    is_it = "".join(
        f" and {way.base}.{column} = {way.name}.{key}"
        for key, column in way.keys.items()
    )
    return f"""left join (
    -- A tier may have more keys than a dataset names.
    select distinct
{listed(["    user_id", *(f"    {key}" for key in way.keys), "    true as is_there"])}
    from {ref("changed_access")}
    where tier = {sql_text(way.tier)} and is_before != is_after and is_{way.held}
) as {way.name}
    on
        {way.held}_rows.user_id = {way.name}.user_id
        and {way.base}.{way.applies}{is_it}"""


def _explained(pair: Pair, values: list[Value], ways: list[Way]) -> dict[str, str]:
    """Return the explanations of a row's change, as columns.

    is_moved        the base row came, went, or changed in a deciding column
    is_by_access    the user's access to an object of the row came or went
    is_unexplained  one state alone shows the row, or a masked value changed: roles may
                    be the cause
    is_redefined    a column that only one state has changed a value
    """
    masked = [v.is_value for v in values if v.column in pair["masked"]]
    others = [v.is_value for v in values if v.column not in pair["masked"]]
    not_in_both = f"not coalesce({IN_BOTH}, false)"
    is_moved = is_by_access = "cast(null as boolean)"
    if pair["has_bases"]:
        is_same, decides_same = (
            same("before_base", "after_base", pair[columns], "<=>")
            for columns in ("masked_by", "deciding")
        )
        is_moved = f"""case
            when {IN_BOTH} then not ({is_same})
            else before_base.is_there is null or after_base.is_there is null
                or not ({decides_same})
        end"""
        found = ", ".join([*(f"{way.name}.is_there" for way in ways), "false"])
        is_by_access = f"{not_in_both} and coalesce({found})"
    return {
        "is_moved": is_moved,
        "is_by_access": is_by_access,
        "is_unexplained": " or ".join([not_in_both, *masked]),
        "is_redefined": f"coalesce({IN_BOTH}, false) and ({' or '.join(['false', *others])})",
    }


# The values


def _values(pair: Pair) -> Iterator[Value]:
    for column in (*pair["masked"], *pair["new"], *pair["gone"]):
        for change in TOLD:
            if is_value := _is_value(change, column, pair):
                yield Value(column, change, is_value)


def _is_value(change: str, column: str, pair: Pair) -> str | None:
    """Return the SQL condition for one change of a column's values; None if impossible.

    newly_covered     shown before, masked after
    newly_shown       masked before, shown after
    masked_otherwise  masked in both states, with different values; a mask that gives
                      more away is still a mask

    Without the bases, it is unknown whether a mask covers a value: every different value
    counts as masked_otherwise. A column that only one state shows counts as masked by
    null in the state without it.
    """
    is_null = f"before_rows.{column} is not null"
    if column in pair["gone"] and column not in pair["new"]:
        shown = _is_shown(column, pair["before"], pair["has_bases"], is_null)
        return shown if change == "newly_covered" else None
    if column in pair["new"]:
        shown = _is_shown(column, pair["after"], pair["has_bases"], "false")
        if change == "newly_shown":
            return shown if shown != "false" else None
        is_other = change == "masked_otherwise" and shown != "true"
        return (
            f"(not ({shown}) and after_rows.{column} is not null)" if is_other else None
        )
    is_other = f"not (before_rows.{column} <=> after_rows.{column})"
    if not pair["has_bases"]:
        return is_other if change == "masked_otherwise" else None
    was, is_now = (f"{side}_rows.{column} <=> {side}_base.{column}" for side in SIDES)
    return {
        "newly_covered": f"({was} and not ({is_now}))",
        "newly_shown": f"({is_now} and not ({was}))",
        "masked_otherwise": f"""(
                    not ({was}) and not ({is_now})
                    and {is_other}
                    and before_base.{column} <=> after_base.{column}
                )""",
    }[change]


def _is_shown(column: str, side: dict[str, Any], has_bases: bool, unknown: str) -> str:
    """Return the condition that the only state with a column shows its value.

    unknown  the condition to return for a masked column without a base
    """
    if column not in side["masked"]:
        return "true"
    name = side["side"]
    return f"({name}_rows.{column} <=> {name}_base.{column})" if has_bases else unknown


def _sum_of(change: str, values: list[Value]) -> str:
    """Return the number of values with a change, in a row that both states show."""
    terms = "".join(
        f"\n                + case when {value.is_value} then 1 else 0 end"
        for value in values
        if value.change == change
    )
    return f"""case
            when {IN_BOTH} then
                0{terms}
            else 0
        end"""


def _changed_values(pair: Pair, values: list[Value]) -> Iterator[str]:
    """Yield the changes of the values; for a gained row, its shown and given values."""
    for value in values:
        told = _told(value.change, value.column)
        yield f"case when {IN_BOTH} and {value.is_value} then {told} end"
    new = [("given", column) for column in pair["given"]]
    new += [("newly_shown", c) for c in pair["new"] if c not in pair["given"]]
    for change, column in new:
        yield f"case when before_rows.is_seen is null then {_told(change, column)} end"


def _told(change: str, column: str) -> str:
    """Return the text of a value's change, with the value that a mask gives instead.

    The text is part of the digest, so an approval of one mask does not hold for a
    different mask. A gained row lists its masked values, too.
    """
    if change in ("masked_otherwise", "given"):
        value = _value_text(f"cast(after_rows.{column} as string)")
        return f"concat('{change} {column} ', {value})"
    return f"'{change} {column}'"


def _row_key(keys: Iterable[str], *relations: str) -> str:
    """Return the unique key of a row as one text, different for each key."""
    return _texts(
        _value_text(
            f"cast(coalesce({', '.join(f'{each}.{key}' for each in relations)}) as string)"
        )
        for key in keys
    )


def _texts(texts: Iterable[str]) -> str:
    listed_texts = ", ".join(["'/'", *texts, "''"])
    return f"concat_ws({listed_texts})"


def _value_text(text: str) -> str:
    """Return a text after its length, so that joined texts and null stay unambiguous."""
    return f"coalesce(concat(cast(length({text}) as string), ' ', {text}), 'null')"


# The raw rows of bases


def changed_base_rows(
    self: AccessChanges,
    states: list[State],
    tables: Tables,
    documented: Mapping[str, Any],
) -> str:
    """Return the raw rows that changed the rows of bases, for each affected user.

    documented  the columns with a documented reference, by model
    """
    queries = []
    for pair in self.pairs(states, "datasets"):
        if pair["has_bases"]:
            after, keys = pair["after"], pair["after"]["keys"]
            table = None
            if len(keys) == 1:
                table = referenced_table(documented, tables, after["base"], keys[0], {})
            levels = self.raw_rows_of(table, states, tables)
            queries += _rows_of_changed_base(pair, levels)
    nothing = """select
    cast(null as string) as dataset,
    cast(null as bigint) as user_id,
    cast(null as string) as cause
where false"""
    return union([*queries, nothing], "union")


def _rows_of_changed_base(pair: Pair, levels: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the queries of raw rows that changed a base: rows that came, and that went.

    A row of the base comes, goes, or changes in a deciding column with its own raw row
    or with a row above it. If none of these moved, or none is known, the cause is the
    row of the base itself.
    """
    keys, states = pair["after"]["keys"], (pair["before"], pair["after"])
    for (other, one), change in ((states, "came"), (states[::-1], "went")):
        yield f"""select
    {sql_text(pair["name"])} as dataset,
    seen.user_id,
    explode(
        case
            when size(moved.raw_rows) > 0 then moved.raw_rows
            else array(concat('{one["base"]} ', moved.row_key, ' ', moved.change))
        end
    ) as cause
from {one["schema"]}.{one["relation"]} as seen
inner join (
    {indented(_changed_base(pair, levels, one, other, change))}
) as moved
    on {same("seen", "moved", keys, "<=>")}
left join (
    select *, true as is_seen from {other["schema"]}.{other["relation"]}
) as seen_there
    on {same("seen", "seen_there", ["user_id", *keys], "<=>")}
where seen_there.is_seen is null"""


def _changed_base(
    pair: Pair,
    levels: list[dict[str, Any]],
    one: dict[str, Any],
    other: dict[str, Any],
    change: str,
) -> str:
    """Return the rows of one base that are missing or different in the other base.

    Different means: in a deciding column. Each row has its raw rows.
    """
    keys, raw_rows, joins = pair["after"]["keys"], ["cast(null as string)"], []
    above = {"here": f"base.{keys[0]}", "now": ""}
    for number, level in enumerate(levels):
        raw_rows.append(_moved(number, level, change))
        ways = [("here", "there", above["here"])]
        if change == "went" and number:
            raw_rows.append(_gone_since(number, level))
            ways.append(("was", "now", above["now"]))
        for of_one, of_other, found in ways:
            for side, name in ((one, of_one), (other, of_other)):
                relation = f"{side['schema']}.stg_{level['table']}"
                joins.append(
                    f"left join (select * from {relation} where rejection_reason is null)"
                    f" as {name}_{number}\n    on {found} = {name}_{number}.{level['key']}"
                )
        parent, nearest = level["parent"], "now" if number else "there"
        above = {
            "here": f"here_{number}.{parent}",
            "now": f"{nearest}_{number}.{parent}",
        }
    key_texts = (f", coalesce(cast(base.{key} as string), 'null')" for key in keys)
    listed_joins = "\n".join(joins)
    listed_rows = indented(",\n".join(raw_rows), 12)
    return f"""select distinct
{listed(keys, "base")},
    concat_ws('/'{"".join(key_texts)}) as row_key,
    case when others.is_there then 'changed' else '{change}' end as change,
    filter(
        array(
            {listed_rows}
        ),
        raw_row -> raw_row is not null
    ) as raw_rows
from {one["schema"]}.{one["base"]} as base
left join (
    select *, true as is_there from {other["schema"]}.{other["base"]}
) as others
    on {same("base", "others", keys, "<=>")}
{listed_joins}
where
    others.is_there is null
    or not ({same("base", "others", pair["deciding"], "<=>")})"""


def _moved(number: int, level: dict[str, Any], change: str) -> str:
    """Return the raw row of a level with its change; null if it did not move."""
    here, there, key = f"here_{number}", f"there_{number}", level["key"]
    row = f"'{level['table']} ', cast({here}.{key} as string)"
    is_other = (
        f"""others.is_there and not ({same(here, there, level["columns"], "<=>")})"""
    )
    if parent := level["parent"]:
        is_other = f"not ({here}.{parent} <=> {there}.{parent}) or {is_other}"
    against = {"came": "went", "went": "came"}[change]
    return f"""case
    when {here}.{key} is null then null
    -- What is switched off is there, too: rows may stand below it.
    when {there}.{key} is null or {here}.is_live and not {there}.is_live
        then concat({row}, ' {change}')
    when {is_other}
        then concat(
            {row},
            case when {here}.is_live = {there}.is_live then ' changed' else ' {against}' end
        )
end"""


def _gone_since(number: int, level: dict[str, Any]) -> str:
    """Return the raw row that a row now stands below, if the raw row went or moved."""
    was, now, key = f"was_{number}", f"now_{number}", level["key"]
    row = f"'{level['table']} ', cast({was}.{key} as string)"
    moved = f"""
    when {was}.is_live and not ({was}.{level["parent"]} <=> {now}.{level["parent"]})
        then concat({row}, ' changed')"""
    return f"""-- Had what the row stands below now not gone or moved, the row might still be seen.
case
    when {was}.is_live and ({now}.{key} is null or not {now}.is_live)
        then concat({row}, ' went'){moved if level["parent"] else ""}
end"""


# The changes, with their causes


def row_changes(self: AccessChanges, states: list[State], ref: Ref) -> str:
    """Count the rows that each user gains and loses, with the causing raw rows.

    It also counts the values newly covered, newly shown or masked otherwise in rows that
    both states show. It lists the first ROWS_NAMED raw rows and the number of further
    ones.
    """
    tiers = values_query(self.tiers_of_datasets(states), 2)
    steps = {
        "counted": f"select * from {ref('changed_row_counts')}",
        "changed_access": f"""select tier, user_id, causes
from {ref("access_changes")}
where change != 'other access_type'""",
        "tiers (dataset, tier)": tiers,
        "access_of_users": """select distinct
    tiers.dataset,
    changed_access.user_id
from tiers
inner join changed_access
    on tiers.tier = changed_access.tier""",
        # Roles may have shown or hidden these rows; without the bases, it may be any row.
        "unexplained": """select dataset, user_id
from counted
where rows_unexplained > 0 or rows_by_access is null""",
        "roles_of_users": _users_with_other_roles(states),
        "timed": _datasets_with_times(self.timed(states)),
        "rows_of_roles": _rows_of_other_roles(states, ref),
        "named_rows": _named_rows(ref),
        "distinct_rows": """select
    dataset,
    user_id,
    cause,
    max(is_of_base) as is_of_base
from named_rows
group by dataset, user_id, cause""",
        "placed_rows": """select
    *,
    row_number() over (partition by dataset, user_id order by cause) as place,
    count(*) over (partition by dataset, user_id) as in_all,
    max(is_of_base) over (partition by dataset, user_id) as has_changed_base
from distinct_rows""",
        "rows_of_users": f"""select
    dataset,
    user_id,
    max(has_changed_base) as has_changed_base,
    array_sort(collect_list(cause)) as cause_rows,
    max(in_all) - count(*) as left_out
from placed_rows
where place <= {ROWS_NAMED}
group by dataset, user_id""",
        "judged": JUDGED,
    }
    columns = ("rows_gained", "rows_lost", "rows_came", "rows_went", *VALUES)
    return with_steps(
        steps,
        f"""select
{listed(["dataset", "user_id", *columns, "rows_digest"])},
    case when size(known_causes) > 0 then known_causes else array('definition') end as causes,
    cause_rows,
    cause_rows_left_out
from judged""",
    )


def _named_rows(ref: Ref) -> str:
    """Return the raw rows that may have changed a user's base rows, access or roles."""
    return f"""select
    dataset,
    user_id,
    cause,
    true as is_of_base
from {ref("changed_base_rows")}
union all
select
    tiers.dataset,
    of_access.user_id,
    of_access.cause,
    false as is_of_base
from tiers
inner join (select tier, user_id, explode(causes) as cause from changed_access) as of_access
    on tiers.tier = of_access.tier
-- Access by which none of the user's rows came or went.
left anti join (select dataset, user_id from counted where rows_by_access = 0) as by_others
    on tiers.dataset = by_others.dataset and of_access.user_id = by_others.user_id
where of_access.cause != 'definition'
union all
select
    tiers.dataset,
    rows_of_roles.user_id,
    rows_of_roles.cause,
    false as is_of_base
from tiers
inner join unexplained
    on tiers.dataset = unexplained.dataset
inner join rows_of_roles
    on unexplained.user_id = rows_of_roles.user_id"""


JUDGED = """select
    counted.*,
    coalesce(rows_of_users.cause_rows, cast(array() as array<string>)) as cause_rows,
    coalesce(rows_of_users.left_out, 0) as cause_rows_left_out,
    filter(
        array(
            case when counted.rows_came + counted.rows_went + counted.rows_moved > 0
                or rows_of_users.has_changed_base then 'rows' end,
            case when coalesce(counted.rows_by_access > 0, access_of_users.user_id is not null)
                then 'access' end,
            case when roles_of_users.user_id is not null and unexplained.dataset is not null
                then 'roles' end,
            case when counted.rows_unexplained > 0 and timed.has_ended then 'ended by time' end,
            case when counted.rows_unexplained > 0 and timed.has_begun then 'begun by time' end,
            case
                when counted.rows_redefined > 0 then 'definition'
                when counted.rows_unexplained > 0 and roles_of_users.user_id is null
                    and coalesce(timed.is_redefined, true) then 'definition'
            end
        ),
        cause -> cause is not null
    ) as known_causes
from counted
left join access_of_users
    on counted.dataset = access_of_users.dataset and counted.user_id = access_of_users.user_id
left join roles_of_users
    on counted.user_id = roles_of_users.user_id
left join unexplained
    on counted.dataset = unexplained.dataset and counted.user_id = unexplained.user_id
left join timed
    on counted.dataset = timed.dataset
left join rows_of_users
    on counted.dataset = rows_of_users.dataset and counted.user_id <=> rows_of_users.user_id"""


def _datasets_with_times(timed: list[dict[str, str]]) -> str:
    """Return the datasets with rules that began or ended between the states' clocks.

    The cause of a change is then the time and not the definition, unless `is_redefined`:
    the config's entries that decide the rows differ, too.
    """
    queries = [
        f"select {sql_text(each['dataset'])} as dataset, {each['ended']} as has_ended,"
        f" {each['begun']} as has_begun, {each['said']} as is_redefined"
        for each in timed
    ]
    none = (
        "select cast(null as string) as dataset, false as has_ended, false as has_begun,"
        " true as is_redefined"
    )
    return f"""select * from (
    {indented(union(queries or [none]))}
) as dataset_times
where has_ended or has_begun"""


def _users_with_other_roles(states: list[State]) -> str:
    """Return the users whose roles differ between the two states."""
    one, other = (
        "select user_id, user_group_id, role_name from"
        f" {state['schema']}.vw_secure_user_roles"
        for state in states
    )
    return f"""select distinct user_id from (
    ({one} except {other})
    union all
    ({other} except {one})
) as other_roles"""


def _rows_of_other_roles(states: list[State], ref: Ref) -> str:
    """Return the raw rows that changed the roles of users.

    They are the user's own rows, and the groups that gave or give the user's roles their
    names.
    """
    moved = []
    for schema in (state["schema"] for state in states):
        moved += [
            "select user_id, 'users' as raw_table, user_id as row_id"
            f" from {schema}.stg_users",
            *(
                f"select user_id, '{table}s' as raw_table, {table}_id as row_id"
                f" from {schema}.stg_{table}s where is_live"
                for table in ("user_global_role", "user_group_member")
            ),
            f"""select
    members.user_id,
    'user_groups' as raw_table,
    ancestors.ancestor_user_group_id as row_id
from {schema}.stg_user_group_members as members
inner join {schema}.int_user_group_ancestors as ancestors
    on members.user_group_id = ancestors.user_group_id
where members.is_live""",
        ]
    before, after = (f"{state['schema']}.stg_user_groups" for state in states)
    return f"""select distinct
    moved.user_id,
    concat(changed.raw_table, ' ', changed.row_id, ' ', changed.change) as cause
from (
    {indented(union(moved))}
) as moved
inner join roles_of_users
    on moved.user_id = roles_of_users.user_id
inner join (
    select raw_table, row_id, change from {ref("changed_raw_rows")}
    union
    select
        'user_groups' as raw_table,
        named_before.user_group_id as row_id,
        'changed' as change
    from {before} as named_before
    inner join {after} as named_after
        on named_before.user_group_id = named_after.user_group_id
    where
        named_before.is_live
        and named_after.is_live
        and not (named_before.name <=> named_after.name)
) as changed
    on {same("moved", "changed", ["raw_table", "row_id"])}"""
