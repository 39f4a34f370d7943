"""What a declared feed delivers and staging does not read, counted by column."""

from __future__ import annotations

from secure_datasets.render.staging.deliveries import Raw, read_id, sql_file
from secure_datasets.render.staging.feeds import written
from secure_datasets.render.staging.order import Facts
from secure_datasets.render.staging.reading import (
    ascii_lower,
    is_after_the_calendar,
    position,
    read_value,
    time_text,
    trimmed_text,
    value_read,
    without_space,
)
from secure_datasets.sql.expressions import sql_name, sql_text
from secure_datasets.sql.writing import union


def unread_deliveries(raw: Raw, is_overtaken: bool, hours: int) -> list[str]:
    """Return the queries of what a feed delivers and staging does not read.

    is_overtaken  whether to look for what came later, where a feed can overtake it
    hours         after which an unfinished load is overdue
    """
    found = [unreadable_moments(raw)] if raw.feed["has_moment"] else []
    return [*found, overtaken_deliveries(raw, hours)] if is_overtaken else found


def unreadable_moments(raw: Raw) -> str:
    """Return the unreadable moments, ends, loads and positions, counted by column.

    A delivery with an unreadable value sorts as the earliest or the latest, so that an
    update or a load may not count. The query shows only the form of a value: each digit
    as 9, each letter as a.
    """
    feed = raw.feed
    times = [feed["sources"]["sf_date_created"]] if feed["has_clock"] else []
    times += [feed["valid_to"]] if feed["valid_to"] else []
    columns = [*times, *feed["positions"]]
    values = [_moment(raw, column, column in times) for column in columns]
    # Without its moment a load counts as the first, and deletes nothing.
    of_loads = f"column_name = {sql_text(columns[0])} or "
    return sql_file(
        "unreadable_moments",
        written=union(values),
        table=raw.table["name"],
        form=f"translate({ascii_lower('delivered')}, '012345678abcdefghijklmnopqrstuvwxyz', '{'9' * 9}{'a' * 26}')",
        of_loads=of_loads if feed["kind"] == "snapshots" else "",
        is_delivered=f"{without_space('delivered')} != ''",
        moment=read_value(trimmed_text("moment_text"), "timestamp"),
    )


def _moment(raw: Raw, column: str, is_time: bool) -> str:
    """Return the values of a moment's column, and whether each is read."""
    called, feed, text = sql_name(column), raw.feed, "cast(null as string)"
    is_read = f"{position(called)} is not null"
    remedy = "'a position is a whole number: name another column'"
    if is_time:
        text, is_read = time_text(called, feed["moment_in"]), "false"
        remedy = sql_text(
            f"moment_in is {feed['moment_in']}: set it to how the column is written"
        )
        if column == feed["valid_to"]:
            is_read = is_after_the_calendar(called, feed["moment_in"])
    return f"""select
    {sql_text(column)} as column_name,
    try_cast({called} as string) as delivered,
    {text} as moment_text,
    {is_read} as is_read,
    {remedy} as remedy
from {raw.rows}"""


def can_be_overtaken(feed: Facts) -> bool:
    """Whether a feed has unfinished loads, or deletions without a moment."""
    deletes = feed["kind"] == "appended" and feed["deletes"]
    return feed["complete_when"] is not None or (deletes and not feed["has_moment"])


def overtaken_deliveries(raw: Raw, hours: int) -> str:
    """Return what a feed does not read though it came later.

    It has the columns of `unreadable_moments`. Loads: the unfinished ones, if a later
    one came some hours after the first of them and none since is finished. Numbered
    loads without a load time: the unfinished ones, if there are two. Rows: the ids that
    came again after a deletion without a date, which outlives them where the feed has
    no moment.
    """
    feed, readings = raw.feed, raw.readings
    times = {"loaded": "sf_date_created", "modified": "date_modified"}
    listed = [f"{read_id('id', readings)} as feed_id"] + [
        f"{value_read(column, 'timestamp', readings.get(column))} as {name}"
        for name, column in times.items()
    ]
    if feed["complete_when"] and not feed["has_clock"]:
        listed.append("feed_position_1")
    listed.append("feed_is_complete" if feed["complete_when"] else "feed_is_deleted")
    last = CAME_AGAIN
    if feed["complete_when"]:
        last = _unfinished_loads(feed, hours)
    values = ",\n        ".join(listed)
    return f"""with {written(raw)},

dated as (

    select
        {values}
    from written

)

select
    '{raw.table["name"]}' as table_name,
    {last}"""


def _unfinished_loads(feed: Facts, hours: int) -> str:
    """Return the unfinished loads, if one is overdue.

    A numbered load without a load time is overdue as soon as a later one has begun.
    """
    load, without_time = "loaded", ""
    if not feed["has_clock"]:
        load = "feed_position_1"
        without_time = (
            f"\n    or count(distinct case when loaded is null then {load} end) > 1"
        )
    return f"""'complete_when' as column_name,
    count(distinct {load}) as deliveries,
    cast(null as string) as written_like,
    'these loads are not read, since no row says that they are finished: mend complete_when, or the loader' as remedy
from dated
cross join (select max(case when feed_is_complete then {load} end) as newest_finished from dated) as loads
where coalesce({load} > newest_finished, {load} is not null)
having
    unix_micros(max(loaded)) - unix_micros(min(loaded)) > {hours} * 3600000000{without_time}"""


# The ids whose newest delivery by load is a row, and which a deletion without a date
# outlives.
CAME_AGAIN = """'date_modified' as column_name,
    count(*) as deliveries,
    cast(null as string) as written_like,
    'these ids came again after a deletion that has no date, which outlives every row: set moment' as remedy
from (
    select feed_id
    from dated
    where feed_id is not null
    group by feed_id
    having
        max(case when feed_is_deleted and modified is null then loaded end) is not null
        and max(case when not feed_is_deleted then loaded end) > max(case when feed_is_deleted then loaded end)
) as came_again
having count(*) > 0"""
