{#
    The query of a readers' view: the rows of a dataset with the user id of the reader, and the rows
    for everyone. An account that is mapped to no user, to several users, or to a user who is not
    live, gets no row, not even the rows for everyone.

    source    an entry of readers_sources()
    accounts  the relation that maps accounts to user ids
    users     SQL for the relation of the users, readers_users()
#}
{% macro readers_view_query(source, accounts, users) -%}
{%- set reader = secure_datasets.user_of_the_account(accounts, users if source.has_public_rows) -%}
{{ secure_datasets._columns_of_readers(source) }}
from {{ source.relation }} as dataset
where
{%- if source.has_public_rows %}
    (
        dataset.user_id = {{ reader | indent(8) }}
        or (
            dataset.user_id is null
            and {{ reader | indent(12) }} is not null
        )
    )
{%- else %}
    dataset.user_id = {{ reader | indent(4) }}
{%- endif %}
{{ secure_datasets._barrier() }}
{%- endmacro %}


{# The columns that readers get: the columns of the dataset. #}
{% macro _columns_of_readers(source) -%}
select
    {%- for column in source.columns %}
    dataset.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#
    A non-deterministic condition that makes Spark evaluate a reader's own expressions after the
    conditions below it: Spark moves no filter past it. Spark simplifies some such conditions away,
    for example rand() >= 0. The rules themselves are deterministic, and still reach the scans.
#}
{% macro _barrier() -%}
{{ '    ' }}-- The barrier: what a reader writes is evaluated after the conditions above.
    and monotonically_increasing_id() >= 0
{%- endmacro %}
