-- Each row of the seed `expected_access` is so, and is about what is there. Of what is not so the run
-- prints why.
{{ config(meta={'print_failures': true, 'explains': true}) }}

{{ secure_datasets.expected_access_query(secure_datasets.secure_datasets_config(), secure_datasets.judged_on()) }}
