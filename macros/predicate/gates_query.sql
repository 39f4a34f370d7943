{#
    The result of each gate of a dataset for its rows and users: one line for each row and user,
    and no gate has hidden any. The predicates are the same as in the laws.

    Renders
        the unique key, then user_id and is_live, of the user
        is_public          whether the row has no user: then no gate needs one
        case_<n>           whether the case applies to the row; if it is not for everyone, also
        case_<n>_first     whether the user holds the right on the keys, and
        case_<n>_second    on the keys of the second side; null if the row names none
        key_<column>       the deciding columns of the cases
        rule_<n>           whether the rule of rules_on() acts on the row; null for row security
                           of a query, which has counted the user's rows alone
        rule_<n>_is_for, rule_<n>_says   for conditions and masks, the parts of rule_<n>;
        rule_<n>_in_time   if the rule has a time, whether it holds now

    name      the dataset
    config    the document of secure_datasets_config()
    users     a query of the users, user_id and is_live
    row       the row by its unique key, column to text; none for every row
#}
{% macro gates_query(name, config, users, row=none) -%}
{%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
{%- set cases, rules = secure_datasets.gate_cases(ruling, config), secure_datasets.rules_on(name, config, ruling) -%}
select
    {%- for column in config.datasets[name].unique_key %}
    {{ ruling }}.{{ column }},
    {%- endfor %}
    {{ ruling }}.user_id,
    {{ ruling }}.`asked is_live` as is_live,
    {{ ruling }}.`asked is_public` as is_public,
    {%- for column in cases | map(attribute='columns') | sum(start=[]) | unique %}
    {{ ruling }}.{{ column }} as key_{{ column }},
    {%- endfor %}
    {{- secure_datasets._results_of_gates(ruling, cases, rules) }}
    true as is_there
from (
    select
        {{ ruling }}.*,
        {{- secure_datasets._gates_before_masks(cases, rules) }}
        true as `asked is_there`
    from (
        {{ secure_datasets._rows_with_users(name, ruling, config, users, row) | indent(8) }}
    ) as {{ ruling }}
) as {{ ruling }}
{%- endmacro %}


{#
    The columns of the gates that are already computed, under names that no column of a dataset has,
    and the masks. The lines have their final indentation, because `indent` would change a literal of
    several lines.
#}
{% macro _results_of_gates(ruling, cases, rules) -%}
    {%- for case in cases %}
    {{ ruling }}.`asked case_{{ loop.index }}` as case_{{ loop.index }},
    {%- if case.tier %}
    {{ ruling }}.`asked case_{{ loop.index }}_first` as case_{{ loop.index }}_first,
    {{ ruling }}.`asked case_{{ loop.index }}_second` as case_{{ loop.index }}_second,
    {%- endif %}
    {%- endfor %}
    {%- for rule in rules %}
    {%- if rule.is_mask %}
    {{ rule.applies }} as rule_{{ loop.index }},
    {{ rule.is_for }} as rule_{{ loop.index }}_is_for,
    {%- if rule.in_time %}
    {{ rule.in_time }} as rule_{{ loop.index }}_in_time,
    {%- endif %}
    {{ rule.says }} as rule_{{ loop.index }}_says,
    {%- else %}
    {{ ruling }}.`asked rule_{{ loop.index }}` as rule_{{ loop.index }},
    {%- if rule.is_for is defined %}
    {{ ruling }}.`asked rule_{{ loop.index }}_is_for` as rule_{{ loop.index }}_is_for,
    {{ ruling }}.`asked rule_{{ loop.index }}_says` as rule_{{ loop.index }}_says,
    {%- if rule.in_time %}
    {{ ruling }}.`asked rule_{{ loop.index }}_in_time` as rule_{{ loop.index }}_in_time,
    {%- endif %}
    {%- endif %}
    {%- endif %}
    {%- endfor %}
{%- endmacro %}


{#
    The columns of the gates that decide whether a row is shown: the cases, and the rules other than
    masks. As in `_results_of_gates`, the lines have their final indentation.
#}
{% macro _gates_before_masks(cases, rules) -%}
        {%- for case in cases %}
        {{ case.applies }} as `asked case_{{ loop.index }}`,
        {%- if case.tier %}
        {{ case.first }} as `asked case_{{ loop.index }}_first`,
        {{ case.second or 'cast(null as boolean)' }} as `asked case_{{ loop.index }}_second`,
        {%- endif %}
        {%- endfor %}
        {%- for rule in rules if not rule.is_mask %}
        {{ rule.applies or 'cast(null as boolean)' }} as `asked rule_{{ loop.index }}`,
        {%- if rule.is_for is defined %}
        {{ rule.is_for }} as `asked rule_{{ loop.index }}_is_for`,
        {{ rule.says }} as `asked rule_{{ loop.index }}_says`,
        {%- if rule.in_time %}
        {{ rule.in_time }} as `asked rule_{{ loop.index }}_in_time`,
        {%- endif %}
        {%- endif %}
        {%- endfor %}
{%- endmacro %}


{# The rows of a dataset's base with each of the users, before any gate. #}
{% macro _rows_with_users(name, ruling, config, users, row) -%}
{%- set dataset, is_restricted = config.datasets[ruling], secure_datasets.is_restricted(name, config) -%}
{%- set is_query, is_layered = dataset.query is defined, secure_datasets.parent_dataset(dataset) is not none -%}
{%- set columns = dataset.columns + (secure_datasets.tier_columns(dataset, config) if is_query or is_layered else []) -%}
select
    base.{{ columns | join(',\n    base.') }},
    users.user_id,
    users.is_live as `asked is_live`,
    {{ 'false' if is_restricted else secure_datasets._row_is_public(dataset, is_query, is_layered) }} as `asked is_public`
from{{ ' ' }}
{%- if is_query -%}
(
    {{ secure_datasets.answers_of_users(ruling, config, is_restricted) | indent(4) }}
)
{%- elif is_layered -%}
(
    {{ secure_datasets.layered_rows(dataset, config, true, users, are_marked=true) | indent(4) }}
)
{%- else -%}
{{ ref(dataset.base) }}
{%- endif %} as base
inner join ({{ users }}) as users
    on {{ 'base.user_id = users.user_id' if is_layered or (is_query and is_restricted) else 'true' }}
{{- secure_datasets._row_filter('base', row) }}
{%- endmacro %}


{# Whether a row of an unrestricted dataset is for everyone. #}
{% macro _row_is_public(dataset, is_query, is_layered) -%}
{%- set everyone = [] -%}
{%- if is_query or is_layered -%}
    {%- do everyone.append('true' if is_query else 'base.`asked is_public`') -%}
{%- else -%}
    {%- for case in secure_datasets.tier_rules(dataset) if case.is_for_everyone -%}
        {%- do everyone.append('coalesce(' ~ secure_datasets.case_applies(case, 'base') ~ ', false)') -%}
    {%- endfor -%}
{%- endif -%}
{{ everyone | join(' or ') or 'false' }}
{%- endmacro %}


{# The condition that finds a row by its key, each value compared as text. #}
{% macro _row_filter(relation, row) -%}
{%- for column, value in (row or {}).items() %}
{{ 'where' if loop.first else '    and' }} {{ relation }}.{{ column }} is {{ 'null' if value is none else 'not null' }}
{%- if value is not none %}
    and cast({{ relation }}.{{ column }} as string) = {{ secure_datasets.sql_text(value) }}
{%- endif %}
{%- endfor -%}
{%- endmacro %}
