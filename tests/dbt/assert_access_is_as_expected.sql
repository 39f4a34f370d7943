-- Each row of the seed `expected_access` is so, and is about what is there. Of what is not so the run
-- prints why.
{{ config(meta={'print_failures': true, 'explains': true}) }}

{{ adapter.expected_access(secure_datasets, ref, secure_datasets.secure_datasets_config(), secure_datasets.repository_tables(), secure_datasets.judged_on()) }}
