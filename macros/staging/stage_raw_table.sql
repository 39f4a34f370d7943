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
{%- if execute and history_of and not (feed and feed.snapshots) -%}
    {% do secure_datasets.check_has_past(name) %}
{%- endif -%}
{%- set raw = secure_datasets._raw_table(name, history_of, none, feed) -%}
{#- The rows depend on no clock: the view over them does. -#}
{%- if raw.table.holds_for_a_time and not history_of -%}{% do config(in_time='is_live') %}{%- endif -%}
{%- set query = adapter.staging('staged', raw, var('as_of', none), history_of is not none, ref('role_permissions') if raw.table.object_type) -%}
{#- A later version may copy the rows whose keys no new delivery has. -#}
{%- set key = adapter.staging('key_of_delivery', raw) if execute and not history_of and var('as_of', none) is none -%}
{%- if key -%}{% do adapter.note_key(model.unique_id, raw.table.key, key, query) %}{%- endif -%}
{{ query }}
{% endmacro %}
