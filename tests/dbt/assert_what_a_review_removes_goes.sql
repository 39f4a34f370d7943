-- Warns of what a review has decided to remove and is there after `removal_grace_days`, until it
-- fails by `removal_error_days`.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ secure_datasets.removals_still_there(var('removal_grace_days'), until=var('removal_error_days')) }}
