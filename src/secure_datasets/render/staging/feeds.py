"""A declared feed as deliveries: one query with the columns of the contract.

Beside them it has the facts of the feed about each delivery:

``feed_is_deleted``    whether the delivery marks its row as deleted; never null
``feed_position_<n>``  the position in its log, null if it is unreadable

If the feed has a clock, the moment by that clock replaces the load time. So staging,
past states and timelines order and date all feeds in one way.
"""

from __future__ import annotations

from secure_datasets.config.readings import FLAG, LOADED, rewritten_by
from secure_datasets.render.staging.deliveries import Raw, read_id, sql_file
from secure_datasets.render.staging.order import Facts, columns_beside, numbered
from secure_datasets.render.staging.reading import (
    flag_text,
    is_after_the_calendar,
    position,
    read_value,
    time_text,
    trimmed_text,
    utc_text,
    whole_text,
)
from secure_datasets.sql.expressions import sql_name
from secure_datasets.sql.writing import indented

LISTED = ",\n        "


def relation_of_feed(raw: Raw) -> str:
    """Return the deliveries of a declared feed, as a relation in brackets."""
    feed, (steps, last) = raw.feed, _steps(raw)
    columns = ",\n    ".join([*raw.table["columns"], *columns_beside(feed)])
    query = f"{steps}\n\nselect\n    {columns}\nfrom {last}"
    if feed["before_when"]:
        query += "\nwhere not (feed_is_before and feed_has_after)"
    if feed["kind"] in ("snapshots", "periods"):
        query += f"\nunion all\n{_deletions(raw.table, feed)}"
    return f"(\n        {indented(query, 8)}\n    )"


def overlapping_periods(raw: Raw) -> str:
    """Return the periods of a feed that end after the next one begins."""
    return f"""{_steps(raw)[0]}

select
    feed_id as id,
    feed_from as valid_from,
    gone_at as valid_to
from followed
where next_from < coalesce(unix_micros(feed_until), 9223372036854775807)"""


def _steps(raw: Raw) -> tuple[str, str]:
    """Return the steps that a feed's kind needs, and the name of the last."""
    feed, steps, last = raw.feed, [written(raw)], "written"
    if feed["before_when"] or feed["kind"] in ("snapshots", "periods"):
        steps.append(_timed(raw))
    if feed["before_when"]:
        steps.append(_updates(raw.table, feed))
        last = "paired"
    elif feed["kind"] == "snapshots":
        steps.append(_snapshots(feed))
        last = "loaded"
    elif feed["kind"] == "periods":
        steps += _periods(raw)
        last = "begun"
    listed = ",\n\n".join(steps)
    return f"with {listed}", last


MEASURED = """measured as (

    select
        *,
        feed_until_text is null or feed_is_endless or coalesce(feed_until > current_timestamp(), false) as feed_is_open
    from timed

)"""


def written(raw: Raw) -> str:
    """Return the step with each delivery as the feed writes it.

    It has the columns of the contract, and the facts of the feed that later steps read.
    """
    feed = raw.feed
    columns = {column: _contracts(raw, column) for column in raw.table["columns"]}
    is_before = f"coalesce(({feed['before_when']}), false)"
    if feed["before_when"]:
        columns["feed_is_before"] = is_before
    if feed["deletes"]:
        before = f"{is_before} or\n        " if feed["before_when"] else ""
        columns["feed_is_deleted"] = before + _is_deleted(feed)
    for name, called in zip(numbered(feed), feed["positions"], strict=True):
        columns[name] = position(sql_name(called))
    if feed["valid_to"]:
        end = sql_name(feed["valid_to"])
        columns["feed_valid_to"] = time_text(end, feed["moment_in"])
        columns["feed_is_endless"] = is_after_the_calendar(end, feed["moment_in"])
    if feed["complete_when"]:
        columns["feed_is_complete"] = f"coalesce(({feed['complete_when']}), false)"
    values = [f"{value} as {column}" for column, value in columns.items()]
    values += ["feed_snapshot"] if feed["snapshots"] else []
    return f"""written as (

    select
        {LISTED.join(values)}
    from {raw.rows}

)"""


def _contracts(raw: Raw, column: str) -> str:
    """Return a column of the contract, converted if the feed declares a format."""
    feed, called = raw.feed, raw.feed["sources"][column]
    if called is None:
        return "cast(null as string)"
    name = sql_name(called)
    how = rewritten_by(feed, column, raw.table["columns"][column])
    if column in raw.readings or not how:
        return name
    if how == FLAG:
        return flag_text(name, feed["reads"], f"try_cast({name} as string)")
    return time_text(name, how)


def _is_deleted(feed: Facts) -> str:
    """Return whether a delivery marks its row as deleted; an unreadable mark does."""
    if feed["deleted_flag"]:
        name = sql_name(feed["deleted_flag"])
        text = flag_text(name, feed["reads"], whole_text(name))
        flag = read_value(text, "boolean")
        is_kept = f"not coalesce({flag}, false)"
        return is_kept if feed["deleted_flag_is_negated"] else f"coalesce({flag}, true)"
    return (
        f"coalesce(({feed['deleted_when']}), true)" if feed["deleted_when"] else "false"
    )


def _timed(raw: Raw) -> str:
    """Return the steps that read the id, the moment, and the end of a period.

    Texts are trimmed in a step of their own: reading names its text many times, and
    Spark plans each name.
    """
    texts = {"feed_from": "sf_date_created"} if raw.feed["has_clock"] else {}
    if raw.feed["kind"] == "periods":
        texts["feed_until"] = "feed_valid_to"
    trimmed = [f"{trimmed_text(text)} as {time}_text" for time, text in texts.items()]
    read = [f"{read_value(f'{time}_text', 'timestamp')} as {time}" for time in texts]
    read.append(f"{read_id('id', raw.readings)} as feed_id")
    return f"""trimmed as (

    select
        {LISTED.join(["*", *trimmed])}
    from written

),

timed as (

    select
        {LISTED.join(["*", *read])}
    from trimmed

)"""


def _updates(table: Facts, feed: Facts) -> str:
    """Return the steps for a log that writes the state before an update as a row.

    A before-row deletes its id, unless the row was there after this moment. An
    unreadable moment pairs no rows.

    Equal deliveries of one moment and id count once, since logs deliver again. With
    fewer other rows than before-rows, the last update changed the id. With as many or
    more, a row that no before-row has again is the last state. If there is none, the
    row is there if it was there before: a row that came and changed its id within the
    moment was not. If nothing is known of before, it was there, unless a second id of
    the moment has more rows than before-rows, and may be the changed one.
    """
    moment = (["feed_from"] if feed["has_clock"] else []) + numbered(feed)
    columns = [c for c in table["columns"] if c not in ("id", "sf_date_created")]
    return sql_file(
        "updates",
        of_moment=", ".join(["feed_id", *moment]),
        of_state=", ".join(["feed_id", *moment, *columns]),
        has_key_alone=f"{' is null and '.join(columns)} is null",
        moment=", ".join(moment),
        is_dated="".join(f"\n        and {each} is not null" for each in moment),
    )


def _snapshots(feed: Facts) -> str:
    """Return the steps for snapshots: an id that the next load lacks is deleted."""
    # A numbered load has its load time in a column of its own.
    times = {"gone_at": "sf_date_created"}
    if not feed["has_clock"]:
        times = {"gone_at": "feed_position_1", "gone_on": "sf_date_created"}
    is_whole = "\n        having bool_or(feed_is_complete)"
    return sql_file(
        "snapshots",
        load="feed_from" if feed["has_clock"] else "feed_position_1",
        next_times=",\n".join(
            f"lead({time}) over (order by feed_load asc nulls first) as {time}"
            for time in times
        ),
        times=",\n".join(f"min({of}) as {t}" for t, of in times.items()),
        is_whole=is_whole if feed["complete_when"] else "",
        loads_times=",\n".join(f"loads.{time}" for time in times),
        gone=", ".join(f"loaded.{time}" for time in times),
    )


def _periods(raw: Raw) -> list[str]:
    """Return the steps for periods: one that ended without a successor is a deletion.

    A successor begins at most a thousandth of a second after the end, since loaders
    write ends so. An end in the future, or in the year 9999 or later, is no end. A
    period that begins after the run is not there yet.

    If an open period holds now, and it began before the last end of its id, it begins
    right after that end. It holds only if no open one says that the row is deleted.
    """
    if not raw.feed["open_holds"]:
        return [MEASURED, sql_file("periods", step="measured")]
    columns = [*raw.table["columns"], *columns_beside(raw.feed)]
    restored = sql_file(
        "restored",
        columns=",\n".join(column for column in columns if column != LOADED),
        begins=utc_text("timestamp_micros(last_end + 1)"),
    )
    return [MEASURED, restored, sql_file("periods", step="restored")]


def _deletions(table: Facts, feed: Facts) -> str:
    """Return the deletions that snapshots and periods imply, as deliveries."""
    values = dict.fromkeys(table["columns"], "null")
    values |= {"id": "id", "feed_is_deleted": "true"} | dict.fromkeys(
        numbered(feed), "null"
    )
    values["sf_date_created"] = "gone_at" if feed["has_clock"] else "gone_on"
    if not feed["has_clock"]:
        values["feed_position_1"] = "gone_at"
    columns = (c if c == v else f"{v} as {c}" for c, v in values.items())
    listed = ",\n    ".join(columns)
    return f"""-- A deletion has its id and its moment, and nothing else.
select
    {listed}
from gone"""
