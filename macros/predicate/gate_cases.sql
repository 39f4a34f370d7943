{#
    The cases of a dataset's tier, each with the deciding columns: none if the dataset is over a
    secure dataset, or is a query, since it then has no tier.

    Returns   a list of cases: number, applies, tier (none if the case is for everyone), keys,
              second_keys, first and second (whether the user holds the rights on them), no_second
              (whether the row names no second side), columns (that decide)

    ruling    the dataset whose rows are shown
    config    the document of secure_datasets_config()
#}
{% macro gate_cases(ruling, config) %}
    {%- set dataset, found = config.datasets[ruling], [] -%}
    {%- if dataset.query is not defined and not secure_datasets.parent_dataset(dataset) -%}
        {%- for case in secure_datasets.tier_rules(dataset) -%}
            {%- if case.is_for_everyone -%}
                {% do found.append({'number': loop.index, 'applies': case.applies, 'tier': none, 'columns': []}) %}
            {%- else -%}
                {%- set rule, tier, user = case.rule, config.tiers[case.rule.tier], ruling ~ '.user_id' -%}
                {%- set second = none -%}
                {%- if rule.second_side is defined -%}
                    {%- set second = 'case when ' ~ ruling ~ '.' ~ rule.second_side.unless_null ~ ' is not null then '
                        ~ secure_datasets.right_exists(tier, rule.second_side['keys'], ruling, user) ~ ' end' -%}
                {%- endif -%}
                {% do found.append({
                    'number': loop.index, 'applies': case.applies, 'tier': rule.tier, 'keys': rule['keys'],
                    'second_keys': rule.second_side['keys'] if rule.second_side is defined else none,
                    'first': secure_datasets.right_exists(tier, rule['keys'], ruling, user), 'second': second,
                    'no_second': ruling ~ '.' ~ rule.second_side.unless_null ~ ' is null' if rule.second_side is defined else none,
                    'columns': secure_datasets.deciding_columns(case),
                }) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}
