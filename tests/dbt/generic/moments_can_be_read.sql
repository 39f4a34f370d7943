{#
    What a declared feed delivers is read: fails with each column of the raw table that has a moment
    which came and can't be read, and with deliveries that something before them outlives. Such an
    update or load does not count, so that what it takes away would stay.

    table  the raw table; without a feed that has a moment or deletions there is no such test
#}
{% test moments_can_be_read(model, table) %}
{%- set feed = secure_datasets.feed_of(table) -%}
{%- set queries = [] -%}
{%- if feed and feed.has_moment -%}
    {% do queries.append(secure_datasets.unreadable_moments(table, feed, source('repository', table))) %}
{%- endif -%}
{#- A past state reads none of the later deliveries. -#}
{%- if feed and secure_datasets.can_be_overtaken(feed) and var('as_of', none) is none -%}
    {% do queries.append(secure_datasets.overtaken_deliveries(table, feed, source('repository', table))) %}
{%- endif -%}
{{ config(enabled=queries | length > 0, meta={'print_failures': true}) }}
{%- for query in queries %}
select * from (
{{ query }}
) as told_{{ loop.index }}
{{ 'union all' if not loop.last }}
{%- endfor %}
{% endtest %}
