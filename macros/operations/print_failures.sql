{#
    Prints the rows that data tests found, so that a failure names them without a second
    command. Only for tests with the config `meta: {print_failures: true}`.

    results  the results of on-run-end
#}
{% macro print_failures(results) %}
    {%- for result in results if result.status in ['fail', 'warn'] and result.node.resource_type == 'test' -%}
        {%- if result.node.config.get('meta', {}).get('print_failures') -%}
            {%- set found = run_query(result.node.compiled_code) -%}
            {%- set rows = [] -%}
            {%- for line in found.rows -%}
                {% do rows.append(line.values() | map('string') | list) %}
            {%- endfor -%}
            {{ print(result.node.name ~ ':') }}
            {% do secure_datasets.print_table(found.column_names | list, rows, align='left') %}
            {%- if result.node.config.meta.explains -%}
                {% do secure_datasets._explain_failures(found.rows) %}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Prints for the first five rows with a user why the user sees the row's resource, or why not. #}
{% macro _explain_failures(rows) %}
    {%- for line in rows if line['user_id'] is not none -%}
        {%- if loop.index <= 5 -%}
            {%- if line['resource_type'] == 'dataset' -%}
                {% do secure_datasets.why(line['user_id'], dataset=line['resource'], row=line['object']) %}
            {%- else -%}
                {% do secure_datasets.why(line['user_id'], tier=line['resource'], object=line['object']) %}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}
