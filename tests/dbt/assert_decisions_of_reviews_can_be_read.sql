-- Every decision of a review can be read. One that can't certifies nothing, and where it says of
-- whose access to what it is, nothing else certifies that either.
{{ config(meta={'print_failures': true}) }}
-- `dbt build` skips what follows a test that fails. What tells of all other decisions is built:
-- depends_on: {{ ref('review_status') }}, {{ ref('access_findings') }}

select
    problem,
    as_delivered
from {{ ref('judged_decisions') }}
where verdict = 'unreadable'
