{# The datasets by kind of rule, and the columns that decide. #}


{# The rules that show a dataset's rows: one, or one for each case of its switch. #}
{% macro dataset_rules(dataset) %}
    {%- if dataset.switch is not defined -%}
        {{ return([{'rule': dataset, 'applies': 'true', 'is_for_everyone': false}]) }}
    {%- endif -%}
    {%- set rules = [] -%}
    {%- for value, rule in dataset.switch.cases.items() -%}
        {% do rules.append({
            'rule': rule,
            'applies': dataset.switch.column ~ " = " ~ secure_datasets.sql_text(value),
            'is_for_everyone': rule.visible_to is defined,
        }) %}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}


{# Whether a case applies to a row of a relation. #}
{% macro case_applies(case, relation) -%}
{{ (relation ~ '.' if case.applies != 'true') ~ case.applies }}
{%- endmacro %}


{# The rules that let a row pass a dataset's tier; without a tier, one rule that lets every row pass for everyone. #}
{% macro tier_rules(dataset) %}
    {%- if dataset.visible_to is defined -%}
        {{ return([{'applies': 'true', 'is_for_everyone': true}]) }}
    {%- endif -%}
    {{ return(secure_datasets.dataset_rules(dataset)) }}
{% endmacro %}


{# The columns that decide a rule: rows that agree on them have the same viewers. #}
{% macro deciding_columns(case) -%}
    {%- if case.is_for_everyone -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set second_side = case.rule.get('second_side', {'keys': {}}) -%}
    {{ return((case.rule['keys'].values() | list + second_side['keys'].values() | list) | unique | list) }}
{%- endmacro %}


{# The datasets with a tier or a switch; optionally, only those without further rules. #}
{% macro datasets_with_tier(config, and_no_more=false) %}
    {%- set found = {} -%}
    {%- for name, dataset in config.datasets.items() if dataset.tier is defined or dataset.switch is defined -%}
        {%- if not and_no_more or not secure_datasets.is_restricted(name, config) -%}
            {% do found.update({name: dataset}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{#
    The datasets with a base and more rules than their tier; a query has none. `base_columns` are those
    on which the rules at the end of its chain act, also where it shows fewer.
#}
{% macro restricted_datasets(config) %}
    {%- set found = {} -%}
    {%- for name, dataset in config.datasets.items() if secure_datasets.is_restricted(name, config) -%}
        {%- set ruling_entry = config.datasets[secure_datasets.ruling_dataset(name, config)] -%}
        {%- if ruling_entry.base is defined -%}
            {% do found.update({name: dict(ruling_entry, columns=dataset.columns, unique_key=dataset.unique_key, base_columns=ruling_entry.columns)}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
