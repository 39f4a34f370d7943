{#
    Called before anything starts: stops a run whose models read a relation that does not exist and
    that the run does not build. No check with --defer, because dbt then reads such relations
    elsewhere, nor in a comparison, which reads the relations of two states.
#}
{% macro check_built_before() %}
    {%- if execute and flags.INTROSPECT and not adapter.dbt_flag('DEFER') and var('before', none) is none and flags.WHICH in ['build', 'run'] -%}
        {% do adapter.secure_datasets().check_built_before(graph, selected_resources, flags.WHICH, adapter.get_relation) %}
    {%- endif -%}
{% endmacro %}
