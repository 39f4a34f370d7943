{#
    The secure datasets that can't be told in a past state, each with its raw tables that keep no past.
    A dataset counts only if it is not there: the snapshots of a format may have the past of such a table.
#}
{% macro datasets_without_past() %}
    {%- set found, tables = {}, secure_datasets.repository_tables() -%}
    {%- for name in secure_datasets.secure_datasets_config().datasets if var('as_of', none) is not none -%}
        {%- set model, present = 'vw_secure_dataset_' ~ name, [] -%}
        {%- for table in adapter.secure_datasets().raw_tables_of([model], graph.nodes, tables) -%}
            {%- set feed = secure_datasets.feed_of(table) -%}
            {%- if feed and not feed.has_history -%}{% do present.append(table) %}{%- endif -%}
        {%- endfor -%}
        {%- if present -%}
            {%- set node = secure_datasets.model_named(model) -%}
            {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
                {% do found.update({name: present}) %}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
