{#
    Writes the pack of a review into the folder `review` of dbt's target: an index, and a page
    and a table for each live data source and project; or, beside it, the page of a person.

    Call    dbt run-operation review
            dbt run-operation review --args '{owner: praman, months: 12}'
            dbt run-operation review --args '{user: hpark}'
    owner   restricts the pack to the objects in this user's charge: an id, a login name or an
            e-mail address
    user    writes only the page of this user, named in the same way
    campaign, deadline  a name and a last day, printed on the pages
    months  the number of months in the index, each with the amount of access at its beginning;
            only this argument makes the macro read the raw tables
#}
{% macro review(owner=none, user=none, months=0, campaign=none, deadline=none) %}
    {%- set given = {
        'owner': owner, 'user': user, 'months': months, 'campaign': campaign, 'deadline': deadline,
        'dormant_days': var('dormant_days'), 'review_days': var('review_days'), 'timelines': adapter.access_timelines(),
    } -%}
    {%- for text in adapter.access_reviews().review(given, secure_datasets, exceptions.warn) -%}
        {{ print(text) }}
    {%- endfor -%}
{% endmacro %}
