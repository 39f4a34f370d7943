{#
    Called before anything starts: stops a run that would stage raw tables with a problem. It skips
    the sample's raw tables, which do not exist before its seeds are loaded.
#}
{% macro check_feeds() %}
    {%- if execute -%}
        {%- set tables, datasets = secure_datasets.repository_tables(), adapter.secure_datasets() -%}
        {%- do datasets.feeds(var('feeds'), tables) -%}
        {%- if secure_datasets.rights_in_time() -%}
            {%- do datasets.check_rights_in_time(graph.nodes) -%}
        {%- endif -%}
        {%- if flags.INTROSPECT and not secure_datasets.reads_sample() -%}
            {%- set found = datasets.columns_of_raw(
                datasets.staged_by(selected_resources, tables), secure_datasets.absent_tables(), graph.sources, adapter.raw_columns
            ) -%}
            {% do datasets.check_replica(found, var('raw_schema'), var('feeds'), tables) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
