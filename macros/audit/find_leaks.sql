{#
    The leaks: places where rows leave the rules that protect them, proven on the compiled SQL of
    every model (secure_datasets.leaks). Needs no Spark; empty while dbt parses.

    Protected are the secure datasets and the access views, whose rows are per user, and the
    relations with the rows of all users: the raw tables, the product's relations for administrators,
    the bases of datasets, and the relations that row security is tied to.

    Returns  rows of model, rule, protected dataset, path, and problem
#}
{% macro find_leaks() %}
    {# While dbt parses too: the calling model depends on the relations that conditions ref(). #}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {{ return(adapter.find_leaks(config) if execute else []) }}
{% endmacro %}
