-- Warns of columns to which the documentation gives a tag, and which a dataset shows to everybody
-- who sees the row: no mask is on them. Tags that ask for none stand in the var `tags_without_masks`.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ adapter.secure_datasets().bare_tags(
    adapter.rules_by_exists(secure_datasets, ref, secure_datasets.secure_datasets_config()), var('tags_without_masks') or []
) }}
