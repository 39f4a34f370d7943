{#
    A raw table has not lost most of its ids: fails where too many of those that passed this
    test last are no longer there, and where none of its rows is live any more. A row that a
    delivery says is deleted is not lost, also if later versions no longer have it; one that the next load of a
    whole table lacks may be.
    Compares versions, of which a run publishes a new one: the one that passed is kept until
    another one passes, however many runs lie between.

    column_name  the staged key; of a row that is rejected, which gives nothing, it does not count
    table        the raw table
#}
{% test keeps_most_ids(model, column_name, table) %}
{{ config(meta={'print_failures': true}) }}
{%- set limits = adapter.secure_datasets().limits_of_losses(
    var('meant_losses'), var('lost_rows_error_share'), secure_datasets.repository_tables()
) -%}
{%- set feed = secure_datasets.feed_of(table) -%}
{%- set deletes_by_loads = feed and feed.kind == 'snapshots' -%}
{#- Not where dbt may not query them. -#}
{%- set versions = adapter.accepted_ids(graph.nodes, api.Relation.create, project_schema(), secure_datasets.reads_sample())
    .to_compare('stg_' ~ table, flags.WHICH) if execute and flags.INTROSPECT else {} -%}
{#- Versions of old releases have no such column. -#}
{%- set tells_deleted = versions.accepted and feed and feed.deletes and 'is_deleted' in (adapter.raw_columns(versions.accepted) or {}) -%}
with ids_before as (

    select
        {{ column_name }} as id,
        is_live
    from {{ versions.accepted or model }}
    where rejection_reason is null {{- ' and is_live' if deletes_by_loads else ' and not is_deleted' if tells_deleted }}

),

ids_now as (

    select
        {{ column_name }} as id,
        is_live
    from {{ versions.published or model }}
    where rejection_reason is null {{- ' and not is_deleted' if deletes_by_loads }}

),

compared as (

    select
        count(ids_before.id) as ids_before,
        count(ids_now.id) as ids_now,
        count_if(ids_before.id is not null and ids_now.id is null) as lost_ids,
        count_if(ids_before.is_live) as live_before,
        count_if(ids_now.is_live) as live_now
    from ids_before
    full outer join ids_now
        on ids_before.id = ids_now.id

)

select
    '{{ table }}' as table_name,
    ids_before,
    ids_now,
    lost_ids,
    live_before,
    live_now
from compared
where
    (
        (lost_ids > 0 and lost_ids >= {{ limits.share }} * ids_before)
        or (live_before > 0 and live_now = 0)
    )
    {{- ' and false -- meant_losses names the table' if table in limits.meant }}
{% endtest %}
