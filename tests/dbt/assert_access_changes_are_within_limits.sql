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
    {{ secure_datasets.limits_query({
        'limits': ref('access_change_limits'), 'approvals': ref('access_change_approvals'),
        'access_changes': ref('access_changes'), 'row_changes': ref('row_changes'),
    }, secure_datasets.states_compared()) | indent(4) }}
) as limits
where is_exceeded and approver is null
