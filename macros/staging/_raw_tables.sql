{#
    A raw table as Python has it: its entry, its feed, how its columns are read, and the relation to read.

    rows, readings, feed  as in `read_deliveries`
#}
{% macro _raw_table(name, rows=none, readings=none, feed=none) %}
    {%- set table = secure_datasets.repository_tables().get(name) -%}
    {%- if not table -%}
        {{ exceptions.raise_compiler_error("stage_raw_table: '" ~ name ~ "' is not a table of repository_tables().") }}
    {%- endif -%}
    {%- set readings = secure_datasets.raw_readings(name) if readings is none else readings -%}
    {{ return({
        'table': table,
        'feed': feed or secure_datasets.feed_of(name) or {},
        'readings': readings,
        'rows': rows or secure_datasets.raw_relation(name, readings, feed),
    }) }}
{% endmacro %}


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
{%- if var('as_of', none) is none -%}
{%- set _ = ref(name) -%}
{%- endif -%}
{%- endif -%}
{%- set feed = feed or secure_datasets.feed_of(name) -%}
{%- if name in secure_datasets.absent_tables() -%}
{{ adapter.staging('no_rows', secure_datasets.repository_tables()[name]) }}
{%- elif feed -%}
{{ adapter.staging('relation_of_feed', secure_datasets._raw_table(name, secure_datasets._raw_rows(name, feed), readings, feed)) }}
{%- else -%}
{{ source('repository', name) }}
{%- endif -%}
{%- endmacro %}


{# The raw rows of a feed. A past state of a feed without history reads the raw table as of that moment. #}
{% macro _raw_rows(name, feed) -%}
{%- if feed.snapshots -%}
{{ adapter.staging('raw_rows', feed) }}
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


{# A query of the periods of a raw table that end after the next one begins: of a feed of periods. #}
{% macro overlapping_periods(name) -%}
{{ adapter.staging('overlapping_periods', secure_datasets._raw_table(name, source('repository', name))) }}
{%- endmacro %}


{#
    The queries of what a declared feed delivers and staging does not read, each with the number by column:
    unreadable moments, and deliveries that something before them outlives.
#}
{% macro unread_deliveries(name) %}
    {%- set feed = secure_datasets.feed_of(name) -%}
    {%- if not feed -%}
        {{ return([]) }}
    {%- endif -%}
    {#- A past state reads none of the later deliveries. -#}
    {%- set is_overtaken = var('as_of', none) is none and adapter.staging('can_be_overtaken', feed) -%}
    {%- set raw = secure_datasets._raw_table(name, source('repository', name), none if is_overtaken else {}, feed) -%}
    {{ return(adapter.staging('unread_deliveries', raw, is_overtaken, var('access_stale_error_hours'))) }}
{% endmacro %}


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
        {{ exceptions.raise_compiler_error(adapter.staging('without_history', feed, name)) }}
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
    {%- set kept = adapter.raw_snapshots(name, source('repository', name), var('as_of', none)) if feed.kind == 'current' -%}
    {%- if not kept -%}
        {% do secure_datasets.check_has_past(name) %}
    {%- endif -%}
    {{ return(dict(feed, deletes=true, snapshots=kept)) }}
{% endmacro %}
