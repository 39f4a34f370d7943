{#
    Called after a run, before versions are dropped: notes which versions of the staged tables
    have passed keeps_most_ids, for the next run to be compared with. They are noted as the
    text of a view, because what a view reads is not dropped.

    results  the results of on-run-end
#}
{% macro accept_versions(results) %}
    {%- set passed = {} -%}
    {%- for result in results if result.status == 'pass' and result.node.test_metadata and result.node.test_metadata.name == 'keeps_most_ids' -%}
        {%- set name = 'stg_' ~ result.node.test_metadata.kwargs.table -%}
        {%- for version in adapter.read_by(result.node.compiled_code) if '.' ~ name ~ '__v' in version -%}
            {#- Of two, the published one comes last. -#}
            {% do passed.update({name: version}) %}
        {%- endfor -%}
    {%- endfor -%}
    {%- if passed -%}
        {%- set view = _accepted_view() -%}
        {%- set before = _accepted_versions(adapter.definitions(view.schema, view.identifier)) -%}
        {%- set after = dict(before, **passed) -%}
        {%- if after != before -%}
            {#- What the project did not make is not replaced. -#}
            {% do adapter.definition_of(view) %}
            {% do run_query('create or replace view ' ~ view ~ ' as ' ~ _ids_of(after)) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# A query of the ids of versions, by staging model. #}
{% macro _ids_of(versions) %}
    {%- set queries = [] -%}
    {%- for name, table in repository_tables().items() if 'stg_' ~ name in versions -%}
        {% do queries.append(
            "select '" ~ name ~ "' as table_name, " ~ table.key ~ ' as id from ' ~ versions['stg_' ~ name]
        ) %}
    {%- endfor -%}
    {{ return(queries | join(' union all ')) }}
{% endmacro %}
