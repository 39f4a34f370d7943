{#
    Renders what is there and does not count: of the raw tables that give rights or lead to some, one row per
    delivery that counts for nothing, with the reason.
#}
{% macro uncounted_deliveries_query() -%}
{%- set queries, linking = [], secure_datasets._linking_columns() -%}
{%- for name in linking -%}
    {% do queries.append(secure_datasets._uncounted_of(name, ref, linking)) %}
    {% do queries.append(secure_datasets._not_live_in(name, ref, linking)) %}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{#
    The same of one raw table, but for its live rows about what is not live. `why` asks it with
    `relation_named` in the place of `ref`, so that it reads no other table.
#}
{% macro _uncounted_of(name, relation, linking) -%}
{%- set before = secure_datasets.undelivered_rows(name, relation) -%}
(
    {{ secure_datasets._uncounted_in(name, relation, linking) | indent(4) }}
)
{%- if before %}
union all
{{ secure_datasets._told_of(name, "'undelivered'", linking, {'detail': 'undelivered_since'}) }}
from (
    {{ before | indent(4) }}
) as undelivered
{%- endif %}
{%- endmacro %}


{# The raw tables whose rows give rights, or lead to some: each with the columns by which it does. #}
{% macro _linking_columns() %}
    {{ return(adapter.secure_datasets().linking_columns(secure_datasets.secure_datasets_config(), secure_datasets.repository_tables())) }}
{% endmacro %}


{#
    The beginning of a query of uncounted deliveries: the columns of all tables, of which this one has some.

    reason  the expression of the reason
    more    further columns by their names, each with its expression
#}
{% macro _told_of(name, reason, linking, more={}) -%}
{%- set table = secure_datasets.repository_tables()[name] -%}
{%- set columns = linking.values() | sum(start=[]) | unique | reject('equalto', 'role_name') -%}
select
    '{{ name }}' as table_name,
    {{ more.get('row_id', table.key) }} as row_id,
    {{ more.get('raw_id', 'cast(' ~ table.key ~ ' as string)') }} as raw_id,
    {%- for column in columns %}
    {{ column if column in linking[name] else 'cast(null as bigint)' }} as {{ column }},
    {%- endfor %}
    {{ 'role_name' if table.object_type else 'cast(null as string)' }} as role_name,
    date_created,
    created_by,
    {{ reason }} as reason,
    {{ more.get('detail', 'cast(null as string)') }} as detail,
    {{ more.get('since', 'cast(null as timestamp)') }} as since,
    {{ more.get('changed_by', 'cast(null as string)') }} as changed_by,
    {{ more.get('raw_row', 'cast(null as string)') }} as raw_row,
    {{ more.get('is_current', 'true') }} as is_current
{%- endmacro %}


{# The live rows of a raw table that name somebody or something that is not live. #}
{% macro _not_live_in(name, relation, linking) -%}
{%- set table = secure_datasets.repository_tables()[name] -%}
{{ secure_datasets._told_of(name, "'not live'", linking, {'detail': 'not_live'}) }}
from (
    select
        named.*,
        nullif(concat_ws(
            ', '
            {%- for column in table.references %},
            case when named.{{ column }} is not null and of_{{ column }}.is_live is not true then '{{ column }} ' || cast(named.{{ column }} as string) end
            {%- endfor %}
        ), '') as not_live
    from {{ relation('stg_' ~ name) }} as named
    {%- for column, parent in table.references.items() %}
    left join {{ relation('stg_' ~ parent) }} as of_{{ column }}
        on named.{{ column }} = of_{{ column }}.{{ secure_datasets.repository_tables()[parent].key }}
    {%- endfor %}
    where named.is_live
) as named
where not_live is not null
{%- endmacro %}


{#
    The deliveries of a raw table that count for nothing. Each is held against the row that staging took of
    its id: that one may be rejected, deleted or switched off, or say something else. A delivery may also
    have come after staging ran; the next run takes the newest of these.
#}
{% macro _uncounted_in(name, relation, linking) -%}
{%- set feed, columns, table = secure_datasets.feed_of(name), linking[name], secure_datasets.repository_tables()[name] -%}
with {{ secure_datasets.read_deliveries(name, columns + ['date_created', 'created_by'], until=var('as_of', none)) }},

staged as (

    {{ secure_datasets._staged_by_recency(name, relation, columns) | indent(4) }}

),

compared as (

    select
        dated.*,
        staged.staged_is_live,
        {%- if table.holds_for_a_time %}
        staged.staged_is_live_in_its_time,
        staged.staged_time,
        {%- endif %}
        {%- for column in ['is_deleted', 'deleted_on', 'date_modified', 'modified_by'] + columns %}
        staged.staged_{{ column }},
        {%- endfor %}
        staged.raw_row,
        staged.rejection_reason,
        dated.id is not null and (
            staged.id is null
            or {{ secure_datasets._recency('dated', feed) }} > {{ secure_datasets._recency('staged', feed) }}
        ) as is_later
    from dated
    left join staged
        on dated.id = staged.id

),

ranked as (

    select
        *,
        rank() over newest_first = 1 as is_newest,
        min(delivery) over equally_new != max(delivery) over equally_new as is_conflict
    from compared
    window
        newest_first as (
            partition by id
            {{ secure_datasets.newest_first(feed) }}
        ),
        equally_new as (
            partition by id
            {{ secure_datasets.newest_first(feed) }}
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
        partition by id
        {{ secure_datasets.newest_first(feed) }}
    )

),

held_against as (

    select
        *,
        {{ secure_datasets._said_otherwise(columns, 'staged_') }} as staged_says,
        {{ secure_datasets._said_otherwise(columns, 'newest_') }} as newest_says
    from delivered

),

judged as (

    select
        *,
        {{ secure_datasets.trimmed_text(secure_datasets.delivered_text('delivery.id', 'bigint')) }} as delivered_id,
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
            {%- if table.holds_for_a_time %}
            when staged_says is null and staged_is_live_in_its_time
                then case when not staged_is_live and row_number() over same_first = 1 then 'out of time' end
            {%- endif %}
            when staged_says is null
                then case when not staged_is_live and row_number() over same_first = 1 then 'switched off' end
            when is_active then 'superseded'
        end as reason
    from held_against
    window same_first as (
        partition by id, is_later, staged_says is null
        order by modified_order, loaded_order, is_active
    )

)

{{ secure_datasets._told_of(name, 'reason', linking, {
    'row_id': 'id',
    'raw_id': 'delivered_id',
    'detail': "case reason when 'superseded' then 'says ' || staged_says when 'not staged, superseded' then newest_detail" ~ (" when 'out of time' then staged_time" if table.holds_for_a_time) ~ ' end',
    'since': "case reason when 'deleted' then staged_deleted_on when 'switched off' then staged_date_modified end",
    'changed_by': "case reason when 'switched off' then staged_modified_by end",
    'raw_row': 'case when reason = rejection_reason then raw_row end',
    'is_current': "case when newest_is_later then coalesce(reason = 'switched off' and newest_says is null and not newest_is_active and not newest_is_conflict, false) else true end",
}) }}
from judged
where reason is not null
{%- endmacro %}


{# The columns and values by which a delivery differs from a second one, as text; null if it does not differ. #}
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
    What staging took of each row of a raw table, with what its delivery was compared by: of a rejected one
    the values stand in the delivery alone.
#}
{% macro _staged_by_recency(name, relation, columns) -%}
{%- set table = secure_datasets.repository_tables()[name] -%}
select
    *,
    {{ secure_datasets.delivery_order_key('date_modified', 'date_modified_text is not null') }} as modified_order,
    {{ secure_datasets.delivery_order_key('sf_date_created', none if (secure_datasets.feed_of(name) or {}).get('has_clock') else 'sf_date_created_text is not null') }} as loaded_order
from (
    select
        {{ table.key }} as id,
        is_live as staged_is_live,
        {%- if table.holds_for_a_time %}
        is_live_in_its_time as staged_is_live_in_its_time,
        concat_ws(
            ' '
            {%- for limit, word in {'valid_from': 'from', 'valid_until': 'until'}.items() if limit in table.columns %},
            case when {{ limit }} is not null then '{{ word }} ' || left({{ secure_datasets.utc_text(limit) }}, 19) end
            {%- endfor %}
        ) as staged_time,
        {%- endif %}
        is_deleted as staged_is_deleted,
        deleted_on as staged_deleted_on,
        date_modified as staged_date_modified,
        modified_by as staged_modified_by,
        raw_row,
        rejection_reason,
        {%- for column in columns %}
        {{ column }} as staged_{{ column }},
        {%- endfor %}
        {%- for column in ['date_modified', 'sf_date_created'] %}
        -- Whether there is one is all that is asked of it.
        case when rejection_reason is null then cast(unix_micros({{ column }}) as string) else {{ column }}_delivered end as {{ column }}_text,
        case when rejection_reason is null then {{ column }} else {{ secure_datasets.read_value(column ~ '_delivered', 'timestamp') }} end as {{ column }},
        {%- endfor %}
        case
            when rejection_reason is null then {{ 'is_live_in_its_time' if table.holds_for_a_time else 'is_live' }}
            else coalesce({{ secure_datasets.read_value('is_active_delivered', 'boolean') }}, false)
        end as is_active
    from (
        {{ secure_datasets._with_delivered_texts(relation('stg_' ~ name)) | indent(8) }}
    ) as delivered_texts
) as read_rows
{%- endmacro %}


{# Staged rows, with the texts by which rejected ones are compared. #}
{% macro _with_delivered_texts(staged) -%}
select
    *
    {%- for column in ['date_modified', 'sf_date_created', 'is_active'] %},
    {{ secure_datasets.delivered_value(column) }} as {{ column }}_delivered
    {%- endfor %}
from {{ staged }}
{%- endmacro %}


{#
    By what deliveries are compared with what staging took: the greatest is the newest. What
    staging took has kept its moment, but not its position.
#}
{% macro _recency(relation, feed) -%}
{%- if feed and feed.has_moment -%}
{{ relation }}.loaded_order
{%- else -%}
struct({{ relation }}.modified_order, {{ relation }}.loaded_order, {{ relation ~ ('.is_deleted, ' if relation == 'dated' else '.staged_is_deleted, ') if feed and feed.deletes }}not {{ relation }}.is_active)
{%- endif -%}
{%- endmacro %}
