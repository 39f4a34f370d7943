-- Warns when raw rows that decide access have arrived since it was resolved; the number is
-- the hours for which the oldest of them has waited. Fails past a threshold.
{{ config(
    severity='error',
    fail_calc='coalesce(max(hours_waiting), 0)',
    warn_if='> 0',
    error_if='> ' ~ var('access_stale_error_hours'),
) }}

with resolved as (

    select
        table_name,
        newest_delivery
    from {{ ref('raw_deliveries') }}
    where table_name in ({{ tables_that_decide_access() }})

),

delivered as (
    {% for name in repository_tables() if "'" ~ name ~ "'" in tables_that_decide_access() %}
    select
        '{{ name }}' as table_name,
        sf_date_created
    from (
    {{ load_times(name) }}
    ) as load_times
    {{ 'union all' if not loop.last }}
    {%- endfor %}

)

select
    delivered.table_name,
    count(*) as new_deliveries,
    min(delivered.sf_date_created) as oldest_new_delivery,
    greatest(1, ceil(
        (unix_micros(current_timestamp()) - unix_micros(min(delivered.sf_date_created)))
        / 3600000000
    )) as hours_waiting
from delivered
left join resolved
    on delivered.table_name = resolved.table_name
where
    delivered.sf_date_created > resolved.newest_delivery
    or (delivered.sf_date_created is not null and resolved.newest_delivery is null)
group by delivered.table_name
