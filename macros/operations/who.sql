{#
    Prints the objects that one user sees, per tier, with the kinds of path that lead there; the number
    of rows in each secure dataset; and the rows and columns that each policy shows, hides or masks.

    Call   dbt run-operation who --args '{user: hpark}'
    user   a user's id, login name or e-mail address
#}
{% macro who(user) %}
    {#- The user comes first, so the check of the further relations follows below. -#}
    {%- set staged = secure_datasets.model_named('stg_users') -%}
    {%- if not adapter.check_schema_exists(staged.database, staged.schema) -%}
        {% do adapter.access_questions().not_built('who', ['stg_users'], staged.schema) %}
    {%- endif -%}
    {%- for person in adapter.access_questions().people(user, 'who', secure_datasets, ref) -%}
        {{ print('') }}
        {{ print('User ' ~ person.user_id ~ adapter.secure_datasets().printable(adapter.access_questions().called_beside_id(person))
            ~ ('' if person.is_live else ': not active, so nothing but the global events')) }}
        {%- set without_past = secure_datasets.datasets_without_past() -%}
        {%- set shown = adapter.access_questions().shown(secure_datasets, ref, person.user_id, without_past) -%}
        {%- set ahead = secure_datasets.staged_since(shown.relations()) -%}
        {% do secure_datasets.check_built('who', ahead) %}
        {%- if ahead.of_before -%}
            {{ print('Not as it is shown yet: since the secure datasets were made, or what else is asked, ' ~ adapter.access_questions().made_anew(ahead.tables, ahead.stored) ~ '. What follows is by the newest of each that is built, and may be that of neither state: run dbt, and ask again.') }}
        {%- endif -%}
        {#- A user's rows are few: Spark estimates this from the statistics of the access views. -#}
        {% do run_query('set spark.sql.cbo.enabled = true') %}
        {% do secure_datasets.print_table(['tier', 'object', 'access type', 'through'], shown.objects(run_query), align='left') %}
        {% do secure_datasets.print_table(['secure dataset', 'tier', 'rows'], shown.datasets(run_query)) %}
        {%- if without_past -%}
            {{ print('Not known: the past of ' ~ without_past.values() | sum(start=[]) | unique | join(', ') ~ '. The feed holds the present alone; if its format keeps snapshots, build the state of the day. See docs/feeds.md of the package.') }}
        {%- endif -%}
        {%- set by_rule = shown.rules(run_query) -%}
        {%- if by_rule -%}
            {% do secure_datasets.print_table(['secure dataset', 'rule', 'what it does', 'rows'], by_rule, align='left') %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}
