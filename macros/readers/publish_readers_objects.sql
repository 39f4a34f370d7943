{#
    Called after a run: creates or updates the readers' views and functions that the vars and the
    datasets require, and drops the obsolete ones. Both read the datasets by name, so they show the
    rows that a run publishes at once; only their columns are fixed. By itself:
    dbt run-operation publish_readers_objects

    A run without the vars leaves views and functions as they are and warns, because the vars may
    only have been forgotten. Only the operation drops all views, or all functions.

    A past state, `as_of`, and a comparison, `before` and `after`, have no readers' objects: they
    are for administrators.
#}
{% macro publish_readers_objects() %}
    {%- if var('as_of', var('before', none)) is not none -%}
        {#- Not when dbt parses the hook that calls this, as it does before any operation. -#}
        {%- if execute and flags.WHICH == 'run-operation' -%}
            {{ exceptions.raise_compiler_error('publish_readers_objects: past states and comparisons are for administrators, and have no readers: leave out as_of, before and after.') }}
        {%- endif -%}
    {%- elif execute and flags.WHICH in ['build', 'run', 'run-operation'] -%}
        {%- if flags.WHICH == 'run-operation' -%}
            {#- A misspelt variable counts as unset, and the operation would drop the objects it requires. -#}
            {% do secure_datasets.check_vars() %}
        {%- endif -%}
        {%- set objects = secure_datasets.readers_objects() -%}
        {# First: the run that may be publishing changes the datasets that decide which objects exist. #}
        {% do objects.hold() %}
        {# Once more: the run may have built the relation of the accounts. #}
        {% do secure_datasets.check_readers_vars() %}
        {# A hook may have changed the settings of the session that views and functions keep. #}
        {% do adapter.set_for_views() %}
        {% do objects.publish() %}
        {%- if flags.WHICH == 'run-operation' -%}
            {%- do secure_datasets.note_state() -%}
            {%- do adapter.end_run([], graph) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    Revokes the plain datasets from the roles that read the readers' views. dbt itself revokes only if
    a model is run with an empty `grants` config: without it, the grants of an earlier run stay.
#}
{% macro _revoke_plain_datasets(sources) %}
    {%- set readers = var('readers') | map('lower') | list -%}
    {%- for source in sources.values() -%}
        {%- set held = {} -%}
        {%- for privilege, roles in adapter.standardize_grants_dict(run_query(get_show_grant_sql(source.view))).items() -%}
            {%- for role in roles if role | lower in readers -%}
                {% do held.setdefault(privilege, []).append(role) %}
            {%- endfor -%}
        {%- endfor -%}
        {% do call_dcl_statements(get_dcl_statement_list(source.view, held, get_revoke_sql)) %}
    {%- endfor -%}
{% endmacro %}
