{#
    Renders the deliveries that do not count, in the raw tables that give rights or lead to some: one row per
    delivery, with the reason.
#}
{% macro uncounted_deliveries_query() -%}
{%- set linking = secure_datasets._linking_columns() -%}
{{ secure_datasets._uncounted_of(linking | list, ref, linking) }}
union all
{{ secure_datasets._not_live_rows(linking) }}
{%- endmacro %}


{#
    The same query for some raw tables, without their live rows that refer to something not live. `why` passes
    `relation_named` in place of `ref`, so that the query reads only these tables.
#}
{% macro _uncounted_of(names, relation, linking) -%}
(
    {{ secure_datasets._uncounted_in(names, relation, linking) | indent(4) }}
)
{%- for name in names %}
{%- set before = secure_datasets.undelivered_rows(name, relation) -%}
{%- if before %}
union all
{{ secure_datasets._told_of(name, "'undelivered'", linking, {'detail': 'undelivered_since'}) }}
from (
    {{ before | indent(4) }}
) as undelivered
{%- endif %}
{%- endfor %}
{%- endmacro %}


{# A query of the deliveries that do not count in a raw table: it reads only this table. #}
{% macro _asked_uncounted(name, linking) -%}
{{ secure_datasets._uncounted_of([name], secure_datasets.relation_named, linking) }}
{%- endmacro %}


{# The raw tables whose rows give rights, or lead to some: each with the columns that do so. #}
{% macro _linking_columns() %}
    {{ return(adapter.secure_datasets().linking_columns(secure_datasets.secure_datasets_config(), secure_datasets.repository_tables())) }}
{% endmacro %}


{#
    The beginning of a query of uncounted deliveries: the columns of all tables, null where this table lacks one.

    reason  the expression of the reason
    more    further columns by their names, each with its expression; and `has`, the columns that the relation
            has, if they differ from the linking columns of the table
#}
{% macro _told_of(name, reason, linking, more={}) -%}
{%- set table = secure_datasets.repository_tables()[name] -%}
{%- set has = more.get('has', linking[name]) -%}
select
    {{ more.get('table_name', "'" ~ name ~ "'") }} as table_name,
    {{ more.get('row_id', table.key) }} as row_id,
    {{ more.get('raw_id', 'cast(' ~ table.key ~ ' as string)') }} as raw_id,
    {%- for column in linking.values() | sum(start=[]) | unique | reject('equalto', 'role_name') %}
    {{ column if column in has else 'cast(null as bigint)' }} as {{ column }},
    {%- endfor %}
    {{ 'role_name' if 'role_name' in has else 'cast(null as string)' }} as role_name,
    date_created,
    created_by,
    {{ reason }} as reason,
    {{ more.get('detail', 'cast(null as string)') }} as detail,
    {{ more.get('since', 'cast(null as timestamp)') }} as since,
    {{ more.get('changed_by', 'cast(null as string)') }} as changed_by,
    {{ more.get('raw_row', 'cast(null as string)') }} as raw_row,
    {{ more.get('is_current', 'true') }} as is_current
{%- endmacro %}


{#
    The live rows of the raw tables that name somebody or something that is not live. All tables get one form
    first: Spark plans a join for seconds.
#}
{% macro _not_live_rows(linking) -%}
{%- set columns, most = adapter.secure_datasets().in_one_order(linking.values() | list), [] -%}
{%- for name in linking -%}
    {% do most.append(secure_datasets.repository_tables()[name].references | length) %}
{%- endfor -%}
{%- set places = range(1, most | max + 1) -%}
{{ secure_datasets._told_of(linking | first, "'not live'", linking, {
    'table_name': 'table_name', 'has': columns, 'row_id': 'id', 'raw_id': 'cast(id as string)', 'detail': 'not_live',
}) }}
from (
    select
        named.*,
        nullif(concat_ws(
            ', '
            {%- for place in places %},
            case when named_{{ place }} is not null and of_{{ place }}.id is null then column_{{ place }} || ' ' || cast(named_{{ place }} as string) end
            {%- endfor %}
        ), '') as not_live
    from (
        {{ secure_datasets._naming_rows(linking, columns, places) | indent(8) }}
    ) as named
    {%- for place in places %}
    left join (
        {{ secure_datasets._live_objects(linking) | indent(8) }}
    ) as of_{{ place }}
        on parent_{{ place }} = of_{{ place }}.of_table and named_{{ place }} = of_{{ place }}.id
    {%- endfor %}
) as named
where not_live is not null
{%- endmacro %}


{# The live rows of raw tables in one form: the columns, and each reference as its column, raw table and id. #}
{% macro _naming_rows(linking, columns, places) -%}
{%- for name, has in linking.items() %}
{%- set table = secure_datasets.repository_tables()[name] -%}
{{ 'union all\n' if not loop.first -}}
select
    '{{ name }}' as table_name,
    {{ table.key }} as id,
    {%- for column in columns %}
    {{ column if column in has else secure_datasets._none_of(column) }} as {{ column }},
    {%- endfor %}
    date_created,
    created_by
    {%- for place in places %}
    {%- set column, parent = (table.references.items() | list + [(none, none)] * places | length)[loop.index0] %},
    {{ "'" ~ column ~ "'" if column else 'cast(null as string)' }} as column_{{ place }},
    {{ "'" ~ parent ~ "'" if column else 'cast(null as string)' }} as parent_{{ place }},
    {{ column or 'cast(null as bigint)' }} as named_{{ place }}
    {%- endfor %}
from {{ ref('stg_' ~ name) }}
where is_live
{% endfor %}
{%- endmacro %}


{# The ids of all that is live and that raw tables refer to. #}
{% macro _live_objects(linking) -%}
{%- set parents = {} -%}
{%- for name in linking -%}
    {%- for parent in secure_datasets.repository_tables()[name].references.values() -%}
        {% do parents.update({parent: secure_datasets.repository_tables()[parent].key}) %}
    {%- endfor -%}
{%- endfor -%}
{%- for parent, key in parents.items() -%}
{{ 'union all\n' if not loop.first -}}
select '{{ parent }}' as of_table, {{ key }} as id from {{ ref('stg_' ~ parent) }} where is_live
{% endfor %}
{%- endmacro %}


{#
    The deliveries of raw tables that do not count. The query compares each with the staged row of its id: the
    row may be rejected, deleted, switched off or different. A delivery may also be later than the run of
    staging; the next run takes the newest of these.

    All tables get one form first: Spark plans each further query over deliveries for seconds. The hint keeps
    Spark from pushing the later steps into the query of each table.
#}
{% macro _uncounted_in(names, relation, linking) -%}
{%- set lists, positions = [], [] -%}
{%- for name in names -%}
    {% do lists.append(linking[name]) %}
    {% do positions.extend((secure_datasets.feed_of(name) or {}).get('positions', [])) %}
{%- endfor -%}
{%- set columns, order_type = adapter.secure_datasets().in_one_order(lists), 'decimal(38, 0)' if positions else 'bigint' -%}
with all_dated as (

    {{ secure_datasets._all_dated(names, columns, order_type) | indent(4) }}

),

all_staged as (

    {{ secure_datasets._staged_by_recency(names, relation, columns, linking, order_type) | indent(4) }}

),

{{ secure_datasets._compared_deliveries(columns) }},

{{ secure_datasets._newest_deliveries(columns) }},

{{ secure_datasets._judged_deliveries() }}

{{ secure_datasets._uncounted_rows(names[0], columns, linking) }}
{%- endmacro %}


{# The judged deliveries that do not count, with the columns of `_told_of`. #}
{% macro _uncounted_rows(name, columns, linking) -%}
{{ secure_datasets._told_of(name, 'reason', linking, {
    'table_name': 'table_name',
    'has': columns,
    'row_id': 'id',
    'raw_id': 'delivered_id',
    'detail': "case reason when 'superseded' then 'says ' || staged_says when 'not staged, superseded' then newest_detail when 'out of time' then staged_time end",
    'since': "case reason when 'deleted' then staged_deleted_on when 'switched off' then staged_date_modified end",
    'changed_by': "case reason when 'switched off' then staged_modified_by end",
    'raw_row': 'case when reason = rejection_reason then raw_row end',
    'is_current': "case when newest_is_later then coalesce(reason = 'switched off' and newest_says is null and not newest_is_active and not newest_is_conflict, false) else true end",
}) }}
from judged
where reason is not null
{%- endmacro %}


{# Each delivery beside the staged row of its id. #}
{% macro _compared_deliveries(columns) -%}
compared as (

    select
        all_dated.*,
        all_staged.staged_is_live,
        all_staged.staged_is_live_in_its_time,
        all_staged.staged_time,
        {%- for column in ['is_deleted', 'deleted_on', 'date_modified', 'modified_by'] + columns %}
        all_staged.staged_{{ column }},
        {%- endfor %}
        all_staged.raw_row,
        all_staged.rejection_reason,
        all_dated.id is not null and (all_staged.id is null or all_dated.moment > all_staged.moment) as is_later
    from all_dated
    left join all_staged
        on all_dated.table_name = all_staged.table_name and all_dated.id = all_staged.id

)
{%- endmacro %}


{# Each delivery beside the newest delivery of its id. #}
{% macro _newest_deliveries(columns) -%}
ranked as (

    select
        *,
        rank() over newest_first = 1 as is_newest,
        min(as_delivered) over equally_new != max(as_delivered) over equally_new as is_conflict
    from compared
    window
        newest_first as (
            partition by table_name, id
            order by recency desc
        ),
        equally_new as (
            partition by table_name, id
            order by recency desc
            range between current row and current row
        )

),

delivered as (

    select
        *,
        {%- for column in ['is_later', 'is_active', 'is_conflict'] + columns %}
        first_value({{ column }}) over newest_first as newest_{{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from ranked
    window newest_first as (
        partition by table_name, id
        order by recency desc
    )

),

{{ secure_datasets._deliveries_that_differ(columns) }}
{%- endmacro %}


{# Each delivery with its differences from the staged row and from the newest delivery. #}
{% macro _deliveries_that_differ(columns) -%}
held_against as (

    select
        *,
        {{ secure_datasets._said_otherwise(columns, 'staged_') }} as staged_says,
        {{ secure_datasets._said_otherwise(columns, 'newest_') }} as newest_says
    from delivered

)
{%- endmacro %}


{# Each delivery with the reason why it does not count; null if it counts. #}
{% macro _judged_deliveries() -%}
judged as (

    select
        *,
        case
            when newest_is_conflict then 'another of its time contradicts'
            else nullif(concat_ws(' and ', 'says ' || newest_says, case when not newest_is_active then 'is switched off' end), '')
        end as newest_detail,
        case
            when id is null then 'unreadable id'
            when is_later and is_active and is_newest and newest_is_conflict then 'not staged, conflict'
            when is_later and is_active and is_newest then 'not staged'
            when is_later and is_active and (newest_is_conflict or newest_says is not null or not newest_is_active) then 'not staged, superseded'
            when is_later then null
            when rejection_reason is not null then rejection_reason
            when staged_is_deleted then case when is_active then 'deleted' end
            -- One row stands for all that say the same.
            when staged_says is null and staged_is_live then null
            when staged_says is null
                then case when row_number() over same_first = 1 then case when staged_is_live_in_its_time then 'out of time' else 'switched off' end end
            when is_active then 'superseded'
        end as reason
    from held_against
    window same_first as (
        partition by table_name, id, is_later, staged_says is null
        order by modified_order, loaded_order, is_active, as_delivered
    )

)
{%- endmacro %}


{#
    The deliveries of raw tables in the common form: `recency` orders the deliveries of one id, the greatest
    first; `moment` compares a delivery with its staged row, which keeps the moment but not the position.
    Their texts are put together before anything is read: Spark plans each reading of all columns for seconds.

    columns     the columns of all tables
    order_type  the SQL type of the sort keys
#}
{% macro _all_dated(names, columns, order_type) -%}
{%- set feeds, types, recency, moment = {}, {}, {}, {} -%}
{%- for name in names -%}
    {%- set feed = secure_datasets.feed_of(name) or {} -%}
    {% do feeds.update({name: feed}) %}
    {% do types.update(secure_datasets.repository_tables()[name].columns) %}
    {% do recency.update({name: secure_datasets._as_array(secure_datasets.recency_keys(feed), order_type)}) %}
    {% do moment.update({name: secure_datasets._moment(feed, order_type)}) %}
{%- endfor -%}
{%- set feed = secure_datasets._feed_of_all(feeds) -%}
{%- set texts = secure_datasets._texts_of_all(feeds, feed, types.keys() | list) -%}
{% do types.update(table_name='string', as_delivered='string') %}
{%- set readings = dict.fromkeys(types, 'trimmed') -%}
select
    delivery.table_name,
    delivery.as_delivered,
    delivery.id as delivered_id,
    id,
    is_active,
    {%- for column in columns + ['date_created', 'created_by', 'modified_order', 'loaded_order'] %}
    {{ column }},
    {%- endfor %}
    {{ secure_datasets._by_table(recency, 'delivery.table_name') | indent(4) }} as recency,
    {{ secure_datasets._by_table(moment, 'delivery.table_name') | indent(4) }} as moment
from (
    with {{ secure_datasets.read_deliveries(names[0], columns + ['date_created', 'created_by'], texts, types=types, readings=readings, feed=feed) | indent(4) }}

    select * from dated
) as dated
{%- if var('as_of', none) is not none %}
where {{ secure_datasets._by_table(secure_datasets._were_delivered(feeds), 'delivery.table_name') }}
{%- endif %}
{%- endmacro %}


{# A feed that stands for those of all raw tables, where their deliveries are read together. #}
{% macro _feed_of_all(feeds) %}
    {%- set positions, deletes, clocked = [0], [], [] -%}
    {%- for name, feed in feeds.items() -%}
        {% do positions.append(feed.get('positions', []) | length) %}
        {% do deletes.append(name) if feed.deletes %}
        {% do clocked.append(name) if feed.has_clock %}
    {%- endfor -%}
    {{ return({
        'deletes': deletes | length > 0,
        'positions': range(positions | max) | list,
        'clocked': clocked,
    }) }}
{% endmacro %}


{# Whether a delivery was there at the moment of a past state, by raw table. #}
{% macro _were_delivered(feeds) %}
    {%- set conditions = {} -%}
    {%- for name, feed in feeds.items() -%}
        {% do conditions.update({name: secure_datasets.was_delivered(feed, 'sf_date_created', var('as_of'))}) %}
    {%- endfor -%}
    {{ return(conditions) }}
{% endmacro %}


{# The deliveries of all raw tables as texts without white space at their ends. `feed` stands for all feeds. #}
{% macro _texts_of_all(feeds, feed, columns) -%}
{%- set beside = secure_datasets.columns_beside(feed) -%}
(
    select
        table_name,
        as_delivered
        {%- for column in columns %},
        {{ secure_datasets.trimmed_text(column) }} as {{ column }}
        {%- endfor %}
        {%- for column in beside %},
        {{ column }}
        {%- endfor %}
    from (
    select /*+ repartition(table_name, id) */ * from (
    {%- for name in feeds %}
    {%- set table, has = secure_datasets.repository_tables()[name], secure_datasets.columns_beside(feeds[name]) %}
    {{ 'union all' if not loop.first }}
    select
        '{{ name }}' as table_name,
        {{ secure_datasets.delivery_as_json(table, {}) }} as as_delivered
        {%- for column in columns %},
        {{ 'delivery.' ~ column if column in table.columns else 'cast(null as string) as ' ~ column }}
        {%- endfor %}
        {%- for column in beside %},
        {{ column if column in has else ('false' if column == 'feed_is_deleted' else 'cast(null as decimal(38, 0))') ~ ' as ' ~ column }}
        {%- endfor %}
    from (
        {{ secure_datasets._delivered_texts(table, has) | indent(8) }}
    ) as deliveries
    {%- endfor %}
    ) as of_all
    ) as untrimmed
) as texts
{%- endmacro %}


{# The deliveries of a raw table as texts, with the columns that its feed has beside them. #}
{% macro _delivered_texts(table, beside) -%}
{%- set readings = secure_datasets.raw_readings(table.name) -%}
select
    struct(
        {%- for column, type in table.columns.items() %}
        {{ secure_datasets.delivered_text(column, type, readings.get(column)) }} as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as delivery
    {%- for column in beside %},
    {{ column }}
    {%- endfor %}
from {{ secure_datasets.raw_relation(table.name, readings) }}
{%- endmacro %}


{# An expression that differs by raw table. #}
{% macro _by_table(expressions, table_name) -%}
{%- set tables = {} -%}
{%- for name, expression in expressions.items() -%}
    {% do tables.setdefault(expression, []).append(name) %}
{%- endfor -%}
{%- if tables | length == 1 -%}
{{ tables | first }}
{%- else -%}
case
    {%- for expression, names in tables.items() %}
    when {{ table_name }} in ('{{ names | join("', '") }}') then {{ expression }}
    {%- endfor %}
end
{%- endif -%}
{%- endmacro %}


{# A null in the place of a column that a raw table lacks. #}
{% macro _none_of(column) -%}
cast(null as {{ 'string' if column == 'role_name' else 'bigint' }})
{%- endmacro %}


{# Ascending sort keys, as one array. #}
{% macro _as_array(keys, order_type) -%}
array(
        {%- for key in keys %}
        cast({{ 'case when ' ~ key ~ ' then 1 else 0 end' if key in ('is_deleted', 'not is_active') else key }} as {{ order_type }}){{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}


{# The value that compares a delivery with the staged row: the greatest is the newest. #}
{% macro _moment(feed, order_type) -%}
{%- set has_moment, deletes = feed and feed.has_moment, ['is_deleted'] if feed and feed.deletes else [] -%}
{{ secure_datasets._as_array(['loaded_order'] if has_moment else ['modified_order', 'loaded_order'] + deletes + ['not is_active'], order_type) }}
{%- endmacro %}


{# The columns that differ between a delivery and a second row, with the second row's values, as text; else null. #}
{% macro _said_otherwise(columns, other) -%}
nullif(concat_ws(
            ', '
            {%- for column in columns %},
            {%- set forms = [column, other ~ column] %}
            {%- if column == 'role_name' %}{% set forms = [secure_datasets.ascii_lower(column), secure_datasets.ascii_lower(other ~ column)] %}{% endif %}
            case when not {{ forms | join(' <=> ') }} then '{{ column }} ' || coalesce(cast({{ other }}{{ column }} as string), 'null') end
            {%- endfor %}
        ), '')
{%- endmacro %}


{#
    The staged row of each id in raw tables, with the sort keys of its delivery. The values of a rejected row are
    only in the delivered text.
#}
{% macro _staged_by_recency(names, relation, columns, linking, order_type) -%}
{%- set moments = {} -%}
{%- for name in names -%}
    {% do moments.update({name: secure_datasets._moment(secure_datasets.feed_of(name), order_type)}) %}
{%- endfor -%}
select
    *,
    {{ secure_datasets._by_table(moments, 'table_name') | indent(4) }} as moment
from (
    select
        *,
        {{ secure_datasets.delivery_order_key('date_modified', 'date_modified_text is not null') }} as modified_order,
        {{ secure_datasets.delivery_order_key('sf_date_created', 'not has_clock and sf_date_created_text is not null') }} as loaded_order
    from (
        select
            table_name,
            id,
            {%- for column in ['is_live', 'is_live_in_its_time', 'time', 'is_deleted', 'deleted_on', 'date_modified', 'modified_by'] + columns %}
            staged_{{ column }},
            {%- endfor %}
            is_deleted,
            raw_row,
            rejection_reason,
            has_clock,
            {%- for column in ['date_modified', 'sf_date_created'] %}
            -- Whether there is one is all that is asked of it.
            case when rejection_reason is null then cast(unix_micros({{ column }}) as string) else {{ column }}_delivered end as {{ column }}_text,
            case when rejection_reason is null then {{ column }} else {{ secure_datasets.read_value(column ~ '_delivered', 'timestamp') }} end as {{ column }},
            {%- endfor %}
            case when rejection_reason is null then is_active else coalesce({{ secure_datasets.read_value('is_active_delivered', 'boolean') }}, false) end as is_active
        from (
            {{ secure_datasets._with_delivered_texts(secure_datasets._staged_rows(names, relation, columns, linking)) | indent(12) }}
        ) as delivered_texts
    ) as read_rows
) as ordered
{%- endmacro %}


{# The staged rows of raw tables, in the common form. #}
{% macro _staged_rows(names, relation, columns, linking) -%}
(
    select /*+ repartition(table_name, id) */ * from (
    {%- for name in names %}
    {%- set table = secure_datasets.repository_tables()[name] %}
    {{ 'union all' if not loop.first }}
    select
        '{{ name }}' as table_name,
        {{ table.key }} as id,
        is_live as staged_is_live,
        {{ 'is_live_in_its_time' if table.holds_for_a_time else 'is_live' }} as staged_is_live_in_its_time,
        {{ secure_datasets._time_of(table) | indent(8) }} as staged_time,
        is_deleted as staged_is_deleted,
        deleted_on as staged_deleted_on,
        date_modified as staged_date_modified,
        modified_by as staged_modified_by,
        {%- for column in columns %}
        {{ column if column in linking[name] else secure_datasets._none_of(column) }} as staged_{{ column }},
        {%- endfor %}
        is_deleted,
        date_modified,
        sf_date_created,
        {{ 'is_live_in_its_time' if table.holds_for_a_time else 'is_live' }} as is_active,
        raw_row,
        rejection_reason,
        {{ 'true' if (secure_datasets.feed_of(name) or {}).get('has_clock') else 'false' }} as has_clock
    from {{ relation('stg_' ~ name) }}
    {%- endfor %}
    ) as of_all
) as staged_rows
{%- endmacro %}


{# The beginning and end of a staged row's time, as text; null if the table has none. #}
{% macro _time_of(table) -%}
{%- if table.holds_for_a_time -%}
concat_ws(
    ' '
    {%- for limit, word in {'valid_from': 'from', 'valid_until': 'until'}.items() if limit in table.columns %},
    case when {{ limit }} is not null then '{{ word }} ' || left({{ secure_datasets.utc_text(limit) }}, 19) end
    {%- endfor %}
)
{%- else -%}
cast(null as string)
{%- endif -%}
{%- endmacro %}


{# Staged rows, with the delivered texts that compare rejected ones. #}
{% macro _with_delivered_texts(staged) -%}
select
    *
    {%- for column in ['date_modified', 'sf_date_created', 'is_active'] %},
    {{ secure_datasets.delivered_value(column) }} as {{ column }}_delivered
    {%- endfor %}
from {{ staged }}
{%- endmacro %}
