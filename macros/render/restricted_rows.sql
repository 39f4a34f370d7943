{#
    Renders the rows of a dataset under all that is declared about it, in this order: tier,
    view authorization, row security, conditions, masks. Each is a CTE that reads the one
    before, so that no rule sees a row that an earlier one hides, and a mask is never put on
    a hidden row.

    Call          by secure_dataset(), for a dataset that more than its tier decides about
    name          the dataset
    config        the document of secure_datasets_config()
    policies      what policies_on() returns for it
    restrictions  what restrictions_on() returns for it
    tier_rows     the query of its tier, or over the star, by user
#}
{% macro restricted_rows(name, config, policies, restrictions, tier_rows) -%}
{%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
{%- set dataset = config.datasets[ruling] -%}
{%- set added = ['user_id'] + secure_datasets.tier_columns(dataset, config) -%}
{%- set columns = dataset.columns + added -%}
{%- set steps = secure_datasets._key_steps(restrictions, dataset.query is defined) -%}
{%- if policies.roles -%}
    {%- do steps.append(['held_roles_of_users', secure_datasets._held_roles_of_users(policies)]) -%}
{%- endif -%}
{%- do steps.append(['tier_rows', tier_rows]) -%}
{%- if policies.is_authorized -%}
    {%- do steps.append(['authorized_rows', secure_datasets._authorized_rows('vw_secure_dataset_' ~ name, columns)]) -%}
    {%- set columns = columns + ['view_outcome'] -%}
{%- endif -%}
{%- if restrictions and dataset.query is not defined -%}
    {%- do steps.append(['secured_rows', secure_datasets._secured_rows(steps[-1][0], columns, restrictions)]) -%}
{%- endif -%}
{%- if policies.roles -%}
    {%- do steps.append(['rows_with_roles', secure_datasets._rows_with_roles(steps[-1][0], columns, policies)]) -%}
{%- endif -%}
{%- if policies.conditions -%}
    {%- do steps.append(['visible_rows', secure_datasets._visible_rows(ruling, policies)]) -%}
{%- endif -%}
with{{ ' ' }}
{%- for step, query in steps -%}
{{ step }} as (

    {{ query | indent(4) }}

){{ ',\n\n' if not loop.last }}
{%- endfor %}

{{ secure_datasets._masked_rows(ruling, steps[-1][0], dataset, config.datasets[name].columns + added, policies) }}
{%- endmacro %}


{# The CTEs with the keys that the restrictions ask for, each CTE once. #}
{% macro _key_steps(restrictions, is_query) %}
    {%- set steps = [] -%}
    {%- for restriction in restrictions -%}
        {%- if restriction.object_keys not in steps | map('first') -%}
            {%- do steps.append([restriction.object_keys, secure_datasets._keys_of_users(restriction.object, once=is_query)]) %}
        {%- endif -%}
        {%- if restriction.ways -%}
            {%- do steps.append([restriction.keys_name, secure_datasets._keys_through_facts(restriction)]) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(steps) }}
{% endmacro %}
