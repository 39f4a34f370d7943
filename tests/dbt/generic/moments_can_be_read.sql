{#
    What a declared feed delivers is read: fails with each column of the raw table that has a moment
    which came and can't be read, and with deliveries that something before them outlives. Such an
    update or load does not count, so that what it takes away would stay.

    table  the raw table; without a feed that has a moment or deletions there is no such test
#}
{% test moments_can_be_read(model, table) %}
{%- set queries = secure_datasets.unread_deliveries(table) -%}
{{ config(enabled=queries | length > 0, meta={'print_failures': true}) }}
{%- for query in queries %}
select * from (
{{ query }}
) as told_{{ loop.index }}
{{ 'union all' if not loop.last }}
{%- endfor %}
{% endtest %}
