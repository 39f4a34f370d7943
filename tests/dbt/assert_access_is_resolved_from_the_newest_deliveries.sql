-- Warns when raw rows that decide access have changed since it was resolved; the number is
-- the hours for which the oldest of them has waited. Fails past a threshold.
--
-- What counts is what the access views were resolved from, also an older version of one
-- that a secure dataset still reads, and the users and their roles; and what row security maps
-- keys by, and conditions and masks look up. A load time in the future is unknown, and what
-- came without a known load time has waited since access was resolved: so it is wherever a
-- changed table has such a row, also beside rows that came later.
-- A past state is not meant to have them.
{{ config(
    enabled=var('as_of', none) is none,
    severity='error',
    fail_calc='coalesce(max(hours_waiting), 0)',
    warn_if='> 0',
    error_if='> ' ~ var('access_stale_error_hours'),
) }}

{%- set resolved = secure_datasets.relations_of_rights(secure_datasets.secure_datasets_config()) %}
{%- set reads = adapter.changed_raw_tables(graph, resolved) if execute and flags.INTROSPECT else [] -%}
{%- set changed = adapter.secure_datasets().reads_by_table(reads) %}

with waiting as (
    -- While dbt parses it must see every raw table.
    {% for name in (changed if execute else secure_datasets.repository_tables()) %}
    {%- set read = changed.get(name, {'read_at': 0, 'newest': 0}) %}
    select
        '{{ name }}' as table_name,
        {{ read.read_at }} as read_at,
        count_if(unix_micros(sf_date_created) between {{ read.newest + 1 }} and unix_micros(current_timestamp())) as new_deliveries,
        min(case when unix_micros(sf_date_created) between {{ read.newest + 1 }} and unix_micros(current_timestamp()) then sf_date_created end) as oldest_new_delivery,
        count_if(coalesce(sf_date_created > current_timestamp(), true)) > 0 as has_unknown
    from (
    {{ secure_datasets.delivered_values(name, ['sf_date_created']) if name in secure_datasets.repository_tables() else 'select cast(null as timestamp) as sf_date_created' }}
    ) as load_times
    union all
    {%- endfor %}
    select
        cast(null as string) as table_name,
        cast(null as bigint) as read_at,
        cast(null as bigint) as new_deliveries,
        cast(null as timestamp) as oldest_new_delivery,
        cast(null as boolean) as has_unknown
    where false

)

select
    table_name,
    new_deliveries,
    oldest_new_delivery,
    greatest(1, ceil(
        (
            unix_micros(current_timestamp())
            - least(
                unix_micros(oldest_new_delivery),
                case when has_unknown or oldest_new_delivery is null then read_at end
            )
        ) / 3600000000
    )) as hours_waiting
from waiting
