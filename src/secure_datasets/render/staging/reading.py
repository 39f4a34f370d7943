"""The rules for reading a delivered value, as SQL over the value's expression.

A column of a raw table is a text, or has a reading: the name of the conversion by its
own type, from `config.readings.readings_of`. A text without white space at its ends has
the reading `trimmed`.
"""

from __future__ import annotations

from collections.abc import Mapping

from secure_datasets.config.plan import WHITE_SPACE
from secure_datasets.config.readings import EPOCHS
from secure_datasets.sql.expressions import sql_text

# The characters that are trimmed, as an SQL literal.
SPACE = "'" + "".join(f"\\u{ord(each):04X}" for each in WHITE_SPACE) + "'"
CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
# The calendar begins and ends, in seconds since 1970.
BEGIN, END = -62135596800, 253402300800
# The readings that convert every value of the raw type exactly.
EXACT = ("same", "wider")
# The calendar has no year 0. A day ends at 23:59:59: some engines read 24:00:00 as the
# beginning of the next day.
TIMESTAMP = (
    "'^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    "([.][0-9]{1,9})?$'"
)
# The pattern of a timestamp with a zone.
WITH_ZONE = (
    "'^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"
    "([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'"
)


def utc_text(timestamp: str) -> str:
    """Return the text of a timestamp in UTC, whatever the session's zone.

    It may not be null: for a struct of nulls the code that Spark generates for `to_csv`
    fails.
    """
    return (
        f"to_csv(struct({timestamp}),"
        " map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))"
    )


def ascii_lower(text: str) -> str:
    """Return a text in lower case: `lower()` also maps letters that are not ASCII."""
    return f"translate({text}, '{CAPITALS}', '{SMALL}')"


def without_space(text: str) -> str:
    """Return a text without white space at its ends."""
    return f"btrim({text}, {SPACE})"


def trimmed_text(text: str) -> str:
    """Return a text without white space at its ends; empty is null.

    A look at the two ends spares nearly every value the slow trimming of many
    characters. Texts compare by their bytes, so that a text between '!' and '~' begins
    with a character in this range.
    """
    return f"""case
            when {text} between '!' and '~' and right({text}, 1) between '!' and '~'
                then {text}
            else nullif({without_space(text)}, '')
        end"""


def whole_text(column: str) -> str:
    """Return the trimmed text of a value; of a number without a fraction its digits."""
    text = trimmed_text(f"try_cast({column} as string)")
    whole = f"try_cast({column} as bigint)"
    return f"""case
            when typeof({column}) rlike '^(double|float|decimal)' then case
                when try_cast({whole} as decimal(38, 10)) = try_cast({column} as decimal(38, 10)) then cast({whole} as string)
                else {text}
            end
            else {text}
        end"""


def read_value(text: str, kind: str) -> str:
    """Return a trimmed text as a value of a type; null if it is unreadable."""
    ends_in_digit = f"right({text}, 1) between '0' and '9'"
    plain = kind.partition("(")[0]
    if plain == "string":
        return text
    if plain == "bigint":
        # The cast accepts a sign and digits, and at the ends further characters.
        return f"case when {text} between '+' and ':' and {ends_in_digit} then try_cast({text} as bigint) end"
    if plain == "boolean":
        # Most are spelled so, and mapping letters is slow.
        return f"""case
            when {text} = 'true' then true
            when {text} = 'false' then false
            else case {ascii_lower(text)}
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end"""
    if plain == "timestamp":
        # The pattern alone accepts a line end after the last digit. The cast drops
        # fractions of a microsecond.
        return f"""case
            when {ends_in_digit}
                and {text} rlike {TIMESTAMP}
                and {text} not like '0000%'
                then try_cast(concat({text}, 'Z') as timestamp)
        end"""
    assert plain == "decimal", f"no rule reads the type '{kind}'"
    return f"case when {ends_in_digit} and {text} rlike '^[+-]?[0-9]+([.][0-9]+)?$' then try_cast({text} as {kind}) end"


def typed_value(value: str, kind: str, reading: str) -> str:
    """Return a typed value, converted without a detour over text.

    It is null if the contract's type can't hold it exactly.
    """
    if reading == "trimmed":
        return read_value(value, kind)
    # A cast would read a local time in the session's zone. Spark multiplies two ints as
    # ints. The calendar's years have four digits.
    return {
        "same": value,
        "wider": f"try_cast({value} as {kind})",
        "number": f"try_cast({value} as {kind})",
        "whole": f"case when {value} % 1 = 0 then try_cast({value} as bigint) end",
        "whole double": f"case when abs({value}) < 9007199254740992 and {value} % 1 = 0 then try_cast({value} as bigint) end",
        "flag": f"case {value} when 1 then true when 0 then false end",
        "moment": f"case when unix_micros({value}) between {BEGIN * 1_000_000} and {END * 1_000_000 - 1} then {value} end",
        "day": f"case when year({value}) between 1 and 9999 then timestamp_seconds(unix_date({value}) * cast(86400 as bigint)) end",
        "local": f"""case
            when year({value}) between 1 and 9999
                then timestamp_micros(
                    unix_date(cast({value} as date)) * 86400000000
                    + hour({value}) * 3600000000 + minute({value}) * cast(60000000 as bigint)
                    + cast(extract(second from {value}) * 1000000 as bigint)
                )
        end""",
    }[reading]


def value_read(column: str, kind: str, reading: str | None = None) -> str:
    """Return a delivered value in the contract's type; null if it is unreadable."""
    if reading:
        return typed_value(column, kind, reading)
    if kind == "string":
        return trimmed_text(column)
    # Few texts need trimming.
    return f"""coalesce(
            {read_value(column, kind)},
            {read_value(without_space(column), kind)}
        )"""


def is_filled(column: str, reading: str | None = None) -> str:
    """Return whether a delivery has a value in a column, readable or not."""
    return f"{column} is not null" if reading else f"{without_space(column)} != ''"


def delivered_text(column: str, kind: str, reading: str | None = None) -> str:
    """Return a delivered value as text, a typed timestamp in UTC.

    A plain cast gives a small decimal an exponent, except in sessions with ANSI mode.
    """
    text = f"try_cast({column} as string)"
    if reading is None and kind == "timestamp":
        is_written, written = (
            f"typeof({column}) = 'timestamp' and {column} is not null",
            utc_text(column),
        )
    elif reading in (None, *EXACT):
        return text
    elif reading == "moment":
        return f"case when {column} is not null then {utc_text(column)} end"
    else:
        value = typed_value(column, kind, reading)
        is_written = f"{value} is not null"
        written = utc_text(value) if kind == "timestamp" else f"cast({value} as string)"
    return f"""case
                when {is_written}
                    then {written}
                else {text}
            end"""


def delivered_value(column: str) -> str:
    """Return a value of a rejected row as it was delivered, trimmed."""
    return trimmed_text(f"get_json_object(raw_row, '$.{column}')")


def position(column: str) -> str:
    """Return a position in a log as a number; null if it is no whole number."""
    text = whole_text(column)
    return (
        f"case when {text} rlike '^[+-]?[0-9]+$'"
        f" then try_cast({text} as decimal(38, 0)) end"
    )


def is_after_the_calendar(column: str, written: str) -> str:
    """Return whether a time is after the calendar's end, as a loader writes no end.

    written  as in `time_text`
    """
    if written in EPOCHS:
        return f"coalesce({position(column)} > {END * EPOCHS[written] - 1}, false)"
    trimmed = trimmed_text(f"try_cast({column} as string)")
    return f"""coalesce(
            case
                when {ascii_lower(trimmed)} = 'infinity' then true
                when typeof({column}) like 'timestamp%' or {trimmed} rlike {WITH_ZONE}
                    then try_cast({trimmed} as timestamp) > timestamp '9999-12-31 23:59:59.999999Z'
            end,
            false
        )"""


def time_text(column: str, written: str) -> str:
    """Return the text of a time in the contract's format; an unreadable one stays.

    written  how the feed writes it: iso, an epoch, or timestamp, perhaps with a zone
    """
    text = delivered_text(column, "timestamp")
    if written in EPOCHS:
        unit, function = EPOCHS[written], written.replace("epoch", "timestamp")
        number = read_value(whole_text(column), "bigint")
        return f"""case
            when {number} between {BEGIN * unit} and {END * unit - 1}
                then {utc_text(f"{function}({number})")}
            else {text}
        end"""
    trimmed = trimmed_text(f"try_cast({column} as string)")
    return f"""case
            when typeof({column}) = 'date' then concat(try_cast({column} as string), ' 00:00:00')
            when {trimmed} rlike {WITH_ZONE}
                and try_cast({trimmed} as timestamp) is not null
                then {utc_text(f"try_cast({trimmed} as timestamp)")}
            else {text}
        end"""


def flag_text(column: str, reads: Mapping[str, list[str]], unread: str) -> str:
    """Return the text of a flag, by a feed's words for true and false.

    unread  the text of a flag that is neither
    """
    words = "".join(
        f"\n            when {ascii_lower(sql_text(text))} then '{flag}'"
        for flag in ("true", "false")
        for text in reads[flag]
    )
    return f"""case {ascii_lower(whole_text(column))}{words}
            when '1' then 'true'
            when '0' then 'false'
            else {unread}
        end"""
