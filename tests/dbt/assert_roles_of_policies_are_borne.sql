-- Each role that a policy names is a global one, or the name of a live group: who could hold it
-- otherwise? Those that `roles_may_be_missing` lists are looked at by another test.
{{ config(meta={'print_failures': true}) }}

{{ adapter.law_of_roles('roles_without_a_group', secure_datasets, ref, secure_datasets.secure_datasets_config(),
    may_be_missing=var('roles_may_be_missing') or [], are_listed=false
) }}
