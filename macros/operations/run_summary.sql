{#
    Prints what a run published: relation, rows, distinct users, seconds. Reads each
    published relation once; `vars: {summary: false}` turns it off where that is too much.

    results  the results of on-run-end
#}
{% macro run_summary(results) %}
    {%- if not execute or flags.WHICH not in ['run', 'build'] or not var('summary') -%}
        {{ return('') }}
    {%- endif -%}
    {%- set published = [] -%}
    {%- for result in results | sort(attribute='node.name') if result.status == 'success' and result.node.resource_type == 'model' -%}
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
            {{ 'count(distinct user_id)' if 'user_id' in result.node.columns else 'cast(null as bigint)' }} as users
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
{% endmacro %}
