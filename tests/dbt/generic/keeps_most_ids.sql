{#
    A raw table has not lost most of its ids: fails where too many of those that passed this
    test last are no longer there. Compares versions, of which a run publishes a new one: the
    one that passed is kept until another one passes, however many runs lie between.

    column_name  the staged key; of a row that is rejected, which gives nothing, it does not count
    table        the raw table
#}
{% test keeps_most_ids(model, column_name, table) %}
{{ config(meta={'print_failures': true}) }}
{%- set is_meant = table in secure_datasets.meant_losses() -%}
{%- set share = secure_datasets.lost_rows_error_share() -%}
{%- set versions = secure_datasets.versions_to_compare('stg_' ~ table) -%}
with ids_before as (

    select distinct {{ column_name }} as id
    from {{ versions.accepted or model }}
    where rejection_reason is null

),

ids_now as (

    select distinct {{ column_name }} as id
    from {{ versions.published or model }}
    where rejection_reason is null

),

compared as (

    select
        count(ids_before.id) as ids_before,
        count(ids_now.id) as ids_now,
        count_if(ids_now.id is null) as lost_ids
    from ids_before
    full outer join ids_now
        on ids_before.id = ids_now.id

)

select
    '{{ table }}' as table_name,
    ids_before,
    ids_now,
    lost_ids
from compared
where
    lost_ids > 0
    and lost_ids >= {{ share }} * ids_before
    {{- ' and false -- meant_losses names the table' if is_meant }}
{% endtest %}
