{#
    The query of a readers' function: the rows of a dataset with the user id that the application
    passes, and, if the id belongs to a live user, the rows for everyone.

    The id is a text: Spark would cast a number like 8.9 to a bigint, the id of a different user.

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
