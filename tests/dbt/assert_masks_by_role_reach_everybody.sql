-- A mask that says `role` is put on everybody who should hold the role: what can't be read of
-- groups and memberships would show the value. Such a mask should say `except`, which hides.
{{ config(group='access_resolution', meta={'print_failures': true}) }}

{{ adapter.law_of_roles('masks_in_doubt', secure_datasets, ref, secure_datasets.secure_datasets_config(), may_be_missing=var('roles_may_be_missing') or []) }}
