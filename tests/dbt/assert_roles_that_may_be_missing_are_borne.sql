-- Warns of the roles that `roles_may_be_missing` lists while no live group bears them.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ adapter.law_of_roles('roles_without_a_group', secure_datasets, ref, secure_datasets.secure_datasets_config(),
    may_be_missing=var('roles_may_be_missing') or [], are_listed=true
) }}
