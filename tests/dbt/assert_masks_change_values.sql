-- A mask that gives the value itself protects nothing: `mask(name)` leaves the name of a Chinese
-- as it is. Counted are, per mask, rows whose masked value is the value, no null and no constant
-- of the mask; a few may be meant, see the var `rows_that_masks_may_leave`.
{{ config(group='access_resolution', severity='warn', meta={'print_failures': true}) }}

{{ adapter.rules_by_exists(secure_datasets, ref, secure_datasets.secure_datasets_config()).masks_that_show_values(var('rows_that_masks_may_leave')) }}
