{#
    The expectations in the seed `expected_access` that are not met, and the expectations that could
    not fail: one row for each expectation and user.

    config   the document of secure_datasets_config()
    today    SQL for the day on which expectations are judged
#}
{% macro expected_access_query(config, today) -%}
{%- set expected, rendered = adapter.expected_access(), {} -%}
{%- for name in config.datasets -%}
    {%- set ruling, end = secure_datasets.ruling_dataset(name, config), expected.chain_of(name, config) | last -%}
    {%- set end_entry = config.datasets[end] -%}
    {%- do rendered.update({name: {
        'rules': secure_datasets.rules_on(name, config, ruling),
        'rows': secure_datasets._rows_with_users(name, ruling, config, expected.users_of_masks(name), none),
        'there': secure_datasets.answers_of_users(end, config, false) if end_entry.query is defined else 'select * from ' ~ ref(end_entry.base),
    }}) -%}
{%- endfor -%}
{{ expected.query(config, today, ref, secure_datasets.repository_tables(), rendered) }}
{%- endmacro %}
