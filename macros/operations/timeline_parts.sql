{#
    The inputs of a timeline: the models of access, the raw tables that are staged for them with
    their queries, the seeds, and the parts of each tier.
#}
{% macro timeline_parts(timelines) %}
    {%- set config, raw_tables, tiers = secure_datasets.secure_datasets_config(), secure_datasets.repository_tables(), {} -%}
    {%- for name, tier in config.tiers.items() -%}
        {% do tiers.update({name: dict(secure_datasets.tier_parts(name, config), view=tier.access_view, carries=tier.carries)}) %}
    {%- endfor -%}
    {%- set found, models, seeds, queries = timelines.models(tiers, graph.nodes), [], {}, {} -%}
    {%- for model in found.models -%}
        {%- set code = render(model.code) if model.language == 'sql' else model.code -%}
        {% do models.append(dict(model, code=code)) %}
    {%- endfor -%}
    {%- for seed in graph.nodes.values() if seed.resource_type == 'seed' -%}
        {% do seeds.update({seed.name: seed.relation_name}) %}
    {%- endfor -%}
    {%- set known_since = {} -%}
    {%- for name in found.staged -%}
        {%- set feed = secure_datasets.feed_over_time(name) -%}
        {%- if feed and feed.snapshots -%}
            {% do known_since.update({name: feed.snapshots[0].since}) %}
        {%- endif -%}
        {%- set read_id = adapter.staging('read_id', 'raw.id', secure_datasets.raw_readings(name)) -%}
        {% do queries.update({name: {
            'deliveries': secure_datasets.delivered_values(name, timelines.columns_named(raw_tables[name]), feed),
            'raw': 'select raw.*, ' ~ read_id ~ ' as timeline_id from ' ~ secure_datasets.raw_relation(name, feed=feed) ~ ' as raw',
            'history': secure_datasets.stage_raw_table(name, 'timeline_' ~ name, feed),
        }}) %}
    {%- endfor -%}
    {{ return(dict(found, models=models, seeds=seeds, queries=queries, known_since=known_since)) }}
{% endmacro %}


{# The relation that replaces a `ref` in a timeline: rows of all moments side by side, and seeds as they are. #}
{% macro _timeline_relation(name, version=none) -%}
    {%- set name = version or name -%}
    {%- set seeds = graph.nodes.values() | selectattr('resource_type', 'equalto', 'seed') -%}
    {%- set seed = seeds | selectattr('name', 'equalto', name) | first -%}
    {{ return(seed.relation_name if seed is defined else adapter.access_timelines().view(name)) }}
{%- endmacro %}
