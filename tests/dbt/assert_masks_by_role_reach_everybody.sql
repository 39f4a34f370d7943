-- A mask that says `role` is put on everybody who should hold the role: what can't be read of
-- groups and memberships would show the value. Such a mask should say `except`, which hides.
{{ config(group='access_resolution', meta={'print_failures': true}) }}

{{ secure_datasets.masks_in_doubt(secure_datasets.secure_datasets_config(), (var('roles_may_be_missing') or [])) }}
