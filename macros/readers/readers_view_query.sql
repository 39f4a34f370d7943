{#
    The query of a readers' view: the rows of a dataset that bear the user id of whoever
    asks, and those for everyone. An account that is mapped to no user, to several, or to
    one who is not live, gets no row, not even those for everyone.

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


{# The columns that readers get: those of the dataset. #}
{% macro _columns_of_readers(source) -%}
select
    {%- for column in source.columns %}
    dataset.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#
    What a reader writes is evaluated after what stands below a condition that is not
    deterministic: Spark moves no filter past it. Others, rand() >= 0 for one, are
    simplified away. The rules themselves are deterministic, and still reach the scans.
#}
{% macro _barrier() -%}
{{ '    ' }}-- The barrier: what a reader writes is evaluated after the conditions above.
    and monotonically_increasing_id() >= 0
{%- endmacro %}
