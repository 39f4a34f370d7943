{#
    Before a run: stops it with a list of all privileges that the pipeline's role lacks for the
    run's operations, before anything is built. The variable `pipeline_role` names the role;
    without it there is no check, because an engine without privileges needs none.

    The run creates and fills a selected stored table, and queries a stored table that a selected
    test reads. The seeds with the grants must be loaded. They do not contain the grants on the
    schemas of a past state, `as_of`, and of a comparison, `before`: there only the engine refuses.
#}
{% macro check_privileges() %}
    {#- Before anything else, so that dbt sees them while it parses. -#}
    {%- set seeds = [ref('privilege_grants'), ref('role_hierarchy'), ref('privilege_requirements')] -%}
    {%- set role = var('pipeline_role') -%}
    {%- if not execute or not role or var('as_of', var('before', none)) is not none or flags.WHICH not in ['run', 'build', 'retry', 'snapshot', 'test'] -%}
        {{ return('') }}
    {%- endif -%}
    {%- for seed in seeds if load_relation(seed) is none -%}
        {{ exceptions.raise_compiler_error(
            "check_privileges: the seed '" ~ seed.identifier ~ "' is not loaded, and without it"
            ~ " nobody may do anything: run `dbt seed --select " ~ seeds | map(attribute='identifier') | join(' ') ~ "`."
        ) }}
    {%- endfor -%}
    {%- set lacking = secure_datasets._lacking_privileges(role, secure_datasets._planned_operations()) -%}
    {%- if lacking -%}
        {%- set lines = [] -%}
        {%- for missing, purposes in lacking.items() -%}
            {% do lines.append('  - ' ~ missing ~ ', to ' ~ purposes[0]
                ~ (' and ' ~ (purposes | length - 1) ~ ' more' if purposes | length > 1 else '')) %}
        {%- endfor -%}
        {{ exceptions.raise_compiler_error(
            "check_privileges: the role '" ~ role ~ "' lacks for this run:\n" ~ lines | sort | join('\n')
        ) }}
    {%- endif -%}
{% endmacro %}


{#
    The planned operations of the run, each with the unique ids of stored tables. `dbt retry` does
    not show its selection, so that every node counts.
#}
{% macro _planned_operations() %}
    {%- set objects = secure_datasets.graph_objects() -%}
    {%- set planned = {'create and fill': [], 'query': []} -%}
    {%- for unique_id in (selected_resources or graph.nodes) | sort -%}
        {%- if unique_id in objects and flags.WHICH != 'test' -%}
            {% do planned['create and fill'].append(unique_id) %}
        {%- elif graph.nodes[unique_id] is defined and graph.nodes[unique_id].resource_type == 'test' and flags.WHICH in ['test', 'build'] -%}
            {% do planned['query'].extend(secure_datasets.nodes_read(unique_id)) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(planned) }}
{% endmacro %}


{# Each privilege that the role lacks, with the operations that need it. #}
{% macro _lacking_privileges(role, planned) %}
    {%- set objects = secure_datasets.graph_objects() -%}
    {%- set needs = secure_datasets.stored_object_needs(planned.values() | sum(start=[])) -%}
    {%- set query -%}
        select operation, object_name, permitted, missing
        from (
            {{ secure_datasets.permitted_operations_query(needs, role) }}
        ) as permitted_operations
        where role_name = {{ secure_datasets.sql_text(role) }}
    {%- endset -%}
    {%- set answers = {} -%}
    {%- for line in run_query(query).rows -%}
        {% do answers.update({line[0] ~ ' ' ~ line[1]: 'nothing' if line[2] else line[3]}) %}
    {%- endfor -%}
    {%- set lacking = {} -%}
    {%- for operation, unique_ids in planned.items() -%}
        {%- for unique_id in unique_ids | unique if objects[unique_id].object_type == 'STORED TABLE' -%}
            {%- set purpose = operation ~ ' ' ~ objects[unique_id].name -%}
            {%- set missing = answers.get(purpose, "the operation '" ~ operation ~ "' in the matrix") -%}
            {%- for one in missing.split(', ') if one != 'nothing' -%}
                {% do lacking.setdefault(one, []).append(purpose) %}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(lacking) }}
{% endmacro %}
