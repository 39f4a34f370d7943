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
        {# First: the run that may be publishing changes the datasets that decide which objects exist. #}
        {% do secure_datasets._hold_or_stop() %}
        {# Once more: the run may have built the relation of the accounts. #}
        {% do secure_datasets.check_readers_vars() %}
        {# A hook may have changed the settings of the session that views and functions keep. #}
        {% do adapter.set_for_views() %}
        {%- set is_wanted = var('readers_views') or var('readers_functions') -%}
        {%- set sources = secure_datasets.readers_sources() if is_wanted else {} -%}
        {%- set users = secure_datasets.readers_users() if is_wanted else none -%}
        {%- do secure_datasets._warn_of_sources_without_path(sources) -%}
        {%- for name, publish in {
            'readers_views': secure_datasets._publish_readers_views,
            'readers_functions': secure_datasets._publish_readers_functions,
        }.items() -%}
            {%- if var(name) or flags.WHICH == 'run-operation' -%}
                {% do publish(sources if var(name) else {}, users) %}
            {%- else -%}
                {% do secure_datasets._tell_of_those_that_stay(name) %}
            {%- endif -%}
        {%- endfor -%}
        {%- if flags.WHICH == 'run-operation' -%}
            {%- do secure_datasets.note_state() -%}
            {%- do adapter.end_run([], graph) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Warns of existing views or functions if the variable of a run does not require them. #}
{% macro _tell_of_those_that_stay(name) %}
    {%- set marks, there = {
        'readers_views': 'rendered_by=secure_datasets', 'readers_functions': secure_datasets._mark_of_functions(),
    }, [] -%}
    {%- set found = adapter.definitions(secure_datasets.readers_schema()) if name == 'readers_views' else secure_datasets._functions_of_readers() -%}
    {%- for told in found.values() if marks[name] in told -%}
        {% do there.append(told) %}
    {%- endfor -%}
    {%- if there -%}
        {% do exceptions.warn(
            'This run was not asked for ' ~ name ~ ', of which there are ' ~ there | length ~ ': they stay as they are. '
            ~ 'If they are to go, dbt run-operation publish_readers_objects drops them.'
        ) %}
    {%- endif -%}
{% endmacro %}


{#
    Creates, alters and drops the readers' views. Every call alters an existing view, in one step of
    the metastore, so that no change by hand stays.
#}
{% macro _publish_readers_views(sources, users) %}
    {%- set schema = secure_datasets.readers_schema() -%}
    {%- if sources -%}
        {% do secure_datasets._warn_of_accounts_in_files(var('reader_accounts')) %}
        {%- do secure_datasets._run_under_lock('create schema if not exists ' ~ schema) -%}
    {%- endif -%}
    {%- if var('readers', []) -%}
        {% do secure_datasets._revoke_plain_datasets(sources) %}
    {%- endif -%}
    {%- set accounts = adapter.with_catalog(var('reader_accounts')) if sources -%}
    {#- Without the temporary views of the session: a Python model may have given one such a name. -#}
    {%- set found = adapter.definitions(schema) -%}
    {%- for name, source in sources.items() -%}
        {%- set view = api.Relation.create(schema=schema, identifier=name, type='view') -%}
        {%- set query = adapter.secure_datasets().view_of_readers(source, accounts, users) -%}
        {%- if name in found -%}
            {% do secure_datasets._must_be_rendered(view, 'rendered_by=secure_datasets' in found[name]) %}
            {%- do secure_datasets._run_under_lock('alter view ' ~ view ~ ' as\n' ~ query) -%}
        {%- else -%}
            {%- do secure_datasets._run_under_lock('create view ' ~ view
                ~ "\ntblproperties ('rendered_by' = 'secure_datasets')\nas\n" ~ query) -%}
        {%- endif -%}
        {%- do adapter.note_switch(view, query) -%}
        {%- if var('readers', []) -%}
            {% do apply_grants(view, {'select': var('readers')}, should_revoke=True) %}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, definition in found.items() -%}
        {%- if name not in sources and 'rendered_by=secure_datasets' in definition -%}
            {%- do secure_datasets._run_under_lock('drop view if exists ' ~ schema ~ '.' ~ name) -%}
        {%- endif -%}
    {%- endfor -%}
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


{#
    Creates, replaces and drops the readers' functions. A function can't be altered: plain Spark drops
    it and creates it again, so the macro replaces only a function that differs. If the list of
    applications changed, it drops the function first, and the grants with it.
#}
{% macro _publish_readers_functions(sources, users) %}
    {%- set found, knows_paths = secure_datasets._functions_of_readers(), secure_datasets._engine_knows_paths() -%}
    {%- set granted = 'For ' ~ (var('reader_applications') | join(', ') or 'nobody by name') ~ '.' -%}
    {%- for source in sources.values() -%}
        {%- set name = secure_datasets._readers_function(source.name) -%}
        {%- set body = adapter.secure_datasets().function_of_readers(source, users) -%}
        {%- set types = [] -%}
        {%- for column, data_type in source.columns.items() -%}
            {% do types.append(column ~ ' ' ~ data_type) %}
        {%- endfor -%}
        {%- set mark = secure_datasets._mark_of_functions() ~ local_md5(types | join(', ')) ~ '. ' -%}
        {%- set told = found.get(name) -%}
        {%- if told is not none -%}
            {% do secure_datasets._must_be_rendered(name, secure_datasets._mark_of_functions() in told) %}
            {%- if granted not in told -%}
                {%- do secure_datasets._run_under_lock('drop function if exists ' ~ name) -%}
            {%- endif -%}
        {%- endif -%}
        {#- A function without a path of its own resolves functions by the path of the reader. -#}
        {%- if told is none or mark ~ granted not in told or body not in told or (knows_paths and '\nSQL Path:' not in told) -%}
            {%- do secure_datasets._run_under_lock(
                'create or replace function ' ~ name ~ '(reader string)\nreturns table (' ~ types | join(', ')
                ~ ')\ncomment ' ~ secure_datasets.sql_text(mark ~ granted) ~ '\nreturn\n' ~ body
            ) -%}
            {%- if body not in secure_datasets._told_of_function(name) -%}
                {{ exceptions.raise_compiler_error(
                    'publish_readers_objects: the catalog took the statement, and ' ~ name ~ ' is not what it was made as.'
                ) }}
            {%- endif -%}
        {%- endif -%}
        {%- for application in var('reader_applications') -%}
            {%- do secure_datasets._run_under_lock('grant execute on function ' ~ name ~ ' to `' ~ application ~ '`') -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for name, told in found.items() -%}
        {%- if secure_datasets._mark_of_functions() in told and name.split('.')[1].removesuffix('_of') not in sources -%}
            {%- do secure_datasets._run_under_lock('drop function if exists ' ~ name) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Whether the engine has a built-in function whose name matches a pattern. #}
{% macro _engine_has(functions) %}
    {{ return(run_query("show system functions like '" ~ functions ~ "'").rows | length > 0) }}
{% endmacro %}


{# Whether views and functions keep a path of their own for function names: it came with `current_path`. #}
{% macro _engine_knows_paths() %}
    {{ return(secure_datasets._engine_has('current_path')) }}
{% endmacro %}


{#
    Warns of datasets that an earlier version built without a path of their own: they resolve functions
    by the path of the reader, whatever view or function stands over them.
#}
{% macro _warn_of_sources_without_path(sources) %}
    {%- if sources and secure_datasets._engine_knows_paths() -%}
        {%- set without = [] -%}
        {%- for source in sources.values() -%}
            {%- if '\nSQL Path: ' not in adapter.definition_of(source.view) -%}
                {% do without.append(source.view.identifier) %}
            {%- endif -%}
        {%- endfor -%}
        {%- if without -%}
            {% do exceptions.warn(
                "In these a reader's own functions may stand before Spark's, since an earlier version made them: run "
                ~ without | sort | join(', ') ~ '.'
            ) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Runs a statement if this command may publish now: a run may have been suspended meanwhile. #}
{% macro _run_under_lock(statement) %}
    {% do secure_datasets._hold_or_stop() %}
    {% do run_query(statement) %}
{% endmacro %}


{# Holds the lock, or stops dbt if a different run holds it. #}
{% macro _hold_or_stop() %}
    {%- if not hold_run() -%}
        {{ exceptions.raise_compiler_error(
            'publish_readers_objects: another dbt run is building: wait for it to end, then run this again.'
        ) }}
    {%- endif -%}
{% endmacro %}


{# The catalogue's description of each function whose name ends in `_of`, by name. #}
{% macro _functions_of_readers() %}
    {#- As the metastore spells it: dbt asks it whether the schema is there. -#}
    {%- set found, schema = {}, project_schema() -%}
    {#- dbt makes the target's schema only where a model is in it. -#}
    {%- set rows = run_query('show user functions in ' ~ schema).rows if adapter.check_schema_exists(target.database, schema) else [] -%}
    {%- for row in rows -%}
        {%- set name = row[0].split('.') -%}
        {%- if name | length > 1 and name[-1].endswith('_of') -%}
            {%- set name = schema ~ '.' ~ name[-1] -%}
            {% do found.update({name: secure_datasets._told_of_function(name)}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The catalogue's description of one function. #}
{% macro _told_of_function(name) %}
    {{ return(run_query('describe function extended ' ~ name).columns[0].values() | join('\n')) }}
{% endmacro %}


{# The beginning of the comment that marks a function of this project. #}
{% macro _mark_of_functions() %}
    {{ return('Rendered by secure_datasets, columns ') }}
{% endmacro %}


{# Stops dbt at a relation or function that this project did not make. #}
{% macro _must_be_rendered(name, is_rendered) %}
    {%- if not is_rendered -%}
        {{ exceptions.raise_compiler_error(
            'publish_readers_objects: ' ~ name ~ ' exists, and was not made by this project: rename it, or drop it.'
        ) }}
    {%- endif -%}
{% endmacro %}
