{#
    The rule by which a user sees a row, by itself: one boolean SQL expression over the columns
    of a dataset's base, for an engine's own row filter. For a dataset over another one the
    base is the view of that, whose rows bear their user; for a query it is the relation that
    the query counts the rows of, and what its answer shows is told by answer_predicate.

    name      the dataset
    config    the document of secure_datasets_config()
    user      SQL for the id of the user who reads: a parameter, a value or a function
    relation  how the base is called where a column must say whose it is; none: as its rules
              call it
    dialect   the SQL dialect of the engine
#}
{% macro row_predicate(name, config, user, relation=none, dialect='spark') %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set dataset = config.datasets[ruling] -%}
    {%- set alias = secure_datasets.base_alias(name, config) -%}
    {%- set reader = secure_datasets._reader() -%}
    {%- if dataset.query is defined -%}
        {%- set terms = [] -%}
        {%- for restriction in secure_datasets.restrictions_on(dataset, config) -%}
            {%- do terms.append(secure_datasets.key_is_held(restriction, secure_datasets._row(), reader)) -%}
        {%- endfor -%}
        {%- set text = terms | join('\nand ') if terms else 'true' -%}
    {%- else -%}
        {%- set rules = secure_datasets.meets_every_rule(name, config, secure_datasets._row(), reader) -%}
        {%- set text = secure_datasets._passes_the_tier(name, config, secure_datasets._row(), reader) ~ ('\nand ' ~ rules if rules != 'true' else '') -%}
    {%- endif -%}
    {{ return(adapter.secure_datasets().printed(text, name, config, user, alias, relation, dialect)) }}
{% endmacro %}


{# What stands for the reader's id until the rule is printed. #}
{% macro _reader() %}
    {{ return('`<the reader>`') }}
{% endmacro %}


{# What stands for the row: no relation that a rule reads can be called so. #}
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
