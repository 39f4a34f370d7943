{#
    The day of a timestamp in UTC, whatever the session's zone: a cast to date would take the
    day there.
#}
{% macro utc_day(moment) -%}
date_from_unix_date(cast(
            (unix_micros({{ moment }}) - pmod(unix_micros({{ moment }}), 86400000000))
            div 86400000000 as int
        ))
{%- endmacro %}
