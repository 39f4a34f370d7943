-- A mask that gives the value itself protects nothing: `mask(name)` leaves the name of a Chinese
-- as it is. Counted are, per mask, rows whose masked value is the value, no null and no constant
-- of the mask; a few may be meant, see the var `rows_that_masks_may_leave`.
{{ config(group='access_resolution', severity='warn', meta={'print_failures': true}) }}

{{ secure_datasets.masks_that_show_values(secure_datasets.secure_datasets_config(), var('rows_that_masks_may_leave')) }}
