{#
    Called before anything starts: stops a run that would stage raw tables with a problem. It skips
    the sample's raw tables, which do not exist before its seeds are loaded.
#}
{% macro check_feeds() %}
    {%- if execute -%}
        {%- do adapter.secure_datasets().feeds(var('feeds'), secure_datasets.repository_tables()) -%}
        {%- if secure_datasets.rights_in_time() -%}
            {%- do adapter.secure_datasets().check_rights_in_time(graph.nodes) -%}
        {%- endif -%}
        {%- if flags.INTROSPECT and not secure_datasets.reads_sample() -%}
            {%- set names = [] -%}
            {%- for name in secure_datasets.repository_tables() if 'model.secure_datasets.stg_' ~ name in selected_resources -%}
                {% do names.append(name) %}
            {%- endfor -%}
            {% do secure_datasets._check_raw_tables(names) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
