{# Prints the number of rows that each policy and each security object hides, shows or masks for a user. #}
{% macro _print_policies(user_id, without_past) %}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {%- set rows = [] -%}
    {%- for name, dataset in secure_datasets.restricted_datasets(config).items() if name not in without_past -%}
        {%- set rules = secure_datasets.rules_on(name, config, secure_datasets.ruling_dataset(name, config)) -%}
        {%- set counts = run_query(secure_datasets._count_under_rules(name, dataset, config, rules, user_id)).rows[0] -%}
        {%- set below = dataset.base if secure_datasets.parent_dataset(dataset) -%}
        {%- do rows.append([name, below or 'tier', 'lets through', counts[0] | int | string]) -%}
        {%- for rule in rules -%}
            {%- do rows.append(['', rule.title, rule.verb, (counts[loop.index] or 0) | int | string]) -%}
            {%- set unchanged = (counts[rules | length + 1 + loop.index] or 0) | int -%}
            {%- if unchanged -%}
                {%- do rows.append(['', rule.title, 'shows the value itself', unchanged | string]) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- do rows.append(['', 'all of them', 'let through', (counts[rules | length + 1] or 0) | int | string]) -%}
    {%- endfor -%}
    {%- if rows -%}
        {% do secure_datasets.print_table(['secure dataset', 'rule', 'what it does', 'rows'], rows, align='left') %}
    {%- endif -%}
{% endmacro %}


{# A query of the rows past a user's tier: how many each rule applies to, and how many are visible. #}
{% macro _count_under_rules(name, dataset, config, rules, user_id) -%}
{%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
select
    count(*) as past_the_tier,
    {%- for rule in rules %}
    count_if(rule_{{ loop.index }}{{ ' and is_visible' if rule.is_mask }}) as rule_{{ loop.index }},
    {%- endfor %}
    count_if(is_visible) as visible
    {%- for rule in rules %},
    count_if(is_visible and unchanged_{{ loop.index }}) as unchanged_{{ loop.index }}
    {%- endfor %}
from (
    select
        {%- for rule in rules %}
        {{ rule.applies }} as rule_{{ loop.index }},
        {{ secure_datasets._mask_leaves_the_value(rule, name, config, ruling) | indent(8) }} as unchanged_{{ loop.index }},
        {%- endfor %}
        {{ secure_datasets.meets_every_rule(name, config, ruling, ruling ~ '.user_id') }} as is_visible
    from (
        {{ secure_datasets.rows_past_the_tier(dataset, config) }}
    ) as {{ ruling }}
    where {{ ruling }}.user_id = {{ user_id }}
) as judged
{%- endmacro %}


{# Whether a rule is a mask that is put on a row and shows the value itself. #}
{% macro _mask_leaves_the_value(rule, name, config, relation) -%}
{%- if rule.is_mask and not rule.rule.is_constant -%}
{{ rule.applies }}
and {{ secure_datasets.mask_shows_the_value(rule.rule, name, config, relation, rule.column) }}
{%- else -%}
false
{%- endif -%}
{%- endmacro %}
