{#
    Prints the rows that data tests found, so that a failure names them without a second
    command. For the tests whose config says `meta: {print_failures: true}`.

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
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}
