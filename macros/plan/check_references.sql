{#
    Fails on all keys of datasets that contradict the documentation of their bases: see
    src/secure_datasets/config/references.py.

    Called when a secure dataset is compiled, and before a run for all that it selects: while dbt
    parses it knows no documentation.

    names     the datasets
    config    the document of secure_datasets_config()
#}
{% macro check_references(names, config) %}
    {% do adapter.secure_datasets().check_references(names, config, graph.nodes, secure_datasets.repository_tables()) %}
{% endmacro %}


{# By model and seed, the columns with a documented reference, each with its `meta`. #}
{% macro _documented_columns() %}
    {{ return(adapter.secure_datasets().documented_columns(graph.nodes)) }}
{% endmacro %}
