-- Warns of the policies whose `valid_until` is 30 days past: they do nothing any more, and whoever
-- reads the config takes them for rules.
{{ config(severity='warn', meta={'print_failures': true}) }}

{{ adapter.secure_datasets().long_over(adapter.rules_by_exists(secure_datasets, ref, secure_datasets.secure_datasets_config()), 30) }}
