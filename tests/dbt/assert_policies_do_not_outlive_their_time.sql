-- Warns of the policies whose `valid_until` is 30 days past: they do nothing any more, and whoever
-- reads the config takes them for rules.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ secure_datasets.policies_long_over(secure_datasets.secure_datasets_config(), 30) }}
