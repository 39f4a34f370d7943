{#
    Renders a declared feed as deliveries: one query with the columns of the contract under their
    names and, beside them, the facts of the feed about each delivery.

    feed_is_deleted   whether the delivery marks its row as deleted; never null
    feed_position_<n> the position of the delivery in its log, null if it is unreadable

    If the feed has a clock, the moment by that clock replaces the load time. So staging, past
    states and timelines order and date all feeds in one way.
#}

{# The feed of a raw table; none if nothing is declared, or the application has no such table. #}
{% macro feed_of(name) %}
    {%- if name in secure_datasets.absent_tables() -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(adapter.secure_datasets().feed(name, var('feeds'), secure_datasets.repository_tables())) }}
{% endmacro %}


{# Stops dbt if the feed of a raw table tells no past, for macros that need it. #}
{% macro check_has_past(name) %}
    {%- set feed = secure_datasets.feed_of(name) -%}
    {%- if feed and not feed.has_history -%}
        {%- set reason = " is of the kind 'current': it holds what the application has now and nothing of any time before"
            if feed.kind == 'current'
            else " has neither a clock nor a load time: nothing says what was there when" -%}
        {{ exceptions.raise_compiler_error(
            'the feed of ' ~ name ~ reason ~ ', so no past state can be told. See docs/feeds.md of the package for the kinds that have a history.'
        ) }}
    {%- endif -%}
{% endmacro %}


{#
    The feed of a raw table that is read at all times. A table without history has the past that its format
    keeps: `snapshots`, each with its rows and the moment from which they were the table's. An id that the
    next one lacks is deleted by it.
#}
{% macro feed_over_time(name) %}
    {%- set feed = secure_datasets.feed_of(name) -%}
    {%- if not execute or not feed or feed.has_history -%}
        {{ return(feed) }}
    {%- endif -%}
    {%- if feed.kind != 'current' -%}
        {% do secure_datasets.check_has_past(name) %}
    {%- endif -%}
    {%- set kept = adapter.raw_snapshots(name, source('repository', name), var('as_of', none)) -%}
    {%- if not kept -%}
        {% do secure_datasets.check_has_past(name) %}
    {%- endif -%}
    {{ return(dict(feed, deletes=true, snapshots=kept)) }}
{% endmacro %}


{#
    A timestamp written out in UTC, whatever the session's zone. It may not be null: for a struct of
    nulls the code that Spark generates for `to_csv` fails.
#}
{% macro utc_text(timestamp) -%}
to_csv(struct({{ timestamp }}), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
{%- endmacro %}


{#
    The text of a value without white space at its ends. A number without a fraction becomes its
    digits alone, whatever its type.
#}
{% macro whole_text(column) -%}
{%- set text, whole = secure_datasets.trimmed_text('try_cast(' ~ column ~ ' as string)'), 'try_cast(' ~ column ~ ' as bigint)' -%}
case
            when typeof({{ column }}) rlike '^(double|float|decimal)' then case
                when try_cast({{ whole }} as decimal(38, 10)) = try_cast({{ column }} as decimal(38, 10)) then cast({{ whole }} as string)
                else {{ text }}
            end
            else {{ text }}
        end
{%- endmacro %}


{# A position in a log, or the number of a load, as a number; null if the value is not a whole number. #}
{% macro _feed_position(column) -%}
{%- set text = secure_datasets.whole_text(column) -%}
case when {{ text }} rlike '^[+-]?[0-9]+$' then try_cast({{ text }} as decimal(38, 0)) end
{%- endmacro %}


{# The pattern of a timestamp with a zone. #}
{% macro _with_zone() -%}
'^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'
{%- endmacro %}


{#
    The function that reads an epoch, and the first and last number that are in the calendar: every
    moment of the years 1 to 9999. None if `written` is not an epoch.
#}
{% macro _epoch(written) %}
    {{ return({
        'epoch_seconds': ('timestamp_seconds', '-62135596800', '253402300799'),
        'epoch_millis': ('timestamp_millis', '-62135596800000', '253402300799999'),
        'epoch_micros': ('timestamp_micros', '-62135596800000000', '253402300799999999'),
    }.get(written)) }}
{% endmacro %}


{# Whether a time is after the end of the calendar: loaders write such a time for a period without end. #}
{% macro _is_after_the_calendar(column, written) -%}
{%- set unit = secure_datasets._epoch(written) -%}
{%- if unit -%}
coalesce({{ secure_datasets._feed_position(column) }} > {{ unit[2] }}, false)
{%- else -%}
{%- set trimmed = secure_datasets.trimmed_text('try_cast(' ~ column ~ ' as string)') -%}
coalesce(
            case
                when {{ secure_datasets.ascii_lower(trimmed) }} = 'infinity' then true
                when typeof({{ column }}) like 'timestamp%' or {{ trimmed }} rlike {{ secure_datasets._with_zone() }}
                    then try_cast({{ trimmed }} as timestamp) > timestamp '9999-12-31 23:59:59.999999Z'
            end,
            false
        )
{%- endif -%}
{%- endmacro %}


{#
    The text of a time in the contract's format, from the format of the feed. An unreadable time
    stays as it is.

    written  iso, an epoch, or timestamp, which here may have a zone too
#}
{% macro time_text(column, written) -%}
{%- set text = secure_datasets.delivered_text(column, 'timestamp') -%}
{%- set unit = secure_datasets._epoch(written) -%}
{%- if unit -%}
{%- set number = secure_datasets.read_value(secure_datasets.whole_text(column), 'bigint') -%}
case
            when {{ number }} between {{ unit[1] }} and {{ unit[2] }}
                then {{ secure_datasets.utc_text(unit[0] ~ '(' ~ number ~ ')') }}
            else {{ text }}
        end
{%- else -%}
{%- set trimmed = secure_datasets.trimmed_text('try_cast(' ~ column ~ ' as string)') -%}
case
            when typeof({{ column }}) = 'date' then concat(try_cast({{ column }} as string), ' 00:00:00')
            when {{ trimmed }} rlike {{ secure_datasets._with_zone() }}
                and try_cast({{ trimmed }} as timestamp) is not null
                then {{ secure_datasets.utc_text('try_cast(' ~ trimmed ~ ' as timestamp)') }}
            else {{ text }}
        end
{%- endif -%}
{%- endmacro %}


{#
    The text of a flag, with the words that a feed has for true and false.

    unread  the text of a flag that is neither
#}
{% macro flag_text(column, reads, unread) -%}
case {{ secure_datasets.ascii_lower(secure_datasets.whole_text(column)) }}
            {%- for flag in ['true', 'false'] %}
            {%- for text in reads[flag] %}
            when {{ secure_datasets.ascii_lower(secure_datasets.sql_text(text)) }} then '{{ flag }}'
            {%- endfor %}
            {%- endfor %}
            when '1' then 'true'
            when '0' then 'false'
            else {{ unread }}
        end
{%- endmacro %}


{# The expression for a column of the contract, converted if the feed declares a format for it. #}
{% macro _feed_column(feed, column, type, readings) -%}
{%- set called = feed.sources[column] -%}
{%- if called is none -%}
cast(null as string)
{%- elif column in readings -%}
{{ adapter.secure_datasets().sql_name(called) }}
{%- elif feed.has_clock and column == 'sf_date_created' -%}
{{ secure_datasets.time_text(adapter.secure_datasets().sql_name(called), feed.moment_in) }}
{%- elif type == 'timestamp' and feed.reads.timestamps -%}
{{ secure_datasets.time_text(adapter.secure_datasets().sql_name(called), feed.reads.timestamps) }}
{%- elif type == 'boolean' and (feed.reads.true or feed.reads.false) -%}
{%- set raw = adapter.secure_datasets().sql_name(called) -%}
{{ secure_datasets.flag_text(raw, feed.reads, 'try_cast(' ~ raw ~ ' as string)') }}
{%- else -%}
{{ adapter.secure_datasets().sql_name(called) }}
{%- endif -%}
{%- endmacro %}


{# Whether a delivery marks its row as deleted; an unreadable mark counts as deleted. #}
{% macro _feed_is_deleted(feed) -%}
{%- if feed.deleted_flag -%}
{%- set raw = adapter.secure_datasets().sql_name(feed.deleted_flag) -%}
{%- set text = secure_datasets.flag_text(raw, feed.reads, secure_datasets.whole_text(raw)) -%}
{%- set flag = secure_datasets.read_value(text, 'boolean') -%}
{{ 'not coalesce(' ~ flag ~ ', false)' if feed.deleted_flag_is_negated else 'coalesce(' ~ flag ~ ', true)' }}
{%- elif feed.deleted_when -%}
coalesce(({{ feed.deleted_when }}), true)
{%- else -%}
false
{%- endif -%}
{%- endmacro %}


{#
    The deliveries of a declared feed: the query described at the top.

    overlaps  true: renders, instead of deliveries, the periods that end after the next one begins
    readings  how the columns are read by their types, if it is known already
#}
{% macro feed_query(name, feed, raw, overlaps=false, readings=none) -%}
{%- set table = secure_datasets.repository_tables()[name] -%}
{%- set readings = secure_datasets.raw_readings(name) if readings is none else readings -%}
{%- set id_reading = readings.get('id') -%}
{%- set read_id = secure_datasets.value_read('id' if id_reading else secure_datasets.delivered_text('id', 'bigint'), 'bigint', id_reading) -%}
{%- set columns = table.columns | list + secure_datasets.columns_beside(feed) -%}
with {{ secure_datasets._written_step(table, feed, readings, raw) }}
{%- if feed.before_when or feed.kind in ['snapshots', 'periods'] %},

{{ secure_datasets._timed_steps(feed, read_id) }}
{%- endif %}
{%- if feed.before_when %},

{{ secure_datasets._update_steps(table, feed) }}
{%- endif %}
{%- if feed.kind == 'snapshots' %},

{{ secure_datasets._snapshot_steps(feed) }}
{%- elif feed.kind == 'periods' %},

{{ secure_datasets._period_steps(feed, columns) }}
{%- endif %}
{% if overlaps %}
{{ secure_datasets._overlapping_periods() }}
{%- else %}
select
    {{ columns | join(',\n    ') }}
from {{ {'snapshots': 'loaded', 'periods': 'begun'}.get(feed.kind) or ('paired' if feed.before_when else 'written') }}
{{- '\nwhere not (feed_is_before and feed_has_after)' if feed.before_when }}
{%- if feed.kind in ['snapshots', 'periods'] %}
union all
{{ secure_datasets._deletions(table, feed) }}
{%- endif %}
{%- endif %}
{%- endmacro %}


{#
    The step with each delivery as the feed writes it: the columns of the contract, and the facts of
    the feed that later steps read.
#}
{% macro _written_step(table, feed, readings, raw) -%}
{%- set columns = [] -%}
{%- for column, type in table.columns.items() -%}
    {%- do columns.append(secure_datasets._feed_column(feed, column, type, readings) ~ ' as ' ~ column) -%}
{%- endfor -%}
{%- if feed.before_when -%}
    {%- do columns.append('coalesce((' ~ feed.before_when ~ '), false) as feed_is_before') -%}
{%- endif -%}
{%- if feed.deletes -%}
    {%- set is_before = 'coalesce((' ~ feed.before_when ~ '), false) or\n        ' if feed.before_when else '' -%}
    {%- do columns.append(is_before ~ secure_datasets._feed_is_deleted(feed) ~ ' as feed_is_deleted') -%}
{%- endif -%}
{%- for position in feed.positions -%}
    {%- do columns.append(secure_datasets._feed_position(adapter.secure_datasets().sql_name(position)) ~ ' as feed_position_' ~ loop.index) -%}
{%- endfor -%}
{%- if feed.valid_to -%}
    {%- set valid_to = adapter.secure_datasets().sql_name(feed.valid_to) -%}
    {%- do columns.append(secure_datasets.time_text(valid_to, feed.moment_in) ~ ' as feed_valid_to') -%}
    {%- do columns.append(secure_datasets._is_after_the_calendar(valid_to, feed.moment_in) ~ ' as feed_is_endless') -%}
{%- endif -%}
{%- if feed.complete_when -%}
    {%- do columns.append('coalesce((' ~ feed.complete_when ~ '), false) as feed_is_complete') -%}
{%- endif -%}
written as (

    select
        {{ (columns + (['feed_snapshot'] if feed.snapshots else [])) | join(',\n        ') }}
    from {{ raw }}

)
{%- endmacro %}


{#
    The steps that read the id of each delivery, its moment, and the end of a period. Texts are trimmed in a step
    of their own: reading names its text many times, and Spark plans each name.
#}
{% macro _timed_steps(feed, read_id) -%}
{%- set texts = {'feed_from': 'sf_date_created'} if feed.has_clock else {} -%}
{%- if feed.kind == 'periods' -%}{% do texts.update(feed_until='feed_valid_to') %}{%- endif -%}
trimmed as (

    select
        *
        {%- for time, text in texts.items() %},
        {{ secure_datasets.trimmed_text(text) }} as {{ time }}_text
        {%- endfor %}
    from written

),

timed as (

    select
        *,
        {%- for time in texts %}
        {{ secure_datasets.read_value(time ~ '_text', 'timestamp') }} as {{ time }},
        {%- endfor %}
        {{ read_id }} as feed_id
    from trimmed

)
{%- endmacro %}


{# The periods of one id that end after the next one begins. #}
{% macro _overlapping_periods() -%}
select
    feed_id as id,
    feed_from as valid_from,
    gone_at as valid_to
from followed
where next_from < coalesce(unix_micros(feed_until), 9223372036854775807)
{%- endmacro %}


{# The deletions that snapshots and periods imply, as deliveries. #}
{% macro _deletions(table, feed) -%}
-- A deletion has its id and its moment, and nothing else.
select
    {%- for column in table.columns %}
    {{ column if column == 'id' else ('gone_at' if feed.has_clock else 'gone_on') ~ ' as sf_date_created' if column == 'sf_date_created' else 'null as ' ~ column }},
    {%- endfor %}
    true as feed_is_deleted
    {%- for position in secure_datasets._position_columns(feed) %},
    {{ 'gone_at' if loop.first and not feed.has_clock else 'null' }} as {{ position }}
    {%- endfor %}
from gone
{%- endmacro %}


{#
    The steps that count the rows of an id and moment: whether it may stay, whether a state of it is left
    that no before-row has again, and whether it is said to be deleted. `moment` are the id and the moment.
#}
{% macro _counted_updates(table, moment) -%}
{%- set of_moment = 'partition by ' ~ moment | join(', ') -%}
{%- set columns = table.columns | reject('in', ['id', 'sf_date_created']) | list -%}
{%- set of_state = ([of_moment] + columns) | join(', ') -%}
told_once as (

    select
        *,
        row_number() over ({{ of_state }}, feed_is_before order by feed_is_before) = 1 as feed_is_first,
        bool_or(feed_is_before) over ({{ of_state }}) as feed_is_taken,
        sum(case when feed_is_before then -1 else 1 end) over ({{ of_moment }}) as feed_balance
    from timed

),

counted as (

    select
        *,
        feed_balance >= 0
        and sum(case when not feed_is_first then 0 when feed_is_before then -1 else 1 end) over ({{ of_moment }}) >= 0 as feed_may_stay,
        -- A before-row that has the key alone may take any state back.
        bool_or(not feed_is_deleted and not feed_is_taken) over ({{ of_moment }})
        and not bool_or(feed_is_before and {{ columns | join(' is null and ') }} is null) over ({{ of_moment }}) as feed_is_left,
        bool_or(feed_is_deleted and not feed_is_before) over ({{ of_moment }}) as feed_is_said
    from told_once

)
{%- endmacro %}


{#
    The steps for a log that writes the state before an update as a row of its own: a before-row deletes
    its id, unless the row was there after this moment. An unreadable moment pairs no rows.

    Of one moment and id, equal deliveries count once, since logs deliver again. With fewer other rows
    than before-rows, the last update changed the id. With as many or more, a row that no before-row
    has again is the last state. If there is none, the row is there if it was there before: what came
    and changed its id within the moment was not. If nothing is known of before, it was there, unless
    another id of the moment has more rows than before-rows, and may be the changed one.
#}
{% macro _update_steps(table, feed) -%}
{%- set moment = (['feed_from'] if feed.has_clock else []) + secure_datasets._position_columns(feed) -%}
{{ secure_datasets._counted_updates(table, ['feed_id'] + moment) }},

paired as (

    select
        *,
        feed_may_stay
        and coalesce(
            last_value(case when feed_is_said or not feed_may_stay then false when feed_is_left then true end) ignore nulls over (
                partition by feed_id
                order by {{ moment | join(', ') }}
                range between unbounded preceding and current row
            ),
            max(feed_balance) over (partition by {{ moment | join(', ') }}) <= 0
        )
        {%- for each in moment %}
        and {{ each }} is not null
        {%- endfor %} as feed_has_after
    from counted

)
{%- endmacro %}


{# The steps for snapshots: an id that the next load lacks is deleted by that load. #}
{% macro _snapshot_steps(feed) -%}
numbered as (

    select
        *,
        {{ 'feed_from' if feed.has_clock else 'feed_position_1' }} as feed_load
    from timed

),

{{ secure_datasets._loads_step(feed) }},

loaded as (

    select
        numbered.*,
        loads.next_load,
        loads.gone_at
        {%- if not feed.has_clock %},
        loads.gone_on
        {%- endif %}
    from numbered
    inner join loads
        on numbered.feed_load <=> loads.feed_load

),

{{ secure_datasets._gone_step(feed) }}
{%- endmacro %}


{# The step with each complete load, and the moment of the next one, which deletes the ids that it lacks. #}
{% macro _loads_step(feed) -%}
-- What no load can be read of was there before the first.
loads as (

    select
        feed_load,
        lead(feed_load) over (order by feed_load asc nulls first) as next_load,
        lead(gone_at) over (order by feed_load asc nulls first) as gone_at
        {%- if not feed.has_clock %},
        lead(gone_on) over (order by feed_load asc nulls first) as gone_on
        {%- endif %}
    from (
        select
            feed_load,
            min({{ 'sf_date_created' if feed.has_clock else 'feed_position_1' }}) as gone_at
            {%- if not feed.has_clock %},
            min(sf_date_created) as gone_on
            {%- endif %}
        from numbered
        group by feed_load
        {%- if feed.complete_when %}
        having bool_or(feed_is_complete)
        {%- endif %}
    ) as begun

)
{%- endmacro %}


{# The step with each id that the next load lacks, and the moment of that load. #}
{% macro _gone_step(feed) -%}
{#- A numbered load has its load time in a column of its own. -#}
{%- set gone = ['loaded.gone_at'] if feed.has_clock else ['loaded.gone_at', 'loaded.gone_on'] -%}
gone as (

    select
        min(loaded.id) as id,
        {{ gone | join(', ') }}
    from loaded
    left anti join loaded as later
        on
            loaded.feed_id = later.feed_id
            and loaded.next_load = later.feed_load
    where loaded.next_load is not null and loaded.feed_id is not null
    group by loaded.feed_id, {{ gone | join(', ') }}

)
{%- endmacro %}


{#
    The steps for periods whose open one holds now: if it began before the last end of its id, it begins
    right after that end. The open period holds only if no open one says that the row is deleted.

    columns  the columns of a delivery
#}
{% macro _restored_steps(columns) -%}
compared as (

    select
        *,
        max(case when not feed_is_open then greatest(unix_micros(feed_from), unix_micros(feed_until)) end) over (partition by feed_id) as last_end,
        max(case when feed_is_open then feed_from end) over (partition by feed_id) as last_open,
        bool_or(feed_is_open and feed_is_deleted) over (partition by feed_id) as is_gone
    from measured

),

judged as (

    select
        *,
        coalesce(feed_is_open and not is_gone and feed_from = last_open and unix_micros(feed_from) < last_end, false) as is_restored
    from compared

),

restored as (

    select
        {%- for column in columns | reject('equalto', 'sf_date_created') %}
        {{ column }},
        {%- endfor %}
        feed_id,
        feed_until_text,
        feed_until,
        feed_is_open,
        case when is_restored then timestamp_micros(last_end + 1) else feed_from end as feed_from,
        case when is_restored then {{ secure_datasets.utc_text('timestamp_micros(last_end + 1)') }} else sf_date_created end as sf_date_created
    from judged

),
{% endmacro %}


{#
    The steps for periods: a period that ended without a successor ended by a deletion. A successor
    begins at most a thousandth of a second after the end, since loaders write ends so. An end in the
    future, or in the year 9999 or later, is no end. A period that begins after the run is not there yet.
#}
{% macro _period_steps(feed, columns) -%}
measured as (

    select
        *,
        feed_until_text is null or feed_is_endless or coalesce(feed_until > current_timestamp(), false) as feed_is_open
    from timed

),

{{ secure_datasets._restored_steps(columns) if feed.open_holds }}
begun as (

    select *
    from {{ 'restored' if feed.open_holds else 'measured' }}
    where coalesce(feed_from <= current_timestamp(), true)

),

{{ secure_datasets._ended_steps() }}
{%- endmacro %}


{# The steps with each period and the next one of its id, and with the deletions by which periods ended. #}
{% macro _ended_steps() -%}
numbered as (

    select
        id,
        feed_id,
        sf_date_created as begun_at,
        feed_until_text as gone_at,
        feed_from,
        feed_until,
        feed_is_open
    from begun

),

followed as (

    select
        *,
        -- A successor whose beginning can't be read is none.
        lead(unix_micros(feed_from)) ignore nulls over (
            partition by feed_id
            order by feed_from asc nulls first, feed_is_open desc, feed_until asc nulls last
        ) as next_from
    from numbered
    where feed_id is not null

),

gone as (

    select
        id,
        -- An end before the beginning must not be outlived by it.
        case when feed_until < feed_from then begun_at else gone_at end as gone_at
    from followed
    where
        not feed_is_open
        and (next_from is null or (next_from > unix_micros(feed_until) + 1000 and coalesce(next_from > unix_micros(feed_from) + 1000, true)))

)
{%- endmacro %}


{#
    The unreadable moments, ends, loads and positions of a declared feed, counted by column. A
    delivery with an unreadable value sorts as the earliest or the latest, so that an update or a
    load may not count. The query shows only the form of a value: each digit as 9, each letter as a.
#}
{% macro unreadable_moments(name, feed, raw) -%}
{%- set times = [feed.sources.sf_date_created] if feed.has_clock else [] -%}
{%- set times = times + ([feed.valid_to] if feed.valid_to else []) -%}
with written as (

    {%- for column in times + feed.positions %}
    {%- set called = adapter.secure_datasets().sql_name(column) %}
    select
        {{ secure_datasets.sql_text(column) }} as column_name,
        try_cast({{ called }} as string) as delivered,
        {%- if column in times %}
        {{ secure_datasets.time_text(called, feed.moment_in) }} as moment_text,
        {{ secure_datasets._is_after_the_calendar(called, feed.moment_in) if column == feed.valid_to else 'false' }} as is_read,
        {{ secure_datasets.sql_text('moment_in is ' ~ feed.moment_in ~ ': set it to how the column is written') }} as remedy
        {%- else %}
        cast(null as string) as moment_text,
        {{ secure_datasets._feed_position(called) }} is not null as is_read,
        'a position is a whole number: name another column' as remedy
        {%- endif %}
    from {{ raw }}
    {{- '\n    union all' if not loop.last }}
    {%- endfor %}

)

select
    '{{ name }}' as table_name,
    column_name,
    count(*) as deliveries,
    max(left(translate({{ secure_datasets.ascii_lower('delivered') }}, '012345678abcdefghijklmnopqrstuvwxyz', '999999999aaaaaaaaaaaaaaaaaaaaaaaaaa'), 40)) as written_like,
    remedy
from written
where
    not is_read
    {#- Without its moment a load counts as the first, and deletes nothing. #}
    and ({{ 'column_name = ' ~ secure_datasets.sql_text((times + feed.positions)[0]) ~ ' or ' if feed.kind == 'snapshots' }}{{ secure_datasets.without_space('delivered') }} != '')
    and {{ secure_datasets.read_value(secure_datasets.trimmed_text('moment_text'), 'timestamp') }} is null
group by column_name, remedy
{%- endmacro %}


{#
    What a declared feed does not read though it came later, in the columns of `unreadable_moments`.
    Loads: the unfinished ones, if a later one came `access_stale_error_hours` after the first of them
    and none since is finished. Numbered loads without a load time: the unfinished ones, if there are
    two. Rows: the ids that came again after a deletion without a date, which outlives them where the
    feed has no moment.
#}
{% macro overtaken_deliveries(name, feed, raw) -%}
{%- set readings = secure_datasets.raw_readings(name) -%}
with {{ secure_datasets._written_step(secure_datasets.repository_tables()[name], feed, readings, raw) }},

dated as (

    select
        {{ secure_datasets.value_read('id' if readings.get('id') else secure_datasets.delivered_text('id', 'bigint'), 'bigint', readings.get('id')) }} as feed_id,
        {{ secure_datasets.value_read('sf_date_created', 'timestamp', readings.get('sf_date_created')) }} as loaded,
        {{ secure_datasets.value_read('date_modified', 'timestamp', readings.get('date_modified')) }} as modified,
        {%- if feed.complete_when and not feed.has_clock %}
        feed_position_1,
        {%- endif %}
        {{ 'feed_is_complete' if feed.complete_when else 'feed_is_deleted' }}
    from written

)

{{ secure_datasets._unfinished_loads(name, 'loaded' if feed.has_clock else 'feed_position_1') if feed.complete_when else secure_datasets._ids_that_came_again(name) }}
{%- endmacro %}


{#
    The loads that are not finished, of which one is overdue. Of numbered loads without a load time, one is
    overdue as soon as a later one has begun.

    load  the column that tells the loads apart, and orders them
#}
{% macro _unfinished_loads(name, load) -%}
select
    '{{ name }}' as table_name,
    'complete_when' as column_name,
    count(distinct {{ load }}) as deliveries,
    cast(null as string) as written_like,
    'these loads are not read, since no row says that they are finished: mend complete_when, or the loader' as remedy
from dated
cross join (select max(case when feed_is_complete then {{ load }} end) as newest_finished from dated) as loads
where coalesce({{ load }} > newest_finished, {{ load }} is not null)
having
    unix_micros(max(loaded)) - unix_micros(min(loaded)) > {{ var('access_stale_error_hours') }} * 3600000000
    {%- if load != 'loaded' %}
    or count(distinct case when loaded is null then {{ load }} end) > 1
    {%- endif %}
{%- endmacro %}


{# The ids whose newest delivery by load is a row, and which a deletion without a date outlives. #}
{% macro _ids_that_came_again(name) -%}
select
    '{{ name }}' as table_name,
    'date_modified' as column_name,
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
having count(*) > 0
{%- endmacro %}


{# Whether a feed can overtake what it does not read: unfinished loads, and deletions without a moment. #}
{% macro can_be_overtaken(feed) %}
    {{ return(feed.complete_when is not none or (feed.kind == 'appended' and feed.deletes and not feed.has_moment)) }}
{% endmacro %}


{# The sort keys of deliveries, the first one first: the newest delivery has the greatest keys. #}
{% macro recency_keys(feed) %}
    {%- if not feed or not (feed.deletes or feed.has_moment) -%}
        {{ return(['modified_order', 'loaded_order', 'not is_active']) }}
    {%- endif -%}
    {%- set keys = ['loaded_order'] if feed.has_clock else [] -%}
    {%- for position in feed.positions -%}
        {% do keys.append('position_order_' ~ loop.index) %}
    {%- endfor -%}
    {#- Without a moment a deletion is dated like every delivery. -#}
    {%- set dates = ['modified_order'] if feed.has_clock else ['modified_order', 'loaded_order'] -%}
    {%- set deletes = ['is_deleted'] if feed.deletes else [] -%}
    {{ return(keys + (deletes + dates if feed.has_moment else dates + deletes) + ['not is_active']) }}
{% endmacro %}


{# The `order by` of deliveries, the newest first. #}
{% macro newest_first(feed) -%}
order by {% for key in secure_datasets.recency_keys(feed) -%}
{{ 'is_active asc' if key == 'not is_active' else key ~ ' desc' }}{{ ', ' if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# The columns of a feed's deliveries that are not in the contract: none without a declared feed. #}
{% macro columns_beside(feed) %}
    {%- if not feed -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set found = (['feed_is_deleted'] if feed.deletes else []) + secure_datasets._position_columns(feed) -%}
    {{ return(found + (['feed_snapshot'] if feed.snapshots else [])) }}
{% endmacro %}


{# The columns of a delivery's positions in its feed. #}
{% macro _position_columns(feed) %}
    {%- set columns = [] -%}
    {%- for position in feed.positions -%}
        {% do columns.append('feed_position_' ~ loop.index) %}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The sort key of a feed's position: an unreadable position never hides a revocation. #}
{% macro position_order_key(number) -%}
coalesce(
            feed_position_{{ number }},
            cast(case when is_active then '-99999999999999999999999999999999999999' else '99999999999999999999999999999999999999' end as decimal(38, 0))
        )
{%- endmacro %}
