{#
    Prints the relations that a run published: name, rows, distinct users, seconds, and a note on the
    seconds if models run side by side. Reads each published relation once; `vars: {summary: false}`
    turns it off if that costs too much. With `as_of` it first prints the moment and the schema of the
    past state, and the number of its deliveries.

    results  the results of on-run-end
#}
{% macro run_summary(results) %}
    {%- if not execute or flags.WHICH not in ['run', 'build'] or not var('summary') -%}
        {{ return('') }}
    {%- endif -%}
    {%- if var('as_of', none) is not none -%}
        {% do secure_datasets._print_past_state(results) %}
    {%- endif -%}
    {%- set published = [] -%}
    {%- for result in results | sort(attribute='node.name') if result.status in ['success', 'warn'] and result.node.resource_type == 'model' -%}
        {%- if result.node.name.startswith('vw_') or result.node.name in ['rejected_rows', 'dangling_references'] -%}
            {% do published.append(result) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if not published -%}
        {{ return('') }}
    {%- endif -%}
    {%- set query -%}
        {%- for result in published %}
        select
            {{ loop.index }} as place,
            count(*) as row_count,
            {{ 'count(distinct user_id)' if 'user_id' in result.node.columns or result.node.name.startswith('vw_secure_dataset_') else 'cast(null as bigint)' }} as users
        from {{ result.node.relation_name }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
        order by place
    {%- endset -%}
    {%- set rows = [] -%}
    {%- for line in run_query(query).rows -%}
        {%- set result = published[line[0] | int - 1] -%}
        {% do rows.append([
            result.node.name, line[1] | string, '-' if line[2] is none else line[2] | string,
            '%.1f' | format(result.execution_time),
        ]) %}
    {%- endfor -%}
    {% do secure_datasets.print_table(['relation', 'rows', 'users', 'seconds'], rows) %}
    {%- if target.threads > 1 -%}
        {{ print(target.threads ~ ' models at once share one Spark: the seconds of each include those in which it waited for another.') }}
    {%- endif -%}
{% endmacro %}


{# Prints the moment and the schema of a past state, and how many deliveries were there then. #}
{% macro _print_past_state(results) %}
    {{ print('As of ' ~ adapter.as_of_text(var('as_of')) ~ ' UTC, by the definitions of today, in the schema ' ~ project_schema() ~ '.') }}
    {%- set staged = results | selectattr('status', 'equalto', 'success') | map(attribute='node.name') | list -%}
    {%- set queries = [] -%}
    {%- for name in secure_datasets.repository_tables() if 'stg_' ~ name in staged -%}
        {%- set was_there = adapter.staging('was_delivered', secure_datasets.feed_of(name) or {}, 'sf_date_created', var('as_of')) -%}
        {%- set query -%}
            select
                {{ loop.index }} as place,
                '{{ name }}' as raw_table,
                count_if({{ was_there }}) as counted,
                count_if(not {{ was_there }}) as left_out,
                count_if(sf_date_created is null) as undated
            from (
                {{ secure_datasets.delivered_values(name, ['sf_date_created']) }}
            ) as load_times
        {%- endset -%}
        {% do queries.append(query) %}
    {%- endfor -%}
    {%- if queries -%}
        {%- set counts = run_query(queries | join('\nunion all\n') ~ '\norder by place').rows -%}
        {%- set rows = [] -%}
        {%- for line in counts -%}
            {% do rows.append([line[1], line[2] | string, line[3] | string, line[4] | string]) %}
        {%- endfor -%}
        {% do rows.append(['all of them'] + [
            counts | sum(attribute=2) | string, counts | sum(attribute=3) | string, counts | sum(attribute=4) | string,
        ]) %}
        {% do secure_datasets.print_table(['raw table', 'deliveries counted', 'left out', 'counted without a load time'], rows) %}
    {%- endif -%}
{% endmacro %}
