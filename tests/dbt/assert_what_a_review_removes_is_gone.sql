-- What a review has decided to remove is gone after `removal_error_days`, or an exception says
-- until when it may stay.
{{ config(meta={'print_failures': true}) }}

{{ secure_datasets.removals_still_there(var('removal_error_days')) }}
