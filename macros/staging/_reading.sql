{# The rules for reading a delivered value: all are in this file. #}

{# The characters with the Unicode property White_Space, as escapes of a SQL literal. #}
{% macro unicode_white_space() -%}
'\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'
{%- endmacro %}

{#
    A delivered value as text. A typed timestamp becomes text in UTC, not in the session's zone. A plain
    cast gives a small decimal an exponent, except in sessions with ANSI mode.
#}
{% macro delivered_text(column, type, reading=none) -%}
{%- if reading -%}
{{ secure_datasets.text_of_typed(column, type, reading) }}
{%- elif type == 'timestamp' -%}
case
                when typeof({{ column }}) = 'timestamp' and {{ column }} is not null
                    then {{ secure_datasets.utc_text(column) }}
                else try_cast({{ column }} as string)
            end
{%- else -%}
try_cast({{ column }} as string)
{%- endif -%}
{%- endmacro %}

{#
    A text without white space at its ends; empty is null. A look at the two ends spares nearly every
    value the slow trimming of many characters. Texts compare by their bytes, so that a text between
    '!' and '~' begins with a character in this range.
#}
{% macro trimmed_text(column) -%}
case
            when {{ column }} between '!' and '~' and right({{ column }}, 1) between '!' and '~'
                then {{ column }}
            else nullif({{ secure_datasets.without_space(column) }}, '')
        end
{%- endmacro %}

{# A text without white space at its ends. #}
{% macro without_space(column) -%}
btrim({{ column }}, {{ secure_datasets.unicode_white_space() }})
{%- endmacro %}

{# A text without white space at its ends, as a value of a type; null if it is unreadable. #}
{% macro read_value(text, type) -%}
{%- if type == 'string' -%}
{{ text }}
{%- elif type == 'bigint' -%}
{#- The cast accepts a sign and digits. It accepts further characters only at the ends, which the case excludes. -#}
case when {{ text }} between '+' and ':' and right({{ text }}, 1) between '0' and '9' then try_cast({{ text }} as bigint) end
{%- elif type == 'boolean' -%}
{#- Most are spelled so, and mapping letters is slow. -#}
case
            when {{ text }} = 'true' then true
            when {{ text }} = 'false' then false
            else case {{ secure_datasets.ascii_lower(text) }}
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end
{%- elif type == 'timestamp' -%}
{#-
    The cast drops fractions of a microsecond. There is no year 0 in the calendar. The pattern ends a
    day at 23:59:59: some engines read 24:00:00 as the beginning of the next day. The pattern alone
    accepts a line end after the last digit.
-#}
case
            when right({{ text }}, 1) between '0' and '9'
                and {{ text }} rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and {{ text }} not like '0000%'
                then try_cast(concat({{ text }}, 'Z') as timestamp)
        end
{%- elif type.startswith('decimal') -%}
case when right({{ text }}, 1) between '0' and '9' and {{ text }} rlike '^[+-]?[0-9]+([.][0-9]+)?$' then try_cast({{ text }} as {{ type }}) end
{%- else -%}
{{ exceptions.raise_compiler_error("read_value: no rule for reading the type '" ~ type ~ "'.") }}
{%- endif -%}
{%- endmacro %}

{#
    A typed value, converted without a detour over text; null if the contract's type can't hold it
    exactly.

    value    the delivered value
    reading  the name of the conversion, from raw_readings; or `trimmed`, for a text without white space at
             its ends
#}
{% macro typed_value(value, type, reading) -%}
{%- if reading == 'same' -%}
{{ value }}
{%- elif reading == 'trimmed' -%}
{{ secure_datasets.read_value(value, type) }}
{%- elif reading in ['wider', 'number'] -%}
try_cast({{ value }} as {{ type }})
{%- elif reading == 'whole' -%}
case when {{ value }} % 1 = 0 then try_cast({{ value }} as bigint) end
{%- elif reading == 'whole double' -%}
case when abs({{ value }}) < 9007199254740992 and {{ value }} % 1 = 0 then try_cast({{ value }} as bigint) end
{%- elif reading == 'flag' -%}
case {{ value }} when 1 then true when 0 then false end
{%- elif reading == 'moment' -%}
{#- The calendar's years have four digits. -#}
case when unix_micros({{ value }}) between -62135596800000000 and 253402300799999999 then {{ value }} end
{%- elif reading == 'day' -%}
case when year({{ value }}) between 1 and 9999 then timestamp_seconds(unix_date({{ value }}) * cast(86400 as bigint)) end
{%- else -%}
{#- A cast would read it as a time in the session's zone. Spark multiplies two ints as ints. -#}
case
            when year({{ value }}) between 1 and 9999
                then timestamp_micros(
                    unix_date(cast({{ value }} as date)) * 86400000000
                    + hour({{ value }}) * 3600000000 + minute({{ value }}) * cast(60000000 as bigint)
                    + cast(extract(second from {{ value }}) * 1000000 as bigint)
                )
        end
{%- endif -%}
{%- endmacro %}

{# A delivered value in the contract's type; null if it is unreadable. Few texts need trimming. #}
{% macro value_read(column, type, reading=none) -%}
{%- if reading -%}
{{ secure_datasets.typed_value(column, type, reading) }}
{%- elif type == 'string' -%}
{{ secure_datasets.trimmed_text(column) }}
{%- else -%}
coalesce(
            {{ secure_datasets.read_value(column, type) }},
            {{ secure_datasets.read_value(secure_datasets.without_space(column), type) }}
        )
{%- endif -%}
{%- endmacro %}

{# Whether a delivery has a value in a column, readable or not. #}
{% macro is_filled(column, reading=none) -%}
{{ column ~ ' is not null' if reading else secure_datasets.without_space(column) ~ " != ''" }}
{%- endmacro %}

{# Whether a reading converts every value of the raw type exactly. #}
{% macro is_exact(reading) %}
    {{ return(reading in ['same', 'wider']) }}
{% endmacro %}

{# The text of a typed value, as the contract reads it. #}
{% macro text_of_typed(column, type, reading) -%}
{%- set value = secure_datasets.typed_value(column, type, reading) -%}
{%- if secure_datasets.is_exact(reading) -%}
try_cast({{ column }} as string)
{%- elif reading == 'moment' -%}
case when {{ column }} is not null then {{ secure_datasets.utc_text(column) }} end
{%- else -%}
case
                when {{ value }} is not null
                    then {{ secure_datasets.utc_text(value) if type == 'timestamp' else 'cast(' ~ value ~ ' as string)' }}
                else try_cast({{ column }} as string)
            end
{%- endif -%}
{%- endmacro %}

{#
    The readings of a raw table's typed columns, by column: text columns have none. Empty if dbt may
    not query the types.
#}
{% macro raw_readings(name) %}
    {%- if not execute or not flags.INTROSPECT or name in secure_datasets.absent_tables() -%}
        {{ return({}) }}
    {%- endif -%}
    {{ return(adapter.secure_datasets().readings(
        adapter.raw_columns(source('repository', name)), secure_datasets.feed_of(name), secure_datasets.repository_tables()[name]
    )) }}
{% endmacro %}

{# Lower case of ASCII letters only: lower() also maps further letters, such as the Kelvin sign. #}
{% macro ascii_lower(text) -%}
translate({{ text }}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
{%- endmacro %}

{#
    A delivery's time in microseconds, for finding the newest. A delivery without a date must not
    hide a revocation: an unreadable time is the latest; a missing time is the latest on an inactive
    delivery and the earliest on an active one.

    filled  the condition that the delivery has a time, readable or not; none for the moment of a
            declared feed, which alone orders the deliveries: an unreadable moment counts as missing
#}
{% macro delivery_order_key(column, filled=none) -%}
case
            when {{ column }} is not null then unix_micros({{ column }})
            {%- if filled %}
            when {{ filled }} then 9223372036854775807
            {%- endif %}
            when is_active then -9223372036854775808
            else 9223372036854775807
        end
{%- endmacro %}

{# A delivery as a struct: columns without a reading are texts. #}
{% macro delivery_as_struct(types, readings={}) -%}
struct(
            {%- for column, type in types.items() %}
            {{ column if column in readings else secure_datasets.delivered_text(column, type) }} as {{ column }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
{%- endmacro %}

{# The delivery as JSON, for people who look at rejected rows. #}
{% macro delivery_as_json(table, readings) -%}
{%- if not readings -%}
to_json(delivery, map('ignoreNullFields', 'false'))
{%- else -%}
to_json(
            struct(
                {%- for column, type in table.columns.items() %}
                {{ secure_datasets.delivered_text('delivery.' ~ column, type, readings.get(column)) if column in readings else 'delivery.' ~ column }} as {{ column }}{{ ',' if not loop.last }}
                {%- endfor %}
            ),
            map('ignoreNullFields', 'false')
        )
{%- endif -%}
{%- endmacro %}

{# A value of a rejected row as it was delivered, trimmed. #}
{% macro delivered_value(column) -%}
{{ secure_datasets.trimmed_text("get_json_object(raw_row, '$." ~ column ~ "')") }}
{%- endmacro %}

{# The value of a staged column: typed, and names in the contract's spelling. #}
{% macro staged_value(table, column, type, reading=none) -%}
{%- if column == 'role_name' -%}
known_roles.role_name
{%- elif table.context and column == 'context' -%}
{{ secure_datasets._known_context(table) }}
{%- else -%}
{{ secure_datasets.value_read('delivery.' ~ column, type, reading) }}
{%- endif -%}
{%- endmacro %}

{# The context in the contract's spelling; null if it is unknown. #}
{% macro _known_context(table) -%}
case {{ secure_datasets.ascii_lower(secure_datasets.trimmed_text('delivery.context')) }}
            {%- for context in table.context %}
            when '{{ context | lower }}' then '{{ context }}'
            {%- endfor %}
        end
{%- endmacro %}

{# The first reason to reject a newest delivery; null if it is valid. #}
{% macro rejection_reason(table, readings, deletes=false) -%}
case
    when id is null then 'unreadable id'
    {%- if deletes %}
    when is_deleted then null
    {%- endif %}
    when is_conflict then 'conflict'
    {%- for column, type in table.columns.items() if column != 'id' and type != 'string' and not secure_datasets.is_exact(readings.get(column)) %}
    when {{ column }} is null and {{ secure_datasets.is_filled('delivery.' ~ column, readings.get(column)) }} then 'unreadable {{ column }}'
    {%- endfor %}
    {%- for column in table.required %}
    when {{ column }} is null then 'missing {{ column }}'
    {%- endfor %}
    {%- if table.holder %}
    when ({{ table.holder[0] }} is null) = ({{ table.holder[1] }} is null) then 'holder'
    {%- endif %}
    {%- if table.object_type %}
    when not is_known_role then 'role'
    {%- endif %}
    {%- if table.context %}
    when context is null then 'context'
    {%- for context, key in table.context.items() if key %}
    when context = '{{ context }}' and {{ key }} is null then 'context key'
    {%- endfor %}
    {%- endif %}
end
{%- endmacro %}

{#
    Whether a delivery existed at a moment, by its load time. A delivery whose load time is missing or
    unreadable exists from the beginning.
#}
{% macro was_there(loaded, as_of) -%}
({{ loaded }} is null or {{ loaded }} <= timestamp '{{ adapter.as_of_text(as_of) }}Z')
{%- endmacro %}


{# The same for a delivery of a feed; true for a feed without history, whose rows are read as of the moment. #}
{% macro was_delivered(feed, loaded, as_of) -%}
{{ 'true' if feed and not feed.has_history else secure_datasets.was_there(loaded, as_of) }}
{%- endmacro %}


{#
    The raw rows to read: the raw table itself, or the deliveries of its declared feed as a query
    in brackets. A `ref` to the sample's seed makes `dbt build` load it first; a past state reads what
    is already loaded.

    readings  how the columns are read by their types, if it is known already
    feed      the result of feed_over_time(); none for the present, or one past state
#}
{% macro raw_relation(name, readings=none, feed=none) -%}
{%- if secure_datasets.reads_sample() -%}
{%- if project_name != 'secure_datasets' and not var('loads_sample') -%}
{{ exceptions.raise_compiler_error("raw_schema is '" ~ var('raw_schema') ~ "', where this project has no raw tables: name the schema of the replica, `vars: {raw_schema: ...}` in dbt_project.yml, or load the sample there, `loads_sample: true`.") }}
{%- endif -%}
{%- endif -%}
{%- if secure_datasets.reads_sample() and var('as_of', none) is none -%}
{%- set _ = ref(name) -%}
{%- endif -%}
{%- set feed = feed or secure_datasets.feed_of(name) -%}
{%- if name in secure_datasets.absent_tables() -%}
{{ secure_datasets._no_rows_of(name) }}
{%- elif feed -%}
(
{{ secure_datasets.feed_query(name, feed, secure_datasets._raw_rows(name, feed), readings=readings) | indent(8, true) }}
    )
{%- else -%}
{{ source('repository', name) }}
{%- endif -%}
{%- endmacro %}


{# The raw rows of a feed. A past state of a feed without history reads the raw table as of that moment. #}
{% macro _raw_rows(name, feed) -%}
{%- if feed.snapshots -%}
(
    {%- for kept in feed.snapshots %}
            select {{ kept.columns | join(', ') }}, cast({{ kept.since }} as bigint) as feed_snapshot from {{ kept.rows }}
            {{- '\n            union all' if not loop.last }}
    {%- endfor %}
        )
{%- elif execute and not feed.has_history and var('as_of', none) is not none -%}
{%- set of_then = adapter.raw_rows_as_of(name, source('repository', name), var('as_of')) -%}
{%- if not of_then -%}
    {% do secure_datasets.check_has_past(name) %}
{%- endif -%}
{{ of_then }}
{%- else -%}
{{ source('repository', name) }}
{%- endif -%}
{%- endmacro %}


{# An empty relation, for a raw table that the application does not have. #}
{% macro _no_rows_of(name) -%}
(
        select
            {%- for column in secure_datasets.repository_tables()[name].columns %}
            cast(null as string) as {{ column }}{{ ',' if not loop.last }}
            {%- endfor %}
        where false
    )
{%- endmacro %}
