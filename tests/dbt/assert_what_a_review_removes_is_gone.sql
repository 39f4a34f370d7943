-- What a review has decided to remove is gone, or an exception says until when it may stay.
{{ config(meta={'print_failures': true}) }}

select
    subject,
    detail,
    who_acts
from {{ ref('access_findings') }}
where rule = 'removed-and-still-there' and not is_excused
