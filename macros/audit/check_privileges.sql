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
    {%- if execute and role and var('as_of', var('before', none)) is none and flags.WHICH in ['run', 'build', 'retry', 'snapshot', 'test'] -%}
        {%- for seed in seeds if load_relation(seed) is none -%}
            {{ exceptions.raise_compiler_error(
                "check_privileges: the seed '" ~ seed.identifier ~ "' is not loaded, and without it"
                ~ " nobody may do anything: run `dbt seed --select " ~ seeds | map(attribute='identifier') | join(' ') ~ "`."
            ) }}
        {%- endfor -%}
        {%- set lacking = secure_datasets.privileges().lacking(role, selected_resources, flags.WHICH, run_query) -%}
        {%- if lacking -%}
            {{ exceptions.raise_compiler_error("check_privileges: the role '" ~ role ~ "' lacks for this run:\n" ~ lacking) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
