-- Many executions start on one day.
select distinct
    day,
    trunc(day, 'month') as month,
    year(day) as year
from {{ ref('fct_test_executions') }}
where day is not null
