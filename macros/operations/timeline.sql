{#
    Prints the beginnings and ends of access over all load times, each with its raw rows: for one
    user, or for every user and one object.

    Call    dbt run-operation timeline --args '{user: hpark}'
            dbt run-operation timeline --args "{object: 'Project 7', format: json}"
    user    a user's id, login name or e-mail address, of now or of any time before
    object  a type and an id or a name, or a name alone
    format  text, for people, or json, the same as one document
    limit   the number of changes that are printed one by one; further changes are counted
#}
{% macro timeline(user=none, object=none, format='text', limit=1000) %}
    {%- do secure_datasets.refuse_rights_in_time('A timeline', 'it goes by the load times of raw rows alone. Ask a day, as of it') -%}
    {%- set timelines = adapter.access_timelines() -%}
    {%- set question = timelines.question(user, object, format, limit) -%}
    {% do secure_datasets.check_raw_schema() %}
    {%- set found = timelines.answer(question, secure_datasets.timeline_parts(timelines), secure_datasets.repository_tables()) -%}
    {%- if format == 'json' -%}
        {{ print(timelines.document(question, found)) }}
    {%- else -%}
        {%- set above, rows, below = timelines.lines(found) -%}
        {{ print('') }}
        {%- for line in above -%}
            {{ print(adapter.secure_datasets().printable(line)) }}
        {%- endfor -%}
        {%- if rows -%}
            {% do secure_datasets.print_table(timelines.headers, rows, align='left') %}
        {%- endif -%}
        {%- for line in below -%}
            {{ print(line) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
