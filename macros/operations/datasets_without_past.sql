{#
    The secure datasets that can't be told in a past state, each with its raw tables that keep no past.
    A dataset counts only if it is not there: the snapshots of a format may have the past of such a table.
#}
{% macro datasets_without_past() %}
    {%- set found, feeds = {}, {} -%}
    {%- for table in secure_datasets.repository_tables() if var('as_of', none) is not none -%}
        {% do feeds.update({table: secure_datasets.feed_of(table)}) %}
    {%- endfor -%}
    {%- for name, tables in adapter.secure_datasets().without_past(secure_datasets.secure_datasets_config(), graph.nodes, feeds).items() -%}
        {%- set node = secure_datasets.model_named('vw_secure_dataset_' ~ name) -%}
        {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do found.update({name: tables}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
