{#
    The rule that decides whether a reader sees a row of a dataset, before it is printed.

    name            the dataset's name
    config          the document of secure_datasets_config()
    is_permissive   without the restrictive conditions, which restrictive_rule() has
#}
{% macro row_rule(name, config, is_permissive=false) %}
    {%- set dataset = config.datasets[secure_datasets.ruling_dataset(name, config)] -%}
    {%- set reader = secure_datasets.reader_placeholder() -%}
    {%- if dataset.query is defined -%}
        {%- set terms = [] -%}
        {%- for restriction in secure_datasets.restrictions_on(dataset, config) -%}
            {%- do terms.append(secure_datasets.key_is_held(restriction, secure_datasets._row(), reader)) -%}
        {%- endfor -%}
        {{ return(terms | join('\nand ') if terms else 'true') }}
    {%- endif -%}
    {%- set rules = secure_datasets.meets_every_rule(name, config, secure_datasets._row(), reader, is_permissive) -%}
    {{ return(secure_datasets._passes_the_tier(name, config, secure_datasets._row(), reader) ~ ('\nand ' ~ rules if rules != 'true' else '')) }}
{% endmacro %}


{# The placeholder for the row: no relation that a rule reads can have this name. #}
{% macro _row() %}
    {{ return('`<the row>`') }}
{% endmacro %}


{# Whether a user passes a dataset's tier; without one, whether the row is for everyone. #}
{% macro _passes_the_tier(name, config, alias, user) -%}
{%- set dataset, cases = config.datasets[secure_datasets.ruling_dataset(name, config)], [] -%}
{%- set everyone = secure_datasets._is_live(user) if secure_datasets.is_restricted(name, config) else 'true' -%}
{%- if secure_datasets.parent_dataset(dataset) -%}
    {%- do cases.append(alias ~ '.user_id = ' ~ user) -%}
    {%- if secure_datasets.has_public_rows(secure_datasets.parent_dataset(dataset), config) -%}
        {%- do cases.append(alias ~ '.user_id is null\nand ' ~ everyone) -%}
    {%- endif -%}
{%- else -%}
    {%- for case in secure_datasets.tier_rules(dataset) -%}
        {%- set right = everyone -%}
        {%- if not case.is_for_everyone -%}
            {%- set right = secure_datasets.both_rights_exist(case.rule, config.tiers[case.rule.tier], alias, user) -%}
        {%- endif -%}
        {%- do cases.append([case.applies, right] | reject('equalto', 'true') | join('\nand ') or 'true') -%}
    {%- endfor -%}
{%- endif -%}
{%- if cases | length == 1 -%}
{{ cases[0] }}
{%- else -%}
(
    (
        {{ cases | map('indent', 8) | join('\n    )\n    or (\n        ') }}
    )
)
{%- endif -%}
{%- endmacro %}


{# Whether a user is live. #}
{% macro _is_live(user) -%}
exists (
    select 1
    from {{ ref('stg_users') }} as users
    where users.user_id = {{ user }} and users.is_live
)
{%- endmacro %}
