-- Warns where a user reads through a view what the user is denied on the table behind it.
{{ config(severity='warn', meta={'print_failures': true}) }}

select
    user_id,
    view_name,
    table_name,
    table_decision
from {{ ref('unrestricted_view_access') }}
where table_decision is not null
