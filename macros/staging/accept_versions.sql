{#
    Called after a run, before versions are dropped: notes which versions of the staged tables
    have passed keeps_most_ids, for the comparison in the next run. The note is the text of a view,
    because a version that a view reads is not dropped.

    results  the results of on-run-end
#}
{% macro accept_versions(results) %}
    {%- set passed = {} -%}
    {%- for result in results if result.status == 'pass' and result.node.test_metadata and result.node.test_metadata.name == 'keeps_most_ids' -%}
        {%- set name = 'stg_' ~ result.node.test_metadata.kwargs.table -%}
        {%- do passed.update({name: adapter.read_by(result.node.compiled_code)}) -%}
    {%- endfor -%}
    {%- if secure_datasets._newly_accepted(passed) -%}
        {%- if hold_run() -%}
            {#- Again: a concurrent run may have published, and dropped the version that passed. -#}
            {%- set view = secure_datasets._accepted_view() -%}
            {%- set query = secure_datasets._ids_of(dict(secure_datasets._accepted_versions(), **secure_datasets._newly_accepted(passed))) -%}
            {#- It alters no foreign relation, and never drops its own view, so that the view always exists. -#}
            {%- set verb = 'alter' if adapter.definition_of(view) else 'create' -%}
            {#- dbt makes the target's schema only where a model of the run is in it. -#}
            {%- if verb == 'create' and not adapter.check_schema_exists(view.database, view.schema) -%}
                {% do run_query('create schema if not exists ' ~ view.schema) %}
            {%- endif -%}
            {% do run_query(verb ~ ' view ' ~ view ~ ' as ' ~ query) %}
        {%- else -%}
            {% do exceptions.warn(
                'Another dbt run is building, so it is not noted which raw tables have kept their ids: '
                'run dbt test again when that run has ended.'
            ) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    The published versions of staging models that passed and were not yet accepted, by model.

    passed  the versions that the test of each model has read
#}
{% macro _newly_accepted(passed) %}
    {%- set found, accepted = {}, secure_datasets._accepted_versions() if passed else {} -%}
    {%- for name, versions in passed.items() -%}
        {%- set published = secure_datasets._published_version(name) -%}
        {%- if published in versions and published != accepted.get(name) -%}
            {% do found.update({name: published}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A query of the ids of versions, by staging model. #}
{% macro _ids_of(versions) %}
    {%- set queries = [] -%}
    {%- for name, table in secure_datasets.repository_tables().items() if 'stg_' ~ name in versions -%}
        {% do queries.append(
            "select '" ~ name ~ "' as table_name, " ~ table.key ~ ' as id from ' ~ versions['stg_' ~ name]
        ) %}
    {%- endfor -%}
    {{ return(queries | join(' union all ')) }}
{% endmacro %}
