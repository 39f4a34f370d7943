-- What changes between two states keeps to the limits, or exactly these changes are approved.
{{ config(
    enabled=var('before', none) is not none or var('after', none) is not none,
    tags=['access_changes'],
    meta={'print_failures': true},
) }}

select
    limit_name,
    found,
    allowed,
    changes
from (
    {{ adapter.access_changes().limits(
        ref, secure_datasets.states_compared(), [var('before', '') | lower, var('after', '') | lower], secure_datasets.judged_on()
    ) | indent(4) }}
) as limits
where is_exceeded and approver is null
