-- Warns of grants that give less, or more, than they seem to.
{{ config(severity='warn', meta={'print_failures': true}) }}

select
    finding,
    role_name,
    object_name,
    detail
from {{ ref('privilege_findings') }}
where finding != 'owner lacks what refreshes need'
