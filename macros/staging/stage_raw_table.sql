{#
    Stages one raw table: the newest delivery of each id, read and judged.

    Input     the source table, every column as text or in its own type
    Call      {{ secure_datasets.stage_raw_table('users') }}, alone in models/staging/stg_users.sql
    Renders   one row per id, and one for each delivery whose id can't be read; a
              rejected row keeps its id and nothing else, so that it can't grant anything

    name        the raw table, an entry of repository_tables()
    history_of  a relation of some raw rows, all deliveries of their ids. With it, the query has
                one row per id and moment at which the newest delivery changed: `since`, in
                microseconds of UTC. A delivery without a load time exists from the beginning, the
                smallest number.
    feed        the result of feed_over_time(); none without `history_of`
#}
{% macro stage_raw_table(name, history_of=none, feed=none) %}
{%- set table = secure_datasets.repository_tables().get(name) -%}
{%- if not table -%}
    {{ exceptions.raise_compiler_error("stage_raw_table: '" ~ name ~ "' is not a table of repository_tables().") }}
{%- endif -%}
{#- Deliveries with the same id compete; over time, deliveries with the same id and moment. -#}
{%- set rivals = 'id, since' if history_of else 'id' -%}
{%- set feed, readings = feed or secure_datasets.feed_of(name), secure_datasets.raw_readings(name) -%}
{%- if execute and history_of and not (feed and feed.snapshots) -%}
    {% do secure_datasets.check_has_past(name) %}
{%- endif -%}
{%- set deletes = feed and feed.deletes -%}
{%- set limits = ['valid_from', 'valid_until'] | select('in', table.columns) | list if table.holds_for_a_time else [] -%}
{#- The rows depend on no clock: the view over them does. -#}
{%- if limits and not history_of -%}{% do config(in_time='is_live') %}{%- endif -%}
with {{ secure_datasets.read_deliveries(name, rows=history_of, until=var('as_of', none), readings=readings, feed=feed) }},
{%- if table.object_type %}

{{ secure_datasets._known_roles(table) }},
{%- endif %}
{%- if history_of %}

{{ secure_datasets._rows_of_snapshots(feed) if feed and feed.snapshots else secure_datasets._contenders(feed) }},
{%- endif %}

{{ secure_datasets._ranked_deliveries(rivals, feed, 'contenders' if history_of else 'dated') }},

{{ secure_datasets._typed_deliveries(table, rivals, readings, deletes) }},

judged as (

    select
        *,
        {{ secure_datasets.rejection_reason(table, readings, deletes) | indent(8) }} as rejection_reason
    from typed

)

{{ secure_datasets._staged_deliveries(table, readings, deletes, limits, history_of) }}
{% endmacro %}


{# The roles that the role table knows for the objects of a raw table. #}
{% macro _known_roles(table) -%}
known_roles as (

    -- A role that carries several permissions has a row for each.
    select distinct
        role_name,
        true as is_known,
        {{ secure_datasets.ascii_lower('role_name') }} as role_key
    from {{ ref('role_permissions') }}
    where object_type = '{{ table.object_type }}'

)
{%- endmacro %}


{# The deliveries that were the newest of their id when they came, each with the moment `since` when it came. #}
{% macro _contenders(feed) -%}
moments as (

    select
        *,
        coalesce(unix_micros(sf_date_created), -9223372036854775808) as since
    from dated

),

measured as (

    select
        *,
        struct({{ secure_datasets.recency_keys(feed) | join(', ') }}) as recency,
        max(struct({{ secure_datasets.recency_keys(feed) | join(', ') }})) over (
            partition by id
            order by since
            range between unbounded preceding and current row
        ) as newest_until_then
    from moments

),

-- A delivery that was older than another when it came was never the newest.
contenders as (

    select * from measured
    where recency = newest_until_then

)
{%- endmacro %}


{# The same for the snapshots of a table without history: its rows in each, and the deletions between them. #}
{% macro _rows_of_snapshots(feed) -%}
{%- set orders = ['modified_order', 'loaded_order'] -%}
{%- for position in feed.positions -%}
    {%- do orders.append('position_order_' ~ loop.index) -%}
{%- endfor -%}
{{ secure_datasets._followed_step(feed.snapshots | map(attribute='since') | list) }},

contenders as (

    select
        id,
        feed_snapshot as since,
        delivery,
        is_active,
        is_deleted,
        date_modified,
        sf_date_created,
        {{ orders | join(',\n        ') }}
    from followed
    union all
    -- A snapshot may have several rows of an id.
    select distinct
        id,
        next_snapshot as since,
        null as delivery,
        false as is_active,
        true as is_deleted,
        null as date_modified,
        timestamp_micros(next_snapshot) as sf_date_created,
        null as {{ orders | join(',\n        null as ') }}
    from followed
    where next_snapshot < coalesce(next_there, next_snapshot + 1)

)
{%- endmacro %}


{# The step with each row of a snapshot, the next snapshot, and the next one that has the row's id. #}
{% macro _followed_step(moments) -%}
followed as (

    select
        *,
        case feed_snapshot
            {%- for moment in moments %}
            when {{ moment }} then {{ 'cast(null as bigint)' if loop.last else loop.nextitem }}
            {%- endfor %}
        end as next_snapshot,
        min(feed_snapshot) over (
            partition by id
            order by feed_snapshot
            range between 1 following and unbounded following
        ) as next_there
    from dated

)
{%- endmacro %}


{#
    The deliveries, numbered from the newest among their rivals, and whether the newest ones conflict.

    rivals  the columns that competing deliveries have in common
    step    the step with the deliveries
#}
{% macro _ranked_deliveries(rivals, feed, step) -%}
ranked as (

    -- Equally new deliveries that say different things: none of them is taken. Until the
    -- first row the window has the newest delivery and its equals.
    select
        {{ rivals }},
        delivery,
        {%- if feed and feed.deletes %}
        is_deleted,
        {%- endif %}
        {{ secure_datasets._times_read_once() | join(',\n        ') }},
        row_number() over newest_first as delivery_number,
        min(delivery) over newest_first != max(delivery) over newest_first as is_conflict
    from {{ step }}
    window
        newest_first as (
            partition by {{ rivals }}
            {{ secure_datasets.newest_first(feed) }}
        )

)
{%- endmacro %}


{# The newest deliveries with their values read in the types of the table. #}
{% macro _typed_deliveries(table, rivals, readings, deletes) -%}
{%- set read_times = secure_datasets._times_read_once() -%}
typed as (

    select
        {{ rivals }},
        delivery,
        is_conflict,
        {%- if deletes %}
        is_deleted,
        {%- endif %}
        {%- for column, type in table.columns.items() if column != 'id' %}
        {{ column if column in read_times else secure_datasets.staged_value(table, column, type, readings.get(column)) ~ ' as ' ~ column }}{{ ',' if not loop.last }}
        {%- endfor %}
        {%- if table.object_type %},
        known_roles.is_known is not null as is_known_role
        {%- endif %}
    from ranked
    {%- if table.object_type %}
    left join known_roles
        on {{ secure_datasets.ascii_lower(secure_datasets.trimmed_text('delivery.role_name')) }} <=> known_roles.role_key
    {%- endif %}
    -- A delivery whose id can't be read competes with no other.
    where delivery_number = 1 or id is null

)
{%- endmacro %}


{#
    The staged rows: a rejected or deleted row has no values.

    limits  the columns that limit the row in time, if any does
#}
{% macro _staged_deliveries(table, readings, deletes, limits, history_of) -%}
{%- set is_told = 'rejection_reason is null and not is_deleted' if deletes else 'rejection_reason is null' -%}
select
    id as {{ table.key }},
    {%- for column in table.columns if column not in ['id', 'is_active', 'sf_date_created'] %}
    case when {{ is_told }} then {{ column }} end as {{ column }},
    {%- endfor %}
    {{ is_told }} and coalesce(is_active, false) as is_live,
    rejection_reason,
    case when rejection_reason is not null then {{ secure_datasets.delivered_text('delivery.id', 'bigint', readings.id) if 'id' in readings else 'delivery.id' }} end as raw_id,
    case
        when rejection_reason is not null then {{ secure_datasets.delivery_as_json(table, readings) }}
    end as raw_row,
    {{ 'rejection_reason is null and is_deleted' if deletes else 'false' }} as is_deleted,
    {{ 'case when rejection_reason is null and is_deleted then sf_date_created end' if deletes else 'cast(null as timestamp)' }} as deleted_on,
    sf_date_created
    {%- if limits %},
    {{ 'coalesce(valid_from, ' if 'valid_from' in limits }}timestamp '0001-01-01 00:00:00Z'{{ ')' if 'valid_from' in limits }} as holds_from,
    {{ 'coalesce(valid_until, ' if 'valid_until' in limits }}timestamp '9999-12-31 23:59:59.999999Z'{{ ')' if 'valid_until' in limits }} as holds_until
    {%- endif %}
    {%- if history_of %},
    since
    {%- endif %}
from judged
{%- endmacro %}
