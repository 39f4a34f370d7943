{#
    Prints why a user sees a row of a secure dataset, or an object of a tier, or why not: the
    answer in one line, then every gate with its evidence, then the masks.

    Call     dbt run-operation why --args '{user: hpark, dataset: tests, row: {test_id: 12}}'
    user     a user's id, login name or e-mail address
    dataset  the dataset, with `row`, the row by its unique key
    tier     or the tier, with `object`, the object by the tier's keys
    format   text, or json for one JSON document
#}
{% macro why(user, dataset=none, row=none, tier=none, object=none, format='text') %}
    {%- set given = {
        'user': user, 'dataset': dataset, 'row': row, 'tier': tier, 'object': object, 'format': format,
        'nodes': graph.nodes,
    } -%}
    {%- for text in adapter.access_questions().why(given, secure_datasets, ref) -%}
        {{ print(text) }}
    {%- endfor -%}
{% endmacro %}


{#
    A query of the users that are rejected for a conflict, if one of the conflicting deliveries is asked
    for: staging keeps only one of these deliveries.

    is_asked  the condition, over the deliveries' login names and e-mail addresses
#}
{% macro _users_in_conflict(is_asked) -%}
with {{ secure_datasets.read_deliveries('users', ['login_name', 'email'], until=var('as_of', none)) }},

ranked as (

    select *, rank() over (partition by id {{ adapter.staging('newest_first', secure_datasets.feed_of('users') or {}) }}) as place
    from dated

)

select distinct ranked.id as user_id
from ranked
inner join {{ secure_datasets.relation_named('stg_users') }} as staged
    on ranked.id = staged.user_id and staged.rejection_reason = 'conflict'
where ranked.place = 1 and ({{ is_asked }})
{%- endmacro %}
