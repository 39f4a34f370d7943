{#
    Called before anything starts: stops dbt if a variable has an invalid value, or a name that is a
    misspelling of a variable of the product.
#}
{% macro check_vars() %}
    {%- if execute -%}
        {%- do secure_datasets.check_adapter() -%}
        {%- do adapter.check_spelling_of_vars('secure_datasets') -%}
        {#- A variable that is null is set, to an invalid value. -#}
        {%- set values, this_is_unset = {}, [] -%}
        {%- for name in adapter.names_of_vars() -%}
            {%- if var(name, this_is_unset) is not sameas this_is_unset -%}
                {% do values.update({name: var(name)}) %}
            {%- endif -%}
        {%- endfor -%}
        {% do adapter.check_vars(values) %}
        {%- if 'as_of' in values -%}
            {#- Stops a command that would mix a past state with the published state. -#}
            {%- set schemas, raw_seeds = adapter.secure_datasets().built_in(graph.nodes, selected_resources, secure_datasets.repository_tables()) -%}
            {% do adapter.check_as_of(values.as_of, flags.WHICH, adapter.dbt_flag('DEFER'), schemas, raw_seeds) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
