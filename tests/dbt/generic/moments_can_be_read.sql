{#
    The moments of a declared feed can be read: fails with each column of the raw table that has
    one which came and can't be. Such an update or load is put before all others and does not
    count, so that what it takes away would stay.

    table  the raw table; without a feed that has a moment there is no such test
#}
{% test moments_can_be_read(model, table) %}
{%- set feed = secure_datasets.feed_of(table) -%}
{{ config(enabled=(feed or {}).get('has_moment', false), meta={'print_failures': true}) }}
{%- if feed and feed.has_moment -%}
{{ secure_datasets.unreadable_moments(table, feed, source('repository', table)) }}
{%- endif -%}
{% endtest %}
