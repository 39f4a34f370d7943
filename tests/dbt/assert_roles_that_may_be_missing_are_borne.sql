-- Warns of the roles that `roles_may_be_missing` lists while no live group bears them.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ secure_datasets.roles_without_a_group(
    secure_datasets.secure_datasets_config(), (var('roles_may_be_missing') or []), are_listed=true
) }}
