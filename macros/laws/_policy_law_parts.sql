{# What the laws about policies and row security share: the rules, said once more by exists. #}

{# The datasets of the config that policies or row security restrict, over a model. #}
{% macro restricted_datasets(config) %}
    {%- set found = {} -%}
    {%- for name, dataset in config.datasets.items() if dataset.base is defined and not layer_below(dataset) -%}
        {%- if policies_on(name, config).roles or restrictions_on(dataset, config) -%}
            {% do found.update({name: dataset}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The rows of a dataset's base with each user who passes its tier, and nothing else. #}
{% macro rows_past_the_tier(dataset, config) -%}
{%- set queries = [] -%}
{%- set rules = dataset_rules(dataset) if dataset.visible_to is not defined else [{'applies': 'true', 'is_for_everyone': true}] -%}
{%- for case in rules -%}
{%- set tier = config.tiers[case.rule.tier] if not case.is_for_everyone -%}
{%- set query -%}
select base.*, users.user_id
from {{ ref(dataset.base) }} as base
cross join {{ ref('stg_users') }} as users
where
    users.is_live
    and {{ case.applies }}
    {%- if not case.is_for_everyone %}
    and {{ both_rights_exist(case.rule, tier, 'base', 'users') }}
    {%- endif %}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{# Whether a row and its user meet a dataset's conditions and row security. #}
{% macro meets_every_rule(name, dataset, config) -%}
{%- set conditions = policies_on(name, config).conditions -%}
true
{%- if conditions %}
and (
    {%- for rule in conditions %}
    {{ 'or ' if not loop.first }}({{ role_is_held(rule.role, name) }} and ({{ rule.condition }}))
    {%- endfor %}
)
{%- endif %}
{%- for restriction in restrictions_on(dataset, config) %}
and {{ key_is_held(restriction, name) }}
{%- endfor %}
{%- endmacro %}


{# Whether the user of a row holds a role. #}
{% macro role_is_held(role, relation) -%}
exists (
    select 1
    from {{ ref('vw_secure_user_roles') }} as held
    where held.user_id = {{ relation }}.user_id and held.role_name = {{ sql_text(role) }}
)
{%- endmacro %}


{# Whether a row leads to a key of its user. #}
{% macro key_is_held(restriction, relation) -%}
{%- set object, joined = restriction.object, [] -%}
{%- set links = restriction.path[:-1] if not restriction.links else restriction.path[:-1] + restriction.links[:-1] -%}
{%- set first = restriction.links[-1]['from'] if restriction.links else restriction.path[0]['from'] -%}
{%- set start = relation if not restriction.links else restriction.path[0]['from'].dataset -%}
exists (
    select 1
    from {{ ref(object.dataset) }} as mapping
    inner join {{ ref('vw_secure_user_roles' if object.id_type.startswith('group') else 'stg_users') }} as held
        on mapping.{{ object.ids_column }} = held.{{ 'user_group_id' if object.id_type.startswith('group') else 'user_id' }}
    {%- if restriction.links %}
    cross join {{ ref(start) }} as {{ start }}
    {%- endif %}
    {%- for link in links %}
    cross join {{ ref(link.to.dataset) }} as {{ link.to.dataset }}
    {%- endfor %}
    where
        held.user_id = {{ relation }}.user_id
        {%- if not object.id_type.startswith('group') %}
        and held.is_live
        {%- endif %}
        and mapping.{{ object.filter_key_column }} = {{ start if restriction.path | length == 1 else restriction.path[-1]['from'].dataset }}.{{ restriction.path[-1]['from'].join_columns[0] }}
        {%- for link in links %}
        {%- for column in link['from'].join_columns %}
        and {{ link.to.dataset }}.{{ column }} = {{ relation if link['from'].dataset == first.dataset and not restriction.links else link['from'].dataset }}.{{ column }}
        {%- endfor %}
        {%- endfor %}
        {%- if restriction.links %}
        {%- for column in first.join_columns %}
        and {{ first.dataset }}.{{ column }} = {{ relation }}.{{ column }}
        {%- endfor %}
        {%- endif %}
)
{%- endmacro %}
