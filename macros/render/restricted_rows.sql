{#
    Renders the rows of a dataset under all its rules: the steps that `steps_of` in
    secure_datasets/config/plan.py lists in their order, and the masks last. Each step is a CTE that
    reads the previous one, so that no rule sees a row that an earlier rule hides, and no mask is
    evaluated for a hidden row. A barrier keeps this order: without it Spark moves a condition below
    the joins that hide rows.

    Call          by secure_dataset(), for a dataset with rules beyond its tier
    name          the dataset
    config        the document of secure_datasets_config()
    policies      the result of policies_on() for it
    restrictions  the result of restrictions_on() for it
    tier_rows     the query of its tier, or over the star, by user
#}
{% macro restricted_rows(name, config, policies, restrictions, tier_rows) -%}
{%- set ruling = adapter.secure_datasets().ruling_dataset(name, config) -%}
{%- set dataset = config.datasets[ruling] -%}
{%- set added = ['user_id'] + adapter.secure_datasets().tier_columns(dataset, config) -%}
{%- set columns, rules = dataset.columns + added, adapter.rules_by_exists(secure_datasets, ref, config).by_joins(name) -%}
{%- set steps = secure_datasets._key_steps(restrictions, dataset.query is defined) -%}
{#- The star's own query joins the keys: its tier_rows are restricted already. -#}
{%- for step in adapter.secure_datasets().steps_of(policies, [] if dataset.query is defined else restrictions) -%}
    {%- set rows = steps[-1][0] if steps -%}
    {%- if step == 'held_roles_of_users' -%}
        {%- set query = secure_datasets._held_roles_of_users(policies) -%}
    {%- elif step == 'tier_rows' -%}
        {%- set query = tier_rows -%}
    {%- elif step == 'authorized_rows' -%}
        {%- set query = secure_datasets._authorized_rows('vw_secure_dataset_' ~ name, columns) -%}
        {%- do columns.append('view_outcome') -%}
    {%- elif step == 'secured_rows' -%}
        {%- set query = secure_datasets._secured_rows(rows, columns, restrictions) -%}
    {%- elif step == 'rows_with_roles' -%}
        {%- set query = secure_datasets._rows_with_roles(rows, columns, policies) -%}
    {%- elif step == 'guarded_rows' -%}
        {%- set query = secure_datasets._guarded_rows(rows, columns, policies) -%}
    {%- elif step == 'visible_rows' -%}
        {%- set query = secure_datasets._visible_rows(rows, policies, rules) -%}
    {%- endif -%}
    {%- do steps.append([step, query]) -%}
{%- endfor -%}
with{{ ' ' }}
{%- for step, query in steps -%}
{{ step }} as (

    {{ query | indent(4) }}

){{ ',\n\n' if not loop.last }}
{%- endfor %}

{{ secure_datasets._masked_rows(ruling, steps[-1][0], dataset, config.datasets[name].columns + added, policies, rules) }}
{%- endmacro %}


{# The CTEs with the keys that the restrictions require, each CTE once. #}
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
