{#
    The query of a readers' function: the rows of a dataset that bear the user id which the
    application hands over, and those for everyone if it is that of a live user.

    The id is a text: a number that is none of a bigint, as 8.9, would be cast to one, and be
    another user's.

    source    an entry of readers_sources()
    users     SQL for the relation of the users, readers_users()
#}
{% macro readers_function_body(source, users) -%}
{%- set reader = 'try_cast(' ~ source.name ~ '_of.reader as bigint)' -%}
{{ secure_datasets._columns_of_readers(source) }}
from {{ source.relation }} as dataset
{%- if source.has_public_rows %}
-- One row for a live user, none for anybody else.
inner join {{ users }} as users
    on users.user_id = {{ reader }} and users.is_live
where
    (dataset.user_id = {{ reader }} or dataset.user_id is null)
{%- else %}
where
    dataset.user_id = {{ reader }}
{%- endif %}
{{ secure_datasets._barrier() }}
{%- endmacro %}
