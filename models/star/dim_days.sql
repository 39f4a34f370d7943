-- Many executions start on one day.
select distinct
    day,
    cast(date_trunc('month', day) as date) as month,
    year(day) as year
from {{ ref('fct_test_executions') }}
where day is not null
