{#
    Called before anything starts: stops dbt if a root project breaks the product's models:

    - it changes their materialization, as `models: +materialized: table` does: rows would be gone
      during a rebuild;
    - it sets `reads_latest` on an input of a secure dataset: rows and rights would no longer change
      together;
    - it grants an input of a secure dataset to the dataset's readers: they would read around their
      rights;
    - it quotes names, or has a macro that overrides the adapter's: no version would be found.

    In a clone, where the product is the root project, only the grants are checked.
#}
{% macro check_models() %}
    {%- do secure_datasets.check_adapter() -%}
    {%- if execute -%}
        {#- If the product is the root project, nothing overrides its configs. -#}
        {%- set is_clone = project_name == 'secure_datasets' -%}
        {%- if not is_clone -%}
            {%- do adapter.check_macros() -%}
        {%- endif -%}
        {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot']) | list -%}
        {%- set datasets = adapter.secure_datasets() -%}
        {%- if not is_clone or datasets.grant_anything(nodes) -%}
            {%- set readers = (var('readers', []) or []) + (var('reader_applications', []) or []) -%}
            {% do datasets.check_models(nodes, secure_datasets.secure_datasets_config(), readers, is_clone) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
