{#
    The steps that read all deliveries of a raw table. Each query of deliveries begins with them: staging,
    past states, timelines and uncounted deliveries. The last step, `dated`, has one row per delivery: the
    delivery as it came, its id, and the sort keys of deliveries with one id.

    name     the raw table
    columns  further columns, each as it is read
    rows     a relation of some raw rows; none for the raw table
    until    the moment until which deliveries were loaded; none for all
    types    the columns of a delivery with their types; none for the columns of the raw table
    readings how the columns are read by their types, if it is known already
    feed     the result of feed_over_time(); none for the present, or one past state
#}
{% macro read_deliveries(name, columns=[], rows=none, until=none, types=none, readings=none, feed=none) -%}
{%- set types = types or secure_datasets.repository_tables()[name].columns -%}
{%- set feed, read_times = feed or secure_datasets.feed_of(name), secure_datasets._times_read_once() -%}
{%- set readings = secure_datasets.raw_readings(name) if readings is none else readings -%}
{%- set beside, deletes = secure_datasets.columns_beside(feed), feed and feed.deletes -%}
{%- set more = columns | reject('in', ['id', 'is_active'] + read_times) | list -%}
source as (

    select * from {{ rows or secure_datasets.raw_relation(name, readings, feed) }}

),

deliveries as (

    select
        {{ secure_datasets.delivery_as_struct(types, readings) }} as delivery
        {%- for column in beside %},
        {{ column }}
        {%- endfor %}
    from source

),

read_keys as (

    select
        delivery,
        {{ secure_datasets.value_read('delivery.id', 'bigint', readings.get('id')) }} as id,
        coalesce({{ secure_datasets.value_read('delivery.is_active', 'boolean', readings.get('is_active')) }}, false){{ ' and not feed_is_deleted' if deletes }} as is_active,
        {%- for column in beside %}
        {{ column }},
        {%- endfor %}
        {%- for column in read_times + more %}
        {{ secure_datasets.value_read('delivery.' ~ column, types[column], readings.get(column)) }} as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from deliveries

),

{{ secure_datasets._dated_deliveries(feed, readings, read_times + more, until) }}
{%- endmacro %}


{#
    The last step: each delivery with its sort keys.

    columns  the columns that are read, besides id and is_active
    until    as in `read_deliveries`
#}
{% macro _dated_deliveries(feed, readings, columns, until) -%}
{%- set filled = secure_datasets.is_filled('delivery.sf_date_created', readings.get('sf_date_created')) -%}
{%- if feed and feed.clocked -%}
    {%- set filled = filled ~ " and delivery.table_name not in ('" ~ feed.clocked | join("', '") ~ "')" -%}
{%- endif -%}
dated as (

    select
        delivery,
        id,
        is_active,
        {%- if feed and feed.deletes %}
        feed_is_deleted as is_deleted,
        {%- endif %}
        {%- if feed and feed.snapshots %}
        {{ columns | reject('equalto', 'sf_date_created') | join(',\n        ') }},
        timestamp_micros(feed_snapshot) as sf_date_created,
        feed_snapshot,
        {%- else %}
        {{ columns | join(',\n        ') }},
        {%- endif %}
        {{ secure_datasets.delivery_order_key('date_modified', secure_datasets.is_filled('delivery.date_modified', readings.get('date_modified'))) }} as modified_order,
        {{ secure_datasets.delivery_order_key('sf_date_created', none if feed and feed.has_clock else filled) }} as loaded_order
        {%- for position in (feed.positions if feed else []) %},
        {{ secure_datasets.position_order_key(loop.index) }} as position_order_{{ loop.index }}
        {%- endfor %}
    from read_keys
    {%- if until is not none %}
    where {{ secure_datasets.was_delivered(feed, 'sf_date_created', until) }}
    {%- endif %}

)
{%- endmacro %}


{# The times that decide which delivery is the newest: they are expensive to read, so the steps read them once. #}
{% macro _times_read_once() %}
    {{ return(['date_modified', 'sf_date_created']) }}
{% endmacro %}
