{#
    The rows that a role has written satisfy its condition: fails with each one that
    checked_rows() would reject.

    dataset  the dataset whose conditions are the checks
    role     the role that writes
#}
{% test rows_pass_the_check(model, dataset, role) %}
with written as (

    select * from {{ model }}

),

checked as (

    {{ secure_datasets.checked_rows(dataset, role, 'written') | indent(4) }}

)

select *
from checked
where rejection_reason is not null
{% endtest %}
