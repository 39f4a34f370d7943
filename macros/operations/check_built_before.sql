{#
    Called before anything starts: stops a run whose models read what it does not build and what is
    not there. With --defer dbt reads such relations elsewhere, and a comparison reads those of two
    states.
#}
{% macro check_built_before() %}
    {%- if execute and flags.INTROSPECT and not adapter.dbt_flag('DEFER') and var('before', none) is none and flags.WHICH in ['build', 'run'] -%}
        {% do adapter.secure_datasets().check_built_before(graph, selected_resources, flags.WHICH, adapter.get_relation) %}
    {%- endif -%}
{% endmacro %}
