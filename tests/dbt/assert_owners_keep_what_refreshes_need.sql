-- Fails where a role owns a stored table and has lost what a refresh of it needs.
{{ config(meta={'print_failures': true}) }}

select
    role_name,
    object_name,
    detail
from {{ ref('privilege_findings') }}
where finding = 'owner lacks what refreshes need'
