{#
    Writes the pack of a review into the folder `review` of dbt's target: an index, and a page
    and a table for each live data source and project.

    Call    dbt run-operation review
            dbt run-operation review --args '{owner: praman}'
    owner   of what a user is in charge of alone: an id, a login name or an e-mail address
#}
{% macro review(owner=none) %}
    {%- set reviews = adapter.access_reviews() -%}
    {%- set asked, ids = (owner | string | trim if owner is not none else ''), none -%}
    {%- if asked -%}
        {%- set ids = reviews.owner(asked, secure_datasets.rows_of(secure_datasets._users_called(asked))) -%}
    {%- endif -%}
    {%- set made = 'Published as ' ~ secure_datasets.relation_named('access_findings') ~ ', judged on ' ~ secure_datasets.rows_of('select cast(cast(' ~ secure_datasets.judged_on() ~ ' as date) as string) as day')[0].day -%}
    {%- set totals = reviews.write(secure_datasets.review_queries(ids), made ~ (', of what ' ~ asked ~ ' is in charge of' if asked)) -%}
    {%- set told = [] -%}
    {%- for severity, number in totals.severities.items() -%}
        {% do told.append([severity, number | string]) %}
    {%- endfor -%}
    {% do secure_datasets.print_table(['findings', 'number'], told + [['excused', totals.excused | string]]) %}
    {{ print(totals.objects ~ ' data sources and projects, ' ~ totals.rows ~ ' times a person who has access.') }}
    {{ print('Open ' ~ secure_datasets.printable(totals.folder) ~ '/index.html') }}
{% endmacro %}


{# The live users that are called so. #}
{% macro _users_called(asked) -%}
{%- set text = secure_datasets.sql_text(asked) -%}
select user_id
from {{ secure_datasets.relation_named('stg_users') }}
where is_live and (cast(user_id as string) = {{ text }} or lower(login_name) = lower({{ text }}) or lower(email) = lower({{ text }}))
order by user_id
{%- endmacro %}
